import { expect, test } from 'bun:test'
import { createGrowingPause } from '../../../src/pbx/connection/growing-pause.ts'
import { createResync } from '../../../src/pbx/connection/resync.ts'
import { until } from '../../help/receiver.ts'

/** A PBX that is asked for its channels; `missing` says whether a known channel was missing from the list. */
function start(missing: (lists: number) => boolean) {
  let lists = 0
  const list = async (): Promise<boolean> => {
    lists += 1
    return true
  }
  const resync = createResync({
    snapshot: list,
    isAnyMissing: () => missing(lists),
    timeouts: { snapshotAgainMs: 1, resyncMs: 1, doubtMaxMs: 1, silentCheckMs: 3_600_000 },
  })
  return { resync, lists: () => lists }
}

test('the channels are requested twice', async () => {
  const { resync, lists } = start(() => false)
  await resync.first()
  await until('the second list', () => lists() === 2)
  resync.stop()
})

test('while something is missing it is asked on, and no longer', async () => {
  const compared: number[] = []
  const { resync, lists } = start((count) => {
    compared.push(count)
    return count < 6
  })
  await resync.first()
  await until('nothing is missing', () => compared.includes(6))
  expect(compared).toEqual([2, 4, 6])
  expect(lists()).toBe(6)
  expect(resync.request()).toBe(true)
  await until('a new reason', () => lists() === 8)
  resync.stop()
})

test('a call of which nothing was heard for long is looked for', async () => {
  let lists = 0
  let isAnySilent = false
  const resync = createResync({
    snapshot: async () => {
      lists += 1
      return true
    },
    isAnySilent: () => isAnySilent,
    timeouts: { snapshotAgainMs: 1, resyncMs: 1, doubtMaxMs: 1, silentCheckMs: 1 },
  })
  await resync.first()
  await until('the second list', () => lists === 2)
  isAnySilent = true
  await until('lists for it', () => lists >= 4)
  resync.stop()
})

test('while a reason follows the other the lists come less and less often, then as before', () => {
  const pause = createGrowingPause(5, 60)
  expect([true, true, true, true, true].map((isAgain) => pause.next(isAgain))).toEqual([10, 20, 40, 60, 60])
  expect([false, true].map((isAgain) => pause.next(isAgain))).toEqual([5, 10])
  // Pauses of a test may be longer than the most that is usual.
  expect(createGrowingPause(100, 60).next(true)).toBe(100)
})

test('while reasons do not end, the channels are requested less and less often', async () => {
  const beganMs: number[] = []
  const resync = createResync({
    async snapshot() {
      beganMs.push(performance.now())
      // A malformed event comes during each list.
      resync.request()
      return true
    },
    timeouts: { snapshotAgainMs: 1, resyncMs: 20, doubtMaxMs: 80, silentCheckMs: 3_600_000 },
  })
  await resync.first()
  await until('five pairs of lists', () => beganMs.length >= 10)
  resync.stop()
  // Lists come in pairs. A slow machine only makes the gaps longer, and a timer may end 2 ms early.
  const gaps = [1, 3, 5, 7].map((at) => (beganMs[at + 1] ?? 0) - (beganMs[at] ?? 0))
  const least = [20, 40, 80, 80]
  expect(gaps.map((gap, at) => gap >= (least[at] ?? 0) - 2)).toEqual(least.map(() => true))
})
