import { useEffect, useRef } from 'preact/hooks'
import { createAnswerOrder } from './answer-order.ts'
import { authorizationHeader, request } from './api.ts'
import { createEventStreamDecoder } from './event-stream-decoder.ts'
import { applyLiveMessage, EMPTY_LIVE_STATE, type LiveMessage, type LiveState } from './live-state.ts'
import { observable, useObservable } from './observable.ts'
import type { Delivery, Overview, Page } from './resources.ts'
import { serverNowMs, serverOffsetMs } from './server-clock.ts'
import { accessToken } from './session.ts'
import { keepReading, readMessages } from './stream-reader.ts'

/** `lost` only after a connection was tried and failed, so that a page that is opening does not alarm anybody. */
type ConnectionState = 'connecting' | 'up' | 'lost'

export const connectionState = observable<ConnectionState>('connecting')
export const overview = observable<Overview | null>(null)
export const liveState = observable<LiveState>(EMPTY_LIVE_STATE)

const OVERVIEW_EVERY_MS = 5_000
/** Messages are applied together at this interval: a redraw for each would cost too much on a busy system. */
const BATCH_MS = 100
const FEED_HISTORY = 60

const deliveryListeners = new Set<(changed: readonly Delivery[]) => void>()

/** Calls the listener with changed deliveries, a batch at a time; returns a function that unsubscribes it. */
export function subscribeDeliveries(listener: (changed: readonly Delivery[]) => void): () => void {
  deliveryListeners.add(listener)
  return () => deliveryListeners.delete(listener)
}

/** Follows the server until stopped: the stream for changes, the overview for figures. */
export function startConnection(): { stop(): void } {
  const stopping = new AbortController()
  const timers = [
    setInterval(() => {
      if (!document.hidden) void refreshOverview().then(readPendingDeliveries)
    }, OVERVIEW_EVERY_MS),
    setInterval(() => liveState.update((state) => applyLiveMessage(state, { kind: 'tick' }, serverNowMs())), 1_000),
  ]
  void keepReading(readStream, stopping.signal, () => connectionState.set('lost'))
  return {
    stop() {
      stopping.abort()
      for (const timer of timers) clearInterval(timer)
      liveState.set(EMPTY_LIVE_STATE)
      overview.set(null)
      connectionState.set('connecting')
    },
  }
}

const overviews = createAnswerOrder()

/** Reads the overview again. As a snapshot it also replaces the live calls. */
export async function refreshOverview({ asSnapshot = false } = {}): Promise<void> {
  const token = accessToken.get()
  const isNewest = overviews.ask()
  // Thousands of live calls are read once: after that the stream sends their changes.
  const response = await request<Overview>('GET', asSnapshot ? '/overview' : '/overview?calls=none')
  // Another user may have logged in meanwhile, who must not see this account.
  if (!response.ok || accessToken.get() !== token) return
  // A late answer to an earlier request lacks the changes that were just saved.
  if (isNewest()) {
    serverOffsetMs.set(Date.parse(response.result.now) - Date.now())
    overview.set(response.result)
  }
  if (!asSnapshot) return
  liveState.update((state) => applyLiveMessage(state, { kind: 'snapshot', overview: response.result }, serverNowMs()))
}

/**
 * The stream reports a delivery when it changes. Deliveries of a paused or down webhook do not change: they are read.
 */
async function readPendingDeliveries(): Promise<void> {
  const hasPending = overview.get()?.webhooks.some(({ pending }) => pending > 0) ?? false
  const history = hasPending ? await readHistory() : null
  if (history !== null) liveState.update((state) => applyLiveMessage(state, history, serverNowMs()))
}

async function readHistory(): Promise<LiveMessage | null> {
  const token = accessToken.get()
  const response = await request<Page<Delivery>>('GET', `/integration/delivery?limit=${FEED_HISTORY}`)
  if (!response.ok || accessToken.get() !== token) return null
  return { kind: 'history', deliveries: response.result.items }
}

/** Calls `reload` each time that a lost connection is back, so that errors and old data do not stay on the screen. */
export function useReconnected(reload: () => void): void {
  const state = useObservable(connectionState)
  const wasLost = useRef(false)
  useEffect(() => {
    if (state === 'lost') wasLost.current = true
    if (state !== 'up' || !wasLost.current) return
    wasLost.current = false
    reload()
  }, [state])
}

async function readStream(signal: AbortSignal): Promise<void> {
  const silent = new AbortController()
  const either = AbortSignal.any([signal, silent.signal])
  const response = await fetch('/stream?calls=none', {
    headers: authorizationHeader(),
    credentials: 'omit',
    signal: either,
  })
  if (!response.ok || response.body === null) {
    // A request of the API handles the refusal, so that a revoked token leads back to the login form.
    await request('GET', '/auth/me')
    return
  }
  const batch = createMessageBatch(signal)
  // The stream is open before the snapshot is taken: a change in between is in both, and applying it twice does no
  // harm. The snapshot has the newest calls: the stream without `calls=none` would send thousands of others.
  const [, history] = await Promise.all([refreshOverview({ asSnapshot: true }), readHistory()])
  if (history !== null) batch.add(history)
  connectionState.set('up')
  const decode = createEventStreamDecoder(({ name, data }) => {
    const message = parseMessage(name, data)
    if (message !== null) batch.add(message)
  })
  await readMessages(response.body, silent, decode)
}

/**
 * Parses a message of the stream without checking it: the server sends what its schemas declare, and these types are
 * derived from them.
 */
function parseMessage(name: string, data: string): LiveMessage | null {
  if (name === 'call') return { kind: 'call', call: JSON.parse(data) }
  if (name === 'event') return { kind: 'event', body: JSON.parse(data) }
  if (name === 'delivery') return { kind: 'delivery', delivery: JSON.parse(data) }
  return null
}

/** Applies messages together; those that are not applied when the connection is stopped are dropped. */
function createMessageBatch(stopped: AbortSignal): { add(message: LiveMessage): void } {
  let messages: LiveMessage[] = []
  return {
    add(message) {
      messages.push(message)
      if (messages.length > 1) return
      setTimeout(() => {
        const batch = messages
        messages = []
        if (stopped.aborted) return
        liveState.update((before) =>
          batch.reduce((state, next) => applyLiveMessage(state, next, serverNowMs()), before),
        )
        const changed = batch.flatMap((message) => (message.kind === 'delivery' ? [message.delivery] : []))
        if (changed.length > 0) for (const listener of [...deliveryListeners]) listener(changed)
      }, BATCH_MS)
    },
  }
}
