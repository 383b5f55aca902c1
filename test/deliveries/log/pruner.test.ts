import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { startPruner } from '../../../src/deliveries/log/pruner.ts'
import { cancelPending } from '../../../src/deliveries/run/expiry.ts'
import { type DeliveryState, stateNumber } from '../../../src/store/operations/delivery-state.ts'
import { DELIVERIES_PER_EVENT } from '../../../src/store/operations/queue.ts'
import type { Database } from '../../../src/store/sqlite/engine/database.ts'
import { mutation, type Tx } from '../../../src/store/sqlite/engine/mutation.ts'
import { prepared } from '../../../src/store/sqlite/engine/prepared.ts'
import { createWebhookService } from '../../../src/webhooks/service.ts'
import { emptyFolder } from '../../help/app.ts'
import { until } from '../../help/receiver.ts'
import { NO_FLOW_RECORDS, openStore, storeEvents } from '../../help/store.ts'
import { ACCOUNT, LOG, listed } from '../run/rig.ts'

const DAY_US = 86_400_000_000
const DAY_MS = 86_400_000
const NOW_US = 1_000 * DAY_US
const WHOLE = { keepDeliveredMs: 30 * DAY_MS, keepFailedMs: 90 * DAY_MS }

type Ending = { readonly id: number; readonly state: number; readonly endedUs: number }

/** Gives deliveries an end without sending them, with one attempt each. */
const end = mutation('test.end', (tx: Tx, endings: readonly Ending[]): void => {
  const update = prepared<never, [number, number, number]>(
    tx,
    'UPDATE deliveries SET state = ?, attempts_made = 1, ended_at = ? WHERE id = ?',
  )
  const insert = prepared<never, [number, number, number]>(
    tx,
    'INSERT INTO attempts (delivery_id, at, probe, status, duration_ms) VALUES (?, ?, 0, ?, 1)',
  )
  for (const { id, state, endedUs } of endings) {
    update.run(state, endedUs, id)
    insert.run(id, endedUs, state === stateNumber('delivered') ? 200 : 400)
  }
})

const idsIn = (db: Database, table: string, column = 'id'): number[] =>
  prepared<{ id: number }, []>(db.read, `SELECT DISTINCT ${column} AS id FROM ${table} ORDER BY 1`)
    .all()
    .map(({ id }) => id)

/** Returns a store that nobody sends from, with functions for its changes. */
function newStore() {
  const folder = emptyFolder()
  const store = openStore(join(folder.path, 'hookswitch.db'))
  const { db, maintenance } = store
  const webhooks = createWebhookService({ webhooks: store.webhooks })
  let emitted = 0
  return {
    db,
    store,
    setUrls: (...urls: string[]) => webhooks.replace(ACCOUNT, urls.map(listed), null),
    secrets: () => webhooks.secrets(ACCOUNT),
    /** Stores events of calls that ended `daysAgo` days ago. @returns the id of each. */
    async emit(daysAgo: number, count = 1): Promise<number[]> {
      const atUs = NOW_US - daysAgo * DAY_US
      const events = Array.from({ length: count }, () => {
        emitted += 1
        return {
          uuid: `${emitted}`,
          callId: `${emitted}`,
          name: 'call_saved' as const,
          sequence: 1,
          atUs,
          body: '{"data":{}}',
        }
      })
      return (await storeEvents(store, events, { nowSteadyUs: atUs })).map(({ id }) => id)
    },
    end: (state: DeliveryState, daysAgo: number, ...ids: number[]) =>
      db.commit(
        end,
        ids.map((id) => ({ id, state: stateNumber(state), endedUs: NOW_US - daysAgo * DAY_US })),
      ),
    /** Prunes once, to the end: the secrets come last. */
    async prune(): Promise<void> {
      const { promise: ended, resolve } = Promise.withResolvers<void>()
      const secretPrune: typeof maintenance.secretPrune = async (step) => {
        const pruned = await maintenance.secretPrune(step)
        if (pruned === 0) resolve()
        return pruned
      }
      const rounds = startPruner({
        maintenance: { ...maintenance, secretPrune },
        flows: NO_FLOW_RECORDS,
        log: LOG,
        ...WHOLE,
        nowUs: () => NOW_US,
      })
      await ended
      await rounds.stop()
    },
    async [Symbol.asyncDispose]() {
      await store.stop()
      folder[Symbol.dispose]()
    },
  }
}

const firstOf = (event: number | undefined) => (event ?? 0) * DELIVERIES_PER_EVENT

test.each([
  ['delivered 31 days ago', 'goes', 'delivered', 31],
  ['delivered 29 days ago', 'is kept', 'delivered', 29],
  ['failed 91 days ago', 'goes', 'failed', 91],
  ['failed 89 days ago', 'is kept', 'failed', 89],
  ['cancelled 91 days ago', 'goes', 'cancelled', 91],
  ['cancelled 89 days ago', 'is kept', 'cancelled', 89],
  ['that waits for 200 days', 'is kept', 'pending', 200],
] as const)('a delivery %s %s, with its attempts and its event', async (_, what, state, daysAgo) => {
  const kept = what === 'is kept'
  await using store = newStore()
  await store.setUrls('http://receiver.example/')
  const [event = 0] = await store.emit(daysAgo)
  if (state !== 'pending') await store.end(state, daysAgo, firstOf(event))
  const [newest = 0] = await store.emit(0)
  await store.prune()
  expect(idsIn(store.db, 'deliveries')).toEqual(kept ? [firstOf(event), firstOf(newest)] : [firstOf(newest)])
  expect(idsIn(store.db, 'attempts', 'delivery_id')).toEqual(kept && state !== 'pending' ? [firstOf(event)] : [])
  expect(idsIn(store.db, 'events')).toEqual(kept ? [event, newest] : [newest])
  expect(await store.store.maintenance.verify()).toEqual([])
})

test('an old event that ended late is kept by its end', async () => {
  await using store = newStore()
  await store.setUrls('http://receiver.example/')
  const [event = 0] = await store.emit(40)
  await store.end('delivered', 5, firstOf(event))
  await store.emit(0)
  await store.prune()
  expect(idsIn(store.db, 'deliveries')).toContain(firstOf(event))
})

test('records from a time when the clock was ahead are kept, and do not hold back others', async () => {
  await using store = newStore()
  await store.setUrls('http://receiver.example/')
  const ahead = await store.emit(-300, 600)
  await store.end('delivered', -300, ...ahead.map(firstOf))
  const [old = 0] = await store.emit(40)
  await store.end('delivered', 40, firstOf(old))
  const [newest = 0] = await store.emit(0)
  await store.prune()
  expect(idsIn(store.db, 'deliveries')).toEqual([...ahead, newest].map(firstOf))
})

test('deliveries of one event are deleted at the end of their own retention, and the event with the last of them', async () => {
  await using store = newStore()
  await store.setUrls('http://one.example/', 'http://two.example/')
  const [event = 0] = await store.emit(60)
  await store.end('delivered', 60, firstOf(event))
  await store.end('failed', 60, firstOf(event) + 1)
  await store.emit(0)
  await store.prune()
  expect(idsIn(store.db, 'deliveries')[0]).toBe(firstOf(event) + 1)
  expect(idsIn(store.db, 'events')[0]).toBe(event)
})

test('events without deliveries are deleted like delivered ones, but for the newest: no id is given twice', async () => {
  await using store = newStore()
  const old = await store.emit(31, 3)
  const [newest = 0] = await store.emit(31)
  await store.prune()
  expect(idsIn(store.db, 'events')).toEqual([newest])
  expect(await store.emit(0)).toEqual([newest + 1])
  expect(old).not.toContain(newest + 1)
})

test('many are deleted in small steps', async () => {
  await using store = newStore()
  await store.setUrls('http://receiver.example/')
  const events = await store.emit(40, 1_000)
  await store.end('delivered', 40, ...events.map(firstOf))
  await store.emit(0)
  const left: number[] = []
  const { maintenance } = store.store
  const deliveryPrune: typeof maintenance.deliveryPrune = async (step) => {
    const result = await maintenance.deliveryPrune(step)
    left.push(idsIn(store.db, 'deliveries').length)
    return result
  }
  const watched = { ...maintenance, deliveryPrune }
  const rounds = startPruner({ maintenance: watched, flows: NO_FLOW_RECORDS, log: LOG, ...WHOLE, nowUs: () => NOW_US })
  await until('all that is old is gone', () => left.at(-1) === 1)
  await rounds.stop()
  const steps = left.map((count, index) => (left[index - 1] ?? 1_001) - count)
  expect(Math.max(...steps)).toBeLessThanOrEqual(250)
})

test('a store that cannot be written is waited for', async () => {
  await using store = newStore()
  const [event = 0] = await store.emit(40)
  await store.emit(0)
  let refusals = 0
  const { maintenance } = store.store
  const deliveryPrune: typeof maintenance.deliveryPrune = (step) => {
    refusals += 1
    return refusals < 3 ? Promise.reject(new Error('full')) : maintenance.deliveryPrune(step)
  }
  const refusing = { ...maintenance, deliveryPrune }
  const rounds = startPruner({
    maintenance: refusing,
    flows: NO_FLOW_RECORDS,
    log: LOG,
    ...WHOLE,
    nowUs: () => NOW_US,
    everyMs: 10,
  })
  await until('it is gone all the same', () => !idsIn(store.db, 'events').includes(event))
  await rounds.stop()
})

test('a webhook whose URL has left goes with the last delivery that refers to it; its secret stays', async () => {
  await using store = newStore()
  await store.setUrls('http://left.example/', 'http://stays.example/')
  const secrets = await store.secrets()
  const [old = 0] = await store.emit(89)
  await store.end('failed', 89, firstOf(old))
  await store.end('delivered', 89, firstOf(old) + 1)
  await store.setUrls('http://stays.example/')
  await cancelPending(store.store.queue, 1, { nowUs: () => NOW_US, onCancelled: () => {} })
  await store.emit(0)
  await store.prune()
  expect(idsIn(store.db, 'webhooks')).toEqual([1, 2])
  await store.end('failed', 91, firstOf(old))
  await store.prune()
  expect(idsIn(store.db, 'webhooks')).toEqual([2])
  expect(await store.store.maintenance.verify()).toEqual([])
  await store.setUrls('http://left.example/', 'http://stays.example/')
  expect(await store.secrets()).toEqual(secrets)
})

test('the newest webhook stays, so that its id is never given to another', async () => {
  await using store = newStore()
  await store.setUrls('http://one.example/')
  await store.setUrls('http://two.example/')
  await store.setUrls()
  await store.prune()
  expect(idsIn(store.db, 'webhooks')).toEqual([2])
  await store.setUrls('http://three.example/')
  await store.prune()
  expect(idsIn(store.db, 'webhooks')).toEqual([3])
})

test('a client that changes its URLs all the time leaves no rows behind', async () => {
  await using store = newStore()
  for (let n = 0; n < 300; n += 1) await store.setUrls(`http://${n}.example/`)
  expect(idsIn(store.db, 'webhooks')).toHaveLength(300)
  await store.prune()
  expect(idsIn(store.db, 'webhooks')).toEqual([300])
})
