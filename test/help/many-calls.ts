import { forSwitches } from '../../src/events/kinds.ts'
import { SECOND } from '../../src/lib/time.ts'
import type { NewEvent, SavedCall } from '../../src/store/operations/calls.ts'
import { stateNumber } from '../../src/store/operations/delivery-state.ts'
import type { OutcomeBatch } from '../../src/store/operations/queue.ts'
import type { Store } from '../../src/store/store.ts'
import { createRandom } from './random.ts'
import { storeEvents } from './store.ts'

/** The account whose calls have deliveries, and one whose events no webhook gets. */
export const ACCOUNT = 1
export const FIRST_US = 1_795_213_000 * SECOND
/** The time from one call to the next: 20,000 calls take four weeks. */
export const STEP_US = 120 * SECOND

/** `ALL` gets nearly all events, `RARE` one kind, and `LEFT` has left its list. */
export const ALL = 'https://all.example/'
export const RARE = 'https://rare.example/'
export const LEFT = 'https://left.example/'

/** Calls of each batch: one commit of the store. */
const BATCH = 250
/** Every call of this many has a rare event. */
export const RARE_EVERY = 250

export const callIdOf = (call: number): string =>
  `01a1f900-0000-7000-8000-${((call * 2_654_435_761) % 2 ** 40).toString(16).padStart(12, '0')}`

/**
 * Fills a store with calls of a month: the same ones each time, in every engine. Their deliveries are delivered,
 * failed, cancelled, tried and untried; every third call has an event without deliveries, and so has another account.
 */
export async function storeManyCalls(store: Store, calls: number): Promise<void> {
  const random = createRandom(41)
  await store.accounts.userCreate({
    account: 'other',
    type: 1,
    name: 'O',
    email: 'o@example.com',
    passwordHash: 'x',
    atUs: FIRST_US,
  })
  const other = (await store.accounts.accountGetId('other')) ?? 0
  await setList(store, [ALL, RARE, LEFT])
  for (let first = 0; first < calls; first += BATCH) {
    const numbers = Array.from({ length: Math.min(BATCH, calls - first) }, (_, at) => first + at)
    const nowSteadyUs = FIRST_US + first * STEP_US
    const stored = await storeEvents(store, numbers.flatMap(eventsOf), { accountId: ACCOUNT, nowSteadyUs })
    const parts = [{ accountId: ACCOUNT, events: [], saved: numbers.map(savedOf) }]
    await store.calls.batchStore({ pbx: 'office', parts, live: [], removed: [], nowSteadyUs })
    await storeEvents(store, numbers.slice(0, 40).map(foreignEvent), { accountId: other, nowSteadyUs })
    const endings = stored.flatMap(({ deliveries }) => deliveries.map(({ id }) => ({ id, draw: random.next() })))
    const of = (from: number, to: number) => endings.filter(({ draw }) => draw >= from && draw < to).map(({ id }) => id)
    const write = (batch: OutcomeBatch) => store.queue.deliveryRecordOutcomes(batch)
    await write(outcomesOf(of(0, 0.9), 'delivered', nowSteadyUs + SECOND))
    await write(outcomesOf(of(0.9, 0.92), 'failed', nowSteadyUs + SECOND))
    await write(outcomesOf(of(0.92, 0.94), 'pending', nowSteadyUs + SECOND))
  }
  const left = (await store.webhooks.webhookGetByUrl(ACCOUNT, LEFT))?.id ?? 0
  await setList(store, [ALL, RARE])
  const step = { webhookId: left, nowUs: FIRST_US + calls * STEP_US, limit: 1_000 }
  while ((await store.queue.deliveryCancelUnlisted(step)).length > 0);
}

async function setList(store: Store, urls: readonly string[]): Promise<void> {
  const switches = (url: string) => forSwitches((name) => (url === ALL ? name !== 'dial_ended' : name === 'call_saved'))
  await store.webhooks.listReplace({
    accountId: ACCOUNT,
    list: urls.map((url) => ({
      url,
      ...switches(url),
      ...(url === LEFT && forSwitches((name) => name === 'call_ended')),
    })),
    ifMatch: null,
    nowUs: FIRST_US,
    secrets: urls.map((url) => `whsec_${url}`),
  })
}

const eventOf = (call: number, name: NewEvent['name'], sequence: number): NewEvent => ({
  uuid: `${name} ${call}`,
  callId: callIdOf(call),
  name,
  sequence,
  atUs: FIRST_US + call * STEP_US,
  body: JSON.stringify({ data: { name, call: { id: callIdOf(call) } }, padding: 'x'.repeat(200) }),
})

const eventsOf = (call: number): NewEvent[] => [
  eventOf(call, 'call_started', 1),
  eventOf(call, 'call_ended', 2),
  ...(call % 3 === 0 ? [eventOf(call, 'dial_ended', 3)] : []),
  ...(call % RARE_EVERY === 7 ? [eventOf(call, 'call_saved', 4)] : []),
]

const foreignEvent = (call: number): NewEvent => ({
  ...eventOf(call, 'call_started', 1),
  uuid: `foreign ${call}`,
  callId: `f${callIdOf(call).slice(1)}`,
})

const savedOf = (call: number): SavedCall => ({
  id: callIdOf(call),
  savedUs: FIRST_US + call * STEP_US,
  direction: call % 2 === 0 ? 'inbound' : 'outbound',
  fromNumber: `1555${call % 1_000}`,
  toNumber: `10${call % 10}`,
  record: JSON.stringify({ call: { id: callIdOf(call) } }),
})

function outcomesOf(ids: readonly number[], state: 'delivered' | 'failed' | 'pending', atUs: number): OutcomeBatch {
  const each = <Value>(value: Value): Value[] => ids.map(() => value)
  return {
    deliveryIds: ids,
    generations: each(1),
    states: each(stateNumber(state)),
    tries: each(1),
    attemptsMade: each(1),
    dueSteadyUs: each(state === 'pending' ? atUs : null),
    endedUs: each(state === 'pending' ? null : atUs),
    attemptUs: each(atUs),
    probes: each(false),
    statuses: each(state === 'delivered' ? 200 : 500),
    durationsMs: each(7),
    errors: each(null),
    addresses: each(null),
    responses: each('ok'),
  }
}
