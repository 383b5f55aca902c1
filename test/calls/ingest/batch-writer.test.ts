import { expect, test } from 'bun:test'
import { createBatchWriter } from '../../../src/calls/ingest/batch-writer.ts'
import { Fault } from '../../../src/lib/fault.ts'
import { createLog } from '../../../src/lib/log.ts'
import type { CallBatch, PlacedEvent } from '../../../src/store/operations/calls.ts'
import { type Fence, LeaseLost } from '../../../src/store/operations/cluster.ts'

const LEASE = 'pbx:office'
const batch = (nowSteadyUs: number): CallBatch => ({ pbx: 'office', parts: [], live: [], removed: [], nowSteadyUs })

/** A store that knows the present term of the lease, and a node that believes in one. */
function rig(believed: string | undefined) {
  const world = { term: 'first' as string | undefined, believed, isAway: false }
  const stored: number[] = []
  const ownership = {
    fenceOf(lease: string): Fence {
      if (world.believed === undefined) throw new LeaseLost(lease)
      return { leaseNames: [lease], terms: [world.believed] }
    },
  }
  const calls = {
    async batchStore({ nowSteadyUs }: CallBatch, fence?: Fence): Promise<PlacedEvent[]> {
      if (world.isAway) throw new Fault('unavailable', 'the database is away')
      if (fence?.terms[0] !== world.term) throw new LeaseLost(LEASE)
      stored.push(nowSteadyUs)
      return []
    },
  }
  const log = createLog('silent')
  return { world, stored, writer: createBatchWriter({ calls, ownership, pbx: 'office', log }) }
}

test('a node that lost the PBX and got it back stores nothing more of the time before', async () => {
  const { world, stored, writer } = rig('first')
  expect(await writer.store(batch(1))).toEqual([])
  // Another node took it over, and gave it back before this node has stopped its work.
  world.term = 'third'
  expect(await writer.store(batch(2))).toBeUndefined()
  world.believed = 'third'
  expect(await writer.store(batch(3))).toBeUndefined()
  expect(stored).toEqual([1])
})

test('a new term that the node learned first ends the work too', async () => {
  const { world, stored, writer } = rig('first')
  world.term = 'third'
  world.believed = 'third'
  expect(await writer.store(batch(1))).toBeUndefined()
  world.believed = 'first'
  world.term = 'first'
  expect(await writer.store(batch(2))).toBeUndefined()
  expect(stored).toEqual([])
})

test('a node that does not own the PBX when its work begins stores nothing', async () => {
  const { world, stored, writer } = rig(undefined)
  world.believed = 'first'
  expect(await writer.store(batch(1))).toBeUndefined()
  expect(stored).toEqual([])
})

test('after a batch that was lost because the store was away to the end, no later one is stored', async () => {
  const { world, stored, writer } = rig('first')
  writer.stop()
  world.isAway = true
  expect(await writer.store(batch(1))).toBeUndefined()
  world.isAway = false
  expect(await writer.store(batch(2))).toBeUndefined()
  expect(stored).toEqual([])
})
