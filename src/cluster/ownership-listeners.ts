import type { Log } from '../lib/log.ts'
import type { OwnershipListener } from './ownership.ts'

/** Returns a promise that resolves when all work for a lease has ended; it never rejects. */
export type EndOfWork = (lease: string) => Promise<void>

/** Makes the list of those who are notified when what this node owns changes. */
export function newOwnershipListeners(log: Log) {
  const listeners = new Set<OwnershipListener>()
  return {
    /** Adds a listener. Returns what takes it off. */
    add(listener: OwnershipListener): () => void {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    /** Notifies all of them, at once. */
    notify(): EndOfWork {
      const endings = [...listeners].flatMap((listener) => listener() ?? [])
      for (const ending of endings)
        for (const [lease, ended] of ending)
          ended.catch((error) => log.error({ lease, err: error }, 'the work for a lease failed to end'))
      return async (lease) => {
        await Promise.allSettled(endings.map((ending) => ending.get(lease)))
      }
    },
  }
}
