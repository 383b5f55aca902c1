import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createFolderSource } from '../sources/folder-source.ts'
import type { OpenFile } from '../sources/source.ts'
import { type Copies, hashOf, notAsWritten } from './copies.ts'

const PRIVATE_FOLDER = 0o700
const PRIVATE_FILE = 0o600

/** Creates the place of copies in a folder of this machine. */
export function createFolderCopies(folder: string): Copies {
  const source = createFolderSource(folder)
  const pathOf = (name: string) => join(folder, ...name.split('/'))

  /** Writes a part, which has the name of the copy only once it is complete and on disk. */
  async function writePart(part: string, file: OpenFile): Promise<string> {
    const handle = await open(part, 'w', PRIVATE_FILE)
    try {
      const sha256 = await hashOf(file.read(0, file.size), (chunk) => handle.writeFile(chunk))
      await handle.sync()
      return sha256
    } finally {
      await handle.close()
    }
  }

  async function hashOfFile(name: string): Promise<string | undefined> {
    const opened = await source.open(name.split('/'))
    if (opened.kind !== 'file') return undefined
    try {
      return await hashOf(opened.file.read(0, opened.file.size))
    } finally {
      await opened.file.close()
    }
  }

  return {
    open: source.open,
    async write(name, file) {
      const path = pathOf(name)
      const part = `${name}.part`
      await mkdir(dirname(path), { recursive: true, mode: PRIVATE_FOLDER })
      const sha256 = await writePart(pathOf(part), file)
      if ((await hashOfFile(part)) !== sha256) throw notAsWritten()
      await rename(pathOf(part), path)
      await syncFolder(dirname(path))
      return sha256
    },
    async remove(name) {
      for (const one of [name, `${name}.part`]) await rm(pathOf(one), { force: true })
    },
  }
}

/** The new name of a file is on disk once its folder is. */
async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
