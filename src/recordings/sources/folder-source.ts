import { constants, readlinkSync, type Stats } from 'node:fs'
import { type FileHandle, open, realpath, stat } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import type { Opened, OpenFile, Source } from './source.ts'

/** Small enough that a thousand downloads fit into memory, large enough for fast reads. */
const CHUNK_BYTES = 128 * 1024

/**
 * Creates a source of the files below a folder. Links are followed, but only regular files below the folder are opened.
 * `mayRead` may refuse more, by the path without links.
 */
export function createFolderSource(folder: string, mayRead?: MayRead): Source {
  return {
    async open(segments) {
      try {
        return await openBelow(folder, segments, mayRead)
      } catch (error) {
        return failureOf(error)
      }
    },
  }
}

type MayRead = (realPath: string) => Promise<boolean>

async function openBelow(folder: string, segments: readonly string[], mayRead?: MayRead): Promise<Opened> {
  if (segments.some((name) => !isName(name))) return { kind: 'missing', reason: 'the path leads out of the folder' }
  // Each wait costs a turn of the event loop, so the questions are asked in parallel.
  const [root, path] = await Promise.all([realpath(folder), realpath(join(folder, ...segments))])
  if (!isBelow(root, path) || (await mayRead?.(path)) === false) return OUTSIDE
  // An administrator may choose the folder of recordings, but not read the secrets of the store in this way. And the
  // first close of a file of SQLite would take its locks from this process: it must not even be opened.
  if (await isInStore(path)) return IN_STORE
  // A pipe would block until a process writes to it.
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const stats = await handle.stat()
    const refused = stats.isFile()
      ? (await isStillBelow(root, path, { handle, stats }))
        ? undefined
        : OUTSIDE
      : NO_REGULAR_FILE
    if (refused === undefined) return { kind: 'file', file: openFile(handle, stats) }
    await handle.close()
    return refused
  } catch (error) {
    await handle.close()
    throw error
  }
}

const isInStore = (path: string): Promise<boolean> => holdsStore(dirname(path))
/** Returns whether a folder is the data folder of a service. */
export const holdsStore = (folder: string): Promise<boolean> =>
  stat(join(folder, STORE_FILE)).then(
    () => true,
    () => false,
  )
const STORE_FILE = 'hookswitch.db'
const IN_STORE: Opened = { kind: 'missing', reason: 'it is in the folder of the store, which has no recordings' }
const OUTSIDE: Opened = { kind: 'missing', reason: 'the file is outside the folder: a link leads there' }
const NO_REGULAR_FILE: Opened = { kind: 'missing', reason: 'it is not a regular file' }

const isName = (name: string) => name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name)
const isBelow = (root: string, path: string) => path.startsWith(root.endsWith(sep) ? root : root + sep)

/**
 * Returns whether an open file is below the folder: a folder on the way may have been replaced by a link before it was
 * opened.
 */
async function isStillBelow(root: string, path: string, { handle, stats }: { handle: FileHandle; stats: Stats }) {
  // The kernel knows it without a disk.
  if (process.platform === 'linux') return isBelow(root, readlinkSync(`/proc/self/fd/${handle.fd}`))
  const again = await realpath(path)
  const now = await stat(again)
  return isBelow(root, again) && now.dev === stats.dev && now.ino === stats.ino
}

function openFile(handle: FileHandle, stats: Stats): OpenFile {
  return {
    size: stats.size,
    stamp: `${stats.size}-${stats.mtimeMs}-${stats.ino}`,
    modifiedMs: stats.mtimeMs,
    ageMs: Date.now() - stats.mtimeMs,
    read: (start, end) => streamOf(handle, start, end),
    close: () => handle.close(),
    ...(process.platform === 'linux'
      ? { local: { path: `/proc/self/fd/${handle.fd}`, cache: (start, end) => cache(handle, start, end) } }
      : {}),
  }
}

const CACHED_AT_ONCE_BYTES = 4 * 1024 * 1024
/** One buffer for all files: its content is not used. */
let unread: Uint8Array<ArrayBuffer> | undefined

async function cache(handle: FileHandle, start: number, end: number): Promise<void> {
  unread ??= new Uint8Array(CACHED_AT_ONCE_BYTES)
  try {
    for (let at = start; at < end; ) {
      const { bytesRead } = await handle.read(unread, 0, Math.min(unread.length, end - at), at)
      if (bytesRead === 0) return
      at += bytesRead
    }
  } catch {
    // The server reads the file again, and breaks the connection if it cannot.
  }
}

function streamOf(handle: FileHandle, start: number, end: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  let at = start
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        if (at >= end) return controller.close()
        const chunk = new Uint8Array(Math.min(CHUNK_BYTES, end - at))
        const { bytesRead } = await handle.read(chunk, 0, chunk.length, at)
        if (bytesRead === 0) throw new Error(`the file ends at ${at}, before ${end}: it was cut off while it was read`)
        at += bytesRead
        controller.enqueue(bytesRead === chunk.length ? chunk : chunk.slice(0, bytesRead))
        if (at >= end) controller.close()
      },
    },
    { highWaterMark: 0 },
  )
}

/** Plain words for errors that a user can fix. */
const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  ENAMETOOLONG: 'there is no such file',
  EINVAL: 'there is no such file',
  ELOOP: 'it is a link that leads nowhere',
  EACCES: 'this user may not read it',
  EPERM: 'this user may not read it',
}
/** Errors of the file itself, not of the disk or the mount. */
const MISSING: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'EINVAL', 'ELOOP', 'ENXIO'])

function failureOf(error: unknown): Opened {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const reason = PROBLEMS[code] ?? (error instanceof Error ? error.message : String(error))
  return { kind: MISSING.has(code) || code === 'ERR_INVALID_ARG_VALUE' ? 'missing' : 'unavailable', reason }
}
