import { expect, test } from 'bun:test'
import { newClockSkew } from '../../src/cluster/clock-skew.ts'

const SECOND = 1_000_000

/** Makes the skew of a clock that shows a time, with what it logs. */
function skewOf(wallUs: number) {
  const lines: string[] = []
  const log = {
    warn: (_: unknown, text: string) => lines.push(text),
    info: (text: unknown) => lines.push(String(text)),
  }
  // The log's functions have more forms than these.
  const skew = newClockSkew(() => wallUs, log as unknown as Parameters<typeof newClockSkew>[1])
  return { skew, lines }
}

test.each([
  ['30 s ahead', 30, /^the clock of this machine is 30 s ahead of the database's/],
  ['30 s behind', -30, /^the clock of this machine is 30 s behind the database's/],
])('a clock that is %s is corrected to that of the database, and this is said once', (_, seconds, said) => {
  const databaseUs = 1_795_213_000 * SECOND
  const { skew, lines } = skewOf(databaseUs + seconds * SECOND)
  expect([skew.nowUs(), skew.aheadUs()]).toEqual([databaseUs + seconds * SECOND, null])
  for (const nowUs of [0, 1_000, 2_000]) skew.measured(databaseUs, { sentUs: nowUs, nowUs })
  expect([skew.nowUs(), skew.aheadUs()]).toEqual([databaseUs, seconds * SECOND])
  expect(lines).toEqual([expect.stringMatching(said)])
  skew.measured(databaseUs + seconds * SECOND, { sentUs: 0, nowUs: 0 })
  expect(lines).toHaveLength(2)
})

test('a difference of a second is left alone, and an answer that took long says nothing', () => {
  const databaseUs = 1_795_213_000 * SECOND
  const { skew, lines } = skewOf(databaseUs + SECOND)
  skew.measured(databaseUs, { sentUs: 0, nowUs: 0 })
  expect(skew.nowUs()).toBe(databaseUs + SECOND)
  skew.measured(databaseUs - 30 * SECOND, { sentUs: 0, nowUs: SECOND })
  expect([skew.nowUs(), lines]).toEqual([databaseUs + SECOND, []])
})
