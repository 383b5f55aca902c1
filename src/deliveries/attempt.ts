import { type AllowList, newJudge } from '../lib/net.ts'
import { type NowUs, nowUs as wallUs } from '../lib/time.ts'
import { keptOf } from './answer.ts'
import { createDeadlines } from './deadlines.ts'
import { newResolver, type Resolve } from './resolver.ts'
import { type Outcome, parseRetryAfter } from './schedule.ts'
import type { Target } from './target.ts'

/** One POST, as it is to be sent. */
export type Request = {
  readonly target: Target
  readonly id: string
  readonly timestampS: number
  readonly signature: string
  readonly body: string
}

/** One POST, as it went. `durationMs` ends with the status. */
export type Attempted = {
  readonly outcome: Outcome
  readonly durationMs: number
  readonly address: string | null
  readonly response: string | null
}

export type Attempt = (request: Request) => Promise<Attempted>

export type AttemptOptions = {
  readonly allow: AllowList
  /** An egress proxy, which then has to guard: names are looked up there. */
  readonly proxy?: string
  readonly timeoutMs?: number
  readonly resolve?: Resolve
  readonly nowUs?: NowUs
}

/** Contract 1: the receiver must answer within 10 seconds, looking up and connecting included. */
export const TIMEOUT_MS = 10_000
export const USER_AGENT = 'HookswitchHttpAgent/1.0'
/** Of a name with many addresses, those that are tried when none can be connected to. */
const MAX_ADDRESSES = 3
/** A connection that breaks later than this was broken by whoever had the request. */
const STALE_WITHIN_MS = 1_000
const ADDRESSES_KEPT = 4_096

/** Where a request may go. `address` is `null` behind a proxy; `index` is its place among those that may be tried. */
type Place = {
  readonly url: string
  readonly address: string | null
  readonly index: number
  readonly keepalive: boolean
}

/** Makes the one function that calls receivers. It never throws: what goes wrong is an outcome. */
export function newAttempt(options: AttemptOptions): Attempt {
  const { allow, proxy, timeoutMs = TIMEOUT_MS, resolve = newResolver(), nowUs = wallUs } = options
  const refusalOf = newJudge(allow)
  /** URLs that answered: there may be a kept connection. */
  const answered = new Set<string>()
  const deadlines = createDeadlines(timeoutMs)

  // One function for the whole way, since each promise more is felt at 20,000 attempts a second.
  return async (request) => {
    const startedMs = performance.now()
    const deadline = deadlines.begin(startedMs)
    const { target } = request
    let address: string | null = null
    try {
      const found = proxy === undefined ? addressesOf(target) : []
      const places = placesOf(target, found instanceof Promise ? await within(found, deadline.signal) : found)
      if (typeof places === 'string') return unreachable(places, null, startedMs)
      let place = places[0]
      while (place !== undefined) {
        address = place.address
        const sentMs = performance.now()
        try {
          const response = await fetch(place.url, init(request, deadline.signal, place.keepalive, proxy))
          const durationMs = Math.round(performance.now() - startedMs)
          if (place.keepalive) remember(place.url)
          const outcome = outcomeOf(response, nowUs)
          return { outcome, durationMs, address, response: await keptOf(response, timeoutMs - durationMs) }
        } catch (error) {
          place = nextPlace(places, place, error, sentMs)
          if (place === undefined) throw error
        }
      }
      throw new Error('no address is left')
    } catch (error) {
      return unreachable(reasonOf(error, timeoutMs), address, startedMs)
    } finally {
      deadline.end()
    }
  }

  function addressesOf({ literal, name }: Target): readonly string[] | Promise<readonly string[]> {
    return literal === undefined ? resolve(name) : [literal]
  }

  /** Those of the addresses that may be called, or why none may. */
  function placesOf(target: Target, found: readonly string[]): readonly Place[] | string {
    if (proxy !== undefined) return [{ url: target.plain, address: null, index: 0, keepalive: true }]
    const allowed = found.filter((one) => refusalOf(one) === undefined).slice(0, MAX_ADDRESSES)
    if (allowed.length === 0) return refusal(target, found[0], refusalOf)
    return allowed.map((one, index) => ({ url: target.at(one), address: one, index, keepalive: true }))
  }

  /**
   * Where a request that failed may go at once. A kept connection may be closed by its other end just as the request goes out: that
   * is no failure of the receiver, and it is sent again on a new one. Its webhook-id lets a receiver that had got it all the same
   * tell. From an address that cannot be connected to it goes to the next.
   */
  function nextPlace(places: readonly Place[], place: Place, error: unknown, sentMs: number): Place | undefined {
    const kept = place.keepalive && answered.delete(place.url)
    if (kept && performance.now() - sentMs < STALE_WITHIN_MS && wasClosed(error)) return { ...place, keepalive: false }
    return wasNotConnected(error) ? places[place.index + 1] : undefined
  }

  function remember(url: string): void {
    if (answered.size >= ADDRESSES_KEPT) answered.clear()
    answered.add(url)
  }
}

const unreachable = (reason: string, address: string | null, startedMs: number): Attempted => ({
  outcome: { kind: 'unreachable', reason },
  durationMs: Math.round(performance.now() - startedMs),
  address,
  response: null,
})

function init(
  { target, id, timestampS, signature, body }: Request,
  signal: AbortSignal,
  keepalive: boolean,
  proxy?: string,
) {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'user-agent': USER_AGENT,
    'accept-encoding': 'identity',
    'webhook-id': id,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': signature,
  }
  // The URL says the address: the name goes where it would have gone.
  if (target.literal === undefined) headers.host = target.host
  if (target.authorization !== undefined) headers.authorization = target.authorization
  // `false` keeps HTTP_PROXY of the environment out, which would undo the pin.
  const through = proxy ?? false
  // Compressed all the same, an answer is kept as it came: 631 bytes of it could be 400 MB.
  const plainly = { redirect: 'manual' as const, decompress: false, proxy: through }
  const request = { method: 'POST', headers, body, signal, keepalive, ...plainly }
  const pinned = proxy === undefined && target.literal === undefined && target.url.protocol === 'https:'
  return pinned ? { ...request, tls: { serverName: target.name } } : request
}

function outcomeOf(response: Response, nowUs: NowUs): Outcome {
  const { status } = response
  if (status >= 200 && status < 300) return { kind: 'delivered', status }
  const retryAfterMs =
    status === 429 || status === 503 ? parseRetryAfter(response.headers.get('retry-after'), nowUs()) : undefined
  return { kind: 'refused', status, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
}

/** A promise that is given up when the signal fires. */
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
  const why = refusalOf(address) ?? ''
  return target.literal === undefined ? `${target.name}: ${why}` : why
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

const wasNotConnected = (error: unknown): boolean =>
  /^(ConnectionRefused|FailedToOpenSocket|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH)$/.test(codeOf(error))

const wasClosed = (error: unknown): boolean => /^(ConnectionClosed|ECONNRESET|EPIPE)$/.test(codeOf(error))

const WORDS: Readonly<Record<string, string>> = {
  ConnectionRefused: 'connection refused',
  FailedToOpenSocket: 'cannot connect',
  ConnectionClosed: 'connection closed before an answer',
  ECONNRESET: 'connection reset before an answer',
  ECONNREFUSED: 'connection refused',
  // c-ares does not tell these two apart.
  DNS_ENOTFOUND: 'the name is unknown, or has no address',
  DNS_ENODATA: 'the name has no address',
  DNS_ESERVFAIL: 'the name server failed',
  DNS_ETIMEOUT: 'the name server did not answer',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another name',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate is of an unknown authority, or its chain is not whole',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate is of an unknown authority, or its chain is not whole',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate is of an unknown authority',
  EPROTO: 'the TLS handshake failed: does the receiver speak TLS on this port?',
  EHOSTUNREACH: 'there is no way to this address',
  ENETUNREACH: 'there is no way to this address',
  ETIMEDOUT: 'the connection timed out',
  ENOTFOUND: 'the name is unknown',
  ERR_PROXY_TUNNEL: 'the proxy refused the connection',
  Malformed_HTTP_Response: 'the answer is not HTTP',
  UnrequestedUpgrade: 'the answer wants another protocol',
}

/** What went wrong, in plain words. */
export function reasonOf(error: unknown, timeoutMs: number): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `no answer within ${timeoutMs / 1_000} s`
  const code = codeOf(error)
  const message = error instanceof Error ? error.message : String(error)
  // What fetch adds for developers, the URL too, is none of the log's business.
  const told = message.replace(/ (fetching "|For more information, ).*$/s, '')
  return WORDS[code] ?? (code === '' ? told : `${told} (${code})`)
}
