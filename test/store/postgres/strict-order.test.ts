import { describe, expect, test } from 'bun:test'
import { forSwitches } from '../../../src/events/kinds.ts'
import { SECOND } from '../../../src/lib/time.ts'
import { newClient } from '../../../src/store/postgres/engine/client.ts'
import { BY_INDEX } from '../../../src/store/postgres/engine/database.ts'
import { createQueueStore } from '../../../src/store/postgres/queue.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { databaseSource, migratedDatabase, POSTGRES_MISSING } from '../../help/postgres.ts'
import { storeEvents } from '../../help/store.ts'

/** With strict order, the next deliveries of calls are found among many pending ones without reading them all. */

const NOW = 1_795_213_000 * SECOND
const CALLS = 500
const EVENTS_OF_A_CALL = 6
const ASKED = 50

async function open() {
  await using cleaning = new AsyncDisposableStack()
  const database = cleaning.use(await migratedDatabase())
  const source = databaseSource(database.url)
  const store = await openPostgresStore(source)
  cleaning.defer(() => store.stop())
  const list = [{ url: 'https://one.example/', ...forSwitches(() => true) }]
  await store.webhooks.listReplace({ accountId: 1, list, ifMatch: null, nowUs: NOW, secrets: ['whsec_x'] })
  const [webhookId = 0] = await store.webhooks.webhookListActive()
  // With one connection, the server's figures are about its statements alone.
  const client = newClient(source, { role: 'test', connections: 1, statementMs: 600_000, session: BY_INDEX })
  cleaning.defer(() => client.stop())
  const { read } = client
  const onlyRead = () => Promise.reject(new Error('this only reads'))
  const outcomes = { push: onlyRead, drained: onlyRead }
  const queue = createQueueStore({ node: '', read, transaction: onlyRead, change: onlyRead }, outcomes)
  const resources = cleaning.move()
  return {
    store,
    queue,
    webhookId,
    /** Returns how many rows of events and pending deliveries the statements of this test have read so far. */
    async rowsRead(): Promise<number> {
      await read('SELECT pg_stat_force_next_flush()')
      const [row] = await read<{ rows: number }>(
        `SELECT sum(seq_tup_read + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes i WHERE i.relid = t.relid))::float8 AS rows
         FROM pg_stat_user_tables t WHERE relname LIKE 'pending%' OR relname LIKE 'events%'`,
      )
      return row?.rows ?? 0
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

describe.skipIf(POSTGRES_MISSING !== undefined)('a strict order on Postgres', () => {
  test('reads the events of the calls that are asked for, however many deliveries are pending', async () => {
    await using at = await open()
    const calls = Array.from({ length: CALLS }, (_, call) => `call ${call}`)
    const asked = calls.slice(-ASKED)
    const first = () => at.queue.deliveryGetFirstOfCalls({ webhookId: at.webhookId, callIds: asked })
    const untried = () => at.queue.deliveryGetUntriedStrict({ webhookId: at.webhookId, afterId: 0, limit: ASKED })
    // Statements are planned once, here while there is nothing.
    expect(await first()).toEqual([])
    expect(await untried()).toEqual({ deliveries: [], lastId: null })
    for (let sequence = 1; sequence <= EVENTS_OF_A_CALL; sequence += 1)
      await storeEvents(
        at.store,
        calls.map((callId) => ({
          uuid: `${callId} ${sequence}`,
          callId,
          name: 'call_started' as const,
          sequence,
          atUs: NOW,
          body: '{}',
        })),
        { nowSteadyUs: NOW },
      )
    const before = await at.rowsRead()
    expect((await first()).map(({ uuid }) => uuid)).toEqual(asked.map((callId) => `${callId} 1`))
    const between = await at.rowsRead()
    expect(between - before).toBeLessThan(ASKED * EVENTS_OF_A_CALL * 3)
    expect((await untried()).deliveries.map(({ uuid }) => uuid)).toEqual(
      calls.slice(0, ASKED).map((callId) => `${callId} 1`),
    )
    expect((await at.rowsRead()) - between).toBeLessThan(ASKED * EVENTS_OF_A_CALL * 3)
  })
})
