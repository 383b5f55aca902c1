import { expect, test } from 'bun:test'
import { describeWebhookState } from '../../../src/web/browser/lib/webhook-state.ts'

const NOW_MS = Date.parse('2026-11-28T12:00:00Z')
const SINCE = '2026-11-28T11:57:00Z'
const last = { at: SINCE, status: 422, error: null, duration_ms: 3 }
const healthy = { paused: false, down_since: null, refusing_since: null, last }

test.each([
  ['one that nothing was sent to', { ...healthy, last: null }, 'ready'],
  ['one that accepts', healthy, 'up'],
  ['one that refuses', { ...healthy, refusing_since: SINCE }, 'refuses everything for 3 min'],
  ['one that refused before it went down', { ...healthy, refusing_since: SINCE, down_since: SINCE }, 'down for 3 min'],
  ['one that is paused', { ...healthy, refusing_since: SINCE, paused: true }, 'paused: nothing is sent'],
] as const)('%s', (_, webhook, text) => {
  expect(describeWebhookState(webhook, NOW_MS)).toBe(text)
})
