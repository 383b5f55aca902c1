import {
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
  lstatSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { Fault } from '../../lib/fault.ts'
import type { Machine } from './machine.ts'
import { ASTERISK_COMMENT, hasMark, withoutOwnLines } from './own-block.ts'
import { eventSocketOf, FILES, type FileChange, RELOADS, SERVICE_USER, type SetupPlan } from './plan.ts'

/** The record of a setup, so that it can be undone. It has no secrets. */
const SetupRecord = Type.Object({
  name: Type.String(),
  files: Type.Array(Type.Object({ path: Type.String(), isNew: Type.Boolean() })),
  joined: Type.Union([Type.Object({ user: Type.String(), group: Type.String() }), Type.Null()]),
  reload: Type.Array(Type.Array(Type.String())),
})
type SetupRecord = typeof SetupRecord.static

/** The path of the record, beside the configuration of the PBX. */
const recordPath = (folder: string) => `${folder}/hookswitch-setup.json`

/**
 * Returns the record of a PBX's setup in a folder; `undefined`: it has no record. The folder may belong to the user of
 * the PBX while this process is root, so only content that this program could have written is accepted. @throws Fault
 * for any other content.
 */
export function readRecord(machine: Machine, folder: string): SetupRecord | undefined {
  const text = machine.read(recordPath(folder))
  if (text === undefined) return undefined
  const record = parsed(text)
  if (Value.Check(SetupRecord, record) && isOurs(record, folder)) return record
  throw new Fault(
    'conflict',
    `${recordPath(folder)} has content that this program did not write: find out who changed it, delete it, and remove the lines between the marks of hookswitch by hand`,
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isOurs = ({ name, files, joined, reload }: SetupRecord, folder: string): boolean =>
  !name.startsWith('-') &&
  files.every(({ path }) => FILES.some((one) => resolve(path) === resolve(folder, one))) &&
  (joined === null || (joined.user === SERVICE_USER && /^[a-z_][a-z0-9_.-]*$/i.test(joined.group))) &&
  reload.every((command) => isReload(command, folder))

function isReload([program, ...args]: readonly string[], folder: string): boolean {
  const [option, path = ''] = args
  const isNamed = program === 'asterisk' && option === '-C' && resolve(path) === resolve(folder, 'asterisk.conf')
  const command = [program, ...(isNamed ? args.slice(2) : args)]
  return RELOADS.some((one) => Bun.deepEquals(one, command))
}

/** Writes the record of a setup that is about to begin, together with the earlier one. */
export function writeRecord(plan: SetupPlan, name: string, earlier: SetupRecord | undefined): void {
  const { folder } = plan.found
  const known = new Map(earlier?.files.map((file) => [file.path, file]))
  for (const { path, before } of plan.changes) if (!known.has(path)) known.set(path, { path, isNew: before === null })
  const { joins } = plan
  const joined = joins === null ? (earlier?.joined ?? null) : { user: joins.user, group: joins.group }
  const reload = [...(plan.reload.length > 0 ? plan.reload : (earlier?.reload ?? []))].map((command) => [...command])
  const record: SetupRecord = { name, files: [...known.values()], joined, reload }
  replaceFile(recordPath(folder), `${JSON.stringify(record, null, 2)}\n`)
}

/** Deletes the record of a PBX. */
export const deleteRecord = (folder: string): void => rmSync(recordPath(folder), { force: true })

/** Checks that nobody has changed the files since the plan was made. @throws Fault if somebody has. */
export function checkUnchanged(machine: Machine, changes: readonly FileChange[]): void {
  for (const { path, before } of changes)
    if ((machine.read(path) ?? null) !== before)
      throw new Fault('conflict', `${path} was changed meanwhile: nothing was written; run this command again`)
}

/** Writes the changed files, each atomically, with its owner and permissions. */
export function writeChanges(changes: readonly FileChange[]): void {
  for (const { path, after } of changes) replaceFile(path, after)
}

/**
 * Removes Hookswitch's lines from the files again, and deletes its own files. Returns the paths of the files that still
 * have some, because somebody has edited them since.
 */
export function undoChanges(machine: Machine, { files }: SetupRecord): string[] {
  return files.flatMap(({ path, isNew }) => {
    const text = machine.read(path)
    if (text === undefined) return []
    if (path.endsWith('.xml')) return undoFile(path, text)
    const bare = withoutOwnLines(text, ASTERISK_COMMENT)
    // Lines that somebody has added to a new file stay.
    if (bare === '' && isNew) rmSync(path)
    else if (bare !== text) replaceFile(path, bare)
    return hasMark(bare, ASTERISK_COMMENT) ? [path] : []
  })
}

/** Deletes a file that setup has made, unless somebody has changed more in it than the password. */
function undoFile(path: string, text: string): string[] {
  const [password = ''] = /(?<=name="password" value=")[^"]*/.exec(text) ?? []
  if (text.replaceAll('\r\n', '\n') !== eventSocketOf(password))
    return text.startsWith('<!-- hookswitch begin') ? [path] : []
  rmSync(path)
  return []
}

/** A new file gets the owner of its folder; its secret is readable for owner and group only. */
const NEW_FILE_MODE = 0o640

function replaceFile(path: string, text: string): void {
  const target = existsSync(path) ? realpathSync(path) : path
  const like = statSync(existsSync(target) ? target : dirname(target))
  const link = lstatSync(path, { throwIfNoEntry: false })
  if (link?.isSymbolicLink() && link.uid !== 0 && link.uid !== like.uid)
    throw new Fault('conflict', `${path} links to ${target}, which belongs to another user: nothing is written there`)
  const temporary = `${target}.hookswitch-new`
  rmSync(temporary, { force: true })
  // Must not exist: the owner of the folder could have put a link to a file of root there.
  const file = openSync(temporary, 'wx', 0o600)
  try {
    writeFileSync(file, text)
    if (process.getuid?.() === 0) fchownSync(file, like.uid, like.gid)
    fchmodSync(file, like.isDirectory() ? NEW_FILE_MODE : like.mode & 0o7777)
  } finally {
    closeSync(file)
  }
  renameSync(temporary, target)
}
