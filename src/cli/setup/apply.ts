import { chmodSync, chownSync, existsSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { Machine } from './machine.ts'
import { ASTERISK_COMMENT, withoutOwnLines } from './own-block.ts'
import type { FileChange, Plan } from './plan.ts'

/** What was done for a PBX, so that it can be undone. It has no secret. */
const SetupRecord = Type.Object({
  name: Type.String(),
  files: Type.Array(Type.Object({ path: Type.String(), isNew: Type.Boolean() })),
  joined: Type.Union([Type.Object({ user: Type.String(), group: Type.String() }), Type.Null()]),
  reload: Type.Array(Type.Array(Type.String())),
})
export type SetupRecord = typeof SetupRecord.static

/** The file of the record, beside the configuration of the PBX. */
const recordPath = (folder: string) => `${folder}/hookswitch-setup.json`

/** Returns what was done for the PBX in a folder, `undefined` if nothing was. */
export function readRecord(machine: Machine, folder: string): SetupRecord | undefined {
  const text = machine.read(recordPath(folder))
  if (text === undefined) return undefined
  const record: unknown = JSON.parse(text)
  return Value.Check(SetupRecord, record) ? record : undefined
}

/** Writes what is going to be done, together with what an earlier setup did. */
export function writeRecord(plan: Plan, name: string, earlier: SetupRecord | undefined): void {
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

/** Writes the changed files, each at once, with the owner and the rights that it had. */
export function writeChanges(changes: readonly FileChange[]): void {
  for (const { path, after } of changes) replaceFile(path, after)
}

/** Takes our lines out of the files again, and deletes those that are ours. Returns the paths. */
export function undoChanges(machine: Machine, { files }: SetupRecord): string[] {
  return files.flatMap(({ path, isNew }) => {
    const text = machine.read(path)
    if (text === undefined) return []
    const isXml = path.endsWith('.xml')
    const bare = isXml && text.startsWith('<!-- hookswitch begin') ? '' : withoutOwnLines(text, ASTERISK_COMMENT)
    if (bare === text) return []
    // Lines that somebody else has added to a new file stay.
    if (bare === '' && isNew) rmSync(path)
    else replaceFile(path, bare)
    return [path]
  })
}

/** A new file belongs to whom its folder belongs; the secret in it is for its owner and group alone. */
const NEW_FILE_MODE = 0o640

function replaceFile(path: string, text: string): void {
  const target = existsSync(path) ? realpathSync(path) : path
  const like = statSync(existsSync(target) ? target : dirname(target))
  const temporary = `${target}.hookswitch-new`
  writeFileSync(temporary, text, { mode: 0o600 })
  if (process.getuid?.() === 0) chownSync(temporary, like.uid, like.gid)
  chmodSync(temporary, like.isDirectory() ? NEW_FILE_MODE : like.mode & 0o7777)
  renameSync(temporary, target)
}
