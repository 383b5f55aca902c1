import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { prepareStore } from '../../../../src/store/sqlite/engine/open.ts'
import { removeLeftCopies, restoreStore } from '../../../../src/store/sqlite/engine/restore.ts'
import { emptyFolder } from '../../../help/app.ts'

const STORES = join(import.meta.dir, '../../../fixtures/stores')

function newBackup(folder: string): string {
  prepareStore(join(folder, 'hookswitch.db'))
  mkdirSync(join(folder, 'backups'))
  const backup = join(folder, 'backups', '2026-11-20.db')
  copyFileSync(join(folder, 'hookswitch.db'), backup)
  return backup
}

test('a backup can be restored again and again: nothing is left beside it', () => {
  using folder = emptyFolder()
  const backup = newBackup(folder.path)
  for (const stamp of ['one', 'two']) {
    const { movedTo } = restoreStore(backup, join(folder.path, 'data'), stamp)
    expect(movedTo === null).toBe(stamp === 'one')
    expect(readdirSync(join(folder.path, 'backups'))).toEqual(['2026-11-20.db'])
  }
})

test('the store does not change if the backup is of a newer version, or of another program', () => {
  using folder = emptyFolder()
  const data = join(folder.path, 'data')
  const backup = newBackup(folder.path)
  restoreStore(backup, data, 'one')
  const before = readdirSync(data)
  const newer = join(folder.path, 'newer.db')
  copyFileSync(backup, newer)
  change(newer, 'PRAGMA user_version = 9999')
  expect(() => restoreStore(newer, data, 'two')).toThrow(`${newer} was written by a newer hookswitch (store 9999)`)
  const foreign = join(folder.path, 'foreign.db')
  change(foreign, 'CREATE TABLE events (id INTEGER, at INTEGER)')
  expect(() => restoreStore(foreign, data, 'two')).toThrow(foreign)
  expect(readdirSync(data)).toEqual(before)
  prepareStore(join(data, 'hookswitch.db'))
})

function change(path: string, sql: string): void {
  const sqlite = new Database(path)
  sqlite.run(sql)
  sqlite.close()
}

test('the store does not change, and no part is left, if the file is not a backup', () => {
  using folder = emptyFolder()
  const data = join(folder.path, 'data')
  restoreStore(newBackup(folder.path), data, 'one')
  const before = readdirSync(data)
  const other = join(folder.path, 'other')
  writeFileSync(other, 'no store'.repeat(1_000))
  expect(() => restoreStore(other, data, 'two')).toThrow(`${other} is not a backup of a store`)
  writeFileSync(`${other}-wal`, 'changes')
  expect(() => restoreStore(other, data, 'two')).toThrow(/is a store in use/)
  expect(readdirSync(data)).toEqual(before)
})

test('the copies that a killed restore left are removed, and nothing else', () => {
  using folder = emptyFolder()
  const data = join(folder.path, 'data')
  const backup = newBackup(folder.path)
  restoreStore(backup, data, 'one')
  const before = readdirSync(data).sort()
  const left = ['', '-wal', '-shm'].map((suffix) => `hookswitch.db.0190f5a2-7b5c-4c1e-9a57-0d8f3b1c2d4e.part${suffix}`)
  const others = ['hookswitch.db.part', 'notes.part', 'hookswitch.db.old']
  for (const name of [...left, ...others]) writeFileSync(join(data, name), 'a copy')
  removeLeftCopies(data)
  expect(readdirSync(data).sort()).toEqual([...before, ...others].sort())
  for (const name of left) writeFileSync(join(data, name), 'a copy')
  restoreStore(backup, data, 'two')
  expect(readdirSync(data).filter((name) => left.includes(name))).toEqual([])
})

describe('a backup whose schema is not the one of its version is refused, and nothing in it runs', () => {
  const endless = 'WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id, id AS at FROM n'
  test.each([
    [
      'a trigger',
      "CREATE TRIGGER spy AFTER INSERT ON tokens BEGIN UPDATE users SET email = 'taken'; END",
      'it has the trigger "spy"',
    ],
    ['a view', 'CREATE VIEW spies AS SELECT * FROM users', 'it has the view "spies"'],
    ['a table', 'CREATE TABLE spies (id INTEGER)', 'it has the table "spies"'],
    ['an index', 'CREATE INDEX spies ON users (name)', 'it has the index "spies"'],
    ['a column', "ALTER TABLE users ADD COLUMN spy TEXT AS (email || 'x')", 'its table "users" differs'],
    ['an endless view as a table', `DROP TABLE events; CREATE VIEW events AS ${endless}`, 'it has the view "events"'],
    ['a name for the terminal', 'CREATE TABLE "\u001b[2J" (id INTEGER)', String.raw`it has the table "\u001b[2J"`],
    ['a missing table', 'DROP TABLE minutes', 'its table minutes is missing'],
  ])('%s', (_what, sql, message) => {
    using folder = emptyFolder()
    const data = join(folder.path, 'data')
    const backup = newBackup(folder.path)
    change(backup, sql)
    expect(() => restoreStore(backup, data, 'one')).toThrow(`${backup} is not a backup of a store: ${message}`)
    expect(readdirSync(data)).toEqual(['lock'])
  })
})

test('statistics that an operator had SQLite collect are no foreign tables', () => {
  using folder = emptyFolder()
  const backup = newBackup(folder.path)
  change(backup, 'ANALYZE')
  expect(restoreStore(backup, join(folder.path, 'data'), 'one').movedTo).toBeNull()
})

test.each(readdirSync(STORES).filter((name) => name.endsWith('.gz')))('the earlier store %s is restored', (name) => {
  using folder = emptyFolder()
  const backup = join(folder.path, 'backup.db')
  writeFileSync(backup, Bun.gunzipSync(readFileSync(join(STORES, name))))
  expect(restoreStore(backup, join(folder.path, 'data'), 'one').newestEventAt).not.toBeNull()
})
