import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { SQL } from 'bun'
import { forSwitches } from '../../src/events/kinds.ts'
import { prepareDatabase } from '../../src/store/postgres/engine/open.ts'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { openTables } from '../../src/store/sqlite/engine/table-reader.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
import { DEFAULT_OPTIONS } from '../../src/store/webhook-options.ts'
import { EXECUTABLE, emptyFolder, run, startServe } from '../help/app.ts'
import { databaseSource, emptyDatabase, POSTGRES_MISSING } from '../help/postgres.ts'
import { until } from '../help/receiver.ts'
import { pendingRecording } from '../help/recordings.ts'
import { batch, storeEvents } from '../help/store.ts'

const NOW = 1_795_213_000_000_000
const URL = 'https://one.example/'

/** Puts something into every table. */
async function fill(store: Store): Promise<void> {
  const { accounts, webhooks, queue, calls, recordings, statistics } = store
  const person = { type: 1, name: 'A "quoted" \\ 😀', passwordHash: 'hash', atUs: NOW }
  await accounts.userCreate({ ...person, account: 'default', email: 'a@example.com' })
  const other = await accounts.userCreate({ ...person, account: 'acme', email: 'b@example.com' })
  await accounts.tokenAddIfPasswordUnchanged({
    userId: other?.id ?? 0,
    passwordHash: 'hash',
    tokenHash: 'token',
    atUs: NOW,
  })
  const list = [URL, 'https://two.example/'].map((url) => ({ url, ...forSwitches(() => true) }))
  await webhooks.listReplace({ accountId: 1, list, ifMatch: null, nowUs: NOW, secrets: ['whsec_a', 'whsec_b'] })
  await webhooks.optionsReplace({
    accountId: 1,
    url: URL,
    nowUs: NOW,
    options: { ...DEFAULT_OPTIONS, name: 'CRM' },
  })
  const event = (n: number) => ({
    uuid: `uuid ${n}`,
    callId: `call ${n}`,
    name: 'call_saved' as const,
    sequence: 1,
    atUs: NOW,
    body: JSON.stringify({ data: { text: `{"a\\b",NULL} 😀 ${n}`, none: null } }),
  })
  const stored = await storeEvents(
    store,
    Array.from({ length: 1_500 }, (_, n) => event(n)),
    { nowSteadyUs: NOW },
  )
  const [a = 0, b = 0] = stored.flatMap(({ deliveries }) => deliveries.map(({ id }) => id))
  await queue.deliveryRecordOutcomes({
    deliveryIds: [a, b],
    generations: [1, 1],
    states: [1, 0],
    tries: [1, 1],
    attemptsMade: [1, 1],
    dueSteadyUs: [null, NOW + 5],
    endedUs: [NOW, null],
    attemptUs: [NOW, NOW],
    probes: [false, true],
    statuses: [200, null],
    durationsMs: [3, 4],
    errors: [null, 'timeout'],
    addresses: ['::1', null],
    responses: ['ok', null],
  })
  const saved = {
    id: 'call 1',
    savedUs: NOW,
    direction: 'inbound' as const,
    fromNumber: '101',
    toNumber: null,
    fromE164: '+49301',
    record: JSON.stringify({ call: { from: { e164: '+49301' } } }),
  }
  const recording = pendingRecording('r1', {
    callId: 'call 1',
    path: '/a "b".wav',
    sinceUs: NOW,
    error: 'not there',
  })
  const live = [{ id: 'call 2', state: '{"x":1}' }]
  await calls.batchStore(batch({ saved: [saved] }, { live, recordings: [recording] }))
  await recordings.linkKeyAdd('the key')
  await calls.pbxMemorySet('office', '{}')
  const figures = { accountId: 1, webhookId: 1, minute: 5, events: 1, delivered: 2, failedAttempts: 3, failedProbes: 4 }
  await statistics.minuteSave({ figures: [{ ...figures, latencies: [1, 2] }], beforeMinute: 0 })
  await statistics.quarterSave({ figures: [{ ...figures, quarter: 5, latencies: [1, 2] }], beforeQuarter: 0 })
}

/** Reads back all that a client could see. */
async function view({ accounts, webhooks, queue, calls, recordings, log, maintenance }: Store) {
  const filter = { accountId: null }
  const listed = []
  for (let fromId: number | null = 0; fromId !== null; ) {
    const part = await log.deliveryList({ filter, fromId, limit: 500, order: 'oldest' })
    listed.push(...part.rows)
    fromId = part.nextId
  }
  return {
    users: await accounts.userList(),
    token: await accounts.userGetByToken('token'),
    list: await webhooks.listGet(1),
    webhooks: await webhooks.webhookGetMany([1, 2]),
    options: await webhooks.optionsList(1),
    secrets: await webhooks.secretList(1),
    recordings: await recordings.recordingListOfCalls(['call 1']),
    linkKey: await recordings.linkKeyGet(),
    untried: await queue.deliveryGetUntried({ webhookId: 1, afterId: 0, limit: 2_000 }),
    due: await queue.deliveryGetDue({ webhookId: 2, afterId: 0, exceptIds: [], dueSteadyUs: NOW * 2, limit: 2_000 }),
    listed,
    detail: await log.deliveryGet(null, 128),
    events: await log.eventRead({ accountId: 1, afterId: 3, limit: 1_000 }),
    bounds: await log.eventGetBounds(1),
    calls: await calls.callList({ accountId: 1, filter: {}, after: undefined, limit: 9 }),
    ofNumber: await calls.callListIdsOfNumber({ accountId: 1, number: '+49301', limit: 9 }),
    live: await calls.liveCallList('office'),
    memory: await calls.pbxMemoryGet('office'),
    clock: await maintenance.clockGet(),
    wrong: await maintenance.verify(),
  }
}

/** Returns the columns of the database that need a value which a store of one node lacks, also of tables without rows. */
async function lackingColumns(tables: readonly { name: string; columns: readonly string[] }[], url: string) {
  await using sql = new SQL({ url, max: 1 })
  const needed: { table: string; column: string }[] = await sql`
    SELECT table_name AS table, column_name AS column FROM information_schema.columns
    WHERE table_schema = 'public' AND is_nullable = 'NO' AND column_default IS NULL AND is_identity = 'NO'`
  return tables.flatMap(({ name, columns }) =>
    needed
      .filter(({ table, column }) => table === name && !columns.includes(column))
      .map(({ table, column }) => `${table}.${column}`),
  )
}

describe.skipIf(POSTGRES_MISSING !== undefined)('hookswitch store copy', () => {
  test('copies every table with the same ids, and what comes after has other ids', async () => {
    using folder = emptyFolder()
    await using database = await emptyDatabase()
    const path = join(folder.path, 'data/hookswitch.db')
    expect((await run(['user', 'list'], { cwd: folder.path })).code).toBe(1)
    await run(['user', 'add', '--email', 'x@example.com', '--name', 'X'], { cwd: folder.path, stdin: '123456789\n' })
    const store = openSqliteStore(path)
    for (const { id } of await store.accounts.userList()) await store.accounts.userDelete(id)
    await fill(store)
    const before = await view(store)
    await store.stop()
    const { code, stdout, stderr } = await run(['store', 'copy', '--database-url', database.url], { cwd: folder.path })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^deliveries +3000$/m)
    const opened = openTables(path)
    const tables = opened.tables.map(({ name }) => name)
    expect(await lackingColumns(opened.tables, database.url)).toEqual(['quarters.node'])
    opened.close()
    expect(tables.length).toBeGreaterThan(14)
    const copy = await openPostgresStore(databaseSource(database.url))
    expect(await view(copy)).toEqual(before)
    const made = await copy.accounts.userCreate({
      account: 'new',
      type: 1,
      name: 'N',
      email: 'n@example.com',
      passwordHash: 'h',
      atUs: NOW,
    })
    expect(made?.id).toBeGreaterThan(before.users.at(-1)?.id ?? 0)
    const [next] = await storeEvents(copy, [
      { ...before.events.items[0], uuid: 'new', callId: 'new', name: 'call_saved', sequence: 1, atUs: NOW, body: '{}' },
    ])
    expect(next?.id).toBeGreaterThan(before.bounds.newestId)
    await copy.stop()
    const again = await run(['store', 'copy', '--database-url', database.url], { cwd: folder.path })
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('already has users')])
  })

  test('leaves nothing if it is killed in the middle, and copies everything when it is repeated', async () => {
    using folder = emptyFolder()
    await using database = await emptyDatabase()
    await run(['user', 'add', '--email', 'x@example.com', '--name', 'X'], { cwd: folder.path, stdin: '123456789\n' })
    const store = openSqliteStore(join(folder.path, 'data/hookswitch.db'))
    await fill(store)
    const before = await view(store)
    await store.stop()
    await prepareDatabase(databaseSource(database.url))
    await using sql = new SQL({ url: database.url, max: 2 })
    const isLocked = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    // Events and deliveries are copied by then.
    const locking = sql.begin(async (tx) => {
      await tx`LOCK TABLE attempts IN ACCESS EXCLUSIVE MODE`
      isLocked.resolve()
      await release.promise
    })
    await isLocked.promise
    const copying = Bun.spawn([EXECUTABLE, 'store', 'copy', '--database-url', database.url], {
      cwd: folder.path,
      env: {},
      stdio: ['ignore', 'ignore', 'ignore'],
    })
    const waiting = () =>
      sql`SELECT 1 FROM pg_stat_activity WHERE application_name = 'hookswitch copy' AND wait_event_type = 'Lock'`
    await until('it is in the middle', async () => (await waiting()).length > 0)
    const beside = await startServe({ cwd: folder.path }).then(
      () => 'it started',
      (error: unknown) => String(error),
    )
    expect(beside).toContain('is in use by process')
    const second = Bun.spawn([EXECUTABLE, 'nodes', '--database-url', database.url], {
      cwd: folder.path,
      env: {},
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const { value } = await second.stderr.getReader().read()
    expect(new TextDecoder().decode(value)).toStartWith('hookswitch: hookswitch store copy is writing to the database')
    copying.kill('SIGKILL')
    await copying.exited
    release.resolve()
    await locking
    await until('its session is over', async () => {
      const sessions = await sql`SELECT 1 FROM pg_stat_activity WHERE application_name = 'hookswitch copy'`
      return sessions.length === 0
    })
    expect(await second.exited).toBe(0)
    expect(await new Response(second.stdout).text()).toContain('No node runs on this database')
    const left =
      await sql`SELECT (SELECT count(*) FROM users)::int AS users, (SELECT count(*) FROM events)::int AS events`
    expect([...left]).toEqual([{ users: 0, events: 0 }])
    const again = await run(['store', 'copy', '--database-url', database.url], { cwd: folder.path })
    expect({ code: again.code, stderr: again.stderr }).toEqual({ code: 0, stderr: '' })
    const copy = await openPostgresStore(databaseSource(database.url))
    expect(await view(copy)).toEqual(before)
    await copy.stop()
  })

  test('refuses while a service runs on the folder or on the database, and copies nothing of a broken store', async () => {
    using folder = emptyFolder()
    await using database = await emptyDatabase()
    const copy = () => run(['store', 'copy', '--database-url', database.url], { cwd: folder.path })
    const onFolder = await startServe({ cwd: folder.path })
    expect((await copy()).stderr).toContain('is in use by process')
    await onFolder.stop()
    const onDatabase = await startServe({ cwd: folder.path, env: { HOOKSWITCH_DATABASE_URL: database.url } })
    expect((await copy()).stderr).toContain('is using the database')
    await onDatabase.stop()
    const path = join(folder.path, 'data/hookswitch.db')
    const store = openSqliteStore(path)
    await fill(store)
    await store.stop()
    const { Database } = await import('bun:sqlite')
    const sqlite = new Database(path)
    sqlite.run('DELETE FROM events WHERE id = 7')
    sqlite.close()
    const broken = await copy()
    expect([broken.code, broken.stderr]).toEqual([
      1,
      expect.stringContaining('of 3000 rows of deliveries could be copied'),
    ])
    const empty = await openPostgresStore(databaseSource(database.url))
    expect(await empty.accounts.userCount()).toBe(0)
    expect(await empty.queue.pendingCount()).toBe(0)
    await empty.stop()
    expect(await run(['store', 'copy'], { cwd: folder.path })).toMatchObject({ code: 2 })
  })
})
