import { describe, expect, test } from 'bun:test'
import { forSwitches } from '../../../src/events/kinds.ts'
import { newClient } from '../../../src/store/postgres/engine/client.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { databaseSource, migratedDatabase, POSTGRES_MISSING, postgresOfRun } from '../../help/postgres.ts'
import { batch } from '../../help/store.ts'

/** Surprises of `Bun.SQL`, each as it was seen once, and connections that end. */

const victims = (role: string) => `FROM pg_stat_activity WHERE application_name = 'hookswitch ${role}'`

async function clientOf(role: string, connections: number) {
  const { url } = await postgresOfRun()
  return newClient(databaseSource(url), { role, connections, statementMs: 30_000 })
}

describe.skipIf(POSTGRES_MISSING !== undefined)('the client of Postgres', () => {
  test('returns integers of every size as numbers', async () => {
    const client = await clientOf('numbers', 1)
    const large = 2 ** 52 + 1
    const rows = await client.query('SELECT $1::bigint AS large, 5::bigint AS small, NULL::bigint AS none', [large])
    expect(rows).toEqual([{ large, small: 5, none: null }])
    await client.stop()
  })

  test.each(['idle', 'while the event loop was blocked'])(
    'goes on after all its connections were ended: %s',
    async (how) => {
      const { url } = await postgresOfRun()
      const role = `victim ${how.length}`
      const client = await clientOf(role, 3)
      await Promise.all([1, 2, 3].map(() => client.query('SELECT pg_sleep(0.05)')))
      const end = `SELECT pg_terminate_backend(pid) ${victims(role)}`
      if (how === 'idle') {
        const other = await clientOf('other', 1)
        expect((await other.query(end)).length).toBeGreaterThan(0)
        await other.stop()
      } else {
        const script = 'const sql = new Bun.SQL(process.argv[1]); await sql.unsafe(process.argv[2]); await sql.close()'
        const { exitCode } = Bun.spawnSync([process.execPath, '-e', script, url, end])
        expect(exitCode).toBe(0)
      }
      // A write is not repeated by itself: the first may fail, none after it.
      const first = await client.query('SELECT 1 AS one').catch((error: unknown) => String(error))
      if (typeof first === 'string') expect(first).toContain('does not answer')
      expect(await client.query('SELECT 1 AS one')).toEqual([{ one: 1 }])
      expect(await client.read('SELECT 1 AS one')).toEqual([{ one: 1 }])
      await client.stop()
    },
  )

  test('has its place back after a connection was lost within a transaction', async () => {
    const client = await clientOf('torn', 1)
    const other = await clientOf('other', 1)
    for (let n = 0; n < 3; n += 1) {
      const torn = client.transaction(async (query) => {
        await query('SELECT 1')
        await other.query(`SELECT pg_terminate_backend(pid) ${victims('torn')}`)
        return query('SELECT 2')
      })
      expect(await torn.catch((error: unknown) => String(error))).toContain('does not answer')
    }
    expect(await client.transaction((query) => query('SELECT 3 AS three'))).toEqual([{ three: 3 }])
    await client.stop()
    await other.stop()
  })
})

describe.skipIf(POSTGRES_MISSING !== undefined)('a store whose connections are ended again and again', () => {
  test('keeps each batch once, though it is given again until there is an answer', async () => {
    await using database = await migratedDatabase()
    const source = databaseSource(database.url)
    const store = await openPostgresStore(source)
    const list = [{ url: 'https://one.example/', ...forSwitches(() => true) }]
    await store.webhooks.listReplace({ accountId: 1, list, ifMatch: null, nowUs: 1, secrets: ['whsec_x'] })
    const other = newClient(source, { role: 'killer', connections: 1, statementMs: 30_000 })
    const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'hookswitch %'`
    let failed = 0
    for (let n = 0; n < 60; n += 1) {
      const event = { uuid: `${n}`, callId: `call ${n}`, name: 'call_saved' as const, sequence: 1, atUs: n, body: '{}' }
      const given = batch({ events: [event] })
      const ending = other.query(end)
      for (let isStored = false; !isStored; ) {
        try {
          await store.calls.batchStore(given)
          isStored = true
        } catch {
          failed += 1
        }
      }
      await ending
    }
    expect(failed).toBeGreaterThan(0)
    const rows = await other.query<{ all: number; kinds: number; pending: number }>(
      `SELECT count(*)::int AS all, count(DISTINCT uuid)::int AS kinds,
         (SELECT count(*)::int FROM pending_deliveries) AS pending FROM events`,
    )
    const { all = 0, kinds = -1, pending = -1 } = rows[0] ?? {}
    expect([all, pending]).toEqual([kinds, all])
    expect(all).toBeGreaterThanOrEqual(60)
    expect(await store.maintenance.verify()).toEqual([])
    await other.stop()
    await store.stop()
  })
})
