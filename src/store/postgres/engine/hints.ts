import type { DatabaseSource } from '../../../lib/database-url.ts'
import { connect } from './client.ts'

/** How soon a connection is tried again that could not be made. */
const AGAIN_MS = 2_000

/**
 * Calls back when any process has sent a hint on a channel (`pg_notify`). Hints may be lost, and there are databases
 * and poolers without them: polling finds the same, later. Returns what ends it.
 */
export function listenTo(source: DatabaseSource, channel: string, onHint: (text: string) => void): () => Promise<void> {
  const connection = connect(source, { role: 'hints', connections: 1, statementMs: 0 })
  let timer: Timer | undefined
  let isStopped = false

  async function listen(): Promise<void> {
    try {
      await connection.listen(channel, onHint)
    } catch {
      // Other statements report that the database is away.
      if (!isStopped) timer = setTimeout(listen, AGAIN_MS)
      timer?.unref?.()
    }
  }
  void listen()
  return async () => {
    isStopped = true
    clearTimeout(timer)
    await connection.close({ timeout: 0 }).catch(() => undefined)
  }
}
