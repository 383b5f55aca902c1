import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { COPIES_BEGIN, MARK_FILE, type MarkPlace } from './store-mark.ts'

/** Returns a folder as a place of copies that is marked. */
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
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await writeFile(path, text, { mode: 0o600 })
    },
    hasCopy: async (name) => (await stat(join(folder, ...name.split('/'))).catch(noneIfMissing)) !== undefined,
    async hasAnyCopy() {
      const names = await readdir(folder).catch(noneIfMissing)
      return names?.some((name) => name.startsWith(COPIES_BEGIN)) === true
    },
  }
}

function noneIfMissing(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))
    return undefined
  throw error
}
