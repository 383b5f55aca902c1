import { Elysia, ValidationError } from 'elysia'
import { Fault } from '../lib/fault.ts'
import { newUuid } from '../lib/id.ts'
import type { Log } from '../lib/log.ts'
import { type NowUs, nowUs, SECOND, steadyUs } from '../lib/time.ts'
import { failure } from './envelope.ts'
import { errorsOf, INVALID } from './validation.ts'

type FaultsOptions = {
  log: Log
  /** Returns every route of the application, to distinguish an unknown path (404) from an unsupported method (405). */
  routes: () => readonly Routed[]
  /** Returns true once the service is stopping: requests are then refused with 503. */
  draining?: () => boolean
  /** Returns whether requests with this header `Host` are answered; others are refused with 421. */
  isHostAllowed?: (host: string | null) => boolean
  /** Returns whether a request came by the control socket, where any `Host` is answered. */
  isOperators?: (request: Request) => boolean
  newRequestId?: () => string
  now?: NowUs
}

/** While the store cannot be used, strangers could fill the log with requests for `/health`. */
const UNAVAILABLE_LOGGED_EVERY_US = 10 * SECOND

const MISDIRECTED =
  'This service does not answer under the name in the header Host. Open it by its address, or allow the name with --host NAME (or --public-url).'

/** Headers of every response that does not set its own: it is private, and browsers must not guess another type. */
const ALWAYS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const

/**
 * Creates the first plugin of the application. It gives every response its `X-Request-Id` and keeps it out of caches,
 * and turns every error, the router's and ours, into the envelope. An error that is not a Fault is a bug: it is logged
 * with its cause and request id, and the client gets a 500 without details.
 */
export function faults(options: FaultsOptions) {
  const { log, routes, draining = () => false, newRequestId = () => newUuid(nowUs()) } = options
  const { isHostAllowed = () => true, isOperators = () => false, now = steadyUs } = options
  let lastUnavailable = { message: '', atUs: 0 }

  function isLogged({ code, cause, message }: Fault): boolean {
    if (code !== 'unavailable') return code === 'internal' || cause !== undefined
    const isRepeated = message === lastUnavailable.message && now() - lastUnavailable.atUs < UNAVAILABLE_LOGGED_EVERY_US
    if (cause === undefined || isRepeated) return false
    lastUnavailable = { message, atUs: now() }
    return true
  }

  return new Elysia({ name: 'faults' })
    .onRequest(({ set, request }) => {
      Object.assign(set.headers, ALWAYS, { 'x-request-id': newRequestId() })
      if (!isOperators(request) && !isHostAllowed(request.headers.get('host')))
        throw new Fault('misdirected', MISDIRECTED)
      if (draining())
        throw new Fault('unavailable', 'The service is stopping. Try again in a moment.', {
          headers: { connection: 'close' },
        })
      if (isMisspelt(request.url)) throw new Fault('not_found', NO_SUCH_PATH)
    })
    .onError({ as: 'global' }, ({ error, code, set, request, path }) => {
      const requestId = String(set.headers['x-request-id'] ?? '')
      const fault = code === 'NOT_FOUND' ? unrouted(routes(), request.method, path) : asFault(error, requestId)
      if (isLogged(fault)) log.error({ requestId, method: request.method, path, err: fault.cause }, fault.message)
      if (fault.code === 'unauthenticated') set.headers['www-authenticate'] = 'Bearer'
      Object.assign(set.headers, fault.headers)
      set.status = fault.status
      return failure(fault)
    })
}

/** Returns whether the path of a URL has an escape without a character, which no id has. */
function isMisspelt(url: string): boolean {
  if (!url.includes('%')) return false
  try {
    decodeURIComponent(new URL(url).pathname)
    return false
  } catch {
    return true
  }
}

/** Converts any thrown value to a Fault. */
function asFault(error: unknown, requestId: string): Fault {
  if (error instanceof Fault) return error
  if (error instanceof ValidationError && error.type !== 'response')
    return new Fault('invalid', INVALID, { errors: errorsOf(error.all) })
  return new Fault('internal', `Internal error. Please report it with the request id ${requestId}.`, { cause: error })
}

/** The message for an unknown path. */
export const NO_SUCH_PATH = 'There is no such path: /docs lists the API.'

function unrouted(routes: readonly Routed[], method: string, path: string): Fault {
  const allowed = allowedMethods(routes, path)
  if (allowed.length === 0) return new Fault('not_found', NO_SUCH_PATH)
  return new Fault('method_not_allowed', `${method} is not allowed here. Allowed: ${allowed.join(', ')}.`, {
    headers: { allow: allowed.join(', ') },
  })
}

type Routed = { readonly method: string; readonly path: string }

/** Returns the methods that the routes accept at a path, sorted; empty if the path is unknown. */
function allowedMethods(routes: readonly Routed[], path: string): string[] {
  const given = segments(path)
  const methods = new Set(routes.filter((route) => matches(route.path, given)).map((route) => route.method))
  if (methods.has('GET')) methods.add('HEAD')
  return [...methods].sort()
}

/**
 * Returns whether a route's pattern (`/call/:id`, `/files/*`) matches a path. Like the router, it ignores a slash at
 * the end.
 */
function matches(pattern: string, given: readonly string[]): boolean {
  const wanted = segments(pattern)
  const wildcard = wanted.at(-1) === '*'
  if (wildcard ? given.length < wanted.length - 1 : given.length !== wanted.length) return false
  return wanted.every((segment, index) => segment === '*' || segment.startsWith(':') || segment === given[index])
}

const segments = (path: string) => path.replace(/(?<=.)\/$/, '').split('/')
