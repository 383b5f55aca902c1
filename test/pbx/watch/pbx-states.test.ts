import { expect, test } from 'bun:test'
import { type Ownership, pbxLease } from '../../../src/cluster/ownership.ts'
import { createLog } from '../../../src/lib/log.ts'
import { startPbxStates } from '../../../src/pbx/watch/pbx-states.ts'
import { type Fence, LeaseLost } from '../../../src/store/operations/cluster.ts'
import type { PbxStateRecord, PbxStore } from '../../../src/store/operations/pbxs.ts'
import { until } from '../../help/receiver.ts'

/** A node that watches 50 PBXs, one of which another node has taken over without its knowledge. */
const NAMES = Array.from({ length: 50 }, (_, at) => `pbx${at}`)

test('the states of all PBXs are stored with one statement; a lease that was lost keeps none of the others back', async () => {
  const writes: { readonly names: readonly string[]; readonly fence: Fence | undefined }[] = []
  let taken: string | undefined
  let nowUs = 1_000_000_000
  const pbxs: Pick<PbxStore, 'pbxStateSetMany' | 'pbxStateList'> = {
    async pbxStateSetMany(states: readonly PbxStateRecord[], fence) {
      if (taken !== undefined && fence?.leaseNames.includes(pbxLease(taken))) throw new LeaseLost(pbxLease(taken))
      writes.push({ names: states.map(({ pbx }) => pbx), fence })
    },
    pbxStateList: async () => [],
  }
  const ownership = {
    isShared: true,
    fenceOf: (lease: string): Fence => ({ leaseNames: [lease], terms: ['1'] }),
  }
  const watch = {
    status: () =>
      NAMES.map((name) => ({
        name,
        state: 'up',
        sinceUs: 1,
        lastError: null,
        eventsPerSecond: 0,
        callsNotFollowed: { now: 0 },
      })),
    callCounts: () => new Map(),
  }
  const states = startPbxStates({
    watch: watch as never,
    store: { pbxs: pbxs as PbxStore },
    ownership: ownership as unknown as Ownership,
    steadyUs: () => nowUs,
    log: createLog('silent'),
  })
  await until('they are stored', () => writes.length > 0)
  expect(writes[0]?.names).toEqual(NAMES)
  expect(writes[0]?.fence?.leaseNames).toEqual(NAMES.map(pbxLease))
  taken = 'pbx7'
  nowUs += 5_000_000
  await until('they are confirmed', () => writes.length > 1)
  await states.stop()
  expect(writes).toHaveLength(2)
  expect(writes[1]?.names).toEqual(NAMES.filter((name) => name !== 'pbx7'))
})
