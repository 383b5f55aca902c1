import { expect, test } from 'bun:test'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parsePbxUrl } from '../../../src/lib/pbx-url.ts'
import { recordConnection } from '../../../src/pbx/tools/record.ts'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { emptyFolder } from '../../help/app.ts'
import { canMount, mountSmallDisk } from '../../help/disk.ts'
import { keepForTest } from '../../help/kept.ts'
import { fixture } from '../../help/pbx.ts'

const kept = keepForTest()

test.skipIf(!canMount)('a full disk ends a recording, and is the reason (needs the right to mount)', async () => {
  using folder = emptyFolder()
  using _disk = mountSmallDisk(folder.path, '32k')
  const file = fixture('inbound-answered.esl')
  const replay = kept(startReplay({ files: [file], speed: Number.POSITIVE_INFINITY }))
  const parsed = parsePbxUrl(`esl://:secret@127.0.0.1:${replay.port}`)
  if ('wrong' in parsed) throw new Error(parsed.wrong)
  const path = join(folder.path, 'office.esl')
  const recorder = recordConnection(parsed.pbx, path)
  expect(await recorder.ended).toStartWith(`cannot write ${path}: the disk is full`)
  // The bytes before the fault are complete.
  expect(recorder.bytes()).toBeGreaterThan(0)
  expect(recorder.bytes()).toBe(statSync(path).size)
  expect(readFileSync(path).subarray(0, 13).toString()).toBe('Content-Type:')
})

test('a file that exists is not overwritten, and leaves no other behind', () => {
  using folder = emptyFolder()
  const path = join(folder.path, 'office.esl')
  writeFileSync(`${path}.timing`, '0 0\n')
  const parsed = parsePbxUrl('esl://:secret@127.0.0.1:1')
  if ('wrong' in parsed) throw new Error(parsed.wrong)
  expect(() => recordConnection(parsed.pbx, path)).toThrow(/office\.esl\.timing exists already: name another file/)
  expect(existsSync(path)).toBe(false)
})
