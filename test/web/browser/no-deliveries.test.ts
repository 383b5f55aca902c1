import { expect, test } from 'bun:test'
import { describeNoDeliveries } from '../../../src/web/browser/lib/no-deliveries.ts'

const healthy = { paused: false, down_since: null }

test.each([
  ['an account without webhooks', [], 0, 'there is no webhook yet'],
  ['an event of this moment', [healthy], 0, 'nothing sent yet'],
  ['an older event without an attempt', [healthy], 60_000, 'no webhook gets this event'],
  [
    'a webhook that is paused',
    [healthy, { paused: true, down_since: null }],
    60_000,
    'nothing sent yet: a webhook is paused or down',
  ],
] as const)('%s', (_, webhooks, ageMs, text) => {
  expect(describeNoDeliveries(webhooks, ageMs)).toBe(text)
})
