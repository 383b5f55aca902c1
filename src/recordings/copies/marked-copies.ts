import type { Log } from '../../lib/log.ts'
import type { Copies } from './copies.ts'

/** What was found is right for so long: each copy and each deletion asks. */
const FRESH_MS = 5_000

/**
 * Returns copies that are neither written nor removed while their place is not the right one. That is logged when it
 * begins and when it ends.
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
