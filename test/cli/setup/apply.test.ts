import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { checkUnchanged, undoChanges, writeChanges } from '../../../src/cli/setup/apply.ts'
import { thisMachine } from '../../../src/cli/setup/machine.ts'
import { findPbxs, planFor, type SetupPlan } from '../../../src/cli/setup/plan.ts'
import { emptyFolder } from '../../help/app.ts'

const WANTED = { name: 'office', user: 'hookswitch', secret: 'made', serviceUser: 'hookswitch', isUnusualFolder: true }
const GENERAL = '[general]\nenabled = yes\ntimestampevents = yes\n'
const machine = thisMachine()

function planIn(folder: string): SetupPlan {
  const [found] = findPbxs(machine, folder)
  if (found === undefined) throw new Error('no PBX was found')
  const plan = planFor(machine, found, WANTED)
  if ('refused' in plan) throw new Error(plan.refused)
  return plan
}

/** Sets up a PBX with this file in an empty folder, without commands and without a store. */
function setUp(name: string, text: string | undefined) {
  const folder = emptyFolder()
  const path = join(folder.path, name)
  mkdirSync(dirname(path), { recursive: true })
  if (text === undefined) writeFileSync(join(folder.path, 'freeswitch.xml'), '')
  else writeFileSync(path, text)
  const { changes } = planIn(folder.path)
  writeChanges(changes)
  const record = { name: 'office', files: [{ path, isNew: text === undefined }], joined: null, reload: [] }
  return {
    path,
    undo: () => undoChanges(machine, record),
    text: () => readFileSync(path, 'utf8'),
    [Symbol.dispose]: folder[Symbol.dispose],
  }
}

test.each([
  ['a folder', 'is not a file', (path: string) => mkdirSync(path)],
  ['a named pipe', 'is not a file', (path: string) => void Bun.spawnSync(['mkfifo', path])],
  ['a link to a device', 'is not a file', (path: string) => symlinkSync('/dev/zero', path)],
  ['a link to itself', undefined, (path: string) => symlinkSync(path, path)],
  ['a huge file', 'at most are read', (path: string) => writeFileSync(path, '\n'.repeat(2_000_000))],
  ['text that is not UTF-8', 'not UTF-8', (path: string) => writeFileSync(path, Buffer.from('; f\xfcr\n', 'latin1'))],
])('a configuration that is %s is not read, with the reason', (_, reason, make) => {
  using folder = emptyFolder()
  const path = join(folder.path, 'manager.conf')
  make(path)
  if (reason === undefined) expect(machine.read(path)).toBeUndefined()
  else expect(() => planIn(folder.path)).toThrow(reason)
})

test('a file of blank lines, tags and comments without an end is read in one pass', () => {
  using folder = emptyFolder()
  writeFileSync(join(folder.path, 'manager.conf'), '\n'.repeat(1_000_000))
  expect(planIn(folder.path).changes).toHaveLength(1)
  const xml = join(folder.path, 'autoload_configs/event_socket.conf.xml')
  mkdirSync(dirname(xml))
  const found = { distribution: 'FreeSWITCH', folder: folder.path } as const
  for (const text of ['<!--'.repeat(250_000), '<param '.repeat(140_000)]) {
    writeFileSync(xml, text)
    expect(planFor(machine, found, WANTED)).toEqual({ refused: expect.stringContaining('has no password') })
  }
})

test('a file that somebody changes after the plan was made is not overwritten', () => {
  using folder = emptyFolder()
  const path = join(folder.path, 'manager.conf')
  writeFileSync(path, GENERAL)
  const { changes } = planIn(folder.path)
  checkUnchanged(machine, changes)
  writeFileSync(path, `${GENERAL}; of somebody else\n`)
  expect(() => checkUnchanged(machine, changes)).toThrow(`${path} was changed meanwhile: nothing was written`)
})

test('undo leaves the file as it was, also after an editor has changed its line ends', () => {
  using asterisk = setUp('manager.conf', GENERAL)
  writeFileSync(asterisk.path, asterisk.text().replaceAll('\n', '\r\n'))
  expect(asterisk.undo()).toEqual([])
  expect(asterisk.text()).toBe(GENERAL.replaceAll('\n', '\r\n'))
})

test.each(['; hookswitch begin', '; hookswitch end'])('undo names a file that has lost its mark "%s"', (mark) => {
  using asterisk = setUp('manager.conf', GENERAL)
  const edited = asterisk
    .text()
    .split('\n')
    .filter((line) => !line.startsWith(mark))
    .join('\n')
  writeFileSync(asterisk.path, edited)
  expect(asterisk.undo()).toEqual([asterisk.path])
  expect(asterisk.text()).toBe(edited)
})

test('undo deletes the file that setup has made, with another password too, but not what somebody added', () => {
  const name = 'autoload_configs/event_socket.conf.xml'
  using alone = setUp(name, undefined)
  writeFileSync(alone.path, alone.text().replace('value="made"', 'value="another"'))
  expect(alone.undo()).toEqual([])
  expect(existsSync(alone.path)).toBe(false)
  using edited = setUp(name, undefined)
  const text = edited.text().replace('</settings>', '<param name="apply-inbound-acl" value="lan"/></settings>')
  writeFileSync(edited.path, text)
  expect(edited.undo()).toEqual([edited.path])
  expect(edited.text()).toBe(text)
})
