import { afterAll, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFolderSource } from '../../../src/recordings/sources/folder-source.ts'
import { mapRecordingPath } from '../../../src/recordings/sources/recording-path.ts'
import { seededRandom } from '../../help/seed.ts'

// A folder of recordings beside one of secrets, with links of every kind between them.
const folder = mkdtempSync(join(tmpdir(), 'hookswitch-test-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const monitor = join(folder, 'monitor')
const INSIDE = 'inside'
for (const name of ['monitor/sub/deep', 'secrets/sub', 'monitor-old'])
  mkdirSync(join(folder, name), { recursive: true })
for (const name of ['secrets/a.wav', 'secrets/sub/a.wav', 'monitor-old/a.wav', 'a.wav'])
  writeFileSync(join(folder, name), 'outside')
for (const name of ['a.wav', 'sub/a.wav', 'sub/deep/a.wav', '%2e%2e', 'in..wav', 'sub/..%2fa.wav', '．．'])
  writeFileSync(join(monitor, name), INSIDE)
symlinkSync('../secrets/a.wav', join(monitor, 'link.wav'))
symlinkSync(join(folder, 'secrets'), join(monitor, 'linked'))
symlinkSync('..', join(monitor, 'sub', 'up'))
symlinkSync('../..', join(monitor, 'sub', 'out'))
symlinkSync('sub/a.wav', join(monitor, 'within.wav'))
symlinkSync('loop', join(monitor, 'loop'))
symlinkSync('/proc/self/root', join(monitor, 'root'))
symlinkSync('/dev/zero', join(monitor, 'zero'))

const source = createFolderSource(monitor)

test('no file in the folder of a store is opened from a wider folder; files in a folder below it are', async () => {
  const data = join(folder, 'data')
  mkdirSync(join(data, 'copies'), { recursive: true })
  for (const name of ['hookswitch.db', 'hookswitch.db-wal', 'key.wav', 'copies/a.wav'])
    writeFileSync(join(data, name), name)
  symlinkSync('data/key.wav', join(folder, 'key.wav'))
  const wide = createFolderSource(folder)
  for (const segments of [['data', 'hookswitch.db'], ['data', 'hookswitch.db-wal'], ['data', 'key.wav'], ['key.wav']])
    expect(await wide.open(segments)).toEqual({ kind: 'missing', reason: expect.stringContaining('of the store') })
  const opened = await wide.open(['data', 'copies', 'a.wav'])
  expect(opened.kind).toBe('file')
  if (opened.kind === 'file') await opened.file.close()
})

/** Returns the content of a reported path; `undefined` if no file was opened. */
async function contentOf(reported: string, root: string | null): Promise<string | undefined> {
  const mapped = mapRecordingPath(reported, { root, folderName: 'monitor' })
  return 'refused' in mapped ? undefined : contentBelow(mapped.segments)
}
async function contentBelow(segments: readonly string[]): Promise<string | undefined> {
  const opened = await source.open(segments)
  if (opened.kind !== 'file') return undefined
  const text = await new Response(opened.file.read(0, opened.file.size)).text()
  await opened.file.close()
  return text
}

const SEGMENTS = [
  '..',
  '.',
  '',
  '...',
  'a.wav',
  'sub',
  'deep',
  'up',
  'out',
  'linked',
  'link.wav',
  'within.wav',
  'loop',
  'root',
  '%2e%2e',
  '%2E%2E',
  '..%2f',
  '%2e%2e%2fa.wav',
  '..%5c',
  '..\\',
  '..\\..\\secrets',
  '%00',
  'a.wav%00',
  '．．',
  '‥',
  '\0',
  'a.wav\0',
  '\n',
  'a.wav\n',
  '..\n',
  '\r..',
  '\t',
  '\u007f',
  '\u202e',
  '\ud800',
  '\ufffd',
  'Ã€',
  '..\u00c0¯',
  'secrets',
  'monitor',
  'monitor-old',
  'etc',
  'passwd',
  'zero',
  'proc',
  'self',
  'environ',
  '~',
  '$HOME',
  'é'.repeat(130),
  'in..wav',
  ';',
  '|',
  '*',
  '?',
  ' ',
  '{a=b}',
  '[a=b]',
  'C:',
  'file:',
  'http:',
  '//host',
  '../'.repeat(40),
]
const STARTS = [
  '',
  '/',
  '//',
  './',
  '../',
  monitor,
  `${monitor}/`,
  '/var/spool/asterisk/monitor/',
  '/monitor/',
  'C:\\monitor\\',
  'file://',
  `file://${monitor}/`,
  '\\\\host\\monitor\\',
  '{append=true}',
  `[x=y]${monitor}/`,
  folder,
  `${folder}/`,
]
const ROOTS = [null, monitor, '/var/spool/asterisk/monitor', '/', folder]

test('none of 20,000 hostile paths opens anything outside the folder', async () => {
  const random = seededRandom(14)
  const opened: string[] = []
  let count = 0
  for (; count < 20_000; count++) {
    const segments = Array.from({ length: 1 + random.int(5) }, () => random.pick(SEGMENTS))
    const reported = random.pick(STARTS) + segments.join(random.chance(0.9) ? '/' : random.pick(['\\', '%2f', '//']))
    const content = await contentOf(reported, random.pick(ROOTS))
    if (content !== undefined) opened.push(content)
  }
  expect([...new Set(opened)]).toEqual([INSIDE])
  // Not all were refused: those that lead to a recording did.
  expect(opened.length).toBeGreaterThan(100)
})

test('none of 10,000 hostile lists of names opens anything outside the folder, even without the mapping', async () => {
  const random = seededRandom(15)
  const opened: string[] = []
  for (let count = 0; count < 10_000; count++) {
    const content = await contentBelow(Array.from({ length: 1 + random.int(5) }, () => random.pick(SEGMENTS)))
    if (content !== undefined) opened.push(content)
  }
  expect([...new Set(opened)]).toEqual([INSIDE])
})

test.each([
  ['a recording', 'a.wav', true],
  ['a recording in a folder', 'sub/deep/a.wav', true],
  ['a link to a recording', 'within.wav', true],
  ['a link that goes up within the folder', 'sub/up/a.wav', true],
  ['a name that would lead out if it were decoded', '%2e%2e', true],
  ['a link to a file outside', 'link.wav', false],
  ['a link to a folder outside', 'linked/a.wav', false],
  ['a link that goes up out of the folder', 'sub/out/a.wav', false],
  ['a link to itself', 'loop', false],
  ['a device', 'zero', false],
  ['the whole disk', 'root/etc/passwd', false],
])('%s: %s is opened: %p', async (_, path, isOpened) => {
  expect(await contentOf(`${monitor}/${path}`, monitor)).toBe(isOpened ? INSIDE : undefined)
})
