import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { createFolderSource, holdsStore } from '../sources/folder-source.ts'
import type { OpenFile } from '../sources/source.ts'
import { type Copies, hashInto, newHasher, notAsWritten, sha256Of } from './copies.ts'
import { COPIES_BEGIN, MARK_FILE, type MarkPlace } from './store-mark.ts'

const PRIVATE_FOLDER = 0o700
const PRIVATE_FILE = 0o600
/** The steps in which a copy is synced to disk: an interrupted copy continues at a step. */
const STEP_BYTES = 16 * 1024 * 1024

/**
 * Creates the place of copies in a folder of this machine. An interrupted copy continues at a multiple of `stepBytes`.
 */
export function createFolderCopies(folder: string, stepBytes = STEP_BYTES): Copies {
  const source = createFolderSource(folder)
  const pathOf = (name: string) => join(folder, ...name.split('/'))

  /** Opens a file of this folder for `use`. Returns its result; `undefined` if the file does not exist. */
  async function withFile<Result>(name: string, use: (file: OpenFile) => Promise<Result>): Promise<Result | undefined> {
    const opened = await source.open(name.split('/'))
    if (opened.kind !== 'file') return undefined
    try {
      return await use(opened.file)
    } finally {
      await opened.file.close()
    }
  }

  /** Writes a part, or the rest of it, to disk. Returns the hash of the whole. */
  async function writePart(part: string, file: OpenFile): Promise<string> {
    const handle = await open(pathOf(part), constants.O_WRONLY | constants.O_CREAT, PRIVATE_FILE)
    try {
      const start = file.modifiedMs === null ? 0 : syncedBytes((await handle.stat()).size, stepBytes)
      const hasher = newHasher()
      if (start > 0) await withFile(part, (written) => hashInto(hasher, written.read(0, start)))
      await hashInto(hasher, file.read(start, file.size), writingFrom(handle, { start, stepBytes }))
      await handle.sync()
      return hasher.digest('hex')
    } finally {
      await handle.close()
    }
  }

  /** Deletes all files of a recording except `kept`. */
  async function clear(stem: string, kept?: string): Promise<void> {
    const path = pathOf(stem)
    for (const name of await namesIn(dirname(path)))
      if (name.startsWith(`${basename(path)}.`) && name !== kept) await rm(join(dirname(path), name), { force: true })
  }

  return {
    open: source.open,
    async write({ stem, extension }, file) {
      const name = `${stem}.${extension}`
      // The name has the stamp, so that only a part of this very file is continued.
      const part = `${stem}.${Bun.hash(file.stamp).toString(36)}.part`
      await mkdir(dirname(pathOf(name)), { recursive: true, mode: PRIVATE_FOLDER })
      const sha256 = await writePart(part, file)
      if ((await withFile(part, ({ read, size }) => sha256Of(read(0, size)))) !== sha256) {
        await rm(pathOf(part), { force: true })
        throw notAsWritten()
      }
      await rename(pathOf(part), pathOf(name))
      await syncFolder(dirname(pathOf(name)))
      await clear(stem, basename(name))
      return { name, sha256 }
    },
    remove: clear,
  }
}

/** Returns the bytes of a part that are certainly on disk: each step was synced before the next one was complete. */
const syncedBytes = (size: number, stepBytes: number): number =>
  Math.max(0, Math.floor(size / stepBytes) - 1) * stepBytes

/**
 * Returns a function that writes chunks one after the other. It never truncates: another node may write the same file.
 */
function writingFrom(handle: FileHandle, { start, stepBytes }: { start: number; stepBytes: number }) {
  let at = start
  return async (chunk: Uint8Array): Promise<void> => {
    for (let done = 0; done < chunk.length; )
      done += (await handle.write(chunk, done, chunk.length - done, at + done)).bytesWritten
    const isStepFull = Math.floor((at + chunk.length) / stepBytes) > Math.floor(at / stepBytes)
    at += chunk.length
    if (isStepFull) await handle.datasync()
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

/** Syncs a folder, so that the new name of a file in it is on disk. */
async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

export function createFolderMark(folder: string): MarkPlace {
  const path = join(folder, MARK_FILE)
  return {
    name: folder,
    advice: 'mount the folder that has the copies, the same on every node',
    commandFor: (id) => `echo ${id} > ${path}`,
    async readMark() {
      const text = await readFile(path, 'utf8').catch(noneIfMissing)
      return text === undefined ? undefined : { text, writtenMs: (await stat(path)).mtimeMs }
    },
    async writeMark(text) {
      await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER })
      await writeFile(path, text, { mode: PRIVATE_FILE })
    },
    hasCopy: async (name) => (await stat(join(folder, ...name.split('/'))).catch(noneIfMissing)) !== undefined,
    async hasAnyCopy() {
      const names = await readdir(folder).catch(noneIfMissing)
      return names?.some((name) => name.startsWith(COPIES_BEGIN)) === true
    },
    hasDatabase: () => holdsStore(folder),
  }
}

function noneIfMissing(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))
    return undefined
  throw error
}
