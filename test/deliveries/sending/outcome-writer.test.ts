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
function startWriter() {
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
