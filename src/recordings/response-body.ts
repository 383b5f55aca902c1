import { Fault } from '../lib/fault.ts'
import { nextTurn } from '../lib/slices.ts'
import type { ByteRange } from './byte-range.ts'
import type { OpenFile } from './sources/source.ts'

/** The server opens the file of a response at once, but reports neither that nor the end of the response. */
const OPENED_WITHIN_MS = 2_000
/**
 * Responses up to this size, a minute of WAV or ten of MP3, are read first and sent with their length: Bun's server
 * sends no length with a stream, regardless of the headers.
 */
const READ_FIRST_BYTES = 1024 * 1024
const READ_FIRST_AT_ONCE = 64
/**
 * The server reads a file on the main thread, and a slow disk would block it. So this much, half an hour of WAV, is
 * read into the cache of the operating system first: a part before the response begins, the rest while the client
 * receives that part.
 */
const CACHED_BYTES = 32 * 1024 * 1024
const CACHED_FIRST_BYTES = 8 * 1024 * 1024

let readFirst = 0

/**
 * Returns the body of a response with a part of a file, which it closes.
 * @throws Fault `unavailable` when a part that is read first cannot be read.
 */
export async function fileBody(file: OpenFile, start: number, end: number): Promise<BodyInit> {
  if (file.local !== undefined) return sentByServer(file, file.local, { start, end })
  if (end - start > READ_FIRST_BYTES || readFirst >= READ_FIRST_AT_ONCE) return begun(file.read(start, end), file)
  readFirst += 1
  try {
    return await new Response(file.read(start, end)).bytes()
  } catch (cause) {
    throw unavailable(cause)
  } finally {
    readFirst -= 1
    await file.close()
  }
}

const unavailable = (cause: unknown): Fault =>
  new Fault('unavailable', 'The place of the recording does not answer now. Try again later.', { cause })

async function sentByServer(file: OpenFile, local: NonNullable<OpenFile['local']>, { start, end }: ByteRange) {
  const first = Math.min(end, start + CACHED_FIRST_BYTES)
  await local.cache(start, first)
  await nextTurn()
  const opened = Bun.sleep(OPENED_WITHIN_MS)
  const cached = local.cache(first, Math.min(end, start + CACHED_BYTES))
  void Promise.all([opened, cached]).then(file.close)
  return Bun.file(local.path).slice(start, end)
}

/**
 * Passes a stream on from when its first part has come, and closes its file when it ends, fails or is cancelled.
 * @throws Fault `unavailable` when no part comes.
 */
async function begun(stream: ReadableStream<Uint8Array<ArrayBuffer>>, { close }: OpenFile) {
  const reader = stream.getReader()
  let first: Awaited<ReturnType<typeof reader.read>> | undefined = await reader.read().catch(async (cause) => {
    await close()
    throw unavailable(cause)
  })
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        try {
          const { done, value } = first ?? (await reader.read())
          first = undefined
          if (!done) return controller.enqueue(value)
          controller.close()
          await close()
        } catch (error) {
          await close()
          // Before the head is sent the client gets 503, afterwards the connection breaks.
          controller.error(unavailable(error))
        }
      },
      async cancel(reason) {
        await reader.cancel(reason)
        await close()
      },
    },
    { highWaterMark: 0 },
  )
}

/**
 * Returns the body of a response to HEAD: one chunk that has the length but no content. Elysia reads the body of GET to
 * count its bytes; the chunk is not sent.
 */
export function statedLength(byteLength: number): BodyInit {
  const stream = new ReadableStream<{ byteLength: number }>({
    start(controller) {
      controller.enqueue({ byteLength })
      controller.close()
    },
  })
  // Not a stream of bytes, and never read as one.
  return stream as unknown as BodyInit
}
