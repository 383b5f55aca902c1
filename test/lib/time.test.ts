import { expect, test } from 'bun:test'
import { parseTime, rfc3339 } from '../../src/lib/time.ts'

test.each([
  ['microseconds are kept', '2026-11-20T21:42:00.123456Z', '2026-11-20T21:42:00.123456Z'],
  ['what is finer is cut off', '2026-11-20T21:42:00.123456789Z', '2026-11-20T21:42:00.123456Z'],
  ['tenths are tenths', '2026-11-20T21:42:00.5Z', '2026-11-20T21:42:00.500000Z'],
  ['an offset is heeded', '2026-11-20T21:42:00.25+02:00', '2026-11-20T19:42:00.250000Z'],
  ['a date is its first moment', '2026-11-20', '2026-11-20T00:00:00.000000Z'],
  ['a leap second is the second before it', '2016-12-31T23:59:60Z', '2016-12-31T23:59:59.000000Z'],
  ['a word is none', 'yesterday', undefined],
  ['an hour 25 is none', '2026-11-20T25:00:00Z', undefined],
] as const)('a time is read: %s', (_, text, expected) => {
  const atUs = parseTime(text)
  expect(atUs === undefined ? undefined : rfc3339(atUs)).toBe(expected)
})
