import { expect, test } from 'bun:test'
import { OWNS_EVERYTHING } from '../../src/cluster/ownership.ts'
import { startStateIngest } from '../../src/states/ingest/state-ingest.ts'
import type { EndpointEntry, StateSignal } from '../../src/states/signal.ts'
import type { CallBatch, PlacedEvent } from '../../src/store/operations/calls.ts'
import { LOG } from '../deliveries/run/rig.ts'
import { until } from '../help/receiver.ts'
import { OWN, SECOND } from './board/rig.ts'

const START_US = 1_795_213_000_000_000

/**
 * Follows a queue of one agent, with a webhook that asks only for some kinds of event; `stored` collects its events.
 */
async function followed(asked: readonly string[]) {
  let nowUs = START_US
  let id = 0
  const stored: string[] = []
  const batchStore = async ({ parts }: CallBatch): Promise<PlacedEvent[]> =>
    parts.flatMap(({ events }) =>
      events.map(({ name }) => {
        if (!asked.includes(name)) return { id: null, webhookIds: [] }
        stored.push(name)
        id += 1
        return { id, webhookIds: [1] }
      }),
    )
  const ingest = await startStateIngest({
    ...OWN,
    pbx: 'office',
    accountIdOf: () => 1,
    calls: { batchStore, subjectStateList: async () => [] },
    ownership: OWNS_EVERYTHING,
    endpoints: () => undefined,
    onStored() {},
    log: LOG,
    nowUs: () => nowUs,
    steadyUs: () => nowUs,
  })
  const feed = (...signals: StateSignal[]): void => ingest.feed(signals)
  return {
    feed,
    stored,
    pass(seconds: number) {
      nowUs += seconds * SECOND
    },
    stop: ingest.stop,
  }
}

const agent = (state: 'available' | 'busy'): StateSignal => ({
  kind: 'member',
  queue: 'sales',
  member: 'PJSIP/101',
  endpoint: 'PJSIP/101',
  extension: '101',
  state,
  reason: null,
  atUs: START_US,
})

test('a change that a webhook asks for is stored at once after changes that none asks for', async () => {
  const { feed, stored, pass, stop } = await followed(['agent_changed'])
  feed({ kind: 'connected', atUs: START_US }, { kind: 'listed', atUs: START_US }, agent('available'))
  for (const state of ['busy', 'available', 'busy'] as const) {
    pass(2)
    const before = stored.length
    feed(agent(state))
    // The store is called within a few turns: the flush each second has not come.
    await turns(5)
    expect(stored.length - before).toBe(1)
    pass(2)
    feed({ kind: 'caller', queue: 'sales', caller: state, sinceUs: START_US, atUs: START_US })
    await turns(5)
  }
  await stop()
})

const PHONES = Array.from({ length: 5_000 }, (_, at) => `${100_000 + at}`)
const entries = PHONES.map(
  (key): EndpointEntry => ({ endpoint: `PJSIP/${key}`, kind: 'phone', key, name: null, tenant: null }),
)
const contacts = (state: 'reachable' | 'unreachable'): StateSignal[] =>
  entries.map(({ endpoint }) => ({ kind: 'contact', endpoint, contact: 'a', state, atUs: START_US }))

/** Follows 5,000 phones that are registered. `batches` collects what is stored. */
async function manyPhones() {
  let nowUs = START_US
  let given: readonly EndpointEntry[] | undefined = entries
  const batches: { events: string[]; subjects: string[] }[] = []
  const ingest = await startStateIngest({
    ...OWN,
    pbx: 'office',
    accountIdOf: () => 1,
    calls: {
      async batchStore({ parts, subjects = [] }: CallBatch) {
        const events = parts.flatMap((part) => part.events.map(({ callId }) => callId))
        batches.push({ events, subjects: subjects.map(({ id }) => `${id}@office`) })
        return events.map((_, at) => ({ id: at + 1, webhookIds: [1] }))
      },
      subjectStateList: async () => [],
    },
    ownership: OWNS_EVERYTHING,
    endpoints() {
      const taken = given
      given = undefined
      return taken
    },
    onStored() {},
    log: LOG,
    nowUs: () => nowUs,
    steadyUs: () => nowUs,
  })
  const present = () => [...ingest.presentOf(() => true)]
  ingest.feed([{ kind: 'connected', atUs: nowUs }, ...contacts('reachable'), { kind: 'listed', atUs: nowUs }])
  return {
    ingest,
    batches,
    present,
    pass(seconds: number) {
      nowUs += seconds * SECOND
    },
  }
}

test('thousands of phones are listed in turns with other work, and shown when all of them are', async () => {
  const { ingest, present } = await manyPhones()
  const seen = new Set<number>()
  let turn = 0
  for (; present().length < PHONES.length; turn += 1) {
    seen.add(present().length)
    await turns(1)
  }
  expect(turn).toBeGreaterThan(1)
  expect([...seen]).toEqual([0])
  await ingest.stop()
})

test('what follows a signal of all phones is applied after it, in order', async () => {
  const { ingest, present } = await manyPhones()
  const last = entries.at(-1)?.endpoint ?? ''
  const device = (state: 'ringing' | 'in_use') =>
    ingest.feed([{ kind: 'device', endpoint: last, device: state, atUs: START_US }])
  device('ringing')
  device('in_use')
  expect(present()).toEqual([])
  const shown = () => present().find(({ state }) => 'extension' in state && state.extension === PHONES.at(-1))
  await until('the last phone is in use', () => {
    const one = shown()
    return one?.kind === 'phone' && one.state.device === 'in_use'
  })
  await ingest.stop()
})

test('the changes of thousands of phones are stored in small batches, each phone once, its state with its change', async () => {
  const { ingest, batches, present, pass } = await manyPhones()
  await until('all are listed', () => present().length === PHONES.length)
  ingest.feed(contacts('unreachable'))
  await until('all are known to be unreachable', () =>
    present().every(({ state }) => 'state' in state && state.state === 'unreachable'),
  )
  pass(6)
  // The timer that was set is of the clock of this machine.
  ingest.feed(contacts('unreachable').slice(0, 1))
  const count = () => batches.reduce((sum, { events }) => sum + events.length, 0)
  await until('all are stored', () => count() >= PHONES.length)
  await ingest.stop()
  const stored = batches.flatMap(({ events }) => events)
  expect(stored).toHaveLength(PHONES.length)
  expect(new Set(stored).size).toBe(PHONES.length)
  for (const { events, subjects } of batches) {
    expect(events.length).toBeLessThanOrEqual(256)
    expect(subjects.length).toBeLessThanOrEqual(256)
    expect(new Set(subjects).isSupersetOf(new Set(events))).toBe(true)
  }
})

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => void setImmediate(resolve))
}
