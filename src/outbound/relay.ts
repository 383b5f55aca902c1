import { connect, createServer, type Socket } from 'node:net'

/**
 * A connection through which a server may send few bytes before its answer. `fetch` reads interim answers (1xx) without
 * end and reports none: a few servers that send nothing else take all the time of its one thread.
 */
export type Relay = {
  /** The socket of the near end, for `fetch`. */
  readonly path: string
  /** Fires when the given signal does, or when the server has sent too much before its answer. */
  readonly signal: AbortSignal
  /** Lets everything through from now on: the answer has come. */
  answered(): void
  close(): void
}

/** More than the heads of answers have, with some interim answers before them. */
const MAX_UNANSWERED_BYTES = 65_536
/** How long `fetch` may take to report an answer that is among these bytes. */
const ANSWER_WITHIN_MS = 1_000

/** Connects to an address. @throws the error of the connection, or the reason of the signal */
export async function openRelay(hostname: string, port: number, given: AbortSignal): Promise<Relay> {
  const far = await connected(hostname, port, given)
  const own = new AbortController()
  let near: Socket | undefined
  let isAnswered = false
  let unansweredBytes = 0
  let timer: Timer | undefined

  const isHeldBack = () => !isAnswered && unansweredBytes > MAX_UNANSWERED_BYTES
  const close = (): void => {
    clearTimeout(timer)
    server.close()
    far.destroy()
    near?.destroy()
  }
  const server = createServer((client) => {
    // A second connection would come from another program.
    server.close()
    near = client
    client.on('close', close).on('error', close)
    client.on('drain', () => isHeldBack() || far.resume())
    client.pipe(far)
    far.on('end', () => client.end())
    far.on('data', (bytes) => {
      if (!isAnswered) unansweredBytes += bytes.length
      if (!client.write(bytes) || isHeldBack()) far.pause()
      if (isHeldBack()) timer ??= setTimeout(() => own.abort(new Error(TOO_MUCH)), ANSWER_WITHIN_MS)
    })
  })
  far.on('error', close)
  // A name in the abstract namespace of Linux: no file is left behind.
  const path = `\0hookswitch-${crypto.randomUUID()}`
  try {
    await new Promise<void>((resolve, reject) => void server.once('error', reject).listen(path, resolve))
  } catch (error) {
    far.destroy()
    throw error
  }
  return {
    path,
    signal: AbortSignal.any([given, own.signal]),
    answered() {
      isAnswered = true
      clearTimeout(timer)
      far.resume()
    },
    close,
  }
}

const TOO_MUCH = `${MAX_UNANSWERED_BYTES / 1_024} KiB came before an answer`

function connected(host: string, port: number, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true })
    const abort = () => {
      socket.destroy()
      reject(signal.reason)
    }
    const failed = (error: Error) => {
      signal.removeEventListener('abort', abort)
      reject(error)
    }
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    socket.once('error', failed)
    socket.once('connect', () => {
      signal.removeEventListener('abort', abort)
      socket.off('error', failed)
      resolve(socket)
    })
  })
}

/** A request that takes this long is slow: its server may be sending interim answers. */
const SLOW_MS = 2_000
/** How long requests to a slow server are relayed; twice as long each time that a direct one is slow again soon. */
const RELAYED_MS = { first: 10_000, max: 600_000 }
const MAX_ORIGINS = 4_096
/** Linux alone has names of sockets that are no files. */
const CAN_RELAY = process.platform === 'linux'

/**
 * Decides which requests are relayed: those to an origin that has not answered yet, or was slow lately. A relayed
 * request costs ten times as much as a direct one.
 */
export function newRelayedOrigins() {
  const origins = new Map<string, { readonly periodMs: number; readonly untilMs: number }>()
  const set = (origin: string, periodMs: number, untilMs: number) => {
    origins.delete(origin)
    origins.set(origin, { periodMs, untilMs })
    if (origins.size <= MAX_ORIGINS) return
    const [oldest = ''] = origins.keys()
    origins.delete(oldest)
  }
  return {
    /** Returns whether a request has to be relayed. @param nowMs by `performance.now()` */
    has(origin: string, nowMs: number): boolean {
      if (!CAN_RELAY) return false
      const known = origins.get(origin)
      return known === undefined || nowMs < known.untilMs
    },
    /** Notes that a request has its answer, or has failed, `tookMs` after its start. */
    noteEnd(origin: string, request: { startedMs: number; tookMs: number }, isAnswered: boolean): void {
      const { startedMs, tookMs } = request
      const known = origins.get(origin)
      if (tookMs < SLOW_MS) {
        if (known === undefined && isAnswered) set(origin, RELAYED_MS.first / 2, 0)
        return
      }
      const { periodMs, untilMs } = known ?? { periodMs: RELAYED_MS.first / 2, untilMs: 0 }
      // An attempt that was relayed, or began before the first slow one ended, does not extend the period.
      const wasLongAgo = startedMs - untilMs > RELAYED_MS.max
      const directMs = wasLongAgo ? RELAYED_MS.first : Math.min(2 * periodMs, RELAYED_MS.max)
      const nextMs = startedMs < untilMs ? periodMs : directMs
      set(origin, nextMs, startedMs + tookMs + nextMs)
    },
  }
}
