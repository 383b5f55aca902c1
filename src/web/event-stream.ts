import { Elysia } from 'elysia'
import { guard } from '../auth/guard.ts'
import type { AuthService } from '../auth/service.ts'
import type { Call } from '../calls/event.ts'
import type { Emitter } from '../deliveries/emitter.ts'
import { deliveryOf } from '../deliveries/service.ts'
import { Fault } from '../lib/fault.ts'
import type { DeliveryRow, StoredEvent } from '../store/records.ts'
import { openSink, type Sink } from './stream-sink.ts'

/**
 * `GET /stream`: the account's calls, events and deliveries as they move, as server-sent events. What was missed is not
 * sent later: a client that (re)connects is told each live call first, and reads the rest where it is kept.
 */
export type StreamOptions = {
  emitter: Emitter
  auth: AuthService
  /** Returns these deliveries as they are now. */
  deliveries: (ids: readonly number[]) => Promise<readonly DeliveryRow[]>
  /** The calls that are up, each made as it is asked for. */
  liveCalls: (accountId: number) => Iterable<{ call: Call }>
  heartbeatMs?: number
}

/**
 * A comment comes at least this often, so that a broken connection shows; and a token that was revoked ends its stream
 * then.
 */
const HEARTBEAT_MS = 15_000
/** Of these an account is sure, whatever others hold. */
const SURE_OF_ACCOUNT = 16
const MAX_OF_ACCOUNT = 64
/** What all accounts together hold beyond what they are sure of. */
const MAX_SHARED = 256
/** A reader that does not take the end of its stream is cut off. */
const END_WITHIN_S = 5
const READ_AT_ONCE = 256
const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-accel-buffering': 'no',
  // Nothing else is asked on this connection: an end of the stream is its end.
  connection: 'close',
}

type Client = { accountId: number; token: string; sink: Sink }

export type Streams = {
  /** Opens a stream; `closed` is called when it ended on this side. @throws Fault 429 when too many are open. */
  open(accountId: number, token: string, closed?: () => void): Response
  stop(): Promise<void>
}

export function startStreams(options: StreamOptions): Streams {
  const { emitter, auth, deliveries, liveCalls, heartbeatMs = HEARTBEAT_MS } = options
  const clients = new Set<Client>()

  const tell = (accountId: number, name: string, data: string) => {
    for (const client of clients) if (client.accountId === accountId) client.sink.message(name, data)
  }
  const stored = (events: readonly StoredEvent[]) => {
    if (clients.size === 0) return
    const watched = new Set([...clients].map((client) => client.accountId))
    for (const { accountId, body } of events) {
      if (!watched.has(accountId)) continue
      tell(accountId, 'call', JSON.stringify(JSON.parse(body).data.call))
      tell(accountId, 'event', body)
    }
  }
  const sendDeliveries = async (ids: readonly number[]) => {
    // In parts: when the last reader was cut off for being slow, the rest need not be read.
    for (let at = 0; at < ids.length && clients.size > 0; at += READ_AT_ONCE)
      for (const row of await deliveries(ids.slice(at, at + READ_AT_ONCE)))
        tell(row.accountId, 'delivery', JSON.stringify(deliveryOf(row)))
  }
  /**
   * One after the other, so that what a reader gets last is what is so now. A store that cannot be read shows at the
   * next change.
   */
  let sending: Promise<void> = Promise.resolve()
  const moved = (ids: readonly number[]) => {
    sending = sending.then(() => sendDeliveries(ids)).catch(() => {})
  }
  emitter.on('stored', stored)
  // Without anybody who watches the dispatcher need not even collect the ids.
  const listen = () => {
    if (clients.size > 0 && emitter.listenerCount('deliveries', moved) === 0) emitter.on('deliveries', moved)
    if (clients.size === 0) emitter.off('deliveries', moved)
  }
  async function beat(client: Client): Promise<void> {
    if ((await auth.session(client.token)) === undefined) client.sink.close()
    else client.sink.comment('still here')
  }
  const heart = setInterval(() => {
    // A store that cannot be read now can be read at the next beat.
    for (const client of [...clients]) beat(client).catch(() => client.sink.comment('still here'))
  }, heartbeatMs)

  function* snapshot(accountId: number) {
    for (const { call } of liveCalls(accountId)) yield { name: 'call', data: JSON.stringify(call) }
  }

  return {
    open(accountId, token, closed = () => {}) {
      if (!hasRoom(clients, accountId))
        throw new Fault('too_many_requests', 'Too many streams are open. Close one, or try again later.', {
          headers: { 'retry-after': '30', connection: 'close' },
        })
      const sink = openSink({
        first: snapshot(accountId),
        closed() {
          clients.delete(client)
          listen()
          closed()
        },
      })
      const client: Client = { accountId, token, sink }
      clients.add(client)
      listen()
      sink.comment('the stream of this account')
      return new Response(sink.body, { headers: STREAM_HEADERS })
    },
    async stop() {
      clearInterval(heart)
      emitter.off('stored', stored)
      for (const client of [...clients]) client.sink.close()
    },
  }
}

function hasRoom(clients: Iterable<Client>, accountId: number): boolean {
  const held = new Map<number, number>()
  for (const client of clients) held.set(client.accountId, (held.get(client.accountId) ?? 0) + 1)
  const own = held.get(accountId) ?? 0
  if (own < SURE_OF_ACCOUNT) return true
  const shared = held.values().reduce((sum, count) => sum + Math.max(0, count - SURE_OF_ACCOUNT), 0)
  return own < MAX_OF_ACCOUNT && shared < MAX_SHARED
}

const failed = (description: string) => ({
  description,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Failure' } } },
})

export function streamRoutes(auth: AuthService, streams: Streams) {
  return new Elysia({ name: 'stream', normalize: false }).use(guard(auth)).get(
    '/stream',
    ({ accountId, bearer, request, server }) => {
      // Elysia answers HEAD from what GET gives, to its end: a stream has none.
      if (request.method === 'HEAD') return new Response(null, { headers: STREAM_HEADERS })
      const stream = streams.open(accountId, bearer ?? '', () => server?.timeout(request, END_WITHIN_S))
      // The server's idle timeout would cut a quiet stream. One that is refused keeps it.
      server?.timeout(request, 0)
      return stream
    },
    {
      detail: {
        summary: 'Calls, events and deliveries as they move (text/event-stream)',
        description:
          'Messages: `call` (a Call that changed), `event` (a body as sent), `delivery` (a Delivery that changed). Each live call is told first.',
        tags: ['Calls'],
        security: [{ bearer: [] }],
        responses: {
          200: { description: 'The stream', content: { 'text/event-stream': { schema: { type: 'string' } } } },
          401: failed('The token is missing, unknown or revoked'),
          429: failed('Too many streams are open'),
          503: failed('The service is stopping'),
        },
      },
    },
  )
}
