import { Elysia, t } from 'elysia'
import { type AuthService, popGuard, type Session } from '../../auth/auth.ts'
import { deliveryOf, type Emitter } from '../../deliveries/deliveries.ts'
import type { Call, Stage } from '../../events/bodies.ts'
import { isOfCall } from '../../events/event-subject.ts'
import { readEventBody } from '../../events/stored-json.ts'
import type { OpaqueIds } from '../../http/opaque-ids.ts'
import { asks } from '../../http/query.ts'
import { Fault } from '../../lib/fault.ts'
import { createPacedTask } from '../../lib/periodic.ts'
import { nextTurn } from '../../lib/slices.ts'
import type { DeliveryRow } from '../../store/operations/log.ts'
import { type CallFilter, createCallFilter, stagesOf } from './call-filter.ts'
import type { ChangeNotes } from './change-notes.ts'
import type { FollowEvents } from './stored-events.ts'
import { mayOpen } from './stream-limits.ts'
import { createOutbox } from './stream-outbox.ts'
import { messageOf, openSink, type Sink } from './stream-sink.ts'

/**
 * `GET /stream` sends an account's calls, events and deliveries as they change, as server-sent events; or calls alone,
 * for the pop page. Missed messages are not repeated: a client that (re)connects first gets each live call, and reads
 * the rest through the API.
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
  liveCalls: (accountId: number) => Iterable<{ call: Call; stages: readonly Stage[] }>
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
/** A stream of calls alone has little to send. */
const MAX_WAITING_CALL_BYTES = 128 * 1024
/** A client that does not read the end of its stream is disconnected. */
const END_WITHIN_S = 5
/** Deliveries per part of the work: other work has its turn between two parts. */
const READ_AT_ONCE = 128
/** The interval between two messages with changes. The first change after a quiet time is sent at once. */
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

/** `isSent`: the filter of a client that gets calls alone. */
type Client = { accountId: number; token: string; sink: Sink; isSent: CallFilter | undefined }

type OpenOptions = {
  readonly calls?: 'all' | 'none' | undefined
  /** Which calls alone are sent; without it calls, events and deliveries. */
  readonly isSent?: CallFilter | undefined
  readonly closed?: () => void
}

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
  /** The accounts of all clients, and the accounts of clients that get deliveries. */
  let watched: ReadonlySet<number> = new Set()
  let watchedWholly: ReadonlySet<number> = new Set()
  const encoder = new TextEncoder()

  const outbox = createOutbox({
    gatherMs: GATHER_MS,
    send(accountId, messages) {
      for (const client of clients)
        if (client.accountId === accountId && client.isSent === undefined) client.sink.send(messages)
    },
  })
  /** Sends a call to the clients that get calls alone, at once: their messages are few. */
  const sendCall = (accountId: number, call: Call, stages: readonly Stage[]) => {
    let message: Uint8Array | undefined
    for (const client of clients) {
      if (client.accountId !== accountId || client.isSent?.(call, stages) !== true) continue
      message ??= encoder.encode(messageOf('call', JSON.stringify(call)))
      client.sink.send(message)
    }
  }
  const stored = (events: readonly { readonly accountId: number; readonly body: string }[]) => {
    if (watched.size === 0) return
    for (const { accountId, body } of events) {
      if (!watched.has(accountId)) continue
      const read = readEventBody(body)
      if (isOfCall(read)) sendCall(accountId, read.data.call, stagesOf(read.data))
      if (!watchedWholly.has(accountId)) continue
      if (isOfCall(read)) outbox.add(accountId, 'call', JSON.stringify(read.data.call))
      outbox.add(accountId, 'event', body)
    }
  }
  const sendDeliveries = async (ids: readonly number[]) => {
    // Read in parts, because the rest is not needed once the last client was disconnected for being slow.
    for (let at = 0; at < ids.length && watchedWholly.size > 0; at += READ_AT_ONCE) {
      if (at > 0) await nextTurn()
      const read = await deliveries(ids.slice(at, at + READ_AT_ONCE))
      const rows = read.filter((row) => watchedWholly.has(row.accountId))
      const subjectOf = await subjectsOf(rows)
      for (const row of rows)
        outbox.add(row.accountId, 'delivery', JSON.stringify(deliveryOf(await openIds(), row, subjectOf(row))))
    }
  }
  const changes = createChangeSender(() => following.caughtUp(), sendDeliveries)
  const onChanged = (ids: readonly number[], accountId?: number) => {
    // Reading the deliveries of accounts without a stream would cost all others time.
    if (accountId === undefined || watchedWholly.has(accountId)) changes.add(ids)
  }
  const following = options.follow(() => [...watched], stored)
  const followingChanges = options.followChanges(() => [...watchedWholly], onChanged)
  // Without clients the dispatcher does not even collect the ids.
  const listen = () => {
    watched = new Set([...clients].map((client) => client.accountId))
    watchedWholly = new Set([...clients].filter(isWhole).map((client) => client.accountId))
    const isListening = emitter.listenerCount('deliveries', onChanged) > 0
    if (watchedWholly.size > 0 && !isListening) emitter.on('deliveries', onChanged)
    if (watchedWholly.size === 0) emitter.off('deliveries', onChanged)
  }
  const heartbeat = startHeartbeat(clients, auth, heartbeatMs)

  function* snapshot(accountId: number, isSent: CallFilter = () => true) {
    for (const { call, stages } of liveCalls(accountId))
      yield isSent(call, stages) ? { name: 'call', data: JSON.stringify(call) } : null
  }

  return {
    async open(accountId, token, { calls = 'all', isSent, closed = () => {} } = {}) {
      const kind = isSent === undefined ? 'whole' : 'calls'
      await Promise.all([following.begin(accountId), kind === 'whole' ? followingChanges.begin(accountId) : undefined])
      if (calls === 'all') await refreshCalls()
      const ofKind = [...clients].filter((one) => isWhole(one) === (kind === 'whole'))
      const accounts = ofKind.map((one) => one.accountId)
      if (!mayOpen(kind, accountId, accounts)) throw tooManyStreams()
      // Earlier changes in the outbox are not for this stream.
      outbox.flush(accountId)
      const sink = openSink({
        ...(calls === 'all' ? { first: snapshot(accountId, isSent) } : {}),
        ...(isSent === undefined ? {} : { maxBytes: MAX_WAITING_CALL_BYTES }),
        beforeFirst: () => outbox.flush(accountId),
        closed() {
          unwatch()
          clients.delete(client)
          listen()
          closed()
        },
      })
      const unwatch = auth.onRevoked(token, sink.close)
      const client: Client = { accountId, token, sink, isSent }
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

const isWhole = ({ isSent }: Client): boolean => isSent === undefined

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
  extension: t.Optional(
    t.String({
      minLength: 1,
      maxLength: 64,
      description: 'Only `call`, of calls in which this extension takes part or rings',
    }),
  ),
})

/**
 * Returns which calls alone the stream of a token sends; `undefined`: it sends everything. @throws Fault `forbidden`
 * for an extension that is not the token's.
 */
function callFilterOf({ pop, extension }: Session, asked: string | undefined): CallFilter | undefined {
  if (extension !== null && asked !== undefined && asked !== extension)
    throw new Fault('forbidden', `This token reads calls of the extension ${extension} alone.`)
  return pop || asked !== undefined ? createCallFilter(extension ?? asked ?? null) : undefined
}

/** Creates `GET /stream`. */
export function streamRoutes(auth: AuthService, streams: Streams) {
  return new Elysia({ name: 'stream', normalize: false }).use(popGuard(auth)).get(
    '/stream',
    async ({ accountId, session, bearer, query, request, server }) => {
      const isSent = callFilterOf(session, query.extension)
      // Elysia answers HEAD by reading GET's response to its end: a stream has no end.
      if (request.method === 'HEAD') return new Response(null, { headers: STREAM_HEADERS })
      const stream = await streams.open(accountId, bearer, {
        calls: query.calls,
        isSent,
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
          'Messages: `call` (a Call that changed), `event` (a body as sent), `delivery` (a Delivery that changed). All live calls are sent first, unless `calls=none` leaves them out. A token for the pop page, and with `extension` any, gets `call` alone.',
        tags: ['Calls'],
        security: [{ bearer: [] }],
        responses: {
          200: { description: 'The stream', content: { 'text/event-stream': STREAM_CONTENT } },
          401: failed('The token is missing, unknown or revoked'),
          403: failed('The token reads calls of another extension alone'),
          422: failed('A parameter is wrong'),
          429: failed('Too many streams are open'),
          503: failed('The service is stopping'),
        },
      },
    },
  )
}
