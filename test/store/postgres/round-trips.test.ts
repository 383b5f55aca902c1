import { describe, expect, test } from 'bun:test'
import { connect, createServer } from 'node:net'
import { forSwitches } from '../../../src/events/kinds.ts'
import type { Fence } from '../../../src/store/operations/cluster.ts'
import { newClient } from '../../../src/store/postgres/engine/client.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { databaseSource, migratedDatabase, POSTGRES_MISSING } from '../../help/postgres.ts'
import { until } from '../../help/receiver.ts'
import { batch, deliveredOutcomes } from '../../help/store.ts'

/** A group commit is one round trip, however much is in it: between a node and its database that is what time goes into. */

const NOW = 1_795_213_000_000_000
const FENCE: Fence = { leaseNames: ['pbx:office', 'account:1'], terms: ['term', 'term'] }

/** Counts the round trips of a client to a server: in the protocol each one ends with a message `S`, or is a `Q`. */
async function startCounter(to: { host: string; port: number }) {
  const counted = { roundTrips: 0 }
  const server = createServer((near) => {
    const far = connect(to.port, to.host)
    let rest = Buffer.alloc(0)
    let isStarted = false
    near.on('data', (bytes) => {
      rest = Buffer.concat([rest, Buffer.from(bytes)])
      for (;;) {
        // The first message has no type.
        const head = isStarted ? 1 : 0
        if (rest.length < head + 4) break
        const size = head + rest.readUInt32BE(head)
        if (rest.length < size) break
        if (isStarted && 'SQ'.includes(String.fromCharCode(rest[0] ?? 0))) counted.roundTrips += 1
        isStarted = true
        rest = rest.subarray(size)
      }
      far.write(bytes)
    })
    far.pipe(near)
    for (const socket of [near, far]) socket.on('error', () => undefined)
    near.on('close', () => far.destroy())
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const address = server.address()
  return { counted, port: typeof address === 'object' ? (address?.port ?? 0) : 0, stop: () => void server.close() }
}

async function open() {
  await using cleaning = new AsyncDisposableStack()
  const database = cleaning.use(await migratedDatabase())
  const source = databaseSource(database.url)
  const counter = await startCounter(source)
  cleaning.defer(counter.stop)
  const store = await openPostgresStore({ ...source, port: counter.port, tls: 'disable' })
  cleaning.defer(() => store.stop())
  const direct = newClient(source, { role: 'test', connections: 1, statementMs: 30_000 })
  cleaning.defer(() => direct.stop())
  const list = ['one', 'two'].map((name) => ({ url: `https://${name}.example/`, ...forSwitches(() => true) }))
  await store.webhooks.listReplace({ accountId: 1, list, ifMatch: null, nowUs: NOW, secrets: ['whsec_a', 'whsec_b'] })
  for (const name of FENCE.leaseNames)
    await direct.query(`INSERT INTO leases (name, node, term) VALUES ($1, 'a', 'term')`, [name])
  let uuid = 0
  const events = (count: number) =>
    batch(
      {
        events: Array.from({ length: count }, () => {
          uuid += 1
          return {
            uuid: `${uuid}`,
            callId: `call ${uuid}`,
            name: 'call_saved' as const,
            sequence: 1,
            atUs: NOW,
            body: '{}',
          }
        }),
      },
      { live: [{ id: `live ${uuid}`, state: '{}' }], removed: ['gone'] },
    )
  /** Returns how many round trips something takes. */
  const tripsOf = async (work: () => Promise<unknown>) => {
    const before = counter.counted.roundTrips
    await work()
    return counter.counted.roundTrips - before
  }
  const untried = async () => {
    const read = await Promise.all(
      [1, 2].map((webhookId) => store.queue.deliveryGetUntried({ webhookId, afterId: 0, limit: 5_000 })),
    )
    return read.flat().map(({ id }) => id)
  }
  /** Resolves when no connection is being opened: of two readers the second may come when the first has read all. */
  const connected = () =>
    until('both readers are connected', async () => {
      const rows = await direct.query<{ query: string }>(`SELECT query FROM pg_stat_activity
        WHERE application_name = 'hookswitch reads' AND datname = current_database() AND state = 'idle'`)
      return rows.length === 2 && rows.every(({ query }) => /pg_walfile_name|pending_deliveries/.test(query))
    })
  const kept = cleaning.move()
  return {
    store,
    direct,
    events,
    outcomes: (ids: readonly number[]) => deliveredOutcomes(NOW, ids),
    tripsOf,
    untried,
    connected,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

describe.skipIf(POSTGRES_MISSING !== undefined)('a group commit on Postgres takes one round trip', () => {
  test.each([
    ['without a fence', undefined],
    ['under a fence', FENCE],
  ])('for events with their deliveries and live calls, and for outcomes: %s', async (_, fence) => {
    await using at = await open()
    const { calls, queue } = at.store
    // A connection is opened, and a statement prepared, once.
    await calls.batchStore(at.events(1), fence)
    await queue.deliveryRecordOutcomes(at.outcomes((await at.untried()).slice(0, 1)), fence)
    await at.connected()
    expect(await at.tripsOf(() => calls.batchStore(at.events(1), fence))).toBe(1)
    expect(await at.tripsOf(() => calls.batchStore(at.events(1_000), fence))).toBe(1)
    const many = Array.from({ length: 50 }, () => at.events(5))
    expect(await at.tripsOf(() => Promise.all(many.map((one) => calls.batchStore(one, fence))))).toBe(1)
    const ids = await at.untried()
    expect(ids.length).toBe(2 * (1 + 1 + 1_000 + 250) - 1)
    expect(await at.tripsOf(() => queue.deliveryRecordOutcomes(at.outcomes(ids.slice(0, 1_500)), fence))).toBe(1)
    const each = ids.slice(1_500).map((id) => at.outcomes([id]))
    expect(await at.tripsOf(() => Promise.all(each.map((one) => queue.deliveryRecordOutcomes(one, fence))))).toBe(1)
    expect(await at.untried()).toEqual([])
  })

  test('and what is given while one is on its way shares the next', async () => {
    await using at = await open()
    const { calls } = at.store
    await calls.batchStore(at.events(1))
    const trips = await at.tripsOf(async () => {
      const first = calls.batchStore(at.events(1))
      // The first group has begun by now.
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
      await Promise.all([first, ...Array.from({ length: 30 }, () => calls.batchStore(at.events(2)))])
    })
    expect(trips).toBe(2)
  })
})

describe.skipIf(POSTGRES_MISSING !== undefined)('the index from which deliveries are taken', () => {
  test('has nothing of those that ended, however many did', async () => {
    await using at = await open()
    for (let round = 0; round < 5; round += 1) {
      await at.store.calls.batchStore(at.events(1_000))
      await at.store.queue.deliveryRecordOutcomes(at.outcomes(await at.untried()))
    }
    await at.store.calls.batchStore(at.events(1))
    await at.direct.query('VACUUM pending_deliveries')
    const [row] = await at.direct.query<{ pending: number; ended: number; pages: number }>(
      `SELECT (SELECT count(*) FROM pending_deliveries)::int AS pending,
         (SELECT count(*) FROM ended_deliveries)::int AS ended,
         (SELECT sum(pg_relation_size(oid) / 8192) FROM pg_class WHERE relname = 'pending_deliveries')::int AS pages`,
    )
    expect(row).toMatchObject({ pending: 2, ended: 10_000 })
    // Each round takes the place of the one before: 2,000 rows have some 20 pages.
    expect(row?.pages).toBeLessThan(200)
  })
})
