import { expect, test } from 'bun:test'
import { describeNoDeliveries } from '../../../src/web/browser/lib/no-deliveries.ts'

const up = { paused: false, down_since: null, filtered: false, events: ['call_started'] }
const paused = { ...up, paused: true }
const down = { ...up, down_since: '2026-11-20T21:42:00.000000Z' }

test.each([
  ['without a webhook', [], 60_000, 'there is no webhook yet'],
  ['that was just stored', [up], 1_000, 'nothing sent yet'],
  ['of a while ago', [up], 60_000, 'no webhook gets this event'],
  ['while a webhook is paused', [up, paused], 60_000, 'nothing sent yet: a webhook is paused or down'],
  ['while a webhook is down', [down], 60_000, 'nothing sent yet: a webhook is paused or down'],
  ['that no webhook asks for', [{ ...paused, events: ['call_ended'] }], 60_000, 'no webhook asks for it'],
  ['that filters keep away', [{ ...down, filtered: true }], 60_000, 'no filter lets it through'],
])('an event %s', (_, webhooks, ageMs, text) => {
  expect(describeNoDeliveries(webhooks, 'call_started', ageMs)).toBe(text)
})
