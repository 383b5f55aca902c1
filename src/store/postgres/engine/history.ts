import { databaseFault } from './store-fault.ts'

/**
 * Keeps all connections of this process to one history of the database: the same system, on the same timeline. A
 * standby that is promoted begins another timeline. The server before it may go on answering on connections that are
 * open, and would take in what nobody reads any more.
 *
 *     new connection ──(the same history)──→ used
 *                    ──(another one)──→ all other connections are closed, then it is used
 *                    ──(an earlier one, while the later one answers)──→ refused
 */
export type History = {
  /** Takes in the history of a new connection, before its first statement. @throws Fault when it was left. */
  arrived(found: string | null): void
  /** Notes that a connection answered. */
  answered(): void
  /** Calls back when another history is in force. Returns what takes the listener off. */
  onReplaced(listener: () => void): () => void
}

/** A server that has not answered for so long cannot keep the process from one with an earlier history. */
const BINDS_MS = 10_000

/** Makes the history of a process that has no connection yet. `name`: of the database, for messages. */
export function newHistory(name: string, nowMs: () => number = () => performance.now()): History {
  const listeners = new Set<() => void>()
  let current: string | undefined
  let answeredMs = Number.NEGATIVE_INFINITY
  return {
    arrived(found) {
      // There are databases that do not say.
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
