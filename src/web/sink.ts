/** Where the messages for one reader of an event stream go (WHATWG HTML, 9.2). */
export type Sink = {
  readonly body: ReadableStream<Uint8Array>
  message(name: string, data: string): void
  comment(text: string): void
  close(): void
}

/** A reader that is this far behind is cut off: it connects again, and starts from how things are then. */
const MAX_WAITING_CHARS = 1024 * 1024

/** `closed` is called once, whoever ends it. What waits is sent together as soon as the reader takes it. */
export function openSink(closed: () => void): Sink {
  const encoder = new TextEncoder()
  let waiting: string[] = []
  let chars = 0
  let wake: (() => void) | undefined
  let over = false

  function end(): void {
    if (over) return
    over = true
    waiting = []
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

  return {
    body: new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          if (waiting.length === 0 && !over)
            await new Promise<void>((resolve) => {
              wake = resolve
            })
          wake = undefined
          if (over) return controller.close()
          controller.enqueue(encoder.encode(waiting.join('')))
          waiting = []
          chars = 0
        },
        cancel: end,
      },
      { highWaterMark: 0 },
    ),
    message: (name, data) => push(`event: ${name}\ndata: ${data}\n\n`),
    comment: (text) => push(`: ${text}\n\n`),
    close: end,
  }
}
