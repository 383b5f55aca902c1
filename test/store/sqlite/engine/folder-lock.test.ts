import { Database as Sqlite } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { existsSync, mkdirSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { holderOf, lockFolder } from '../../../../src/store/sqlite/engine/folder-lock.ts'
import { emptyFolder } from '../../../help/app.ts'
import { canMount, mountSmallDisk } from '../../../help/disk.ts'

/** Has the lock, and names its holder as given. */
function lockedBy(path: string, who: string) {
  lockFolder(path).release()
  const connection = new Sqlite(path)
  connection.run('UPDATE holder SET who = ?', [who])
  connection.run('BEGIN IMMEDIATE')
  return { [Symbol.dispose]: () => connection.close() }
}

/** A process that has ended. */
function endedPid(): number {
  const child = Bun.spawnSync(['true'])
  return child.pid
}

test('a folder is locked by one process, which is named, until it is released', () => {
  using folder = emptyFolder()
  const path = join(folder.path, 'lock')
  expect(holderOf(path)).toBeUndefined()
  expect(existsSync(path)).toBe(false)
  const lock = lockFolder(path)
  const who = `process ${process.pid} on ${hostname()}, since `
  expect(() => lockFolder(path)).toThrow(`the data folder is in use by ${who}`)
  expect(holderOf(path)).toStartWith(who)
  lock.release()
  expect(holderOf(path)).toBeUndefined()
  lockFolder(path).release()
})

test.each([
  ['lives', () => process.pid, hostname(), true],
  ['has ended', endedPid, hostname(), false],
  ['is on another machine', endedPid, 'elsewhere', true],
])('a process that %s is named: %p', (_, pid, host, isNamed) => {
  using folder = emptyFolder()
  const path = join(folder.path, 'lock')
  const who = `process ${pid()} on ${host}, since 2026-11-20T21:42:00.000Z`
  using _locked = lockedBy(path, who)
  expect(() => lockFolder(path)).toThrow(`in use by ${isNamed ? who : 'another process'}: stop it`)
  expect(holderOf(path)).toBe(isNamed ? who : 'another process')
})

test.skipIf(!canMount)(
  'on a full disk a folder can be locked all the same, and no process is named that has not locked it',
  () => {
    using folder = emptyFolder()
    using _disk = mountSmallDisk(folder.path, '64k')
    const path = join(folder.path, 'lock')
    lockFolder(path).release()
    Bun.spawnSync(['dd', 'if=/dev/zero', `of=${folder.path}/filler`, 'bs=4096'])
    const lock = lockFolder(path)
    expect(() => lockFolder(path)).toThrow('in use by')
    lock.release()
  },
)

test.skipIf(!canMount)('a full disk without a lock on it is reported to be full', () => {
  using folder = emptyFolder()
  using _disk = mountSmallDisk(folder.path, '16k')
  Bun.spawnSync(['dd', 'if=/dev/zero', `of=${folder.path}/filler`, 'bs=4096'])
  expect(() => lockFolder(join(folder.path, 'lock'))).toThrow(/the disk is full/)
})

test('a folder with the name of the lock is named', () => {
  using folder = emptyFolder()
  const path = join(folder.path, 'lock')
  mkdirSync(path)
  for (const use of [lockFolder, holderOf])
    expect(() => use(path)).toThrow(`${path} is no file, but the lock of the store has this name: move it away`)
})
