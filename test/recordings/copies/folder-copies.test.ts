import { afterEach, beforeEach, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFolderCopies } from '../../../src/recordings/copies/folder-copies.ts'
import { createFolderSource } from '../../../src/recordings/sources/folder-source.ts'
import type { OpenFile } from '../../../src/recordings/sources/source.ts'
import { emptyFolder } from '../../help/app.ts'

// A copy that is interrupted continues where it was, and becomes whole. The file is read in chunks of 128 KB.

const STEP = 300_000
const SOUND = Buffer.from(
  Array.from({ length: 500_000 }, (_, at) => `${at} `)
    .join('')
    .slice(0, 2_000_000),
)
const SHA256 = createHash('sha256').update(SOUND).digest('hex')
const NAME = { stem: 'account-1/2026-11-20/call-a', extension: 'wav' }

let folder: ReturnType<typeof emptyFolder>
let copies: ReturnType<typeof createFolderCopies>
let starts: number[]

beforeEach(() => {
  folder = emptyFolder()
  mkdirSync(join(folder.path, 'monitor'))
  writeFileSync(join(folder.path, 'monitor/a.wav'), SOUND)
  copies = createFolderCopies(join(folder.path, 'copies'), STEP)
  starts = []
})
afterEach(() => folder[Symbol.dispose]())

const placeOf = () => join(folder.path, 'copies/account-1/2026-11-20')
const names = () => readdirSync(placeOf())

/** Copies the file; `endsAt`: its source goes away there. */
async function copy({ endsAt = Number.POSITIVE_INFINITY, ...changes }: Partial<OpenFile> & { endsAt?: number } = {}) {
  const opened = await createFolderSource(join(folder.path, 'monitor')).open(['a.wav'])
  if (opened.kind !== 'file') throw new Error(opened.reason)
  const { file } = opened
  let at = 0
  const read = (start: number, end: number) => {
    starts.push(start)
    at = start
    const goesAway = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        at += chunk.length
        if (at > endsAt) throw new Error('the source has gone away')
        controller.enqueue(chunk)
      },
    })
    return file.read(start, end).pipeThrough(goesAway)
  }
  try {
    return await copies.write(NAME, { ...file, ...changes, read })
  } finally {
    await file.close()
  }
}
const isWhole = () => readFileSync(join(placeOf(), 'call-a.wav')).equals(SOUND)
const partOf = () => join(placeOf(), names().find((name) => name.endsWith('.part')) ?? '')

test('an interrupted copy continues from the bytes on disk, and has the hash of the whole file', async () => {
  await expect(copy({ endsAt: 1_400_000 })).rejects.toThrow('gone away')
  expect(names()).toEqual([expect.stringMatching(/^call-a\.\w+\.part$/)])
  const written = statSync(partOf()).size
  expect(written).toBeGreaterThan(1_000_000)
  expect(await copy()).toEqual({ name: 'account-1/2026-11-20/call-a.wav', sha256: SHA256 })
  // The last step may not have been on disk when the power went.
  expect(starts).toEqual([0, (Math.floor(written / STEP) - 1) * STEP])
  expect([names(), isWhole()]).toEqual([['call-a.wav'], true])
})

test('bytes that a power cut left in the last step do not count', async () => {
  await expect(copy({ endsAt: 1_400_000 })).rejects.toThrow('gone away')
  const { size } = statSync(partOf())
  const certain = (Math.floor(size / STEP) - 1) * STEP
  truncateSync(partOf(), certain)
  truncateSync(partOf(), size)
  expect((await copy()).sha256).toBe(SHA256)
  expect([starts.at(-1), isWhole()]).toEqual([certain, true])
})

test.each([0, 1, STEP - 1, STEP, 2 * STEP - 1, 2 * STEP, SOUND.length])(
  'of a part of %d bytes as much is kept as is certain, and the copy is whole',
  async (bytes) => {
    await expect(copy({ endsAt: 0 })).rejects.toThrow('gone away')
    writeFileSync(partOf(), SOUND.subarray(0, bytes))
    expect((await copy()).sha256).toBe(SHA256)
    expect([starts.at(-1), isWhole()]).toEqual([Math.max(0, Math.floor(bytes / STEP) - 1) * STEP, true])
  },
)

test('a file that was written since is copied from its start, and the part of the one before is deleted', async () => {
  await expect(copy({ endsAt: 1_400_000, stamp: 'before' })).rejects.toThrow('gone away')
  expect((await copy()).sha256).toBe(SHA256)
  expect([starts, names(), isWhole()]).toEqual([[0, 0], ['call-a.wav'], true])
})

test('a file without a known time of writing is copied from its start', async () => {
  await expect(copy({ endsAt: 1_400_000, modifiedMs: null })).rejects.toThrow('gone away')
  expect((await copy({ modifiedMs: null })).sha256).toBe(SHA256)
  expect([starts, isWhole()]).toEqual([[0, 0], true])
})

test('two nodes that copy the same file at once do not spoil each other’s copy', async () => {
  const both = await Promise.allSettled([copy(), copy()])
  // The later one may find that the other has already renamed its part: it tries again.
  expect(both.some(({ status }) => status === 'fulfilled')).toBe(true)
  expect(isWhole()).toBe(true)
  expect((await copy()).sha256).toBe(SHA256)
  expect([names(), isWhole()]).toEqual([['call-a.wav'], true])
})

test('removing a recording deletes its copy and its interrupted parts, and nothing else', async () => {
  await copy()
  for (const name of ['call-a.1x2.part', 'call-a.opus', 'call-ab.wav', 'call-a-b.wav'])
    writeFileSync(join(placeOf(), name), 'x')
  await copies.remove(NAME.stem)
  expect(names().toSorted()).toEqual(['call-a-b.wav', 'call-ab.wav'])
  await copies.remove(NAME.stem)
  await copies.remove('account-2/2026-11-20/call-a')
})
