import { nextTurn, takeSlice } from '../../lib/slices.ts'

/** The messages for one client of an event stream (server-sent events, WHATWG HTML 9.2). */
export type Sink = {
  readonly body: ReadableStream<Uint8Array>
  message(name: string, data: string): void
  comment(text: string): void
  close(): void
}

type SinkOptions = {
  /** The present state: messages that the reader gets at its own pace, before and between the sent ones. */
  readonly first?: Iterator<{ readonly name: string; readonly data: string }>
  /** Called once when the stream has ended, on either side. */
  readonly closed: () => void
}

/** A reader that is this far behind is cut off: it connects again, and starts from how things are then. */
const MAX_WAITING_CHARS = 1024 * 1024

/** Opens a sink. Queued messages are sent together as soon as the client reads. */
export function openSink({ first, closed }: SinkOptions): Sink {
  const encoder = new TextEncoder()
  let unread = first
  let waiting: string[] = []
  let chars = 0
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

  function push(text: string): void {
    if (over) return
    chars += text.length
    waiting.push(text)
    if (chars > MAX_WAITING_CHARS) end()
    else wake?.()
  }

  async function somethingToSend(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    wake = resolve
    if (unread !== undefined) await nextTurn()
    else if (waiting.length === 0 && !over) await promise
    wake = undefined
  }

  /** Returns all queued messages, then a part of the snapshot: so nothing older follows a newer message. */
  function takeText(): string {
    const texts = waiting
    waiting = []
    chars = 0
    if (unread === undefined) return texts.join('')
    const { taken, done } = takeSlice(unread)
    if (done) unread = undefined
    return [...texts, ...taken.map(({ name, data }) => messageOf(name, data))].join('')
  }

  return {
    body: new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          let text = ''
          try {
            while (text === '' && !over) {
              await somethingToSend()
              if (!over) text = takeText()
            }
          } catch (error) {
            end()
            throw error
          }
          if (over) controller.close()
          else controller.enqueue(encoder.encode(text))
        },
        cancel: end,
      },
      { highWaterMark: 0 },
    ),
    message: (name, data) => push(messageOf(name, data)),
    comment: (text) => push(`: ${text}\n\n`),
    close: end,
  }
}

const messageOf = (name: string, data: string): string => `event: ${name}\ndata: ${data}\n\n`
