import { expect, test } from 'bun:test'
import { nowUs, parseTime, rfc3339 } from '../../src/lib/time.ts'
import { seededRandom } from '../help/seed.ts'

test.each([
  ['microseconds are kept', '2026-11-20T21:42:00.123456Z', '2026-11-20T21:42:00.123456Z'],
  ['what is finer is cut off', '2026-11-20T21:42:00.123456789Z', '2026-11-20T21:42:00.123456Z'],
  ['tenths are tenths', '2026-11-20T21:42:00.5Z', '2026-11-20T21:42:00.500000Z'],
  ['an offset is heeded', '2026-11-20T21:42:00.25+02:00', '2026-11-20T19:42:00.250000Z'],
  ['the letters may be small', '2026-11-20t21:42:00z', '2026-11-20T21:42:00.000000Z'],
  ['a time without a zone is none: it would be another one on each machine', '2026-11-20T21:42:00', undefined],
  ['a date alone is none', '2026-11-20', undefined],
  ['a time without seconds is none', '2026-11-20T21:42Z', undefined],
  ['the words of a browser are none', 'Fri, 20 Nov 2026 21:42:00 GMT', undefined],
  ['the 30th of February is none', '2026-02-30T00:00:00Z', undefined],
  ['an offset of 25 hours is none', '2026-11-20T21:42:00+25:00', undefined],
  ['a leap second is the second before it', '2016-12-31T23:59:60Z', '2016-12-31T23:59:59.000000Z'],
  ['a word is none', 'yesterday', undefined],
  ['an hour 25 is none', '2026-11-20T25:00:00Z', undefined],
] as const)('a time is read: %s', (_, text, expected) => {
  const atUs = parseTime(text)
  expect(atUs === undefined ? undefined : rfc3339(atUs)).toBe(expected)
})

test('every time that is written is read, and in no other zone', () => {
  const random = seededRandom(5)
  for (let n = 0; n < 500; n += 1) {
    const atUs = random.int(4_000_000_000) * 1_000_000 + random.int(1_000_000)
    expect(parseTime(rfc3339(atUs))).toBe(atUs)
    expect(parseTime(rfc3339(atUs).slice(0, -1))).toBeUndefined()
    expect(parseTime(rfc3339(atUs).replace('Z', '+01:30'))).toBe(atUs - 5_400_000_000)
  }
})

test('the wall clock goes on within each millisecond and from one to the next, and agrees with the system', () => {
  const times: number[] = []
  for (const beganMs = Date.now(); Date.now() < beganMs + 50; ) times.push(nowUs())
  expect(times.findIndex((atUs, at) => atUs < (times[at - 1] ?? 0))).toBe(-1)
  const before = Date.now()
  const atMs = nowUs() / 1_000
  expect(atMs).toBeGreaterThanOrEqual(before)
  expect(atMs).toBeLessThan(Date.now() + 2)
})
