import { Elysia, t } from 'elysia'
import { type AuthService, guard } from '../../auth/auth.ts'
import { deliveryOf, type Emitter } from '../../deliveries/deliveries.ts'
import type { Call } from '../../events/bodies.ts'
import { isOfCall } from '../../events/event-subject.ts'
import { readEventBody } from '../../events/stored-json.ts'
import type { OpaqueIds } from '../../http/opaque-ids.ts'
import { asks } from '../../http/query.ts'
import { Fault } from '../../lib/fault.ts'
import { createPacedTask } from '../../lib/periodic.ts'
import { nextTurn } from '../../lib/slices.ts'
import type { DeliveryRow } from '../../store/operations/log.ts'
import type { ChangeNotes } from './change-notes.ts'
import type { FollowEvents } from './stored-events.ts'
import { createOutbox } from './stream-outbox.ts'
import { openSink, type Sink } from './stream-sink.ts'

/**
 * `GET /stream` sends an account's calls, events and deliveries as they change, as server-sent events. Missed messages
 * are not repeated: a client that (re)connects first gets each live call, and reads the rest through the API.
 */
type StreamOptions = {
  emitter: Emitter
  auth: AuthService
  /** Returns these deliveries as they are now. */
  deliveries: (ids: readonly number[]) => Promise<readonly DeliveryRow[]>
  /** Returns the subjects of the events of deliveries. */
  subjectsOf: (rows: readonly DeliveryRow[]) => Promise<(row: DeliveryRow) => string>
  /** Returns the converter to the ids that clients see. */
  openIds: () => Promise<OpaqueIds>
  /** Returns the live calls; their parts are made when they are read. */
  liveCalls: (accountId: number) => Iterable<{ call: Call }>
  /** Reads the live calls of other nodes. */
  refreshCalls: () => Promise<void>
  follow: FollowEvents
  followChanges: FollowChanges
  heartbeatMs?: number
}

/** Follows the deliveries of accounts that other nodes change. */
export type FollowChanges = ChangeNotes['follow']
/** Follows nothing, where there are no other nodes. */
export const followNoChanges: FollowChanges = () => ({ begin: async () => undefined, stop: () => undefined })

/**
 * A comment is sent at least this often, so that broken connections are noticed. The stream of a revoked token ends
 * then at the latest: at once, unless the store cannot be read at that moment.
 */
const HEARTBEAT_MS = 15_000
/** Streams that an account can always open, regardless of other accounts. */
const GUARANTEED_PER_ACCOUNT = 16
const MAX_PER_ACCOUNT = 64
/** Streams of all accounts together beyond the guaranteed ones. */
const MAX_SHARED = 256
/** A client that does not read the end of its stream is disconnected. */
const END_WITHIN_S = 5
/** Deliveries per part of the work: other work has its turn between two parts. */
const READ_AT_ONCE = 128
/** Changes are gathered for so long. The first one after a quiet time is sent at once. */
const GATHER_MS = 200
/** Deliveries that all streams together are sent per interval: more than are sent in that time, except in bulk. */
const MAX_CHANGES = 1_024
const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-accel-buffering': 'no',
  // The connection serves nothing else: it ends with the stream.
  connection: 'close',
}

type Client = { accountId: number; token: string; sink: Sink }

type OpenOptions = { readonly calls?: 'all' | 'none' | undefined; readonly closed?: () => void }

type Streams = {
  /**
   * Opens a stream, which begins with all live calls unless `calls` is `none`; `closed` is called when it ended on this
   * side. @throws Fault 429 when too many are open.
   */
  open(accountId: number, token: string, options?: OpenOptions): Promise<Response>
  stop(): Promise<void>
}

/** Starts the event streams: it sends events to all open streams until it is stopped. */
export function startStreams(options: StreamOptions): Streams {
  const {
    emitter,
    auth,
    deliveries,
    subjectsOf,
    liveCalls,
    refreshCalls,
    openIds,
    heartbeatMs = HEARTBEAT_MS,
  } = options
  const clients = new Set<Client>()
  /** The accounts of the clients. */
  let watched: ReadonlySet<number> = new Set()

  const outbox = createOutbox({
    gatherMs: GATHER_MS,
    send(accountId, messages) {
      for (const client of clients) if (client.accountId === accountId) client.sink.send(messages)
    },
  })
  const stored = (events: readonly { readonly accountId: number; readonly body: string }[]) => {
    if (watched.size === 0) return
    for (const { accountId, body } of events) {
      if (!watched.has(accountId)) continue
      const read = readEventBody(body)
      if (isOfCall(read)) outbox.add(accountId, 'call', JSON.stringify(read.data.call))
      outbox.add(accountId, 'event', body)
    }
  }
  const sendDeliveries = async (ids: readonly number[]) => {
    // Read in parts, because the rest is not needed once the last client was disconnected for being slow.
    for (let at = 0; at < ids.length && clients.size > 0; at += READ_AT_ONCE) {
      if (at > 0) await nextTurn()
      const rows = (await deliveries(ids.slice(at, at + READ_AT_ONCE))).filter((row) => watched.has(row.accountId))
      const subjectOf = await subjectsOf(rows)
      for (const row of rows)
        outbox.add(row.accountId, 'delivery', JSON.stringify(deliveryOf(await openIds(), row, subjectOf(row))))
    }
  }
  const changes = createChangeSender(() => following.caughtUp(), sendDeliveries)
  const onChanged = (ids: readonly number[], accountId?: number) => {
    // Reading the deliveries of accounts without a stream would cost all others time.
    if (accountId === undefined || watched.has(accountId)) changes.add(ids)
  }
  const accountIds = () => [...watched]
  const following = options.follow(accountIds, stored)
  const followingChanges = options.followChanges(accountIds, onChanged)
  // Without clients the dispatcher does not even collect the ids.
  const listen = () => {
    watched = new Set([...clients].map((client) => client.accountId))
    if (clients.size > 0 && emitter.listenerCount('deliveries', onChanged) === 0) emitter.on('deliveries', onChanged)
    if (clients.size === 0) emitter.off('deliveries', onChanged)
  }
  const heartbeat = startHeartbeat(clients, auth, heartbeatMs)

  function* snapshot(accountId: number) {
    for (const { call } of liveCalls(accountId)) yield { name: 'call', data: JSON.stringify(call) }
  }

  return {
    async open(accountId, token, { calls = 'all', closed = () => {} } = {}) {
      await Promise.all([following.begin(accountId), followingChanges.begin(accountId)])
      if (calls === 'all') await refreshCalls()
      if (!mayOpen(clients, accountId)) throw tooManyStreams()
      // Earlier changes in the outbox are not for this stream.
      outbox.flush(accountId)
      const sink = openSink({
        ...(calls === 'all' ? { first: snapshot(accountId) } : {}),
        beforeFirst: () => outbox.flush(accountId),
        closed() {
          unwatch()
          clients.delete(client)
          listen()
          closed()
        },
      })
      const unwatch = auth.onRevoked(token, sink.close)
      const client: Client = { accountId, token, sink }
      clients.add(client)
      listen()
      sink.comment('the stream of this account')
      return new Response(sink.body, { headers: STREAM_HEADERS })
    },
    async stop() {
      clearInterval(heartbeat)
      following.stop()
      followingChanges.stop()
      changes.stop()
      outbox.stop()
      for (const client of [...clients]) client.sink.close()
    },
  }
}

/**
 * Creates the sender of deliveries that changed: one batch after the other, so that the last message has the present
 * state, and after the events that they belong to. A delivery that changes several times within an interval is sent
 * once. If the store cannot be read, only the next change of a delivery is sent.
 */
function createChangeSender(caughtUp: () => Promise<void>, send: (ids: readonly number[]) => Promise<void>) {
  const changed = new Set<number>()
  const sending = createPacedTask(GATHER_MS, async () => {
    const ids = [...changed.values().take(MAX_CHANGES)]
    for (const id of ids) changed.delete(id)
    await caughtUp()
    await send(ids).catch(() => undefined)
    if (changed.size > 0) sending.request()
  })
  return {
    add(ids: readonly number[]): void {
      for (const id of ids) changed.add(id)
      sending.request()
    },
    stop: sending.stop,
  }
}

/** Sends each client a comment at regular intervals, and closes the streams of revoked tokens. */
function startHeartbeat(clients: ReadonlySet<Client>, auth: AuthService, everyMs: number): Timer {
  async function beat(client: Client): Promise<void> {
    if (!(await auth.isValid(client.token))) client.sink.close()
    else client.sink.comment('still here')
  }
  return setInterval(() => {
    // If the store cannot be read now, the token is checked at the next heartbeat.
    for (const client of [...clients]) beat(client).catch(() => client.sink.comment('still here'))
  }, everyMs)
}

function mayOpen(clients: Iterable<Client>, accountId: number): boolean {
  const open = new Map<number, number>()
  for (const client of clients) open.set(client.accountId, (open.get(client.accountId) ?? 0) + 1)
  const own = open.get(accountId) ?? 0
  if (own < GUARANTEED_PER_ACCOUNT) return true
  const shared = open.values().reduce((sum, count) => sum + Math.max(0, count - GUARANTEED_PER_ACCOUNT), 0)
  return own < MAX_PER_ACCOUNT && shared < MAX_SHARED
}

const failed = (description: string) => ({
  description,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Failure' } } },
})

const tooManyStreams = () =>
  new Fault('too_many_requests', 'Too many streams are open. Close one, or try again later.', {
    headers: { 'retry-after': '30', connection: 'close' },
  })

const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` })
/** OpenAPI 3.1 has no stream: it is described as the list of its messages, as version 3.2 reads such a schema. */
const STREAM_CONTENT = {
  schema: { type: 'array' as const, items: reference('StreamMessage'), description: 'Server-sent events' },
}

const StreamQuery = t.Object({
  calls: t.Optional(
    t.UnionEnum(['all', 'none'], {
      default: undefined,
      description: '`none` sends changes alone, without all live calls',
    }),
  ),
})

/** Creates `GET /stream`. */
export function streamRoutes(auth: AuthService, streams: Streams) {
  return new Elysia({ name: 'stream', normalize: false }).use(guard(auth)).get(
    '/stream',
    async ({ accountId, bearer, query, request, server }) => {
      // Elysia answers HEAD by reading GET's response to its end: a stream has no end.
      if (request.method === 'HEAD') return new Response(null, { headers: STREAM_HEADERS })
      const stream = await streams.open(accountId, bearer, {
        calls: query.calls,
        closed: () => void server?.timeout(request, END_WITHIN_S),
      })
      // The server's idle timeout would cut a quiet stream. A refused request keeps it.
      server?.timeout(request, 0)
      return stream
    },
    {
      ...asks(StreamQuery),
      detail: {
        summary: 'Calls, events and deliveries as they move (text/event-stream)',
        description:
          'Messages: `call` (a Call that changed), `event` (a body as sent), `delivery` (a Delivery that changed). All live calls are sent first, unless `calls=none` leaves them out.',
        tags: ['Calls'],
        security: [{ bearer: [] }],
        responses: {
          200: { description: 'The stream', content: { 'text/event-stream': STREAM_CONTENT } },
          401: failed('The token is missing, unknown or revoked'),
          422: failed('A parameter is wrong'),
          429: failed('Too many streams are open'),
          503: failed('The service is stopping'),
        },
      },
    },
  )
}
