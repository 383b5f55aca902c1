import { describe, expect, test } from 'bun:test'
import { connect, createServer } from 'node:net'
import { SQL } from 'bun'
import type { DatabaseSource } from '../../../src/store/database-url.ts'
import { newClient, texts } from '../../../src/store/postgres/engine/client.ts'
import { prepareDatabase } from '../../../src/store/postgres/engine/open.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { reservePort } from '../../help/ports.ts'
import {
  databaseOfVersion,
  databaseSource,
  emptyDatabase,
  POSTGRES_MISSING,
  postgresOfRun,
} from '../../help/postgres.ts'
import { until } from '../../help/receiver.ts'

/** Opening a database, and the traps of the client that are known. */

const refusal = (source: DatabaseSource, withinMs = 0) =>
  prepareDatabase(source, { withinMs }).then(
    () => 'opened',
    (error: unknown) => String(error),
  )

describe.skipIf(POSTGRES_MISSING !== undefined)('a Postgres database', () => {
  test('is prepared once by two that start at the same moment, and again by none', async () => {
    await using database = await emptyDatabase()
    const source = databaseSource(database.url)
    await Promise.all([prepareDatabase(source), prepareDatabase(source), prepareDatabase(source)])
    await prepareDatabase(source)
    const client = newClient(source, { role: 'test', connections: 1, statementMs: 5_000 })
    expect(await client.query('SELECT count(*)::int AS rows FROM hookswitch_store')).toEqual([{ rows: 1 }])
    expect(await client.query('SELECT id::float8 AS id, name FROM accounts')).toEqual([{ id: 1, name: 'default' }])
    await client.stop()
  })

  test('is migrated when no other is in the way: until then it keeps no lock for long', async () => {
    await using database = await emptyDatabase()
    const source = databaseSource(database.url)
    const sql = new SQL({ url: database.url, max: 3 })
    await sql`CREATE TABLE hookswitch_store (id int PRIMARY KEY, version int NOT NULL, usable_from int NOT NULL)`
    await sql`INSERT INTO hookswitch_store VALUES (1, 0, 0)`
    const { promise: isEnough, reject: undo } = Promise.withResolvers<void>()
    const inTheWay = sql.begin(async (tx) => {
      await tx`CREATE TABLE accounts (id int)`
      await isEnough
    })
    const preparing = prepareDatabase(source)
    await until('it waits', async () => {
      const [row] = await sql`SELECT count(*)::int AS waiting FROM pg_stat_activity
        WHERE application_name = 'hookswitch start' AND wait_event_type = 'Lock' AND datname = current_database()`
      return row.waiting > 0
    })
    // Resolves in a pause between two tries.
    await sql.begin((tx) => tx`SELECT version FROM hookswitch_store FOR UPDATE`)
    undo(new Error('undone'))
    await expect(inTheWay).rejects.toThrow('undone')
    await preparing
    expect(await sql`SELECT name FROM accounts`).toMatchObject({ 0: { name: 'default' } })
    await sql.close()
  })

  test('is waited for with a message, and not for long, while a store is copied into it', async () => {
    await using database = await emptyDatabase()
    const source = databaseSource(database.url)
    await prepareDatabase(source)
    await using copy = new SQL({ url: database.url, max: 1, connection: { application_name: 'hookswitch copy' } })
    const { promise: isEnough, resolve: end } = Promise.withResolvers<void>()
    const { promise: isLocked, resolve: locked } = Promise.withResolvers<void>()
    const copying = copy.begin(async (tx) => {
      await tx`SELECT 1 FROM hookswitch_store FOR UPDATE`
      locked()
      await isEnough
    })
    await isLocked
    const what = 'hookswitch store copy is writing to the database'
    await expect(prepareDatabase(source, { copyWithinMs: 0 })).rejects.toThrow(what)
    const messages: string[] = []
    const preparing = prepareDatabase(source, { onWaiting: (message) => messages.push(message) })
    await until('it has a message', () => messages.length > 0)
    end()
    await copying
    await preparing
    expect(messages).toEqual([expect.stringContaining(what)])
  })

  test('is opened if a newer version made it and allows that, else refused', async () => {
    await using database = await emptyDatabase()
    const source = databaseSource(database.url)
    await prepareDatabase(source)
    const client = newClient(source, { role: 'test', connections: 1, statementMs: 5_000 })
    await client.query('UPDATE hookswitch_store SET version = 99')
    expect(await refusal(source)).toBe('opened')
    await client.query('UPDATE hookswitch_store SET usable_from = 98')
    expect(await refusal(source)).toContain('was written by a newer hookswitch (store 99): run that one, or newer')
    await client.stop()
  })

  test('of each release, and of a build that was handed out, becomes the newest; of one in between it is refused', async () => {
    const tables = async (url: string) => {
      await using sql = new SQL({ url, max: 1 })
      await prepareDatabase(databaseSource(url))
      return [
        ...(await sql.unsafe(`SELECT table_name, column_name, data_type, is_nullable, column_default
          FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2`)),
        ...(await sql.unsafe(
          `SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename !~ '_[0-9]$' ORDER BY 1`,
        )),
        ...(await sql.unsafe('SELECT version, usable_from FROM hookswitch_store')),
      ]
    }
    await using fresh = await emptyDatabase()
    const made = await tables(fresh.url)
    for (const version of [1, 11, 21]) {
      await using earlier = await databaseOfVersion(version)
      expect([version, await tables(earlier.url)]).toEqual([version, made])
    }
    await using between = await databaseOfVersion(11)
    await using sql = new SQL({ url: between.url, max: 1 })
    await sql`UPDATE hookswitch_store SET version = 17`
    expect(await refusal(databaseSource(between.url))).toMatch(
      /was written by a hookswitch that was never released \(store 17\): restore a backup of a release, or make another/,
    )
    // Nothing of it was changed, by work before migrations either.
    expect(
      await sql`SELECT 1 FROM pg_attribute WHERE attrelid = 'calls'::regclass AND attname = 'from_e164'`,
    ).toHaveLength(0)
  })

  test('is left alone if it belongs to another program', async () => {
    await using database = await emptyDatabase()
    const sql = new SQL({ url: database.url, max: 1 })
    await sql`CREATE TABLE accounts (id int)`
    expect(await refusal(databaseSource(database.url))).toContain("is another program's: make one for hookswitch")
    expect(await sql`SELECT to_regclass('hookswitch_store')::text AS made`).toMatchObject({ 0: { made: null } })
    await sql.close()
  })

  test('is reported with the reason and what to do, in one line, without the password, if it cannot be used', async () => {
    const { url } = await postgresOfRun()
    const source = databaseSource(url)
    const messages = [
      await refusal({ ...source, password: 'wrong-secret' }),
      await refusal({ ...source, database: 'nowhere' }),
      await refusal({ ...source, port: 1 }),
      await refusal({ ...source, tls: 'verify-full' }),
    ]
    expect(messages[0]).toContain('refuses this user or its password')
    expect(messages[1]).toContain('does not exist')
    expect(messages[2]).toContain('does not answer')
    expect(messages[3]).toContain('with the TLS that was asked for')
    for (const line of messages) {
      expect(line).toContain('--database-url')
      expect(line).not.toContain('wrong-secret')
      expect(line).not.toContain('\n')
    }
  })

  test('a server that starts meanwhile is waited for', async () => {
    await using database = await emptyDatabase()
    const source = databaseSource(database.url)
    const port = reservePort()
    const opened = refusal({ ...source, port }, 60_000)
    const proxy = createServer((near) => near.pipe(connect(source.port, source.host)).pipe(near))
    proxy.listen(port, '127.0.0.1')
    expect(await opened).toBe('opened')
    proxy.close()
  })
})

describe.skipIf(POSTGRES_MISSING !== undefined)('the client of Postgres', () => {
  test('sends arrays of text unchanged, except for NUL, which a database cannot hold', async () => {
    const { url } = await postgresOfRun()
    const client = newClient(databaseSource(url), { role: 'test', connections: 1, statementMs: 5_000 })
    const pieces = ['"', '\\', ',', '{', '}', 'NULL', ' ', "'", '\n', '\t', '😀', 'é', '\u0001', '$1', '']
    const values = Array.from({ length: 2_000 }, (_, n) =>
      Array.from({ length: n % 7 }, (_each, at) => pieces[(n * 31 + at * at * 17 + at) % pieces.length]).join(''),
    )
    const rows = await client.query<{ text: string }>('SELECT t AS text FROM unnest($1::text[]) AS t', [
      texts([...values, 'a\0b']),
    ])
    expect(rows.map(({ text }) => text)).toEqual([...values, 'a\uFFFDb'])
    await client.stop()
  })

  test('goes on by itself after all its connections were ended', async () => {
    const { url } = await postgresOfRun()
    const client = newClient(databaseSource(url), { role: 'victim', connections: 3, statementMs: 5_000 })
    const other = newClient(databaseSource(url), { role: 'other', connections: 1, statementMs: 5_000 })
    const asleep = [1, 2, 3].map(() => client.query('SELECT pg_sleep(60)').catch((error: unknown) => String(error)))
    // A connection that is ended while it is set up is replaced, and its statement runs on the next one.
    const victims = "FROM pg_stat_activity WHERE application_name = 'hookswitch victim' AND query LIKE '%pg_sleep%'"
    for (;;) {
      const [row] = await other.query<{ n: number }>(`SELECT count(*)::int AS n ${victims}`)
      if (row?.n === 3) break
    }
    await other.query(`SELECT pg_terminate_backend(pid) ${victims}`)
    for (const message of await Promise.all(asleep)) expect(message).toContain('does not answer')
    expect(await client.read('SELECT 1 AS one')).toEqual([{ one: 1 }])
    await client.stop()
    await other.stop()
  })

  test('makes the service read pending deliveries again after each new connection that writes outcomes', async () => {
    await using database = await emptyDatabase()
    const store = await openPostgresStore(databaseSource(database.url))
    let notified = 0
    store.onForeignChange(() => {
      notified += 1
    })
    const sql = new SQL({ url: database.url, max: 1 })
    // A connection that ends before its first statement does not count: the next one is the first.
    const end = () => sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name = 'hookswitch outcomes' AND datname = current_database() AND query LIKE '%FROM changes%'`
    await until('the connection was used and was ended', async () => (await end()).length > 0)
    await until('it is noticed', () => notified > 0)
    await sql.close()
    await store.stop()
  })

  test('gives up a statement after its time', async () => {
    const { url } = await postgresOfRun()
    const client = newClient(databaseSource(url), { role: 'test', connections: 1, statementMs: 500 })
    expect(await client.query('SELECT pg_sleep(60)').catch((error: unknown) => String(error))).toContain(
      'did not answer in time',
    )
    await client.stop()
  })

  test('runs a transaction that met another again', async () => {
    await using database = await emptyDatabase()
    const client = newClient(databaseSource(database.url), { role: 'test', connections: 4, statementMs: 60_000 })
    await client.query('CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL)')
    await client.query('INSERT INTO t VALUES (1, 0), (2, 0)')
    const raise = (...ids: number[]) =>
      client.transaction(async (query) => {
        for (const id of ids) await query('UPDATE t SET n = n + 1 WHERE id = $1::int', [id])
      })
    await Promise.all(Array.from({ length: 8 }, (_, n) => (n % 2 === 0 ? raise(1, 2) : raise(2, 1))))
    expect(await client.query('SELECT n FROM t ORDER BY id')).toEqual([{ n: 8 }, { n: 8 }])
    await client.stop()
  })

  test('waits for locks, whatever the default isolation of the database', async () => {
    await using database = await emptyDatabase()
    const source = databaseSource(database.url)
    const sql = new SQL({ url: database.url, max: 1 })
    await sql.unsafe(`ALTER DATABASE ${source.database} SET default_transaction_isolation = 'serializable'`)
    await sql.close()
    const client = newClient(source, { role: 'isolation', connections: 2, statementMs: 600_000 })
    await client.query('CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL)')
    await client.query('INSERT INTO t VALUES (1, 0)')
    // The setting takes effect: a connection that does not choose has it.
    const other = new SQL({ url: database.url, max: 1 })
    expect([...(await other`SELECT current_setting('transaction_isolation') AS level`)]).toEqual([
      { level: 'serializable' },
    ])
    let waiting: Promise<unknown> | undefined
    const levels = await client.transaction(async (query) => {
      await query('UPDATE t SET n = n + 1')
      waiting = client.query<{ n: number }>('UPDATE t SET n = n + 1 RETURNING n').catch(String)
      await until('the second one waits for the first', async () => {
        const [row] = await other`SELECT count(*)::int AS n FROM pg_stat_activity
          WHERE application_name = 'hookswitch isolation' AND wait_event_type = 'Lock'`
        return row?.n === 1
      })
      return query("SELECT current_setting('transaction_isolation') AS level")
    })
    expect(levels).toEqual([{ level: 'read committed' }])
    expect(await waiting).toEqual([{ n: 2 }])
    await other.close()
    await client.stop()
  })
})
