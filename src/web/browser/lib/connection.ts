import { authorization, request } from './api.ts'
import { serverAheadMs, serverNowMs } from './clock.ts'
import { EMPTY_LIVE, type Live, type LiveMessage, move } from './live.ts'
import type { Delivery, Overview, Paged } from './resources.ts'
import { eventStreamDecoder } from './sse.ts'
import { cell } from './state.ts'

/** `lost` is said only once a connection was tried and failed. */
export type Link = 'connecting' | 'up' | 'lost'

export const link = cell<Link>('connecting')
export const overview = cell<Overview | null>(null)
export const live = cell<Live>(EMPTY_LIVE)

const OVERVIEW_EVERY_MS = 5_000
const RETRY_MIN_MS = 500
const RETRY_MAX_MS = 15_000
/** The server sends a comment every 15 s at least: silence for this long is a broken connection. */
const SILENCE_MS = 40_000

/** Follows the server until stopped: the stream for what moves, the overview for what is counted. */
export function startConnection(): { stop(): void } {
  const over = new AbortController()
  const timers = [
    setInterval(() => {
      if (!document.hidden) void readOverview(false)
    }, OVERVIEW_EVERY_MS),
    setInterval(() => live.update((before) => move(before, { kind: 'tick' }, serverNowMs())), 1_000),
  ]
  void follow(over.signal)
  return {
    stop() {
      over.abort()
      for (const timer of timers) clearInterval(timer)
      live.set(EMPTY_LIVE)
      overview.set(null)
      link.set('connecting')
    },
  }
}

export async function readOverview(asSnapshot: boolean): Promise<void> {
  // The calls come in the stream: thousands of them are read once.
  const answer = await request<Overview>('GET', asSnapshot ? '/overview' : '/overview?calls=none')
  if (!answer.ok) return
  serverAheadMs.set(Date.parse(answer.result.now) - Date.now())
  overview.set(answer.result)
  if (asSnapshot) live.update((before) => move(before, { kind: 'snapshot', overview: answer.result }, serverNowMs()))
}

async function follow(signal: AbortSignal): Promise<void> {
  for (let waitMs = RETRY_MIN_MS; !signal.aborted; waitMs = Math.min(RETRY_MAX_MS, waitMs * 2)) {
    const startedMs = Date.now()
    await readStream(signal).catch(() => {})
    if (signal.aborted) return
    link.set('lost')
    if (Date.now() - startedMs > RETRY_MAX_MS) waitMs = RETRY_MIN_MS
    await new Promise((resume) => setTimeout(resume, waitMs))
  }
}

async function readStream(signal: AbortSignal): Promise<void> {
  const silent = new AbortController()
  const either = AbortSignal.any([signal, silent.signal])
  const response = await fetch('/stream', { headers: authorization(), credentials: 'omit', signal: either })
  if (!response.ok || response.body === null) {
    // The refusal is the API's own: let it speak, so that a revoked token leads back to the login form.
    await request('GET', '/auth/me')
    return
  }
  const queue = batches()
  // The stream is open before the snapshot is taken: what happens in between is in both, and what is in both does no harm.
  const [, history] = await Promise.all([
    readOverview(true),
    request<Paged<Delivery>>('GET', '/integration/delivery?limit=60'),
  ])
  if (history.ok) queue.add({ kind: 'history', deliveries: history.result.items })
  link.set('up')
  const decode = eventStreamDecoder(({ name, data }) => {
    const message = readMessage(name, data)
    if (message !== null) queue.add(message)
  })
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
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

/** What the server says is what its schemas promise: the same that these types come from. */
function readMessage(name: string, data: string): LiveMessage | null {
  if (name === 'call') return { kind: 'call', call: JSON.parse(data) }
  if (name === 'event') return { kind: 'event', body: JSON.parse(data) }
  if (name === 'delivery') return { kind: 'delivery', delivery: JSON.parse(data) }
  return null
}

/** Many messages, one drawing: they are applied together, ten times a second at most. */
function batches(): { add(message: LiveMessage): void } {
  let waiting: LiveMessage[] = []
  return {
    add(message) {
      waiting.push(message)
      if (waiting.length > 1) return
      setTimeout(() => {
        const batch = waiting
        waiting = []
        live.update((before) => batch.reduce((held, next) => move(held, next, serverNowMs()), before))
      }, 100)
    },
  }
}
