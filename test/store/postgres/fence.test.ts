import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { forSwitches } from '../../../src/events/kinds.ts'
import type { CallBatch, NewEvent, PlacedEvent } from '../../../src/store/operations/calls.ts'
import { type Fence, LeaseLost } from '../../../src/store/operations/cluster.ts'
import { newClient } from '../../../src/store/postgres/engine/client.ts'
import { openDatabase } from '../../../src/store/postgres/engine/database.ts'
import { newHistory } from '../../../src/store/postgres/engine/history.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import type { Store } from '../../../src/store/store.ts'
import { databaseSource, migratedDatabase, POSTGRES_MISSING } from '../../help/postgres.ts'
import { until } from '../../help/receiver.ts'
import { batch, deliveredOutcomes } from '../../help/store.ts'

/**
 * Promises of the Postgres engine alone: fences, the order of ids with several writers, and commits whose answer was
 * lost.
 */

const NOW = 1_795_213_000_000_000
const URL_ONE = 'https://one.example/'

let events = 0
const event = (callId = 'call'): NewEvent => {
  events += 1
  return { uuid: `event ${events}`, callId, name: 'call_started', sequence: 1, atUs: NOW, body: '{"data":{}}' }
}

/** A store with a webhook and a lease, and a connection beside it. */
async function open(more: { statementMs?: number } = {}) {
  const database = await migratedDatabase()
  const source = databaseSource(database.url)
  const store = await openPostgresStore(source)
  const beside = newClient(source, { role: 'beside', connections: 2, statementMs: more.statementMs ?? 60_000 })
  const list = [{ url: URL_ONE, ...forSwitches(() => true) }]
  const setList = (nowUs = NOW, urls = list) =>
    store.webhooks.listReplace({ accountId: 1, list: urls, ifMatch: null, nowUs, secrets: urls.map(() => 'whsec_x') })
  await setList()
  const term = randomUUID()
  await beside.query("INSERT INTO leases (name, node, term) VALUES ('account:1', 'n', $1::uuid)", [term])
  const fence: Fence = { leaseNames: ['account:1'], terms: [term] }
  const waiting = async () =>
    (
      await beside.query<{ n: number }>(
        "SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      )
    )[0]?.n ?? 0
  /** Begins a transaction with a statement, and keeps it open after that statement until `release` is called. */
  async function hold(statement: string): Promise<{ release(): void; readonly ended: Promise<void> }> {
    const held = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    const ended = beside.transaction(async (query) => {
      await query(statement)
      held.resolve()
      await released.promise
    })
    await Promise.race([held.promise, ended])
    return { release: released.resolve, ended }
  }
  const counts = async () =>
    (
      await beside.query<{ events: number; pending: number; ended: number }>(
        `SELECT (SELECT count(*) FROM events)::int AS events, (SELECT count(*) FROM pending_deliveries)::int AS pending,
           (SELECT count(*) FROM ended_deliveries)::int AS ended`,
      )
    )[0]
  return {
    source,
    store,
    beside,
    fence,
    waiting,
    hold,
    counts,
    setList,
    async [Symbol.asyncDispose]() {
      await store.stop()
      await beside.stop()
      await database[Symbol.asyncDispose]()
    },
  }
}

const TAKEOVER = "UPDATE leases SET term = gen_random_uuid() WHERE name = 'account:1'"
const outcomeOf = <Result>(work: Promise<Result>): Promise<Result | string> =>
  work.catch((error: unknown) => (error instanceof LeaseLost ? `lost ${error.leases.join(' ')}` : String(error)))
const idsOf = (placed: readonly PlacedEvent[]) =>
  placed.flatMap(({ id, webhookIds }) => webhookIds.map((_, nth) => (id ?? 0) * 128 + nth))

describe.skipIf(POSTGRES_MISSING !== undefined)('a fence', () => {
  const writes: readonly [string, (store: Store, fence: Fence, ids: readonly number[]) => Promise<unknown>][] = [
    ['events', (store, fence) => store.calls.batchStore(batch({ events: [event()] }), fence)],
    ['outcomes', (store, fence, ids) => store.queue.deliveryRecordOutcomes(deliveredOutcomes(NOW, ids), fence)],
    [
      'expiry',
      (store, fence) =>
        store.queue.deliveryFailExpired({ webhookId: 1, beforeSteadyUs: NOW * 2, nowUs: NOW, limit: 9 }, fence),
    ],
    ['what is known of a PBX', (store, fence) => store.calls.pbxMemorySet('office', '{}', fence)],
    [
      'the state of a PBX',
      (store, fence) => store.pbxs.pbxStateSetMany([{ pbx: 'office', state: '{}', atSteadyUs: NOW }], fence),
    ],
    [
      'that calls of a PBX are ended',
      (store, fence) => store.pbxs.pbxSetCallsEnded({ name: 'office', version: '1' }, fence),
    ],
  ]

  test.each(writes)('%s: what waited for a takeover writes nothing, and names the lease', async (_, write) => {
    await using at = await open()
    const ids = idsOf(await at.store.calls.batchStore(batch({ events: [event()] }), at.fence))
    const before = await at.counts()
    const { release, ended: takeover } = await at.hold(TAKEOVER)
    const written = outcomeOf(write(at.store, at.fence, ids))
    await until('the write waits', async () => (await at.waiting()) === 1)
    release()
    await takeover
    expect(await written).toBe('lost account:1')
    expect(await at.counts()).toEqual(before)
  })

  test('a takeover waits for a commit that is under way, and then sees its rows', async () => {
    await using at = await open()
    // The first event of a database begins a history: its commit is tried twice.
    await at.store.calls.batchStore(batch({ events: [event()] }), at.fence)
    // The commit takes its leases first, and then waits for this row.
    const { release, ended: locked } = await at.hold('SELECT 1 FROM accounts WHERE id = 1 FOR UPDATE')
    const written = at.store.calls.batchStore(batch({ events: [event()] }), at.fence)
    await until('the commit waits', async () => (await at.waiting()) === 1)
    const other = newClient(at.source, { role: 'other', connections: 1, statementMs: 60_000 })
    const seen = other.query(TAKEOVER).then(() => other.query<{ n: number }>('SELECT count(*)::int AS n FROM events'))
    await until('the takeover waits', async () => (await at.waiting()) === 2)
    release()
    await locked
    expect(await written).toHaveLength(1)
    expect(await seen).toEqual([{ n: 2 }])
    await other.stop()
  })

  test('a takeover does not wait for a node that froze in the middle of a transaction', async () => {
    await using opened = await open({ statementMs: 20_000 })
    const frozen = openDatabase(opened.source, { node: 'n', history: newHistory('calls') })
    const taken = Promise.withResolvers<void>()
    const locked = Promise.withResolvers<void>()
    const work = frozen.transaction(async (query) => {
      locked.resolve()
      await taken.promise
      return query('SELECT 1')
    }, opened.fence)
    const transaction = outcomeOf(work)
    await locked.promise
    await opened.beside.query(TAKEOVER)
    taken.resolve()
    expect(await transaction).toContain('does not answer')
    await frozen.stop(() => Promise.resolve())
  })

  test.each([
    ['node', '2s'],
    ['command', '30s'],
  ])('a transaction of a %s may be idle for %s', async (which, longest) => {
    await using opened = await open()
    const db = openDatabase(opened.source, { node: 'n', history: which === 'node' ? newHistory('calls') : undefined })
    const shown = { idle_in_transaction_session_timeout: longest }
    expect(await db.maintenance.query('SHOW idle_in_transaction_session_timeout')).toEqual([shown])
    await db.stop(() => Promise.resolve())
  })

  test('a lost lease costs only the writes that were made under it, of all that share a statement', async () => {
    await using at = await open()
    const stale: Fence = { leaseNames: ['account:1', 'pbx:gone'], terms: [at.fence.terms[0] ?? '', randomUUID()] }
    const old: Fence = { leaseNames: ['account:1'], terms: [randomUUID()] }
    const put = (fence?: Fence) =>
      outcomeOf(at.store.calls.batchStore(batch({ events: [event()] }, { live: [{ id: 'x', state: '1' }] }), fence))
    const results = await Promise.all([put(stale), put(at.fence), put(old), put()])
    expect(results.map((one) => (typeof one === 'string' ? one : 'stored'))).toEqual([
      'lost pbx:gone',
      'stored',
      'lost account:1',
      'stored',
    ])
    expect((await at.counts())?.events).toBe(2)
  })
})

describe.skipIf(POSTGRES_MISSING !== undefined)('events of several writers', () => {
  test('become visible in the order of their ids, from any process', async () => {
    await using at = await open()
    const other = await openPostgresStore(at.source)
    let stopped = false
    const seen = new Set<number>()
    const reading = (async () => {
      for (let afterId = 0; !stopped; ) {
        const { items, lastId } = await at.store.log.eventRead({ accountId: 1, afterId, limit: 100 })
        for (const { id } of items) seen.add(id)
        afterId = lastId
      }
    })()
    const write = async (store: Store) => {
      const stored: number[] = []
      for (let n = 0; n < 60; n += 1) {
        const some = [1, 2, 3].map((_, at) => event(`call ${n} ${at}`))
        stored.push(...(await store.calls.batchStore(batch({ events: some }))).flatMap(({ id }) => id ?? []))
      }
      return stored
    }
    const stored = (await Promise.all([write(at.store), write(other), write(at.store)])).flat()
    await until('all were read', () => seen.size >= stored.length)
    stopped = true
    await reading
    expect(seen).toEqual(new Set(stored))
    await other.stop()
  })

  test('follow the list at the moment of storing, also if it changes while they wait', async () => {
    await using at = await open()
    const put = (...some: NewEvent[]) => at.store.calls.batchStore(batch({ events: some }))
    expect((await put(event())).map(({ webhookIds }) => webhookIds.length)).toEqual([1])
    const other = await openPostgresStore(at.source)
    await other.webhooks.listReplace({ accountId: 1, list: [], ifMatch: null, nowUs: NOW, secrets: [] })
    expect((await put(event())).map(({ webhookIds }) => webhookIds.length)).toEqual([0])
    // Many changes beside many commits: a delivery for a replaced list would never be cancelled.
    const one = { url: URL_ONE, ...forSwitches(() => true) }
    const changing = (async () => {
      for (let n = 0; n < 30; n += 1)
        await other.webhooks.listReplace({
          accountId: 1,
          list: n % 2 === 0 ? [one] : [],
          ifMatch: null,
          nowUs: NOW,
          secrets: n % 2 === 0 ? ['whsec_x'] : [],
        })
    })()
    for (let n = 0; n < 60; n += 1) await put(event())
    await changing
    const [webhookId = 0] = await at.store.webhooks.webhookListActive()
    for (let left = 1; left > 0; )
      left = (await at.store.queue.deliveryCancelUnlisted({ webhookId, nowUs: NOW, limit: 100 })).length
    expect(await at.store.queue.pendingCount()).toBe(0)
    await other.stop()
  })

  test('are stored once even if the answer to their commit was lost', async () => {
    await using at = await open()
    const batches: CallBatch[] = Array.from({ length: 40 }, (_, n) =>
      batch({ events: [event(`a ${n}`), event(`b ${n}`)] }),
    )
    const ending = (async () => {
      for (let n = 0; n < 12; n += 1) {
        await at.beside.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'hookswitch events'",
        )
        await Bun.sleep(5)
      }
    })()
    const store = async (one: CallBatch): Promise<readonly PlacedEvent[]> => {
      // Refused before any statement was sent, as without a connection: then the caller has to try again.
      for (;;)
        try {
          return await at.store.calls.batchStore(one)
        } catch {
          await Bun.sleep(5)
        }
    }
    const placed: (readonly PlacedEvent[])[] = []
    for (const one of batches) placed.push(await store(one))
    await ending
    expect((await at.counts())?.events).toBe(80)
    expect(new Set(placed.flat().map(({ id }) => id)).size).toBe(80)
    expect(placed.flat().every(({ webhookIds }) => webhookIds.length === 1)).toBe(true)
  })
})
