import { nextTurn, takeSlice } from '../../lib/slices.ts'

/** The messages for one client of an event stream (server-sent events, WHATWG HTML 9.2). */
export type Sink = {
  readonly body: ReadableStream<Uint8Array>
  /** Queues messages. The bytes may be shared with other sinks. */
  send(messages: Uint8Array): void
  comment(text: string): void
  close(): void
}

type SinkOptions = {
  /**
   * The present state: messages that the reader gets at its own pace, before and between the sent ones. `null`: a step
   * without a message.
   */
  readonly first?: Iterator<{ readonly name: string; readonly data: string } | null>
  /** Called before a part of `first` is made: messages older than the part have to be sent by then. */
  readonly beforeFirst?: () => void
  /** Called once when the stream has ended, on either side. */
  readonly closed: () => void
  /** A reader with more bytes than this to read is cut off. */
  readonly maxBytes?: number
}

/** A reader that is this far behind is cut off: it connects again, and starts from how things are then. */
const MAX_WAITING_BYTES = 1024 * 1024

/** Opens a sink. Queued messages are sent together as soon as the client reads. */
export function openSink({ first, beforeFirst = () => {}, closed, maxBytes = MAX_WAITING_BYTES }: SinkOptions): Sink {
  const encoder = new TextEncoder()
  let unread = first
  let waiting: Uint8Array[] = []
  let bytes = 0
  let wake: (() => void) | undefined
  let over = false

  function end(): void {
    if (over) return
    over = true
    waiting = []
    unread = undefined
    wake?.()
    closed()
  }

  function send(messages: Uint8Array): void {
    if (over) return
    bytes += messages.length
    waiting.push(messages)
    if (bytes > maxBytes) end()
    else wake?.()
  }

  async function somethingToSend(): Promise<void> {
    if (unread === undefined && waiting.length === 0 && !over) {
      const { promise, resolve } = Promise.withResolvers<void>()
      wake = resolve
      await promise
      wake = undefined
    }
    // Many streams of one account get their messages together: PBXs and receivers have their turns in between.
    await nextTurn()
  }

  function takeWaiting(): Uint8Array[] {
    const taken = waiting
    waiting = []
    bytes = 0
    return taken
  }

  /** Returns all queued messages, then a part of the snapshot: so nothing older follows a newer message. */
  function take(): Uint8Array {
    if (unread === undefined) return joined(takeWaiting())
    beforeFirst()
    const { taken, done } = takeSlice(unread)
    if (done) unread = undefined
    const messages = taken.map((one) => (one === null ? '' : messageOf(one.name, one.data)))
    const part = encoder.encode(messages.join(''))
    return joined([...takeWaiting(), part])
  }

  return {
    body: new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          let messages: Uint8Array = new Uint8Array()
          try {
            while (messages.length === 0 && !over) {
              await somethingToSend()
              if (!over) messages = take()
            }
          } catch (error) {
            end()
            throw error
          }
          if (over) controller.close()
          else controller.enqueue(messages)
        },
        cancel: end,
      },
      { highWaterMark: 0 },
    ),
    send,
    comment: (text) => send(encoder.encode(`: ${text}\n\n`)),
    close: end,
  }
}

/** A single piece is not copied: all streams of an account share it. */
const joined = (pieces: readonly Uint8Array[]): Uint8Array =>
  pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces)

/** Returns one message as the format has it. */
export const messageOf = (name: string, data: string): string => `event: ${name}\ndata: ${data}\n\n`
