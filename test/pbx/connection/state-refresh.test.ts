import { expect, test } from 'bun:test'
import { createLog } from '../../../src/lib/log.ts'
import { createStateRefresh } from '../../../src/pbx/connection/state-refresh.ts'
import { until } from '../../help/receiver.ts'

// A slow machine only makes the gaps longer: each test waits for the least one.

/** A timer may end this much early. */
const EARLY_MS = 2

test('while reasons do not end, the lists of phones and queues are requested less and less often', async () => {
  const beganMs: number[] = []
  const refresh = createStateRefresh({
    pbx: 'office',
    async request() {
      beganMs.push(performance.now())
      // A malformed event comes during each list.
      refresh.schedule()
    },
    feed() {},
    log: createLog('silent'),
    nowUs: () => 0,
    timeouts: { statesAgainMs: 20, doubtMaxMs: 160, inventoryMaxMs: 3_600_000 },
  })
  refresh.begin()
  await until('six requests', () => beganMs.length >= 6)
  refresh.stop()
  const gaps = beganMs.slice(1, 6).map((atMs, at) => atMs - (beganMs[at] ?? 0))
  const least = [40, 80, 160, 160, 160]
  expect(gaps.map((gap, at) => gap >= (least[at] ?? 0) - EARLY_MS)).toEqual(least.map(() => true))
})
