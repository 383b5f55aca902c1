/** Reads `GET /stream` until the page stops the reading. */

const RETRY_MIN_MS = 500
const RETRY_MAX_MS = 15_000
/** The server sends a comment at least every 15 s: silence for this long means that the connection is broken. */
const SILENCE_MS = 40_000

/** Calls `read` again after each end, with a pause, until `signal` is aborted; `onLost` is called at each end. */
export async function keepReading(
  read: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
  onLost: () => void,
): Promise<void> {
  for (let waitMs = RETRY_MIN_MS; !signal.aborted; waitMs = Math.min(RETRY_MAX_MS, waitMs * 2)) {
    const startedMs = Date.now()
    await read(signal).catch(() => {})
    if (signal.aborted) return
    onLost()
    if (Date.now() - startedMs > RETRY_MAX_MS) waitMs = RETRY_MIN_MS
    await new Promise((resume) => setTimeout(resume, waitMs))
  }
}

/** Passes the texts of a stream to `decode` until its end. `silent` aborts a stream without a text for long. */
export async function readMessages(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  silent: AbortController,
  decode: (text: string) => void,
): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let watchdog = setTimeout(() => silent.abort(), SILENCE_MS)
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      clearTimeout(watchdog)
      watchdog = setTimeout(() => silent.abort(), SILENCE_MS)
      decode(read.value)
    }
  } finally {
    clearTimeout(watchdog)
  }
}
