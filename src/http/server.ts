import { isIP } from 'node:net'
import type { AnyElysia } from 'elysia'
import { Fault } from '../lib/fault.ts'
import { failure } from './envelope.ts'

/** Requests in flight get this long at a stop. The slowest is a login, which waits for a queue of password checks. */
const FINISH_WITHIN_MS = 2_000

type Address = { host: string; port: number }
/** An open port. Until an application serves it, requests are answered with 503. */
export type HttpServer = { readonly url: string; serve(app: AnyElysia): void; stop(): Promise<void> }

/**
 * Opens the port, before the service changes anything: a start that fails because it is in use leaves no trace.
 * @throws Fault `unavailable` when the port cannot be opened.
 */
export function openPort({ host, port }: Address): HttpServer {
  let answer: (request: Request) => Response | Promise<Response> = starting
  const server = listen((request) => answer(request), host, port)
  const shown = server.hostname?.includes(':') ? `[${server.hostname}]` : server.hostname
  return {
    url: `http://${shown}:${server.port}`,
    serve(app) {
      app.server = server
      answer = (request) => app.fetch(request)
    },
    async stop() {
      // No new connections. Requests in flight are answered, but an event stream never ends by itself.
      await Promise.race([server.stop(), Bun.sleep(FINISH_WITHIN_MS)])
      await server.stop(true)
    },
  }
}

const STARTING = new Fault('unavailable', 'The service is starting. Try again in a few seconds.')

const starting = (): Response =>
  Response.json(failure(STARTING), {
    status: STARTING.status,
    headers: { 'retry-after': '1', 'x-request-id': crypto.randomUUID() },
  })

function listen(fetch: (request: Request) => Response | Promise<Response>, hostname: string, port: number) {
  try {
    return Bun.serve({
      hostname,
      port,
      fetch,
      // Bun's default, in seconds. Without it Bun logs a line that is not JSON at the first timeout.
      idleTimeout: 10,
      // http/body.ts limits the size, so that the refusal is in the envelope.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    })
  } catch (cause) {
    throw new Fault('unavailable', listenProblem(cause, hostname, port), { cause })
  }
}

/** Returns why a port cannot be opened now, as a sentence; `undefined` if it can. */
export function portProblem({ host: hostname, port }: Address): string | undefined {
  try {
    Bun.listen({ hostname, port, socket: { data() {} } }).stop(true)
    return undefined
  } catch (cause) {
    return listenProblem(cause, hostname, port)
  }
}

function listenProblem(cause: unknown, host: string, port: number): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code === 'EADDRINUSE')
    return `port ${port} on ${host} is in use: stop the other program, or choose another port with --listen ${host}:PORT`
  if (code === 'EACCES')
    return `port ${port} on ${host} may not be opened by this user: choose a port above 1023 with --listen`
  if (code === 'EADDRNOTAVAIL' || isIP(host) === 0)
    return `${host} is no address of this machine: use one that it has, 127.0.0.1 for this machine alone, or 0.0.0.0 for all`
  return `cannot listen on ${host}:${port}: ${cause instanceof Error ? cause.message : String(cause)}`
}
