import { afterAll, describe, expect } from 'bun:test'
import { forSwitches } from '../../../src/events/kinds.ts'
import { SECOND } from '../../../src/lib/time.ts'
import type { NewEvent, StoredEvent } from '../../../src/store/operations/calls.ts'
import { stateNumber } from '../../../src/store/operations/delivery-state.ts'
import type { OutcomeBatch, PendingDelivery } from '../../../src/store/operations/queue.ts'
import type { WebhookEntry } from '../../../src/store/operations/webhooks.ts'
import type { Store } from '../../../src/store/store.ts'
import { storeEvents } from '../../help/store.ts'
import { wholeLog } from '../../help/whole-log.ts'
import { ENGINES, type GroupName, type TestStore, watchOperations } from '../engines.ts'

// Every operation of the interface, on every engine: its result, its changes, and the data that it leaves alone.

export const ACCOUNT = 1
export const NOW = 1_795_213_000 * SECOND
export const HOUR = 3_600 * SECOND
export const [ONE, TWO] = ['https://one.example/', 'https://two.example/']

export const entry = (url: string, off: Partial<WebhookEntry> = {}): WebhookEntry => ({
  url,
  ...forSwitches(() => true),
  ...off,
})

export const user = (email: string, account = 'default') => ({
  account,
  type: 1,
  name: 'A',
  email,
  passwordHash: `hash of ${email}`,
  atUs: NOW,
})

let events = 0
export const event = (callId = 'call', more: Partial<NewEvent> = {}): NewEvent => {
  events += 1
  const data = { name: 'call_started', call: { id: callId } }
  return {
    uuid: `event ${events}`,
    callId,
    name: 'call_started',
    sequence: 1,
    atUs: NOW,
    body: JSON.stringify({ data }),
    ...more,
  }
}

type Outcome = {
  state: 'pending' | 'delivered' | 'failed'
  generation?: number
  dueSteadyUs?: number
  probe?: boolean
  attemptUs?: number
  response?: string
}

/** Returns the outcomes of one attempt at each of these deliveries. */
export function outcomes(ids: readonly number[], outcome: Outcome): OutcomeBatch {
  const {
    state,
    generation = 1,
    dueSteadyUs = null,
    probe = false,
    attemptUs = NOW + SECOND,
    response = 'ok',
  } = outcome
  const each = <Value>(value: Value): Value[] => ids.map(() => value)
  return {
    deliveryIds: ids,
    generations: each(generation),
    states: each(stateNumber(state)),
    tries: each(1),
    attemptsMade: each(1),
    dueSteadyUs: each(dueSteadyUs),
    endedUs: each(state === 'pending' ? null : attemptUs),
    attemptUs: each(attemptUs),
    probes: each(probe),
    statuses: each(state === 'delivered' ? 200 : 500),
    durationsMs: each(7),
    errors: each(null),
    addresses: each('192.0.2.1'),
    responses: each(response),
  }
}

export const idsOf = (stored: readonly StoredEvent[]) =>
  stored.flatMap(({ deliveries }) => deliveries.map(({ id }) => id))

/** A saved call. */
export const savedCall = (id: string, savedUs = NOW, more: object = {}) => ({
  id,
  savedUs,
  direction: 'inbound' as const,
  fromNumber: '15551230001',
  toNumber: '101',
  record: JSON.stringify({ call: { id, from: { number: '15551230001' } } }),
  ...more,
})

/** Wraps an opened store in the functions that the tests need. */
function rigOf(store: Store, { another, [Symbol.asyncDispose]: dispose }: TestStore) {
  const webhookId = async (url = ONE) => (await store.webhooks.webhookGetByUrl(ACCOUNT, url))?.id ?? 0
  return {
    store,
    another,
    webhookId,
    setList: (list: readonly WebhookEntry[], ifMatch: string | null = null, nowUs = NOW) =>
      store.webhooks.listReplace({
        accountId: ACCOUNT,
        list,
        ifMatch,
        nowUs,
        secrets: list.map(({ url }) => `whsec_${url}`),
      }),
    put: (...some: NewEvent[]) => storeEvents(store, some, { nowSteadyUs: NOW }),
    untried: async (url = ONE, afterId = 0, limit = 100): Promise<PendingDelivery[]> =>
      store.queue.deliveryGetUntried({ webhookId: await webhookId(url), afterId, limit }),
    async states() {
      const rows = await wholeLog(store.log, { accountId: ACCOUNT })
      return rows.toReversed().map(({ state }) => state)
    },
    [Symbol.asyncDispose]: dispose,
  }
}

/** Opens a store with some URLs in the list of the default account. */
type Open = (...urls: string[]) => Promise<ReturnType<typeof rigOf>>

/** Runs the tests of a group on every engine. They fail if they do not call an operation of the group. */
export function onEngines(group: GroupName, tests: (at: { open: Open; engine: string }) => void): void {
  for (const engine of ENGINES)
    describe.skipIf(engine.missing !== undefined)(engine.missing ?? engine.name, () => {
      const called = new Set<string>()
      let operations: string[] = []
      async function open(...urls: string[]) {
        const opened = await engine.open()
        operations = Object.keys(opened.store[group])
        const at = rigOf(watchOperations(opened.store, group, called), opened)
        if (urls.length > 0) await at.setList(urls.map((url) => entry(url)))
        return at
      }
      tests({ open, engine: engine.name })
      afterAll(() => {
        // An engine may get an operation wrong that no test uses.
        expect(operations.filter((name) => !called.has(name))).toEqual([])
      })
    })
}
