import { expect, test } from 'bun:test'
import { DEFAULT_SCHEDULE_MS, type NextStep, nextStep } from '../../../src/deliveries/queue/retry-policy.ts'
import { SECOND } from '../../../src/lib/time.ts'
import { type Outcome, parseRetryAfter } from '../../../src/outbound/outcome.ts'

const NOW = Date.UTC(2026, 10, 20) * 1_000
const after = (seconds: number): NextStep => ({ state: 'pending', dueUs: NOW + seconds * SECOND })
const refused = (status: number, retryAfterMs?: number): Outcome => ({
  kind: 'refused',
  status,
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
})
const timeout: Outcome = { kind: 'unreachable', reason: 'no answer within 10 s' }

const MIDDLE: readonly (readonly [string, number, Outcome, NextStep])[] = [
  ['a 204 is delivered', 1, { kind: 'delivered', status: 204 }, { state: 'delivered' }],
  ['a 500 is tried again after 5 s', 1, refused(500), after(5)],
  ['a 302 is not followed but tried again', 1, refused(302), after(5)],
  ['the second failure waits 30 s', 2, timeout, after(30)],
  ['the third waits 2 min', 3, timeout, after(120)],
  ['the fourth waits 10 min', 4, timeout, after(600)],
  ['the fifth waits 30 min', 5, timeout, after(1_800)],
  ['the sixth waits 1 h', 6, timeout, after(3_600)],
  ['the seventh waits 2 h', 7, timeout, after(7_200)],
  ['the eighth waits 4 h', 8, timeout, after(14_400)],
  ['the ninth waits 8 h', 9, timeout, after(28_800)],
  ['the tenth waits 16 h', 10, timeout, after(57_600)],
  ['the eleventh failure is the last', 11, timeout, { state: 'failed' }],
  ['410 fails at once', 1, refused(410), { state: 'failed' }],
  ['Retry-After later than the schedule wins', 1, refused(429, 60_000), after(60)],
  ['Retry-After sooner than the schedule does not', 3, refused(503, 1_000), after(120)],
  ['Retry-After is honoured up to 1 hour', 1, refused(503, 86_400_000), after(3_600)],
]

test.each(MIDDLE)('%s', (_, tries, outcome, expected) => {
  expect(nextStep(tries, outcome, { nowUs: NOW, random: 0.5, scheduleMs: DEFAULT_SCHEDULE_MS })).toEqual(expected)
})

test.each([
  ['10% sooner at the least', 0, 4.5],
  ['10% later at the most', 1, 5.5],
])('the jitter is %s', (_, random, seconds) => {
  expect(nextStep(1, timeout, { nowUs: NOW, random, scheduleMs: DEFAULT_SCHEDULE_MS })).toEqual(after(seconds))
})

test.each([
  ['seconds', '120', 120_000],
  ['more seconds than anybody waits', '99999999999', 99_999_999_999_000],
  ['a date', 'Fri, 20 Nov 2026 00:00:30 GMT', 30_000],
  ['a date that has gone by', 'Thu, 19 Nov 2026 00:00:00 GMT', 0],
  ['nonsense', 'soon', undefined],
  ['nothing', null, undefined],
])('Retry-After may be %s', (_, value, expected) => {
  expect(parseRetryAfter(value, NOW)).toBe(expected)
})
