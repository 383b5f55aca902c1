import { expect, test } from 'bun:test'
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { prepareStore } from '../../../../src/store/sqlite/engine/open.ts'
import { restoreStore } from '../../../../src/store/sqlite/engine/restore.ts'
import { emptyFolder } from '../../../help/app.ts'

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

test('the store stays as it is, and no part is left, where the file is no backup', () => {
  using folder = emptyFolder()
  const data = join(folder.path, 'data')
  restoreStore(newBackup(folder.path), data, 'one')
  const before = readdirSync(data)
  const other = join(folder.path, 'other')
  writeFileSync(other, 'no store'.repeat(1_000))
  expect(() => restoreStore(other, data, 'two')).toThrow(`${other} is no backup of a store`)
  writeFileSync(`${other}-wal`, 'changes')
  expect(() => restoreStore(other, data, 'two')).toThrow(/is a store in use/)
  expect(readdirSync(data)).toEqual(before)
})
