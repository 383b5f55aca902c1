import { Database as Sqlite } from 'bun:sqlite'
import { afterAll, afterEach, expect, test } from 'bun:test'
import {
  copyFileSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../../../../src/lib/fault.ts'
import { isUnwritable, runBatch } from '../../../../src/store/sqlite/engine/batch.ts'
import { openDatabase } from '../../../../src/store/sqlite/engine/database.ts'
import { migrationsBetween } from '../../../../src/store/sqlite/engine/migrations.ts'
import { mutation, type Tx } from '../../../../src/store/sqlite/engine/mutation.ts'
import { connect, prepareStore } from '../../../../src/store/sqlite/engine/open.ts'
import { prepared } from '../../../../src/store/sqlite/engine/prepared.ts'
import { storeFaultKind } from '../../../../src/store/sqlite/engine/store-fault.ts'
import { registryOf } from '../../../../src/store/sqlite/engine/writer.ts'
import { openSqliteStore } from '../../../../src/store/sqlite/store.ts'
import { storeOver } from '../../../../src/store/sqlite/store-over.ts'
import { emptyFolder } from '../../../help/app.ts'

const folder = emptyFolder()
const path = join(folder.path, 'hookswitch.db')
afterEach(() => {
  for (const tail of ['', '-wal', '-shm']) rmSync(path + tail, { force: true })
})
afterAll(() => folder[Symbol.dispose]())

const addAccount = mutation('test.add', (tx: Tx, name: string): number => {
  if (name === 'fault') throw new Fault('invalid', 'not this one')
  const id = prepared<never, [string]>(tx, 'INSERT INTO accounts (name) VALUES (?)').run(name).lastInsertRowid
  if (name === 'bug') throw new TypeError('a bug')
  return Number(id)
})
const names = (tx: Tx) =>
  prepared<{ name: string }, []>(tx, 'SELECT name FROM accounts ORDER BY id')
    .all()
    .map(({ name }) => name)
const user = (email: string) => ({ account: 'default', type: 1, name: 'N', email, passwordHash: 'x', atUs: 1 })

test('writes of one turn share a commit; one that throws undoes only itself', async () => {
  const db = openDatabase(path)
  const results = await Promise.allSettled(['a', 'fault', 'b', 'bug', 'c'].map((name) => db.commit(addAccount, name)))
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'])
  expect(results[1]).toMatchObject({ reason: { code: 'invalid', message: 'not this one' } })
  expect(results[3]).toMatchObject({ reason: { message: 'a bug' } })
  expect(names(db.read)).toEqual(['default', 'a', 'b', 'c'])
  expect(db.commits).toMatchObject({ batches: 1, writes: 5, failed: 2 })
  await db.stop()
})

test('the thread writes as this thread would, and faults come back as faults', async () => {
  const thread = () => new Worker(new URL('../../../../src/app/writer.ts', import.meta.url).href)
  const db = openDatabase(path, { thread })
  expect(await storeOver(db).accounts.userCreate(user('a@example.com'))).toMatchObject({ id: 1 })
  expect(await storeOver(db).accounts.userCreate(user('a@example.com'))).toBeUndefined()
  const refused = await db.commit(addAccount, 'x').catch((error) => error)
  expect(refused.message).toContain('src/app/writer.ts')
  await db.stop()
})

test('a store that is full refuses the whole batch, and takes the next when there is space', () => {
  prepareStore(path)
  const connection = connect(path, 'writer')
  const registry = registryOf([{ addAccount }])
  const pages = connection.query<{ page_count: number }, []>('PRAGMA page_count').get()?.page_count ?? 0
  connection.run(`PRAGMA max_page_count = ${pages}`)
  const jobs = Array.from({ length: 500 }, (_, n) => ['test.add', `account ${n} ${'x'.repeat(200)}`] as const)
  const replies = runBatch(connection, registry, jobs)
  expect(replies.every((reply) => 'fault' in reply && reply.fault.code === 'unavailable')).toBe(true)
  expect(names(connection)).toEqual(['default'])
  connection.run('PRAGMA max_page_count = 100000')
  expect(runBatch(connection, registry, jobs).every((reply) => 'value' in reply)).toBe(true)
  expect(names(connection)).toHaveLength(501)
  connection.close()
})

test('what cannot be read is refused with the reason, as what cannot be written is', async () => {
  store()
  const opened = openSqliteStore(path)
  overwrite(4_096, Buffer.alloc(statSync(path).size - 4_096, 0xa5))
  const refused = await opened.accounts.userList().catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(Fault)
  expect(refused).toMatchObject({
    code: 'unavailable',
    message: 'the store cannot be read: it is damaged (database disk image is malformed)',
  })
  expect(storeFaultKind(refused, path)).toBe('damaged')
  await opened.stop()
})

test('a reader cannot write', () => {
  prepareStore(path)
  const sqlite = connect(path, 'reader')
  let thrown: unknown
  try {
    sqlite.run("INSERT INTO accounts (name) VALUES ('x')")
  } catch (error) {
    thrown = error
  }
  expect(isUnwritable(thrown)).toBe(true)
  sqlite.close()
})

function store(): void {
  prepareStore(path)
  const sqlite = new Sqlite(path)
  sqlite.run('PRAGMA wal_checkpoint(TRUNCATE)')
  sqlite.close()
}

test('a store of the previous version is migrated: removed webhooks keep their place until their last delivery is gone', async () => {
  const old = new Sqlite(path, { create: true })
  old.run(readFileSync(new URL('../../../../src/store/sqlite/migrations/001.sql', import.meta.url), 'utf8'))
  old.run(`INSERT INTO webhooks SELECT value, 1, 'http://' || value, 0, iif(value = 1, NULL, 0), 1, 1, 1, 1, 1, 1, 1, 0
    FROM json_each('[1, 2]')`)
  old.run('INSERT INTO deliveries (id, webhook_id, state, since, created_at) VALUES (128, 1, 3, 1, 1)')
  old.run('PRAGMA user_version = 1')
  old.close()
  const db = openDatabase(path)
  const rows = prepared<{ left: number }, []>(db.read, 'SELECT left_to AS left FROM webhooks ORDER BY id').all()
  expect(rows.map(({ left }) => left)).toEqual([128, 0])
  await db.stop()
})

test('a store of each release, and of a build that was handed out, becomes the newest', () => {
  const schemaOf = () => {
    prepareStore(path)
    const sqlite = new Sqlite(path)
    const objects = sqlite.query('SELECT type, name, sql FROM sqlite_schema ORDER BY type, name').all()
    sqlite.close()
    for (const tail of ['', '-wal', '-shm']) rmSync(path + tail, { force: true })
    return objects
  }
  const made = schemaOf()
  const versions = [...Array.from({ length: 20 }, (_, at) => at + 1), 30]
  for (const version of versions) {
    const old = new Sqlite(path, { create: true })
    for (const { text } of migrationsBetween(0, version)) old.run(text)
    old.run(`PRAGMA user_version = ${version}`)
    old.close()
    expect([version, schemaOf()]).toEqual([version, made])
  }
})

/** Another process has the store for itself, for so long or until it is stopped. */
async function haveForItself(forMs: number) {
  const source = `
    const { Database } = require('bun:sqlite')
    const sqlite = new Database(${JSON.stringify(path)})
    sqlite.run('PRAGMA locking_mode = EXCLUSIVE')
    sqlite.run('BEGIN EXCLUSIVE')
    sqlite.run("INSERT INTO accounts (name) VALUES ('theirs')")
    console.log('locked')
    Bun.sleepSync(${forMs})
    sqlite.run('ROLLBACK')
    sqlite.close()`
  const child = Bun.spawn([process.execPath, '-e', source], { stdout: 'pipe' })
  await child.stdout.getReader().read()
  return {
    async [Symbol.asyncDispose]() {
      child.kill()
      await child.exited
    },
  }
}

test('a store that another process has for itself is waited for', async () => {
  store()
  await using _locked = await haveForItself(300)
  prepareStore(path, { turnWithinMs: 60_000 })
})

test('a store that another process does not let go is reported to be in use, not to be damaged', async () => {
  store()
  await using _locked = await haveForItself(600_000)
  expect(() => prepareStore(path, { turnWithinMs: 50 })).toThrow(/another process has locked it .*try again/)
})

test('a store whose log holds all of it is ours: another process makes it at this moment', async () => {
  const maker = new Sqlite(path, { create: true })
  maker.run('PRAGMA journal_mode = WAL')
  // A client that reads an earlier state keeps the log from being moved into the file.
  maker.run('BEGIN')
  maker.query('SELECT count(*) FROM sqlite_schema').get()
  const made = openDatabase(path)
  const versionInHeader = readFileSync(path).readUInt32BE(60)
  expect(versionInHeader).toBe(0)
  const db = openDatabase(path)
  expect(names(db.read)).toEqual(['default'])
  await db.stop()
  await made.stop()
  maker.close()
})

test('a store is for its own user alone', () => {
  store()
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test.each([
  ['of a newer version', () => sqliteRun('PRAGMA user_version = 99'), 'newer'],
  [
    'of a version that was never released',
    () => sqliteRun('PRAGMA user_version = 25'),
    'restore a backup of a release',
  ],
  ['that is text', () => writeFileSync(path, 'hello world '.repeat(100)), 'damaged'],
  ['that is shorter than a header', () => writeFileSync(path, 'SQLite format 3\0'), 'damaged'],
  ['that was cut off', () => truncateSync(path, 9_000), 'damaged'],
  ['with a page of noise', () => overwrite(4_096 * 3, Buffer.alloc(4_096, 0xa5)), 'damaged'],
  ['of another program from the start', () => sqliteRun('PRAGMA user_version = 0'), 'another program'],
  ['of another program', () => sqliteRun('DROP TABLE deliveries'), 'damaged'],
])('a file %s is refused, and left as it is', (_, spoil, word) => {
  store()
  spoil()
  const before = readFileSync(path)
  expect(() => openDatabase(path)).toThrow(word)
  expect(readFileSync(path).equals(before)).toBe(true)
})

test.each([
  ['empty', () => truncateSync(path, 0)],
  ['missing', () => unlinkSync(path)],
])('a file that is %s beside its log of changes is refused, and the log is kept', async (_, spoil) => {
  const copy = `${path}-wal.copy`
  const db = openDatabase(path)
  await db.commit(addAccount, 'kept')
  copyFileSync(`${path}-wal`, copy)
  await db.stop()
  spoil()
  renameSync(copy, `${path}-wal`)
  const before = readFileSync(`${path}-wal`)
  expect(before.length).toBeGreaterThan(32)
  expect(() => openDatabase(path)).toThrow('its log of changes')
  expect(readFileSync(`${path}-wal`).equals(before)).toBe(true)
})

function sqliteRun(sql: string): void {
  const sqlite = new Sqlite(path)
  sqlite.run(sql)
  sqlite.run('PRAGMA wal_checkpoint(TRUNCATE)')
  sqlite.close()
}

function overwrite(offset: number, bytes: Buffer): void {
  const file = readFileSync(path)
  bytes.copy(file, offset)
  writeFileSync(path, file)
}
