import { faultOfSigned } from '../webhooks/signature.ts'

/** A request as a receiver got it. */
export type Received = {
  readonly method: string
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly atMs: number
}

export type Receiver = { readonly url: string; stop(): Promise<void> }

const MAX_BODY_BYTES = 4 * 1024 * 1024

/** Takes what comes to any path, hands it over, and answers; a fault of `onRequest` is answered with 500. */
export function startReceiver(
  { host, port, status = 200 }: { host: string; port: number; status?: number },
  onRequest: (received: Received) => void,
): Receiver {
  const server = Bun.serve({
    hostname: host,
    port,
    maxRequestBodySize: MAX_BODY_BYTES,
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      onRequest({
        method: request.method,
        path: pathname + search,
        headers: Object.fromEntries(request.headers),
        body: await request.text(),
        atMs: Date.now(),
      })
      return new Response(status < 300 ? 'ok\n' : 'as asked\n', { status })
    },
    error: () => new Response('the receiver failed\n', { status: 500 }),
  })
  const name = host.includes(':') ? `[${host}]` : host
  return { url: `http://${name}:${server.port}`, stop: () => server.stop(true) }
}

/** What is wrong with a request's signature, or `undefined` when it is right. */
export const faultOf = ({ headers, body, atMs }: Received, secret: string): string | undefined =>
  faultOfSigned(secret, headers, body, atMs / 1_000)
