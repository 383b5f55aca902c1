import { connect } from 'node:tls'
import { type ClientTls, tlsFieldsOf } from './client-tls.ts'

/** The alerts by which a server refuses a handshake, in plain words. `fetch` reports all of them alike. */
const ALERTS: readonly (readonly [code: RegExp, reason: string])[] = [
  [/CERTIFICATE_REQUIRED/, 'the server wants a client certificate: give the webhook one in its option tls'],
  [/UNKNOWN_CA/, 'the server does not know the authority of the client certificate'],
  [/CERTIFICATE_EXPIRED/, 'the server refuses the client certificate: it has expired'],
  [
    /BAD_CERTIFICATE|CERTIFICATE_(UNKNOWN|REVOKED)|UNSUPPORTED_CERTIFICATE|ACCESS_DENIED/,
    'the server refuses the client certificate',
  ],
  [/NO_APPLICATION_PROTOCOL/, 'the server speaks HTTP/2 only: let it speak HTTP/1.1 too'],
  [/PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL/, 'the server speaks only a TLS version older than 1.2: upgrade it'],
  [
    /ALERT_HANDSHAKE_FAILURE/,
    'the server refuses the TLS handshake: it wants a client certificate, or ciphers that are no longer safe',
  ],
]

/** How long the second handshake may take: its result only explains a failure. */
const WITHIN_MS = 2_000
/** How long an explanation holds, so that attempts at a server that refuses them cost one handshake each, not two. */
const KEPT_MS = 60_000
const MAX_KEPT = 1_000

type Place = {
  readonly address: string
  readonly port: number
  readonly serverName: string | undefined
  readonly tls: ClientTls | undefined
}

/** Creates the function that returns why a server refuses TLS handshakes; `undefined` if it does not say. */
export function createHandshakeReasons(): (place: Place) => Promise<string | undefined> {
  const known = new Map<string, { readonly reason: string | undefined; readonly untilMs: number }>()
  return async (place) => {
    const key = `${place.address} ${place.port} ${place.serverName} ${place.tls?.id}`
    const before = known.get(key)
    if (before !== undefined && performance.now() < before.untilMs) return before.reason
    const code = await alertOf(place)
    const reason = ALERTS.find(([pattern]) => pattern.test(code))?.[1]
    if (known.size >= MAX_KEPT) known.clear()
    known.set(key, { reason, untilMs: performance.now() + KEPT_MS })
    return reason
  }
}

/** Returns the code of the error that ends a handshake, or the first read after it; '' if there is none. */
function alertOf({ address, port, serverName, tls }: Place): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const socket = connect({
    host: address,
    port,
    ALPNProtocols: ['http/1.1'],
    // Nothing is sent: only the alert is of interest.
    ...(tls === undefined ? {} : tlsFieldsOf(tls)),
    rejectUnauthorized: false,
    ...(serverName === undefined ? {} : { servername: serverName }),
  })
  const timer = setTimeout(() => resolve(''), WITHIN_MS)
  socket.on('error', (error) => resolve('code' in error ? String(error.code) : ''))
  socket.on('close', () => resolve(''))
  return promise.finally(() => {
    clearTimeout(timer)
    socket.destroy()
  })
}
