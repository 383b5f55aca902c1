import type { AbortGroup } from './abort-group.ts'
import { type AllowList, newAddressGuard } from './address-guard.ts'
import { isHandshake, isOutOfFiles, reasonOf, wasClosed, wasNeverSent, wasNotConnected } from './attempt-failure.ts'
import { type ClientTls, tlsFieldsOf } from './client-tls.ts'
import { createDeadlines } from './deadlines.ts'
import { newRelayedOrigins, openRelay, type Relay } from './relay.ts'
import { newResolver, type Resolve } from './resolver.ts'
import { watchConnecting } from './silent-address.ts'
import { type Destination, portOf, type Target } from './target.ts'
import { createHandshakeReasons } from './tls-handshake.ts'

/** A request to an address that is checked before. */
type GuardedRequest = {
  readonly target: Target
  readonly method: string
  /** All headers, with the ones of `addDestination`. */
  readonly headers: Readonly<Record<string, string>>
  /** A text, or an upload: its headers have its length. */
  readonly body?: string | UploadBody | undefined
  /** The requests that are aborted together with it. */
  readonly group?: AbortGroup | undefined
  /** How it takes part in the TLS handshake; absent: without a certificate, trusting the system's authorities. */
  readonly tls?: ClientTls | undefined
  /** It has a connection of its own: over a kept connection that is dead it would be sent a second time. */
  readonly isSentOnce?: boolean
}

/** A body that is streamed, from its beginning each time. */
type UploadBody = { readonly size: number; read(): ReadableStream<Uint8Array> }

/**
 * Why a request has no answer. `unreachable`: name look-up, address rules, connection, TLS or time limit. `unsent`:
 * this machine could not begin it. `aborted`: its group was aborted.
 */
export type RequestFailure = {
  readonly failure:
    | { readonly kind: 'unreachable'; readonly reason: string }
    | { readonly kind: 'unsent'; readonly reason: string }
    | { readonly kind: 'aborted' }
  /** A byte of it may have been sent: it may have been carried out. */
  readonly mayHaveBeenSent: boolean
  readonly durationMs: number
  readonly address: string | null
}

/** When and from where an answer came. `durationMs` ends with the status. */
type AnswerFacts = { readonly durationMs: number; readonly address: string | null }

/** The end of a request. */
export type Reading<Body, Result> = {
  /** Reads the body of an answer to its end, or cancels it. */
  read(response: Response, leftMs: number): Promise<Body>
  /** Returns the result of an answer and the part of it that was read; `undefined` if its body broke off. */
  answered(response: Response, body: Body | undefined, facts: AnswerFacts): Result
  failed(failure: RequestFailure): Result
}

/** Sends a request. Never throws. */
export type SendGuarded = <Body, Result>(request: GuardedRequest, reading: Reading<Body, Result>) => Promise<Result>

type GuardOptions = {
  readonly allow: AllowList
  /** An egress proxy; it has to guard the network then, since names are resolved there. */
  readonly proxy?: string | undefined
  readonly timeoutMs?: number
  /** How long to wait for a connection to an address before trying the next one. */
  readonly nextAddressMs?: number
  readonly resolve?: Resolve
}

/** A server must answer within 10 seconds, name look-up and connecting included. */
export const TIMEOUT_MS = 10_000
/** An upload gets more time: as much as it needs at half a megabit per second, up to 10 minutes in all. */
const UPLOAD_BYTES_A_MS = 64
const MAX_UPLOAD_MS = 600_000
const SECOND_MS = 1_000
export const USER_AGENT = 'HookswitchHttpAgent/1.0'
/** RFC 8305 gives a connection 2 s at most before the next address is tried. */
const NEXT_ADDRESS_MS = 2_000
/** The most addresses of a name that are tried when connecting fails. */
const MAX_ADDRESSES = 3
/** Origins whose kept-alive connections are counted. */
const MAX_ORIGINS = 4_096
export const OUT_OF_FILES = 'this machine has no free file descriptor: raise the limit (ulimit -n, LimitNOFILE=)'

/** Makes the one function that sends requests to the servers of others: each goes to an address that was checked. */
export function newGuardedRequests(options: GuardOptions): SendGuarded {
  const { allow, proxy, timeoutMs = TIMEOUT_MS, nextAddressMs = NEXT_ADDRESS_MS, resolve = newResolver() } = options
  const refusalOf = newAddressGuard(allow)
  const connections = createKeptConnections()
  const relayed = newRelayedOrigins()
  const connecting = watchConnecting(nextAddressMs)
  const deadlines = createDeadlines(timeoutMs)
  const handshakeReason = createHandshakeReasons()
  /** Where requests to a target with one address went last: an address that is allowed is so for ever. */
  const single = new WeakMap<Target, readonly Destination[]>()

  // One function for all steps, since each further promise costs throughput at 20,000 requests a second.
  return async <Body, Result>(request: GuardedRequest, reading: Reading<Body, Result>): Promise<Result> => {
    const startedMs = performance.now()
    const { target, group, isSentOnce = false, tls } = request
    const upload = typeof request.body === 'object' ? request.body : undefined
    const withinMs = upload === undefined ? timeoutMs : uploadMs(upload, timeoutMs)
    let address: string | null = null
    let mayHaveBeenSent = false
    const facts = () => ({ mayHaveBeenSent, startedMs, address })
    if (group?.isAborted) return failed(reading, { kind: 'aborted' }, facts())
    const deadline = upload === undefined ? deadlines.begin(startedMs, group) : beginUpload(withinMs, group)
    try {
      const found = proxy === undefined ? addressesOf(target) : []
      const places = placesOf(target, found instanceof Promise ? await within(found, deadline.signal) : found)
      if (typeof places === 'string') return failed(reading, { kind: 'unreachable', reason: places }, facts())
      let resent = false
      for (let index = 0; ; ) {
        const place = places[index]
        if (place === undefined) throw new Error('no address is left')
        address = place.address
        const relays = place.address !== null && relayed.has(place.origin, startedMs)
        const mayKeep = !resent && !relays && !isSentOnce
        const kept = mayKeep && connections.take(connectionOf(place, tls))
        const watch = kept || index + 1 === places.length ? undefined : connecting.begin(place, deadline.signal)
        let relay: Relay | undefined
        try {
          const signal = watch === undefined ? deadline.signal : watch.signal
          if (relays) relay = await openRelay(place.address, place.port, signal)
          const response = await fetch(place.url, init(request, relay?.signal ?? signal, mayKeep, proxy, relay))
          watch?.end()
          relay?.answered()
          const durationMs = Math.round(performance.now() - startedMs)
          relayed.noteEnd(place.origin, { startedMs, tookMs: durationMs }, true)
          let body: Body | undefined
          try {
            body = await reading.read(response, withinMs - durationMs)
          } catch {
            // The answer broke off: its status counts.
          }
          if (mayKeep) connections.give(connectionOf(place, tls))
          return reading.answered(response, body, { durationMs, address })
        } catch (error) {
          mayHaveBeenSent ||= !wasNeverSent(error)
          watch?.end()
          relayed.noteEnd(place.origin, { startedMs, tookMs: performance.now() - startedMs }, false)
          if (group?.isAborted) throw error
          // A kept-alive connection may be closed by its other end just as the request is sent: that is no failure of
          // the receiver, and it is sent again on a new one. A receiver that did get it recognizes its webhook-id.
          if (kept && wasClosed(error)) resent = true
          else if (wasNotConnected(error) && index + 1 < places.length) index += 1
          else throw error
        } finally {
          relay?.close()
        }
      }
    } catch (error) {
      if (group?.isAborted) return failed(reading, { kind: 'aborted' }, facts())
      if (isOutOfFiles(error)) return failed(reading, { kind: 'unsent', reason: OUT_OF_FILES }, facts())
      const { literal, name, url } = target
      const serverName = literal === undefined ? name : undefined
      const refused =
        isHandshake(error) && proxy === undefined && address !== null
          ? await handshakeReason({ address, port: portOf(url), serverName, tls })
          : undefined
      return failed(reading, { kind: 'unreachable', reason: refused ?? reasonOf(error, withinMs) }, facts())
    } finally {
      deadline.end()
    }
  }

  function addressesOf({ literal, name }: Target): readonly string[] | Promise<readonly string[]> {
    return literal === undefined ? resolve(name) : [literal]
  }

  /** Returns the allowed addresses, or why none is allowed. */
  function placesOf(target: Target, found: readonly string[]): readonly Destination[] | string {
    if (proxy !== undefined)
      return [{ url: target.plain, origin: target.url.origin, address: null, port: portOf(target.url) }]
    const only = found.length === 1 ? found[0] : undefined
    const known = only === undefined ? undefined : single.get(target)
    if (known !== undefined && known[0]?.address === only) return known
    const allowed = found.filter((one) => refusalOf(one) === undefined)
    if (allowed.length === 0) return refusal(target, found[0], refusalOf)
    if (only !== undefined) {
      const places = [target.at(only)]
      single.set(target, places)
      return places
    }
    return connecting
      .sorted(target, allowed)
      .slice(0, MAX_ADDRESSES)
      .map((one) => target.at(one))
  }
}

/** Returns the key of the requests that may share a connection. */
const connectionOf = ({ origin }: Destination, tls: ClientTls | undefined): string =>
  tls === undefined ? origin : `${origin} ${tls.id}`

const uploadMs = ({ size }: UploadBody, timeoutMs: number): number =>
  Math.min(timeoutMs + SECOND_MS * Math.ceil(size / UPLOAD_BYTES_A_MS / SECOND_MS), Math.max(timeoutMs, MAX_UPLOAD_MS))

/** Begins the deadline of an upload, which has a length of its own. */
function beginUpload(withinMs: number, group: AbortGroup | undefined) {
  const controller = new AbortController()
  group?.add(controller)
  const timer = setTimeout(() => controller.abort(new DOMException('too late', 'TimeoutError')), withinMs)
  return {
    signal: controller.signal,
    end(): void {
      clearTimeout(timer)
      group?.remove(controller)
    },
  }
}

/** Adds the headers of a URL: its user, and the name of its host, which an address replaces in the URL. */
export function addDestination(headers: Record<string, string>, target: Target): void {
  if (target.literal === undefined) headers.host = target.host
  if (target.authorization !== undefined) headers.authorization = target.authorization
}

function failed<Body, Result>(
  reading: Reading<Body, Result>,
  failure: RequestFailure['failure'],
  { mayHaveBeenSent, startedMs, address }: { mayHaveBeenSent: boolean; startedMs: number; address: string | null },
): Result {
  return reading.failed({ failure, mayHaveBeenSent, durationMs: Math.round(performance.now() - startedMs), address })
}

function init(request: GuardedRequest, signal: AbortSignal, keepalive: boolean, proxy?: string, relay?: Relay) {
  const { target, method, headers } = request
  const sent = {
    method,
    headers,
    body: typeof request.body === 'object' ? request.body.read() : (request.body ?? null),
    signal,
    keepalive,
    // `false` ignores HTTP_PROXY of the environment, which would circumvent the checked address.
    proxy: proxy ?? false,
    redirect: 'manual' as const,
    // A compressed answer is logged as it came: 631 bytes could expand to 400 MB.
    decompress: false,
  }
  const pinned = proxy === undefined && target.literal === undefined && target.url.protocol === 'https:'
  const secured = pinned || request.tls !== undefined ? { ...sent, tls: handshakeOf(request, pinned) } : sent
  // The header that a direct request has: without it a receiver could distinguish the two.
  return relay === undefined
    ? secured
    : { ...secured, unix: relay.path, headers: { ...headers, connection: 'keep-alive' } }
}

function handshakeOf({ target, tls }: GuardedRequest, pinned: boolean) {
  const own = tls === undefined ? {} : tlsFieldsOf(tls)
  return pinned ? { ...own, serverName: target.name } : own
}

/** Resolves like the promise, or rejects when the signal fires first. */
export function within<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', onAbort))
}

/** Returns why none of the addresses of a target is allowed. */
export function refusal(
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
