import { faultOfSigned } from '../outbound/signature.ts'

/** A request that a receiver got. */
export type ReceivedRequest = {
  readonly method: string
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly atMs: number
}

export type ReceiverAnswer = { readonly status: number; readonly text: string }
const ACCEPTED: ReceiverAnswer = { status: 200, text: 'ok' }

type Receiver = { readonly url: string; stop(): Promise<void> }

const MAX_BODY_BYTES = 4 * 1024 * 1024

/**
 * Starts a receiver on all paths. It answers with the result of `onRequest`, with 200 if that is `undefined`, with 500
 * if it throws.
 */
export function startReceiver(
  { host, port }: { host: string; port: number },
  onRequest: (received: ReceivedRequest) => ReceiverAnswer | undefined,
): Receiver {
  const server = Bun.serve({
    hostname: host,
    port,
    maxRequestBodySize: MAX_BODY_BYTES,
    // Bun's own default, which it would report between the requests that are shown.
    idleTimeout: 10,
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      const { status, text } =
        onRequest({
          method: request.method,
          path: pathname + search,
          headers: Object.fromEntries(request.headers),
          body: await request.text(),
          atMs: Date.now(),
        }) ?? ACCEPTED
      return new Response(`${text}\n`, { status })
    },
    error: () => new Response('the receiver failed\n', { status: 500 }),
  })
  const name = host.includes(':') ? `[${host}]` : host
  return { url: `http://${name}:${server.port}`, stop: () => server.stop(true) }
}

/** Returns the fault of a request's signature; `undefined` if it is valid. */
export const faultOf = ({ headers, body, atMs }: ReceivedRequest, secret: string): string | undefined =>
  faultOfSigned(secret, headers, body, atMs / 1_000)
