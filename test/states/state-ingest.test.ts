import { expect, test } from 'bun:test'
import { OWNS_EVERYTHING } from '../../src/cluster/ownership.ts'
import { startStateIngest } from '../../src/states/ingest/state-ingest.ts'
import type { StateSignal } from '../../src/states/signal.ts'
import type { CallBatch, PlacedEvent } from '../../src/store/operations/calls.ts'
import { LOG } from '../deliveries/run/rig.ts'
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
    // The store is called within this turn: the flush each second has not come.
    for (let turn = 0; turn < 50; turn += 1) await Promise.resolve()
    expect(stored.length - before).toBe(1)
    pass(2)
    feed({ kind: 'caller', queue: 'sales', caller: state, sinceUs: START_US, atUs: START_US })
    for (let turn = 0; turn < 50; turn += 1) await Promise.resolve()
  }
  await stop()
})
