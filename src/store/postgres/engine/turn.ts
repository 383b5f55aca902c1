import type { Query } from './client.ts'

/** A commit raises the count by this; the odd value in between invalidates a statement that is still in flight. */
const STEP = 2

/**
 * Counts the commits of this process in a row of its own, in the statement that commits. The count shows whether an
 * unanswered statement was carried out, and can invalidate one that is still in flight.
 */
type Turns = {
  /** Returns the count that the next statement has to find. */
  next(): Promise<number>
  /** Notes that the statement was carried out. */
  isMade(): void
  /** Notes that no answer came. */
  isInDoubt(): void
  /** Returns whether the unanswered statement was carried out; `undefined` if every statement was answered. */
  resolveDoubt(): Promise<boolean | undefined>
  /** Reads the count again, after the statement found another than it had to find. */
  reset(): void
}

/**
 * The condition for a statement whose first two parameters are the writer and `next()`: it yields no row if this turn
 * was taken already.
 */
export const TURN = `
  UPDATE writers SET commits = $2 + ${STEP}, at = now() WHERE writer = $1 AND commits = $2 RETURNING 1`

/** Opens the count of this process. */
export function openTurns(query: Query, writer: string): Turns {
  let count: number | undefined
  let doubt = false

  async function read(): Promise<number> {
    const [row] = await query<{ commits: number }>(
      `INSERT INTO writers (writer, commits, at) VALUES ($1, 0, now())
       ON CONFLICT (writer) DO UPDATE SET at = now() RETURNING commits`,
      [writer],
    )
    return row?.commits ?? 0
  }
  return {
    async next() {
      count ??= await read()
      return count
    },
    isMade() {
      count = (count ?? 0) + STEP
    },
    isInDoubt() {
      doubt = true
    },
    async resolveDoubt() {
      if (!doubt) return undefined
      const before = count ?? 0
      // If the statement is still in flight, the odd count invalidates it; if it holds the row, this waits for it.
      await query('UPDATE writers SET commits = $2 + 1 WHERE writer = $1 AND commits = $2', [writer, before])
      count = await read()
      doubt = false
      return count === before + STEP
    },
    reset() {
      count = undefined
    },
  }
}
