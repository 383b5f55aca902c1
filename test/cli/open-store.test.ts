import { afterAll, describe, expect, test } from 'bun:test'
import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { diagnoseStore } from '../../src/cli/doctor/store.ts'
import { requireStore } from '../../src/cli/open-store.ts'
import { emptyFolder } from '../help/app.ts'

const NOBODY = 65_534
const folder = emptyFolder()
afterAll(() => folder[Symbol.dispose]())

/** Does something as a user who may not read the folder: root may read all. */
function unprivileged<Result>(work: () => Result): Result {
  const isRoot = process.getuid?.() === 0
  if (isRoot) process.seteuid?.(NOBODY)
  try {
    return work()
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}

test('a file of no bytes is no store: it is not made one, and not called whole', () => {
  const path = join(folder.path, 'empty.db')
  writeFileSync(path, '')
  expect(() => requireStore(path)).toThrow(`${path} is empty, so there is no store: put a backup in its place`)
  expect(statSync(path).size).toBe(0)
})

describe('a store in a folder that this user may not read', () => {
  const closed = join(folder.path, 'closed')
  mkdirSync(closed)
  mkdirSync(join(closed, 'data'), { mode: process.getuid?.() === 0 ? 0o700 : 0o000 })
  const data = join(closed, 'data')

  test('is not reported as missing', () => {
    expect(() => unprivileged(() => requireStore(join(data, 'hookswitch.db')))).toThrow(
      `no permission to read ${join(data, 'hookswitch.db')}: run this as the user of the service`,
    )
    expect(() => requireStore(join(folder.path, 'none/hookswitch.db'))).toThrow(/there is no store at .*--data$/)
  })

  test('is reported by doctor with what to do', async () => {
    const { diagnoses } = await unprivileged(() =>
      diagnoseStore(data, { copies: undefined, isWhole: false, healthOf: undefined, presets: undefined }),
    )
    expect(diagnoses).toMatchObject([{ level: 'wrong', text: expect.stringContaining('permission') }])
  })
})

test('a store that this user may not read is named, with what to do', () => {
  using folder = emptyFolder()
  const path = join(folder.path, 'hookswitch.db')
  writeFileSync(path, 'x')
  const refused = () => {
    throw Object.assign(new Error('EACCES'), { code: 'EACCES' })
  }
  expect(() => requireStore(path, refused)).toThrow(
    `no permission to read ${path}: run this as the user of the service`,
  )
})
