import { databaseFault } from './store-fault.ts'

/**
 * Keeps all connections of this process to one history of the database: the same system, on the same timeline. A
 * promoted standby begins another timeline. The old server may still answer on open connections, and would accept
 * writes that nobody ever reads.
 *
 *     new connection ──(the same history)──→ used
 *                    ──(another one)──→ all other connections are closed, then it is used
 *                    ──(an earlier one, while the later one answers)──→ refused
 */
export type History = {
  /** Notes the history of a new connection, before its first statement. @throws Fault for a history that was left. */
  arrived(found: string | null): void
  /** Notes that a connection answered. */
  answered(): void
  /** Calls back when another history is in use. Returns a function that removes the listener. */
  onReplaced(listener: () => void): () => void
}

/** After this silence of the present server, a server with an earlier history is accepted. */
const BINDS_MS = 10_000

/** Makes the history of a process that has no connection yet. `name`: of the database, for messages. */
export function newHistory(name: string, nowMs: () => number = () => performance.now()): History {
  const listeners = new Set<() => void>()
  let current: string | undefined
  let answeredMs = Number.NEGATIVE_INFINITY
  return {
    arrived(found) {
      // Some databases do not report it.
      if (found === null) return
      if (current !== undefined && isEarlier(found, current) && nowMs() - answeredMs < BINDS_MS)
        throw databaseFault('left', name)
      const isReplaced = current !== undefined && found !== current
      current = found
      answeredMs = nowMs()
      if (isReplaced) for (const listener of listeners) listener()
    },
    answered() {
      answeredMs = nowMs()
    },
    onReplaced(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/** Timelines are numbers of eight hexadecimal digits. */
function isEarlier(one: string, other: string): boolean {
  const [oneSystem = '', oneTimeline = ''] = one.split('/')
  const [otherSystem = '', otherTimeline = ''] = other.split('/')
  return oneSystem === otherSystem && oneTimeline < otherTimeline
}
