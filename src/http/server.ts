import { isIP } from 'node:net'
import type { AnyElysia } from 'elysia'
import { Fault } from '../lib/fault.ts'

/** Requests in flight get this long at a stop. The slowest is a login, which waits for a queue of password checks. */
const FINISH_WITHIN_MS = 2_000

type Address = { host: string; port: number }
type HttpServer = { url: string; stop(): Promise<void> }

/**
 * Opens the port and passes every request to the application.
 * @throws Fault `unavailable` when the port cannot be opened.
 */
export function startServer(app: AnyElysia, { host, port }: Address): HttpServer {
  const server = listen(app, host, port)
  app.server = server
  const shown = server.hostname?.includes(':') ? `[${server.hostname}]` : server.hostname
  return {
    url: `http://${shown}:${server.port}`,
    async stop() {
      // No new connections. Requests in flight are answered, but an event stream never ends by itself.
      await Promise.race([server.stop(), Bun.sleep(FINISH_WITHIN_MS)])
      await server.stop(true)
    },
  }
}

function listen(app: AnyElysia, hostname: string, port: number) {
  try {
    return Bun.serve({
      hostname,
      port,
      fetch: (request) => app.fetch(request),
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
