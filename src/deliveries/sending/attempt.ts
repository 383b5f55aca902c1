import { type AllowList, newAddressGuard } from '../../lib/address-guard.ts'
import { type NowUs, nowUs as wallUs } from '../../lib/time.ts'
import { type Outcome, parseRetryAfter } from '../policy/retry-policy.ts'
import type { AbortGroup } from './abort-group.ts'
import { isOutOfFiles, reasonOf, wasClosed, wasNotConnected } from './attempt-failure.ts'
import { createDeadlines } from './deadlines.ts'
import { newResolver, type Resolve } from './resolver.ts'
import { watchConnecting } from './silent-address.ts'
import type { Destination, Target } from './target.ts'

/** One POST request. */
export type Request = {
  readonly target: Target
  readonly id: string
  readonly timestampS: number
  readonly signature: string
  /** The trace of the call, and this attempt within it. */
  readonly traceparent: string
  readonly body: string
  /** The media type of the body; JSON by default. */
  readonly contentType?: string
  /** Further headers, from the options of the webhook. */
  readonly headers?: Readonly<Record<string, string>>
  /** The requests that are aborted together with it. */
  readonly group?: AbortGroup | undefined
}

/** One POST request and its outcome. `durationMs` ends with the status. */
export type Attempted = {
  readonly outcome: Outcome
  readonly durationMs: number
  readonly address: string | null
  readonly response: string | null
}

export type Attempt = (request: Request) => Promise<Attempted>

type AttemptOptions = {
  readonly allow: AllowList
  /** An egress proxy; it has to guard the network then, since names are resolved there. */
  readonly proxy?: string
  readonly timeoutMs?: number
  /** How long to wait for a connection to an address before trying the next one. */
  readonly nextAddressMs?: number
  readonly resolve?: Resolve
  readonly nowUs?: NowUs
}

/** The receiver must answer within 10 seconds, name look-up and connecting included. */
export const TIMEOUT_MS = 10_000
export const USER_AGENT = 'HookswitchHttpAgent/1.0'
/** RFC 8305 gives a connection 2 s at most before the next address is tried. */
const NEXT_ADDRESS_MS = 2_000
/** The most addresses of a name that are tried when connecting fails. */
const MAX_ADDRESSES = 3
/** Origins whose kept-alive connections are counted. */
const MAX_ORIGINS = 4_096
const OUT_OF_FILES = 'this machine has no free file descriptor: raise the limit (ulimit -n, LimitNOFILE=)'

/** Makes the one function that sends requests to receivers. It never throws: a failure is an outcome. */
export function newAttempt(options: AttemptOptions): Attempt {
  const { allow, proxy, timeoutMs = TIMEOUT_MS, nextAddressMs = NEXT_ADDRESS_MS } = options
  const { resolve = newResolver(), nowUs = wallUs } = options
  const refusalOf = newAddressGuard(allow)
  const connections = createKeptConnections()
  const connecting = watchConnecting(nextAddressMs)
  const deadlines = createDeadlines(timeoutMs)

  // One function for all steps, since each further promise costs throughput at 20,000 attempts a second.
  return async (request) => {
    const startedMs = performance.now()
    const { target, group } = request
    if (group?.isAborted) return failed({ kind: 'aborted' }, null, startedMs)
    const deadline = deadlines.begin(startedMs, group)
    let address: string | null = null
    try {
      const found = proxy === undefined ? addressesOf(target) : []
      const places = placesOf(target, found instanceof Promise ? await within(found, deadline.signal) : found)
      if (typeof places === 'string') return failed({ kind: 'unreachable', reason: places }, null, startedMs)
      let resent = false
      for (let index = 0; ; ) {
        const place = places[index]
        if (place === undefined) throw new Error('no address is left')
        address = place.address
        const kept = !resent && connections.take(place.origin)
        const watch = kept || index + 1 === places.length ? undefined : connecting.begin(place, deadline.signal)
        try {
          const signal = watch === undefined ? deadline.signal : watch.signal
          const response = await fetch(place.url, init(request, signal, !resent, proxy))
          watch?.end()
          const durationMs = Math.round(performance.now() - startedMs)
          const outcome = outcomeOf(response, nowUs)
          const text = await readLogged(response, timeoutMs - durationMs)
          if (!resent) connections.give(place.origin)
          return { outcome, durationMs, address, response: text }
        } catch (error) {
          watch?.end()
          if (group?.isAborted) throw error
          // A kept-alive connection may be closed by its other end just as the request is sent: that is no failure of
          // the receiver, and it is sent again on a new one. A receiver that did get it recognizes its webhook-id.
          if (kept && wasClosed(error)) resent = true
          else if (wasNotConnected(error) && index + 1 < places.length) index += 1
          else throw error
        }
      }
    } catch (error) {
      if (group?.isAborted) return failed({ kind: 'aborted' }, address, startedMs)
      if (isOutOfFiles(error)) return failed({ kind: 'unsent', reason: OUT_OF_FILES }, address, startedMs)
      return failed({ kind: 'unreachable', reason: reasonOf(error, timeoutMs) }, address, startedMs)
    } finally {
      deadline.end()
    }
  }

  function addressesOf({ literal, name }: Target): readonly string[] | Promise<readonly string[]> {
    return literal === undefined ? resolve(name) : [literal]
  }

  /** Returns the allowed addresses, or why none is allowed. */
  function placesOf(target: Target, found: readonly string[]): readonly Destination[] | string {
    if (proxy !== undefined) return [{ url: target.plain, origin: target.url.origin, address: null }]
    const allowed = found.filter((one) => refusalOf(one) === undefined)
    if (allowed.length === 0) return refusal(target, found[0], refusalOf)
    return connecting
      .sorted(target, allowed)
      .slice(0, MAX_ADDRESSES)
      .map((one) => target.at(one))
  }
}

const failed = (outcome: Outcome, address: string | null, startedMs: number): Attempted => ({
  outcome,
  durationMs: Math.round(performance.now() - startedMs),
  address,
  response: null,
})

function init(request: Request, signal: AbortSignal, keepalive: boolean, proxy?: string) {
  const { target, id, timestampS, signature, traceparent, body, contentType = 'application/json' } = request
  const own: Record<string, string> = {
    'content-type': contentType,
    'user-agent': USER_AGENT,
    'accept-encoding': 'identity',
    'webhook-id': id,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': signature,
    traceparent,
  }
  // The URL has the address, so the header Host has the name.
  if (target.literal === undefined) own.host = target.host
  if (target.authorization !== undefined) own.authorization = target.authorization
  const headers = request.headers === undefined ? own : { ...request.headers, ...own }
  // `false` ignores HTTP_PROXY of the environment, which would circumvent the checked address.
  const through = proxy ?? false
  // A compressed answer is logged as it came: 631 bytes could expand to 400 MB.
  const plainly = { redirect: 'manual' as const, decompress: false }
  const sent = { method: 'POST', headers, body, signal, keepalive, proxy: through, ...plainly }
  const pinned = proxy === undefined && target.literal === undefined && target.url.protocol === 'https:'
  return pinned ? { ...sent, tls: { serverName: target.name } } : sent
}

function outcomeOf(response: Response, nowUs: NowUs): Outcome {
  const { status } = response
  if (status >= 200 && status < 300) return { kind: 'delivered', status }
  const retryAfterMs =
    status === 429 || status === 503 ? parseRetryAfter(response.headers.get('retry-after'), nowUs()) : undefined
  return { kind: 'refused', status, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
}

/** Resolves like the promise, or rejects when the signal fires first. */
function within<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', onAbort))
}

function refusal(
  target: Target,
  address: string | undefined,
  refusalOf: (address: string) => string | undefined,
): string {
  if (address === undefined) return `${target.name} has no address`
  return `${target.name} ${target.literal === undefined ? 'has' : 'is'} ${refusalOf(address) ?? ''}`
}

/**
 * Counts the connections that `fetch` may have kept alive to each origin. It does not report the connection of a
 * request, but prefers one that is kept alive: so a request certainly has a new connection when the count is 0.
 */
function createKeptConnections() {
  const kept = new Map<string, number>()
  return {
    /** Returns whether a request that begins may use a connection that was kept alive. */
    take(origin: string): boolean {
      const count = kept.get(origin)
      if (count === undefined) return false
      if (count === 1) kept.delete(origin)
      else kept.set(origin, count - 1)
      return true
    },
    /** Counts a connection whose answer was read to its end: it may be kept alive. */
    give(origin: string): void {
      kept.set(origin, (kept.get(origin) ?? 0) + 1)
      if (kept.size <= MAX_ORIGINS) return
      const [oldest = ''] = kept.keys()
      kept.delete(oldest)
    },
  }
}

/** The log has the first bytes of an answer's body. */
const LOGGED_BYTES = 4_096

/** The first bytes of a body come with its status or soon after; one that trickles must not delay the next event. */
const BODY_WAIT_MS = 1_000

/**
 * Returns the first 4 KiB of an answer's body, or `null` if it has none. Reads for a second at most; a body that is
 * longer or slower is cut off with its connection. A short one is read to its end, so that the connection can be used
 * again.
 */
async function readLogged(response: Response, leftMs: number): Promise<string | null> {
  const { headers } = response
  // A chunked body has no valid length.
  const length = Number((headers.has('transfer-encoding') ? null : headers.get('content-length')) ?? Number.NaN)
  // The common case: a short body with a length, read at once and bounded by the 10 s of the attempt. Even reading the
  // property `body` would make it a stream.
  if (length <= LOGGED_BYTES) return response.text().catch(() => '')
  const { body } = response
  if (body === null) return null
  const deadline = Promise.withResolvers<'late'>()
  const timer = setTimeout(() => deadline.resolve('late'), Math.max(0, Math.min(leftMs, BODY_WAIT_MS)))
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let bytes = 0
  let text = ''
  try {
    for (;;) {
      const read = await Promise.race([reader.read(), deadline.promise])
      if (read === 'late') break
      if (read.done) return text + decoder.decode()
      text += decoder.decode(read.value.subarray(0, LOGGED_BYTES - bytes), { stream: true })
      bytes += read.value.byteLength
      if (bytes > LOGGED_BYTES) break
    }
  } catch {
    // The answer broke off: its status counts, and the log has the part that came.
    return text
  } finally {
    clearTimeout(timer)
  }
  reader.cancel().catch(() => {})
  return text
}
