import { expect, test } from 'bun:test'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parsePbxUrl } from '../../../src/pbx/source/pbx-url.ts'
import { recordConnection } from '../../../src/pbx/tools/record.ts'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { emptyFolder } from '../../help/app.ts'
import { canMount, mountSmallDisk } from '../../help/disk.ts'
import { keepForTest } from '../../help/kept.ts'
import { startListedAsterisk } from '../../help/listed-asterisk.ts'
import { fixture } from '../../help/pbx.ts'
import { until } from '../../help/receiver.ts'

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

const LATE = 'Event: VarSet\nVariable: X\nValue: zacharias_quux'
const NAMED = 'Event: Newchannel\nCallerIDName: Zacharias Quux'
const LAST = 'Event: Newchannel\nCallerIDName: Nobody Else'
const ENCODED = `Event: VarSet\nVariable: X\nValue: ${Buffer.from('Zacharias Quux').toString('base64')}`

test.each([
  ['is kept if a name was hidden in it late', [LATE, NAMED, LAST], undefined],
  ['is removed if a name cannot be hidden in it', [NAMED, ENCODED, LAST], /spelling that --mask cannot hide/],
] as const)('a masked recording %s', async (_, events, reason) => {
  using folder = emptyFolder()
  const path = join(folder.path, 'office.ami')
  const pbx = kept(startListedAsterisk())
  const parsed = parsePbxUrl(`ami://any:any@127.0.0.1:${pbx.port}`)
  if ('wrong' in parsed) throw new Error(parsed.wrong)
  const recorder = recordConnection(parsed.pbx, path, { isAnonymized: true })
  await until('the lists are recorded', () => recorder.bytes() > 200)
  for (const event of events) pbx.send(event)
  await until('the last event is recorded', () => /CallerIDName: [^\n]*\n\s*$/.test(readFileSync(path, 'latin1')))
  recorder.stop()
  if (reason === undefined) expect(await recorder.ended).toBeUndefined()
  else expect(await recorder.ended).toMatch(reason)
  expect(existsSync(path)).toBe(reason === undefined)
  expect(existsSync(`${path}.timing`)).toBe(reason === undefined)
  if (reason === undefined) expect(readFileSync(path, 'latin1')).not.toMatch(/zacharias|quux/i)
})
