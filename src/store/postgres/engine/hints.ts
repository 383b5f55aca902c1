import type { DatabaseSource } from '../../../lib/database-url.ts'
import { connect } from './client.ts'

/**
 * Hints from process to process (`pg_notify`). They may be lost, and there are databases and poolers without them:
 * polling finds the same, later.
 */
export type Hints = {
  /** Calls back when any process has sent a hint on a channel. Returns what ends it. */
  listen(channel: string, onHint: (text: string) => void): () => Promise<void>
  stop(): Promise<void>
}

/** How soon a connection is tried again that could not be made. */
const AGAIN_MS = 2_000

/** Opens one connection for all channels, with the first that is listened to. */
export function openHints(source: DatabaseSource): Hints {
  const connection = connect(source, { role: 'hints', connections: 1, statementMs: 0 })
  let isStopped = false

  function listen(channel: string, onHint: (text: string) => void): () => Promise<void> {
    let timer: Timer | undefined
    let isEnded = false
    let subscription: Awaited<ReturnType<typeof connection.listen>> | undefined

    async function begin(): Promise<void> {
      try {
        subscription = await connection.listen(channel, (text) => {
          if (!isEnded) onHint(text)
        })
        if (isEnded) await subscription.unlisten()
      } catch {
        // Other statements report that the database is away.
        if (isEnded || isStopped) return
        timer = setTimeout(begin, AGAIN_MS)
        timer.unref?.()
      }
    }
    void begin()
    return async () => {
      isEnded = true
      clearTimeout(timer)
      await subscription?.unlisten().catch(() => undefined)
    }
  }
  return {
    listen,
    async stop() {
      isStopped = true
      await connection.close({ timeout: 0 }).catch(() => undefined)
    },
  }
}
