import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '../../lib/log.ts'
import { type Copies, newHasher } from './copies.ts'

/**
 * The mark of the folder of copies: a file with the id of their store. A folder without it is the wrong one: a folder
 * of another store, a missing mount, or a local folder of one node. Nobody else would find copies there, and deletions
 * there would delete nothing.
 */
export const MARK_FILE = '.hookswitch-store'

export type MarkOptions = {
  readonly folder: string
  /** Returns the secret of the store, the same on every node. */
  readonly storeKey: () => Promise<string>
  /** Returns the names of the newest copies, with the times of their calls. */
  readonly newestCopies: () => Promise<readonly { readonly copy: string; readonly sinceUs: number }[]>
}

/** Returns the id of a store, the content of the mark. */
export const storeIdOf = (key: string): string => newHasher().update(`copies ${key}`).digest('hex').slice(0, 32)

/**
 * Checks that a folder is the folder of a store's copies. Marks an empty folder if the store has no copies yet, and a
 * folder that has the newest copies of an earlier version, unless `mayMark` is false. Returns the problem and what to
 * do; `undefined` if there is none.
 */
export async function problemOfMark(
  { folder, storeKey, newestCopies }: MarkOptions,
  { mayMark = true } = {},
): Promise<string | undefined> {
  const id = storeIdOf(await storeKey())
  const path = join(folder, MARK_FILE)
  const mark = await readFile(path, 'utf8').catch(noneIfMissing)
  const newest = await newestCopies()
  const has = await Promise.all(newest.map(({ copy }) => exists(join(folder, ...copy.split('/')))))
  const fix = `mount the folder that has the copies, the same on every node; to begin with this one: echo ${id} > ${path}`
  if (mark !== undefined && mark.trim() !== id)
    return `${folder} has the copies of another store: give a folder of its own`
  if (mark !== undefined) {
    const markedUs = (await stat(path)).mtimeMs * 1_000
    const later = has.filter((_, at) => (newest[at]?.sinceUs ?? 0) > markedUs)
    const isAlone = later.length > 0 && !later.includes(true)
    return isAlone
      ? `${folder} has none of the newest copies, which another node has made elsewhere: ${fix}`
      : undefined
  }
  const isOurs = newest.length > 0 ? !has.includes(false) : !(await hasCopies(folder))
  if (!isOurs) return `${folder} is not marked as the folder of the copies of this store: ${fix}`
  if (!mayMark) return undefined
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(path, `${id}\n`, { mode: 0o600 })
  return undefined
}

async function hasCopies(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch(noneIfMissing)
  return names?.some((name) => name.startsWith('account-')) === true
}

const exists = async (path: string): Promise<boolean> => (await stat(path).catch(noneIfMissing)) !== undefined

function noneIfMissing(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))
    return undefined
  throw error
}

/** How long a result is reused, since each copy and each deletion asks. */
const FRESH_MS = 5_000

/**
 * Wraps copies so that none is written or removed while the folder is the wrong one. Logs the beginning and the end of
 * that.
 */
export function createMarkedCopies(copies: Copies, problemOf: () => Promise<string | undefined>, log: Log): Copies {
  let problem: string | undefined
  let askedMs = Number.NEGATIVE_INFINITY

  async function requireRight(): Promise<void> {
    if (performance.now() - askedMs >= FRESH_MS) {
      const found = await problemOf().catch((error) => (error instanceof Error ? error.message : String(error)))
      if (found !== undefined && problem === undefined)
        log.error({ reason: found }, 'copies of recordings are neither made nor deleted here')
      if (found === undefined && problem !== undefined) log.info('copies of recordings are made and deleted here again')
      problem = found
      askedMs = performance.now()
    }
    if (problem !== undefined) throw new Error(problem)
  }

  return {
    open: copies.open,
    check: requireRight,
    async write(name, file) {
      await requireRight()
      return copies.write(name, file)
    },
    async remove(stem) {
      await requireRight()
      await copies.remove(stem)
    },
  }
}
