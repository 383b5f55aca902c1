import { accessSync, constants, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { Fault } from '../../../lib/fault.ts'

/**
 * Why the store cannot be used. Only what is damaged needs a backup: an operator who is told so of a full disk loses
 * data.
 */
export type StoreFaultKind = 'full' | 'read-only' | 'not-allowed' | 'busy' | 'damaged' | 'disk-error'

/** By the beginning of SQLite's code, or Node's. */
const KINDS: readonly (readonly [code: RegExp, kind: StoreFaultKind])[] = [
  [/^(SQLITE_FULL|ENOSPC|EDQUOT)/, 'full'],
  [/^EROFS/, 'read-only'],
  [/^(SQLITE_(READONLY|PERM)|EACCES|EPERM)/, 'not-allowed'],
  [/^SQLITE_(BUSY|LOCKED)/, 'busy'],
  [/^SQLITE_(CORRUPT|NOTADB)/, 'damaged'],
  [/^(SQLITE_(IOERR|CANTOPEN)|EIO)/, 'disk-error'],
]

/**
 * What SQLite puts beside the store when it is opened: with less than that it reports a disk error, and means a full
 * disk.
 */
const LEAST_ROOM_BYTES = 64 * 1024

const WHAT: Readonly<Record<StoreFaultKind, string>> = {
  full: 'the disk is full',
  'read-only': 'the disk is read-only',
  'not-allowed': 'this user may not write it',
  busy: 'another process has it for itself',
  damaged: 'it is damaged',
  'disk-error': 'the disk reports an error',
}

const TO_DO: Readonly<Record<StoreFaultKind, string>> = {
  full: 'make room, and it goes on; nothing of it is lost',
  'read-only': 'mount it writable, or give another folder with --data',
  'not-allowed': 'give it to this user, or give another folder with --data',
  busy: 'try again when that has ended',
  damaged: 'put a backup in its place; it was left as it is',
  'disk-error': 'look at the disk and its quota (dmesg); the store was left as it is',
}

/** Returns what is behind an error that came from the store at this path; `undefined` if it is none of the store's. */
export function storeFaultKind(error: unknown, path: string): StoreFaultKind | undefined {
  const found = KINDS.find(([code]) => code.test(codeOf(error)))?.[1]
  if (found !== 'disk-error' && found !== 'not-allowed') return found
  if (found === 'disk-error' && hasNoRoom(path)) return 'full'
  return writeObstacle(dirname(path)) ?? found
}

/**
 * Returns a Fault that tells what is behind an error and what to do; what is none of the store's is given back as it
 * is.
 */
export function asStoreFault(error: unknown, path: string): unknown {
  if (error instanceof Fault) return error
  const kind = storeFaultKind(error, path)
  return kind === undefined ? error : storeFault(kind, path, error)
}

export function storeFault(kind: StoreFaultKind, path: string, cause?: unknown): Fault {
  const reason = cause instanceof Error ? ` (${cause.message})` : ''
  const what = kind === 'damaged' ? `is damaged${reason}` : `cannot be used: ${WHAT[kind]}${reason}`
  return new Fault('unavailable', `${path} ${what}: ${TO_DO[kind]}`, { cause })
}

/** Returns why something at a path cannot be written, in words, for what tells itself what to do. */
export function writeRefusal(error: unknown, path: string): string {
  const kind = storeFaultKind(error, path)
  const reason = error instanceof Error ? error.message : String(error)
  return kind === undefined ? reason : `${WHAT[kind]} (${reason})`
}

/** Returns the shell command by which an operator fixes it. */
export function fixCommand(kind: StoreFaultKind, path: string): string {
  const folder = dirname(path)
  switch (kind) {
    case 'full':
      return `df -h ${folder}   then make room on it, but keep ${path}-wal: it is a part of the store`
    case 'read-only':
      return `findmnt -T ${folder}   shows its disk; then: mount -o remount,rw …`
    case 'not-allowed':
      return `chown -R "$(id -un)" ${folder}`
    case 'busy':
      return `fuser -v ${path}   shows who has it; then try again`
    case 'damaged':
      return `stop the service, then: mkdir ${folder}/damaged && mv ${path}* ${folder}/damaged/ && cp BACKUP ${path}`
    case 'disk-error':
      return 'dmesg | tail   and the quota of the disk'
  }
}

/** SQLite's code, or Node's, of an error or of what caused it. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  const own = !(error instanceof Fault) && 'code' in error && typeof error.code === 'string' ? error.code : ''
  return own === '' ? codeOf(error.cause) : own
}

function hasNoRoom(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(path))
    return bavail * bsize < LEAST_ROOM_BYTES
  } catch {
    return false
  }
}

/** What keeps this user from writing to a folder, if anything does. */
function writeObstacle(folder: string): 'read-only' | 'not-allowed' | undefined {
  try {
    accessSync(folder, constants.W_OK)
    return undefined
  } catch (error) {
    return codeOf(error) === 'EROFS' ? 'read-only' : 'not-allowed'
  }
}
