import { accessSync, constants, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { Fault } from '../../../lib/fault.ts'

/**
 * Why a store cannot be used. Only a damaged store is replaced by a backup: doing that because of a full disk would
 * lose data.
 */
type StoreFaultKind = 'full' | 'read-only' | 'not-allowed' | 'busy' | 'damaged' | 'disk-error'

/** Keyed by the start of the error code of SQLite or Node. */
const KINDS: readonly (readonly [code: RegExp, kind: StoreFaultKind])[] = [
  [/^(SQLITE_FULL|ENOSPC|EDQUOT)/, 'full'],
  [/^EROFS/, 'read-only'],
  [/^(SQLITE_(READONLY|PERM)|EACCES|EPERM)/, 'not-allowed'],
  [/^SQLITE_(BUSY|LOCKED)/, 'busy'],
  [/^SQLITE_(CORRUPT|NOTADB)/, 'damaged'],
  [/^(SQLITE_(IOERR|CANTOPEN)|EIO)/, 'disk-error'],
]

/**
 * The size of the files that SQLite creates beside an opened store: with less free space it reports a disk error
 * instead of a full disk.
 */
const MIN_FREE_BYTES = 64 * 1024

const WHAT: Readonly<Record<StoreFaultKind, string>> = {
  full: 'the disk is full',
  'read-only': 'the disk is read-only',
  'not-allowed': 'this user has no permission to write it',
  busy: 'another process has locked it',
  damaged: 'it is damaged',
  'disk-error': 'the disk reports an error',
}

const TO_DO: Readonly<Record<StoreFaultKind, string>> = {
  full: 'free some disk space; nothing is lost, and work resumes by itself',
  'read-only': 'mount it writable, or give another folder with --data',
  'not-allowed': 'change its owner to this user, or give another folder with --data',
  busy: 'try again when that process has ended',
  damaged: 'replace it by a backup; it was not changed',
  'disk-error': 'check the disk and its quota (dmesg); the store was not changed',
}

/** Returns the reason behind an error of the store at a path; `undefined` if the error has another source. */
export function storeFaultKind(error: unknown, path: string): StoreFaultKind | undefined {
  const found = KINDS.find(([code]) => code.test(codeOf(error)))?.[1]
  if (found !== 'disk-error' && found !== 'not-allowed') return found
  if (found === 'disk-error' && hasNoSpace(path)) return 'full'
  return writeObstacle(dirname(path)) ?? found
}

/**
 * Converts an error of the store to a Fault with the reason and what to do; returns other errors unchanged.
 */
export function asStoreFault(error: unknown, path: string): unknown {
  if (error instanceof Fault) return error
  const kind = storeFaultKind(error, path)
  return kind === undefined ? error : storeFault(kind, path, error)
}

/** Makes the Fault for a store that cannot be used, with the reason and what to do. */
export function storeFault(kind: StoreFaultKind, path: string, cause?: unknown): Fault {
  const reason = cause instanceof Error ? ` (${cause.message})` : ''
  const what = kind === 'damaged' ? `is damaged${reason}` : `cannot be used: ${WHAT[kind]}${reason}`
  return new Fault('unavailable', `${path} ${what}: ${TO_DO[kind]}`, { cause })
}

/**
 * Makes each operation of a group reject with Fault `unavailable` where a read failed because of the store. Writes
 * reject so already.
 */
export function withReadFaults<Group extends object>(group: Group, path: string): Group {
  const refuse = (error: unknown): never => {
    const isStores = !(error instanceof Fault) && storeFaultKind(error, path) !== undefined
    if (!isStores) throw error
    throw new Fault('unavailable', `the store cannot be read: ${refusalOf(error, path)}`, { cause: error })
  }
  const guarded = Object.entries(group).map(([name, operation]: [string, (...args: unknown[]) => Promise<unknown>]) => [
    name,
    (...args: unknown[]) => operation(...args).catch(refuse),
  ])
  // Object.fromEntries loses the type: these are all operations of the group, each with its own arguments and result.
  return Object.fromEntries(guarded) as Group
}

/** Returns why a file at a path cannot be used, for messages that have their own advice. */
export function refusalOf(error: unknown, path: string): string {
  const kind = storeFaultKind(error, path)
  const reason = error instanceof Error ? error.message : String(error)
  return kind === undefined ? reason : `${WHAT[kind]} (${reason})`
}

/** Returns the shell command by which an operator fixes it. */
export function fixCommand(kind: StoreFaultKind, path: string): string {
  const folder = dirname(path)
  switch (kind) {
    case 'full':
      return `df -h ${folder}   then free some space on it, but keep ${path}-wal: it is part of the store`
    case 'read-only':
      return `findmnt -T ${folder}   shows its disk; then: mount -o remount,rw …`
    case 'not-allowed':
      return `chown -R "$(id -un)" ${folder}`
    case 'busy':
      return `fuser -v ${path}   shows the process that uses it; then try again`
    case 'damaged':
      return `stop the service, then: hookswitch restore BACKUP --data ${folder}   which keeps this store beside it`
    case 'disk-error':
      return 'dmesg | tail   and the quota of the disk'
  }
}

/** Returns the code of SQLite or Node of an error, or of its cause. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  const own = !(error instanceof Fault) && 'code' in error && typeof error.code === 'string' ? error.code : ''
  return own === '' ? codeOf(error.cause) : own
}

function hasNoSpace(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(path))
    return bavail * bsize < MIN_FREE_BYTES
  } catch {
    return false
  }
}

/** Returns why this user cannot write to a folder; `undefined` if it can. */
function writeObstacle(folder: string): 'read-only' | 'not-allowed' | undefined {
  try {
    accessSync(folder, constants.W_OK)
    return undefined
  } catch (error) {
    if (codeOf(error) === 'EROFS') return 'read-only'
    return /^(EACCES|EPERM)/.test(codeOf(error)) ? 'not-allowed' : undefined
  }
}
