import type { Log } from '../../lib/log.ts'
import { type Copies, newHasher } from './copies.ts'

/**
 * The mark of the place of copies: a file with the id of their store. A place without it is the wrong one: a place of
 * another store, a missing mount, or a local folder of one node. Nobody else would find copies there, and deletions
 * there would delete nothing.
 */
export const MARK_FILE = '.hookswitch-store'

/** A folder or a prefix of a bucket, with the operations that its mark needs. */
export type MarkPlace = {
  /** Its name in messages, such as `s3://calls/office`. */
  readonly name: string
  /** How to get the right place. */
  readonly advice: string
  /** Returns the command that marks it with an id. */
  commandFor(id: string): string
  /** Returns the mark and when it was written; `undefined`: the place has no mark. */
  readMark(): Promise<{ readonly text: string; readonly writtenMs: number } | undefined>
  writeMark(text: string): Promise<void>
  hasCopy(name: string): Promise<boolean>
  hasAnyCopy(): Promise<boolean>
  /** Returns whether it is a data folder: a person who removes the store there would remove the copies with it. */
  hasDatabase(): Promise<boolean>
}

/** How the names of all copies begin. */
export const COPIES_BEGIN = 'account-'

export type MarkOptions = {
  readonly place: MarkPlace
  /** Returns the secret of the store, the same on every node. */
  readonly storeKey: () => Promise<string>
  /** Returns the names of the newest copies, with the times of their calls. */
  readonly newestCopies: () => Promise<readonly { readonly copy: string; readonly sinceUs: number }[]>
}

/** Returns the id of a store, the content of the mark. */
const storeIdOf = (key: string): string => newHasher().update(`copies ${key}`).digest('hex').slice(0, 32)

/**
 * Checks that a place is the place of a store's copies. Returns the problem and what to do; `undefined` if it is the
 * right place. A place without a mark is right if it has the store's newest copies, or if neither has any copy; it is
 * then marked, unless `mayMark` is false.
 */
export async function problemOfMark(
  { place, storeKey, newestCopies }: MarkOptions,
  { mayMark = true } = {},
): Promise<string | undefined> {
  const id = storeIdOf(await storeKey())
  const mark = await place.readMark()
  const newest = await newestCopies()
  const has = await Promise.all(newest.map(({ copy }) => place.hasCopy(copy)))
  const fix = `${place.advice}; to begin with this one: ${place.commandFor(id)}`
  if (mark !== undefined && mark.text.trim() !== id)
    return `${place.name} has the copies of another store: give this store a place of its own`
  if (mark !== undefined) {
    const later = has.filter((_, at) => (newest[at]?.sinceUs ?? 0) > mark.writtenMs * 1_000)
    const isAlone = later.length > 0 && !later.includes(true)
    return isAlone
      ? `${place.name} has none of the newest copies, which another node has made elsewhere: ${fix}`
      : undefined
  }
  const isOurs = newest.length > 0 ? !has.includes(false) : !(await place.hasAnyCopy())
  if (newest.length === 0 && (await place.hasDatabase()))
    return `${place.name} is the data folder of a service: give the copies a folder of their own, such as one below it`
  if (!isOurs) return `${place.name} is not marked as the place of the copies of this store: ${fix}`
  if (mayMark) await place.writeMark(`${id}\n`)
  return undefined
}

/** How long a result is reused, since each copy and each deletion asks. */
const FRESH_MS = 5_000

/**
 * Wraps copies so that none is written or removed while the place is the wrong one. Logs when this begins, and when it
 * ends.
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
