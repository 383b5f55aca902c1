import { accessSync, closeSync, constants, existsSync, fstatSync, openSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Fault } from '../../lib/fault.ts'

/** The facts of a machine that a setup needs. Paths are absolute. */
export type Machine = {
  /** Returns a file's text, `undefined` if the file does not exist. @throws Fault if it cannot be read as text. */
  read(path: string): string | undefined
  exists(path: string): boolean
  /** Returns the name of the group that owns a path. */
  groupOf(path: string): string | undefined
  /** Returns whether a user of the system may read a folder, by its group or by everybody's permissions. */
  mayRead(user: string, path: string): boolean
  hasUser(name: string): boolean
}

/** Returns this machine; `root`: the folder that has its files. */
export function thisMachine(root = '/'): Machine {
  const at = (path: string) => join(root, path)
  const lines = (path: string) => {
    try {
      return readFileSync(at(path), 'utf8').split('\n')
    } catch {
      return []
    }
  }
  const passwd = () => lines('/etc/passwd').map((line) => line.split(':'))
  const groups = () => lines('/etc/group').map((line) => line.split(':'))
  const groupOf = (path: string): string | undefined => {
    const gid = String(statSync(at(path)).gid)
    return groups().find(([, , id]) => id === gid)?.[0]
  }
  return {
    read: (path) => (existsSync(at(path)) ? readText(at(path), path) : undefined),
    exists: (path) => existsSync(at(path)),
    groupOf,
    mayRead(user, path) {
      const [, , id, main] = passwd().find(([name]) => name === user) ?? []
      const isIn = (gid: number) =>
        main === String(gid) ||
        groups().some(([, , group, members = '']) => group === String(gid) && members.split(',').includes(user))
      const has = (right: number, folder: string): boolean => {
        const { mode, uid, gid } = statSync(at(folder))
        const shift = id === String(uid) ? 6 : isIn(gid) ? 3 : 0
        return ((mode >> shift) & right) === right
      }
      return has(READ | ENTER, path) && parentsOf(path).every((folder) => has(ENTER, folder))
    },
    hasUser: (name) => passwd().some(([one]) => one === name),
  }
}

/** A configuration file of a PBX has some kilobytes. */
const MAX_TEXT_BYTES = 1024 * 1024

/**
 * Reads a file that may belong to the user of the PBX, while this process is root: the name may stand for a device or a
 * pipe. @throws Fault
 */
function readText(file: string, name: string): string {
  try {
    // A named pipe without a writer would be waited for.
    const opened = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const { size } = fstatSync(opened)
      if (!fstatSync(opened).isFile()) throw new Error('it is not a file')
      if (size > MAX_TEXT_BYTES) throw new Error(`it has ${size} bytes, and ${MAX_TEXT_BYTES} at most are read`)
      return utf8Of(readFileSync(opened))
    } finally {
      closeSync(opened)
    }
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Fault('conflict', `${name} cannot be used: ${why}`, { cause })
  }
}

/** Other bytes would be replaced when the text is written back. @throws Error if the bytes are not UTF-8. */
function utf8Of(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new Error('it has bytes that are not UTF-8: convert it, as with iconv -f latin1 -t utf8, then run this again')
  }
}

const READ = 4
const ENTER = 1

const parentsOf = (path: string): string[] => (path === '/' ? [] : [dirname(path), ...parentsOf(dirname(path))])

/** Returns whether this process may write a file, or create it in its folder. */
export function isWritable(path: string): boolean {
  try {
    accessSync(existsSync(path) ? path : join(path, '..'), constants.W_OK)
    return true
  } catch {
    return false
  }
}
