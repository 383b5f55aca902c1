import type { SQL } from 'bun'
import type { DatabaseSource } from '../../database-url.ts'
import { connect } from './connection.ts'
import type { History } from './history.ts'

/**
 * Hints from process to process (`pg_notify`). They may be lost, and some databases and poolers lack them: polling
 * finds the same, later.
 */
export type Hints = {
  /** Calls back when any process has sent a hint on a channel. Returns a function that ends it. */
  listen(channel: string, onHint: (text: string) => void): () => Promise<void>
  stop(): Promise<void>
}

/** How soon opening a connection is retried. */
const AGAIN_MS = 2_000
/** How soon a lost connection is opened again. */
const SOON_MS = 50

type Listener = { readonly channel: string; onHint(text: string): void }

/** Opens one connection for all channels, with the first that is listened to. */
export function openHints(source: DatabaseSource, history?: History): Hints {
  const listeners = new Set<Listener>()
  let connection: SQL | undefined
  let timer: Timer | undefined
  let isStopped = false

  function later(ms: number): void {
    if (isStopped) return
    clearTimeout(timer)
    timer = setTimeout(open, ms)
    timer.unref?.()
  }
  function close(): void {
    const old = connection
    connection = undefined
    void old?.close({ timeout: 0 }).catch(() => undefined)
  }
  /** The client would try a lost connection again by itself, and write about it to standard error. */
  function open(): void {
    close()
    const opened = connect(source, 'hints', () => {
      if (connection !== opened) return
      close()
      later(SOON_MS)
    })
    connection = opened
    for (const listener of listeners) void listenOn(opened, listener)
  }
  async function listenOn(on: SQL, { channel, onHint }: Listener): Promise<void> {
    try {
      await on.listen(channel, (text) => {
        if (connection === on) onHint(text)
      })
    } catch {
      // Other statements report that the database is away.
      if (connection !== on) return
      close()
      later(AGAIN_MS)
    }
  }
  const unlisten = history?.onReplaced(open)
  return {
    listen(channel, onHint) {
      let isEnded = false
      const listener: Listener = { channel, onHint: (text) => void (isEnded || onHint(text)) }
      listeners.add(listener)
      if (connection === undefined) later(0)
      else void listenOn(connection, listener)
      return () => {
        isEnded = true
        listeners.delete(listener)
        return Promise.resolve()
      }
    },
    async stop() {
      isStopped = true
      unlisten?.()
      clearTimeout(timer)
      const old = connection
      connection = undefined
      await old?.close({ timeout: 0 }).catch(() => undefined)
    },
  }
}
