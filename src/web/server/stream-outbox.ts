import { createPacedTask } from '../../lib/periodic.ts'
import { messageOf } from './stream-sink.ts'

/**
 * The messages for the streams of each account. A message is made once, however many streams the account has, and each
 * stream gets the messages of an interval in one piece: many streams of one account must not delay other accounts.
 */
type Outbox = {
  /** Queues a message for all streams of an account. */
  add(accountId: number, name: string, data: string): void
  /** Sends the queued messages of an account now. */
  flush(accountId: number): void
  stop(): void
}

type OutboxOptions = {
  /** Called with the messages of an account. All its streams share the bytes, which never change. */
  readonly send: (accountId: number, messages: Uint8Array) => void
  readonly gatherMs: number
}

/** Sent before the interval is over: a stream may have several such pieces waiting before it is cut off. */
const MAX_GATHERED_CHARS = 128 * 1024

type Gathered = { readonly messages: string[]; chars: number }

/** Creates an outbox. The first message after a quiet time is sent at once, later ones once per interval. */
export function createOutbox({ send, gatherMs }: OutboxOptions): Outbox {
  const encoder = new TextEncoder()
  const accounts = new Map<number, Gathered>()

  function flush(accountId: number): void {
    const gathered = accounts.get(accountId)
    if (gathered === undefined) return
    accounts.delete(accountId)
    send(accountId, encoder.encode(gathered.messages.join('')))
  }
  const flushing = createPacedTask(gatherMs, async () => {
    for (const accountId of [...accounts.keys()]) flush(accountId)
  })

  return {
    add(accountId, name, data) {
      const gathered = accounts.get(accountId) ?? { messages: [], chars: 0 }
      accounts.set(accountId, gathered)
      const message = messageOf(name, data)
      gathered.messages.push(message)
      gathered.chars += message.length
      if (gathered.chars > MAX_GATHERED_CHARS) flush(accountId)
      else flushing.request()
    },
    flush,
    stop() {
      flushing.stop()
      accounts.clear()
    },
  }
}
