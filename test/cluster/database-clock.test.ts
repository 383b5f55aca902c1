import { expect, test } from 'bun:test'
import { newClockSkew, newDatabaseClock } from '../../src/cluster/database-clock.ts'

const SECOND = 1_000_000

function clockAt(databaseUs: number) {
  let elapsedUs = 0
  const clock = newDatabaseClock(() => elapsedUs, { databaseUs, sentUs: 0, nowUs: 0 })
  return {
    ...clock,
    pass: (us: number) => {
      elapsedUs += us
    },
    /** Asks the database: it takes `tookUs` to answer, and reports its clock in the middle of that time. */
    ask(databaseUs: number, tookUs = 0): void {
      elapsedUs += tookUs
      clock.measured(databaseUs, { sentUs: elapsedUs - tookUs, nowUs: elapsedUs })
    },
  }
}

test('it is the time of the database, and goes on by itself', () => {
  const clock = clockAt(1_000 * SECOND)
  expect(clock.steadyUs()).toBe(1_000 * SECOND)
  clock.pass(5 * SECOND)
  expect(clock.steadyUs()).toBe(1_005 * SECOND)
})

test('a measurement that took long changes nothing that it does not prove wrong', () => {
  const clock = clockAt(0)
  clock.pass(SECOND)
  clock.ask(SECOND, 2 * SECOND)
  expect(clock.steadyUs()).toBe(3 * SECOND)
})

test('a drift is followed', () => {
  const clock = clockAt(0)
  let databaseUs = 0
  for (let second = 0; second < 1_000; second++) {
    clock.pass(SECOND)
    databaseUs += SECOND * 1.001
    clock.ask(databaseUs)
  }
  expect(Math.abs(clock.steadyUs() - databaseUs)).toBeLessThan(2_000)
})

test.each([-3_600, 3_600])('a clock of the database that is set by %i s is followed by 1 %, and never back', (setS) => {
  const clock = clockAt(10_000 * SECOND)
  let before = clock.steadyUs()
  for (let second = 1; second <= 100; second++) {
    clock.pass(SECOND)
    clock.ask((10_000 + setS + second) * SECOND)
    expect(clock.steadyUs()).toBeGreaterThanOrEqual(before)
    before = clock.steadyUs()
  }
  expect((before - 10_100 * SECOND) / SECOND).toBeCloseTo(Math.sign(setS), 3)
})

/** Makes the skew of a clock that shows `wallUs`; `lines` collects its log. */
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
])("a clock that is %s is corrected to the database's clock, and this is logged once", (_, seconds, said) => {
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
