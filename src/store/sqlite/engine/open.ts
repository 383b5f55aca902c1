import { Database as Sqlite } from 'bun:sqlite'
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { Fault } from '../../../lib/fault.ts'
import { type Migrated, migrationSeconds } from '../../migrated.ts'
import { makeFile } from './data-folder.ts'
import { isMigrated, migrationsBetween, NEWEST_VERSION } from './migrations.ts'
import { asStoreFault, storeFault, storeFaultKind } from './store-fault.ts'

const MAGIC = 'SQLite format 3\0'

/** The time to wait for another process that creates or uses the store, and the pause between two tries. */
const TURN_WITHIN_MS = 5_000
const AGAIN_MS = 20

/**
 * A store up to this size is checked when it is opened; a larger one would delay the start (`doctor` and `verify` check
 * it).
 */
export const QUICK_CHECK_BYTES = 8 * 1024 * 1024

/**
 * More than the statements that a connection uses again and again: beyond this number, which is 20 by default, each is
 * prepared anew in its turn, and that takes longer than running most of them.
 */
Sqlite.MAX_QUERY_CACHE_SIZE = 256

/** Opens one connection to a store that `prepareStore` has prepared. A reader cannot write. */
export function connect(path: string, role: 'reader' | 'writer'): Sqlite {
  const sqlite = new Sqlite(path, { create: role === 'writer', readwrite: true, strict: true })
  sqlite.run(`PRAGMA busy_timeout = ${TURN_WITHIN_MS}`)
  sqlite.run('PRAGMA synchronous = FULL')
  sqlite.run('PRAGMA foreign_keys = ON')
  sqlite.run('PRAGMA cache_size = -16384')
  // Overwrites deleted data in the file: an erased number may be in rows that were deleted earlier.
  sqlite.run(role === 'reader' ? 'PRAGMA query_only = ON' : 'PRAGMA secure_delete = ON')
  return sqlite
}

type PrepareOptions = {
  readonly turnWithinMs?: number | undefined
  /** Called once after the store was created or migrated. */
  readonly onMigrated?: ((migration: Migrated) => void) | undefined
}

/**
 * Creates the store, or migrates it to this version.
 * @throws Fault when the file is damaged or of a newer version (it is not changed then), or cannot be written now.
 */
export function prepareStore(path: string, { turnWithinMs = TURN_WITHIN_MS, onMigrated }: PrepareOptions = {}): void {
  assertNotEmptied(path)
  makeFile(path)
  const untilMs = performance.now() + turnWithinMs
  for (let isPrepared = false; !isPrepared; ) {
    try {
      assertKnownVersion(path, headerVersion(path))
      const startedMs = performance.now()
      const from = prepare(path, turnWithinMs)
      isPrepared = true
      if (from < NEWEST_VERSION)
        onMigrated?.({ from, to: NEWEST_VERSION, seconds: migrationSeconds(startedMs, performance.now()) })
    } catch (error) {
      // Another process creates the store at this moment: SQLite does not wait in all such cases.
      const mayWait = storeFaultKind(error, path) === 'busy' && performance.now() < untilMs
      if (!mayWait) throw asStoreFault(error, path)
      Bun.sleepSync(AGAIN_MS)
    }
  }
}

/** The header of a write-ahead log: a longer one holds changes. */
const LOG_HEADER_BYTES = 32

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

/**
 * Checks that a store's file is not empty or missing while its write-ahead log has content: SQLite would delete the
 * log. The file of a new store has content before its log begins. @throws Fault if the file is empty.
 */
export function assertNotEmptied(path: string): void {
  if (sizeOf(path) === 0 && sizeOf(`${path}-wal`) > LOG_HEADER_BYTES)
    throw damaged(path, `it is empty, but its log of changes ${path}-wal is not`)
}

/** Returns the version before. */
function prepare(path: string, turnWithinMs: number): number {
  const sqlite = new Sqlite(path, { create: true, readwrite: true, strict: true })
  try {
    sqlite.run(`PRAGMA busy_timeout = ${turnWithinMs}`)
    // This header belongs to the file. The newest version of a store in use may be in the write-ahead log beside it.
    const { version, tables } = contentOf(sqlite)
    assertKnownVersion(path, version)
    if (version > 0) assertIntact(path, sqlite)
    else if (tables > 0)
      throw new Fault('unavailable', `${path} is the database of another program: give another folder with --data`)
    sqlite.run('PRAGMA journal_mode = WAL')
    sqlite.run('PRAGMA synchronous = FULL')
    return sqlite.transaction(() => migrate(sqlite)).immediate()
  } finally {
    sqlite.close()
  }
}

/** Checks that this program can use a version. @throws Fault if it is newer, or was never released. */
export function assertKnownVersion(path: string, version: number): void {
  if (version > NEWEST_VERSION)
    throw new Fault(
      'unavailable',
      `${path} was written by a newer hookswitch (store ${version}): run that version, or a newer one`,
    )
  if (!isMigrated(version))
    throw new Fault(
      'unavailable',
      `${path} was written by a hookswitch that was never released (store ${version}): restore a backup of a release, or give another folder with --data`,
    )
}

/** Returns the version of a store's schema. */
export const versionOf = (sqlite: Sqlite): number =>
  sqlite.query<{ user_version: number }, []>('PRAGMA user_version').get()?.user_version ?? 0

/**
 * Reads a file's version and the number of its tables and indexes at one moment. Another process that creates the store
 * between two readings would otherwise be taken for another program.
 */
const contentOf = (sqlite: Sqlite): { version: number; tables: number } =>
  sqlite.transaction(() => ({ version: versionOf(sqlite), tables: tablesOf(sqlite) }))()

const tablesOf = (sqlite: Sqlite): number =>
  sqlite.query<{ tables: number }, []>('SELECT count(*) AS tables FROM sqlite_schema').get()?.tables ?? 0

/** Returns the version before. */
function migrate(sqlite: Sqlite): number {
  const version = versionOf(sqlite)
  for (const { to, text } of migrationsBetween(version)) {
    sqlite.run(text)
    sqlite.run(`PRAGMA user_version = ${to}`)
  }
  return version
}

/**
 * Returns the store version in the file's header, so that a refused file is not even opened as a store. 0: a new file.
 */
function headerVersion(path: string): number {
  if (sizeOf(path) === 0) return 0
  const header = Buffer.alloc(100)
  const file = openSync(path, 'r')
  try {
    const read = readSync(file, header, 0, header.length, 0)
    if (read < header.length || header.toString('latin1', 0, MAGIC.length) !== MAGIC)
      throw damaged(path, 'it is not a SQLite database')
    const pageBytes = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16)
    if (fstatSync(file).size < pageBytes) throw damaged(path, 'it was cut off')
    return header.readUInt32BE(60)
  } finally {
    closeSync(file)
  }
}

/** Checks a store. @throws the error of SQLite, or Fault when the store is damaged. */
function assertIntact(path: string, sqlite: Sqlite): void {
  sqlite.run('PRAGMA query_only = ON')
  const tables = sqlite.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
  if (!tables.some(({ name }) => name === 'deliveries')) throw damaged(path, 'it holds no deliveries')
  const { pages = 0 } =
    sqlite.query<{ pages: number }, []>('SELECT page_count AS pages FROM pragma_page_count').get() ?? {}
  const { bytes = 0 } =
    sqlite.query<{ bytes: number }, []>('SELECT page_size AS bytes FROM pragma_page_size').get() ?? {}
  if (pages * bytes <= QUICK_CHECK_BYTES) {
    const found = sqlite.query<{ quick_check: string }, []>('PRAGMA quick_check(1)').get()?.quick_check
    if (found !== 'ok') throw damaged(path, found ?? 'it cannot be checked')
  }
  sqlite.run('PRAGMA query_only = OFF')
}

const damaged = (path: string, why: string): Fault =>
  storeFault('damaged', path, Object.assign(new Error(why), { code: 'SQLITE_CORRUPT' }))
