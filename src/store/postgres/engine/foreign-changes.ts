import type { Query } from './client.ts'

/** How often changes by other processes are checked: contract 2.8 promises a second. */
const POLL_MS = 250

/** Rows of ended processes are ignored. */
const FORGET_AFTER = '1 hour'

type ChangeWatch = {
  /** Notes inside a transaction that something was changed. */
  note(query: Query): Promise<void>
  onForeignChange(listener: () => void): void
  /** Calls the listeners: anything may have changed. */
  notify(): void
  stop(): Promise<void>
}

/**
 * Watches for changes by other processes. Each process counts its changes in its own row, so that none waits for
 * another; the sum of the other rows shows whether there was a change.
 */
export function startChangeWatch({ read, writer }: { read: Query; writer: string }): ChangeWatch {
  const listeners: (() => void)[] = []
  let timer: Timer | undefined
  let seen: number | undefined
  let reading: Promise<void> = Promise.resolve()
  let stopped = false

  const notify = () => {
    for (const listener of listeners) listener()
  }
  async function poll(): Promise<void> {
    try {
      const [row] = await read<{ sum: number }>(
        'SELECT coalesce(sum(version), 0)::bigint AS sum FROM changes WHERE writer <> $1',
        [writer],
      )
      const now = row?.sum ?? 0
      if (seen !== undefined && now !== seen) notify()
      seen = now
    } catch {
      // Other queries report that the database is unavailable. Changes in the meantime are found afterwards.
    }
    if (stopped) return
    timer = setTimeout(next, POLL_MS)
    timer.unref?.()
  }
  const next = () => {
    reading = poll()
  }
  return {
    async note(query) {
      const raised = await query(
        'UPDATE changes SET version = version + 1, at = now() WHERE writer = $1 RETURNING 1 AS one',
        [writer],
      )
      if (raised.length > 0) return
      await query(`DELETE FROM changes WHERE at < now() - interval '${FORGET_AFTER}'`)
      // Starts from the time: starting from 1 could bring the sum back to its value before another process's row was
      // deleted.
      await query(
        `INSERT INTO changes (writer, version, at) VALUES ($1, (extract(epoch FROM now()) * 1000)::bigint, now())
         ON CONFLICT (writer) DO UPDATE SET version = changes.version + 1`,
        [writer],
      )
    },
    notify,
    onForeignChange(listener) {
      listeners.push(listener)
      // Earlier changes are read by a listener when it starts.
      if (listeners.length === 1) next()
    },
    async stop() {
      stopped = true
      clearTimeout(timer)
      await reading
    },
  }
}
