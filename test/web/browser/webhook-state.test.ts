import { expect, test } from 'bun:test'
import type { EventKind } from '../../../src/events/kinds.ts'
import {
  describeEvents,
  describeTrouble,
  webhookKey,
  webhookState,
} from '../../../src/web/browser/lib/webhook-state.ts'
import type { WebhookHealth } from '../../../src/web/model.ts'

const NOW_MS = Date.parse('2026-11-28T12:00:00Z')
const SINCE = '2026-11-28T11:57:00Z'
const last = { at: SINCE, status: 422, error: null, duration_ms: 3 }
const healthy = { paused: false, down_since: null, refusing_since: null, last }

test.each([
  ['one that nothing was sent to', { ...healthy, last: null }, 'new'],
  ['one that accepts', healthy, 'up'],
  ['one that refuses', { ...healthy, refusing_since: SINCE }, 'refuses'],
  ['one that refused before it went down', { ...healthy, refusing_since: SINCE, down_since: SINCE }, 'down 3 min'],
  ['one that is paused', { ...healthy, refusing_since: SINCE, paused: true }, 'paused'],
] as const)('the state of %s', (_, webhook, text) => {
  expect(webhookState(webhook, NOW_MS).text).toBe(text)
})

const CALL: EventKind[] = [
  'call_started',
  'dial_started',
  'dial_answered',
  'dial_ended',
  'call_blind_transferred',
  'call_attended_transferred',
  'call_ended',
  'call_saved',
]

test.each([
  ['all switches', CALL, 'most of a call'],
  ['all switches and more', [...CALL, 'call_missed', 'agent_changed'] as EventKind[], 'most of a call, missed, agent'],
  ['two', ['call_ended', 'call_missed'] as EventKind[], 'ended, missed'],
  ['those of phones', ['dial_started', 'dial_answered', 'dial_ended'] as EventKind[], 'dial started, answered, ended'],
  ['transfers', ['call_blind_transferred', 'call_attended_transferred'] as EventKind[], 'transferred'],
  ['none', [] as EventKind[], 'nothing'],
])('the events of a webhook with %s', (_, events, text) => expect(describeEvents(events)).toBe(text))

const webhook: WebhookHealth = {
  ...healthy,
  url: 'https://a.example/',
  occurrence: 0,
  name: null,
  filtered: false,
  events: [],
  pending: 3,
}

test('a webhook that is down says how many deliveries wait, and one that refuses what to look at', () => {
  const down = describeTrouble({ ...webhook, down_since: SINCE, last: { ...last, status: 503 } }, NOW_MS)
  expect(down.what).toContain('503 Service Unavailable')
  expect(down.advice).toBe('3 deliveries wait. They are sent in order as soon as it answers.')
  const refusing = describeTrouble({ ...webhook, refusing_since: SINCE, last: { ...last, status: 401 } }, NOW_MS)
  expect(refusing.advice).toBe('Was its key changed? Enter the new one under Headers.')
})

test('what the address of the page calls a webhook has no password', () => {
  const url = 'mqtts://user:secret@broker.example/calls'
  expect(webhookKey({ url, occurrence: 0 })).not.toContain('secret')
  expect(webhookKey({ url, occurrence: 1 })).not.toBe(webhookKey({ url, occurrence: 0 }))
})
