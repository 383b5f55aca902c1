import { expect, test } from 'bun:test'
import { OWNS_EVERYTHING } from '../../../src/cluster/ownership.ts'
import { startRefusalWatch } from '../../../src/deliveries/run/refusal-watch.ts'
import { type Observer, silent } from '../../../src/deliveries/sending/observer.ts'
import { createLog } from '../../../src/lib/log.ts'
import { nowUs } from '../../../src/lib/time.ts'
import type { Outcome } from '../../../src/outbound/outcome.ts'
import type { Store } from '../../../src/store/store.ts'
import { memoryOutages } from '../../help/outages.ts'
import { startReceiver, until } from '../../help/receiver.ts'
import { newRig } from './rig.ts'

type Watching = Pick<Store, 'outages' | 'log'> & { readonly webhooks: Pick<Store['webhooks'], 'webhookGetMany'> }

/** Starts a watch, and collects what it reports. */
function startWatch(store: Watching, owns: (accountId: number) => boolean = () => true) {
  const reported: string[] = []
  const watch = startRefusalWatch({
    store,
    ownership: { ...OWNS_EVERYTHING, ownsAccount: owns },
    nowUs,
    log: createLog('silent'),
    everyMs: 1,
    onRefusal: (_, state, reason) => void reported.push(reason === undefined ? state : `${state}: ${reason}`),
  })
  return { ...watch, reported }
}

test('a webhook refuses from the fifth refusal in a row on, after a restart too, until a delivery succeeds', async () => {
  const receiver = startReceiver(() => new Response('no', { status: 422 }))
  let current: Observer = silent
  const observer: Observer = { ...silent, ended: (attempt) => current.ended(attempt) }
  await using rig = await newRig({ observer })
  const first = startWatch(rig.store)
  current = first.observer
  await rig.setUrls(receiver.url)
  await rig.emit('a', 'b', 'c', 'd')
  await until('four are refused', () => receiver.received.length === 4)
  expect([first.refusing(), first.reported]).toEqual([[], []])
  await rig.emit('e')
  await until('it is reported', () => first.reported.length === 1)
  const [{ webhookId = 0 } = {}] = first.refusing()
  const since = first.sinceUs(webhookId) ?? 0
  await first.stop()

  const next = startWatch(rig.store)
  current = next.observer
  await until('the next process knows', () => next.sinceUs(webhookId) !== null)
  // The log has when the attempt began.
  const restored = next.sinceUs(webhookId) ?? 0
  expect(restored).toBeLessThanOrEqual(since)
  expect(restored).toBeGreaterThan(since - 60_000_000)
  receiver.answerWith(() => new Response('ok'))
  await rig.emit('f')
  await until('its end is reported', () => next.reported.length === 1)
  expect(next.sinceUs(webhookId)).toBeNull()
  expect([...first.reported, ...next.reported]).toEqual(['refuses', 'accepts'])
  await next.stop()
  await receiver.stop()
})

const REFUSED: Outcome = { kind: 'refused', status: 403 }

/** A watch of one webhook whose outcomes a test makes. */
function watchOne(state: { listed: boolean; owned: boolean }, outages = memoryOutages()) {
  const record = { id: 1, accountId: 1, url: 'https://crm.example.com/', listed: state.listed }
  const store = {
    outages,
    log: { deliveryList: async () => ({ rows: [], nextId: null }) },
    webhooks: { webhookGetMany: async () => [{ ...record, listed: state.listed }] },
  }
  // What a watch reads of a webhook and of the log is no more than this.
  const watch = startWatch(store as unknown as Watching, () => state.owned)
  const outcome = (one: Outcome, flow: { turn?: object; state: string } = { state: 'pending' }) =>
    watch.observer.ended({
      delivery: { webhookId: 1, accountId: 1 },
      attempted: { outcome: one, turn: flow.turn },
      state: flow.state,
      atUs: 1,
    } as unknown as Parameters<Observer['ended']>[0])
  const refuse = (times = 5) => {
    for (let time = 0; time < times; time += 1) outcome(REFUSED)
  }
  return { ...watch, outages, outcome, refuse }
}

test('messages that a broker refuses count, trouble does not, and a step that is done ends nothing', async () => {
  const one = watchOne({ listed: true, owned: true })
  for (const outcome of [
    { kind: 'rejected', reason: 'the broker refused the message' },
    REFUSED,
    { kind: 'advanced', status: 200 },
    { kind: 'ruled', verdict: 'fail', status: 403, reason: 'a rule' },
    { kind: 'unreachable', reason: 'connection refused' },
    REFUSED,
    { kind: 'skipped', reason: 'the template gives nothing' },
  ] as const)
    one.outcome(outcome)
  expect(one.refusing()).toEqual([])
  one.outcome(REFUSED)
  expect(one.refusing()).toMatchObject([{ webhookId: 1 }])
  one.outcome({ kind: 'refused', status: 503 })
  expect(one.refusing()).toHaveLength(1)
  one.outcome({ kind: 'skipped', reason: 'skipped: its `if` is empty' }, { turn: {}, state: 'delivered' })
  expect(one.refusing()).toEqual([])
  await one.stop()
})

test('a webhook that leaves its list is no longer watched', async () => {
  const state = { listed: true, owned: true }
  const one = watchOne(state)
  one.refuse()
  await until('it is reported', () => one.reported.length === 1)
  state.listed = false
  one.observer.webhookRemoved(1)
  await until('its end is reported', () => one.reported.length === 2)
  expect(one.reported).toEqual(['refuses', 'accepts: its URL has left the list'])
  await one.stop()
})

test('another node goes on with an account that was lost, and nothing is reported twice', async () => {
  const [mine, theirs] = [
    { listed: true, owned: true },
    { listed: true, owned: false },
  ]
  const one = watchOne(mine)
  const other = watchOne(theirs, one.outages)
  one.refuse()
  await until('it is reported', () => one.reported.length === 1)
  expect(other.sinceUs(1)).toBeNull()
  mine.owned = false
  theirs.owned = true
  await until('the other one knows', () => other.sinceUs(1) !== null)
  await until('the first one forgets', () => one.sinceUs(1) === null)
  other.outcome({ kind: 'delivered', status: 200 })
  await until('its end is reported', () => other.reported.length === 1)
  expect([...one.reported, ...other.reported]).toEqual(['refuses', 'accepts'])
  await one.stop()
  await other.stop()
})
