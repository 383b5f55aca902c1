import { expect, test } from 'bun:test'
import { OWNS_EVERYTHING } from '../../../src/cluster/ownership.ts'
import { type LoadedDelivery, newDelivery } from '../../../src/deliveries/queue/delivery.ts'
import { createOutcomeWriter, type OutcomeRecord } from '../../../src/deliveries/sending/outcome-writer.ts'
import type { StoredEvent } from '../../../src/store/operations/calls.ts'
import { until } from '../../help/receiver.ts'
import { LOG } from '../run/rig.ts'

const EVENT: StoredEvent = {
  id: 1,
  accountId: 1,
  uuid: 'event',
  callId: 'call',
  sequence: 1,
  atUs: 1,
  body: '{}',
  name: 'call_started',
  sinceSteadyUs: 1,
  deliveries: [],
}

const OUTCOME: OutcomeRecord = {
  state: 1,
  dueSteadyUs: null,
  endedUs: 2,
  atUs: 1,
  probe: false,
  status: 200,
  durationMs: 1,
  error: null,
  address: null,
  response: null,
}

const delivery = (id: number): LoadedDelivery => newDelivery(EVENT, { id, webhookId: 1 })

/** A writer on a store whose writes are ended by hand. */
function startWriter({ intervalMs = 0 } = {}) {
  const writes: { readonly ids: readonly number[]; end(): void }[] = []
  const recorded: { readonly ids: readonly number[]; readonly isFull: boolean }[] = []
  const writer = createOutcomeWriter({
    queue: {
      outcomeKeep: () => false,
      deliveryRecordOutcomes: ({ deliveryIds }) =>
        new Promise((resolve) => writes.push({ ids: [...deliveryIds], end: () => resolve([]) })),
    },
    flows: { flowRecord: async () => true },
    ownership: OWNS_EVERYTHING,
    log: LOG,
    intervalMs,
    onRecorded: (deliveries) => recorded.push({ ids: deliveries.map(({ id }) => id), isFull: writer.isFull() }),
  })
  return { writer, writes, recorded }
}

test('a recorded outcome frees its place before it is reported: attempts begin at once', async () => {
  const { writer, writes, recorded } = startWriter()
  for (let id = 1; !writer.isFull(); id += 1) writer.add(delivery(id), OUTCOME)
  await until('the batch is written', () => writes.length === 1)
  expect(writer.isFull()).toBe(true)
  writes[0]?.end()
  await until('it is reported', () => recorded.length === 1)
  expect(recorded[0]).toEqual({ ids: writes[0]?.ids ?? [], isFull: false })
})

test('one batch is written at a time, with all that came meanwhile', async () => {
  const { writer, writes, recorded } = startWriter()
  writer.add(delivery(1), OUTCOME)
  await until('the first is written', () => writes.length === 1)
  for (const id of [2, 3]) writer.add(delivery(id), OUTCOME)
  writes[0]?.end()
  await until('the others are written', () => writes.length === 2)
  writer.add(delivery(4), OUTCOME)
  const stopped = writer.stop()
  writes[1]?.end()
  await until('the last is written', () => writes.length === 3)
  writes[2]?.end()
  await stopped
  expect(writes.map(({ ids }) => ids)).toEqual([[1], [2, 3], [4]])
  expect(recorded.map(({ ids }) => ids)).toEqual([[1], [2, 3], [4]])
})

test('a few outcomes that come soon after a write wait for others, many and the last ones do not', async () => {
  const { writer, writes } = startWriter({ intervalMs: 3_600_000 })
  writer.add(delivery(1), OUTCOME)
  await until('the first is written', () => writes.length === 1)
  writes[0]?.end()
  writer.add(delivery(2), OUTCOME)
  await Bun.sleep(20)
  expect(writes).toHaveLength(1)
  for (let id = 3; id <= 65; id += 1) writer.add(delivery(id), OUTCOME)
  await until('they are enough', () => writes.length === 2)
  expect(writes[1]?.ids).toHaveLength(64)
  writes[1]?.end()
  writer.add(delivery(66), OUTCOME)
  const stopped = writer.stop()
  await until('the last is written', () => writes.length === 3)
  writes[2]?.end()
  await stopped
  expect(writes[2]?.ids).toEqual([66])
})

test('outcomes that waited long enough are written', async () => {
  const { writer, writes } = startWriter({ intervalMs: 5 })
  for (let id = 1; id <= 3; id += 1) {
    writer.add(delivery(id), OUTCOME)
    await until('it is written', () => writes.length === id)
    writes[id - 1]?.end()
  }
  await writer.stop()
  expect(writes.map(({ ids }) => ids)).toEqual([[1], [2], [3]])
})
