import { describe, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { emptyFolder, run, startServe } from '../../help/app.ts'
import { addUser, callsOf, lastingSql, putList } from '../../help/cluster-parts.ts'
import { emptyDatabase, POSTGRES_MISSING } from '../../help/postgres.ts'
import { startReceiver, until } from '../../help/receiver.ts'

const CALLS_PER_SECOND = 5
const SECONDS = 15

/** A change that a later version may make to every table: one more column, which this version does not know. */
const LATER = `DO $$ DECLARE one record; BEGIN
  FOR one IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('hookswitch_store')
    AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = format('%I', tablename)::regclass)
  LOOP EXECUTE format('ALTER TABLE %I ADD COLUMN of_a_later_version int', one.tablename); END LOOP; END $$`

/**
 * Repeats a change until it gets its locks, as migrations do: a running node may lock a table that is to be changed,
 * and wait for one that was changed.
 */
async function untilUnlocked(change: () => Promise<unknown>): Promise<void> {
  for (;;)
    try {
      await change()
      return
    } catch (error) {
      if (!(error instanceof SQL.PostgresError) || !/^(55P03|40P01)/.test(String(error.errno))) throw error
    }
}

describe.skipIf(POSTGRES_MISSING !== undefined)('nodes of two versions', () => {
  test('start at once on an empty database, go on while a later one migrates it, and are replaced one by one', async () => {
    await using cleaning = new AsyncDisposableStack()
    const folder = emptyFolder()
    cleaning.defer(() => folder[Symbol.dispose]())
    const database = await emptyDatabase()
    cleaning.defer(() => database[Symbol.asyncDispose]())
    const sql = lastingSql(database.url)
    cleaning.defer(sql.stop)
    const receiver = startReceiver()
    cleaning.defer(() => receiver.stop())
    const replay = startReplay({ files: [callsOf(CALLS_PER_SECOND, SECONDS, { firstCall: 0 })] })
    cleaning.defer(() => replay.stop())
    const args = ['--allow-net', 'loopback', '--log-level', 'warn', '--database-url', database.url]
    const start = (...more: string[]) => startServe({ cwd: folder.path, args: [...args, ...more] })

    const first = await Promise.all([start(), start(), start()])
    await addUser(folder.path, database.url, 'one')
    await putList(first[0], 'one', [`${receiver.url}/calls`])
    await Promise.all(first.map((node) => node.stop()))
    const pbx = ['--pbx', `ami://any:any@127.0.0.1:${replay.port}?name=office&account=one`]
    const nodes = await Promise.all([start(...pbx), start(...pbx)])
    cleaning.defer(async () => void (await Promise.all(nodes.map((node) => node.stop('SIGKILL')))))
    await until('events come', () => receiver.received.length > 0)

    const [{ version = 0 } = {}] = await sql.ask<{ version: number }>('SELECT version FROM hookswitch_store')
    const migrating = new SQL({ url: database.url, max: 1 })
    cleaning.defer(() => migrating.close())
    const { promise: isStarting, resolve: starting } = Promise.withResolvers<void>()
    const migrated = migrating.begin(async (tx) => {
      await tx.unsafe('SELECT version FROM hookswitch_store FOR UPDATE')
      await isStarting
      await untilUnlocked(() => tx.savepoint((inner) => inner.unsafe(`SET LOCAL lock_timeout = '500ms'; ${LATER}`)))
      await tx.unsafe('UPDATE hookswitch_store SET version = version + 1')
    })
    const [one, two] = nodes
    await one.stop('SIGTERM')
    const third = start(...pbx)
    await until('a node that starts waits for the one that migrates', async () => {
      const [row] = await sql.ask<{ waiting: number }>(
        `SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE application_name = 'hookswitch start' AND wait_event_type = 'Lock'
           AND datname = current_database()`,
      )
      return row?.waiting === 1
    })
    starting()
    await migrated
    nodes[0] = await third
    await two.stop('SIGTERM')
    nodes[1] = await start(...pbx)
    await replay.finished
    await until('all calls are over and all events are delivered', async () => (await sql.unfinished()) === 0)

    const ids = receiver.received.map(({ id }) => id)
    expect(ids.length).toBe(new Set(ids).size)
    expect(await sql.faults(1)).toEqual([])
    expect((await sql.events()).filter(({ uuid }) => !ids.includes(uuid))).toEqual([])
    expect(await sql.ask('SELECT version FROM hookswitch_store')).toEqual([{ version: version + 1 }])
    expect(await run(['verify', '--database-url', database.url], { cwd: folder.path })).toMatchObject({ code: 0 })
  })
})
