import { SQLiteError } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { Fault } from '../../../../src/lib/fault.ts'
import { asStoreFault, fixCommand, storeFaultKind } from '../../../../src/store/sqlite/engine/store-fault.ts'
import { emptyFolder } from '../../../help/app.ts'
import { canMount, mountSmallDisk } from '../../../help/disk.ts'

const failed = (code: string, message = 'it failed') => Object.assign(new Error(message), { code })

describe('behind an error of the store is', () => {
  test.each([
    ['SQLITE_FULL', 'full'],
    ['ENOSPC', 'full'],
    ['EDQUOT', 'full'],
    ['EROFS', 'read-only'],
    ['SQLITE_READONLY_DIRECTORY', 'not-allowed'],
    ['EACCES', 'not-allowed'],
    ['SQLITE_BUSY', 'busy'],
    ['SQLITE_BUSY_RECOVERY', 'busy'],
    ['SQLITE_LOCKED_SHAREDCACHE', 'busy'],
    ['SQLITE_CORRUPT', 'damaged'],
    ['SQLITE_NOTADB', 'damaged'],
    ['SQLITE_IOERR_WRITE', 'disk-error'],
    ['EIO', 'disk-error'],
    ['SQLITE_CONSTRAINT_UNIQUE', undefined],
    ['ENOENT', undefined],
  ] as const)('%s: %p', (code, kind) => {
    using folder = emptyFolder()
    const path = join(folder.path, 'hookswitch.db')
    expect(storeFaultKind(failed(code), path)).toBe(kind)
    expect(storeFaultKind(new Error('a query failed', { cause: failed(code) }), path)).toBe(kind)
    expect(storeFaultKind(asStoreFault(failed(code), path), path)).toBe(kind)
  })

  test.skipIf(!canMount)('a full disk, where SQLite reports an I/O error and nothing is left', () => {
    using folder = emptyFolder()
    using _disk = mountSmallDisk(folder.path, '32k')
    expect(storeFaultKind(failed('SQLITE_IOERR_SHMSIZE'), join(folder.path, 'hookswitch.db'))).toBe('full')
  })

  test('only a damaged store asks for a backup, and no advice ever deletes', () => {
    for (const kind of ['full', 'read-only', 'not-allowed', 'busy', 'damaged', 'disk-error'] as const) {
      const line = fixCommand(kind, 'data/hookswitch.db')
      expect(line).not.toMatch(/\brm\b/)
      expect(line.includes('BACKUP')).toBe(kind === 'damaged')
    }
  })

  test("an error that is not the store's stays unchanged", () => {
    const bug = new TypeError('a bug')
    expect(asStoreFault(bug, 'x')).toBe(bug)
    const refused = new Fault('invalid', 'not this one')
    expect(asStoreFault(refused, 'x')).toBe(refused)
  })
})

test("SQLite's errors have the codes that are read", async () => {
  const { Database } = await import('bun:sqlite')
  using folder = emptyFolder()
  const one = new Database(join(folder.path, 'x.db'), { create: true })
  const other = new Database(join(folder.path, 'x.db'))
  one.run('CREATE TABLE t (a)')
  one.run('BEGIN IMMEDIATE')
  let thrown: unknown
  try {
    other.run('BEGIN IMMEDIATE')
  } catch (error) {
    thrown = error
  }
  expect(thrown).toBeInstanceOf(SQLiteError)
  expect(storeFaultKind(thrown, join(folder.path, 'x.db'))).toBe('busy')
  one.close()
  other.close()
})
