import { Type } from '@sinclair/typebox'
import { Elysia, t } from 'elysia'
import { type AuthService, guard, requireSession } from '../../auth/auth.ts'
import { BODIES } from '../../events/bodies.ts'
import { EVENT_NAMES } from '../../events/kinds.ts'
import { accepts } from '../../http/accepts.ts'
import { responses } from '../../http/envelope.ts'
import { CURSOR } from '../../http/paging.ts'
import { asks } from '../../http/query.ts'
import { described, named, UUID } from '../../lib/api-schema.ts'
import { Fault } from '../../lib/fault.ts'
import { rfc3339 } from '../../lib/time.ts'
import type { EventItem } from '../../store/operations/log.ts'
import type { EventPage, EventReader, EventsGone } from './event-reader.ts'

const PAGE_SIZE = 100
const MAX_PAGE_SIZE = 1_000
const MAX_WAIT_S = 30
/** The server's idle timeout must not end a request that waits for events. */
const MARGIN_S = 30

/** A body of any kind of event. */
const AnyBody = named(
  'EventBody',
  t.Union(Object.values(BODIES), { description: 'The body of its requests, as an object' }),
)

/** An event as it is read back. */
export const ReadEvent = named(
  'Event',
  t.Object({
    id: t.String({ format: 'uuid', description: 'The webhook-id of its requests' }),
    event: t.UnionEnum(EVENT_NAMES, { default: undefined, description: 'Which kind of event it is' }),
    call_id: t.Union([t.String({ form: UUID }), t.Null()], {
      description: 'The id of the call; `null` for an event of a phone, trunk, agent or queue',
    }),
    sequence: t.Union([Type.Integer({ minimum: 1 }), t.Null()], {
      description: 'The number of the event within its call; `null` if it belongs to none',
    }),
    created_at: t.String({ format: 'date-time', description: 'When the event happened' }),
    body: described(AnyBody, 'The body of its requests, as an object'),
  }),
)

const EventList = named(
  'EventPage',
  t.Object({
    items: t.Array(ReadEvent, { description: 'The events, in the order in which they were stored' }),
    next_cursor: t.String({
      description: 'Send it as `after` to continue. Always present; it advances even if a filter matches nothing',
      form: CURSOR,
    }),
  }),
)

const Query = t.Object({
  after: t.Optional(
    t.String({
      maxLength: 200,
      description: '`next_cursor` of the previous page; `now`: from now on; absent: from the oldest kept event',
    }),
  ),
  limit: t.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_PAGE_SIZE,
      default: PAGE_SIZE,
      description: 'At most this many events; a page may have fewer although more follow',
    }),
  ),
  wait: t.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_WAIT_S,
      default: 0,
      description: 'Seconds to wait if there is no event yet',
    }),
  ),
  event: t.Optional(
    t.Array(t.UnionEnum(EVENT_NAMES, { default: undefined }), { description: 'Only these kinds; repeatable' }),
  ),
  call_id: t.Optional(t.String({ maxLength: 64, description: 'Only the events of this call' })),
})

const DESCRIPTION =
  'For receivers that were down, that cannot be called from outside, or that check for gaps. Store `next_cursor` once ' +
  'you have handled a page, and send it as `after`: no event is ever skipped, since none appears before a cursor that ' +
  'was given out. Events are kept for the time of `--retention`; those of erased calls are omitted. 410: events after ' +
  'the cursor were deleted, or the store was restored from a backup that lacks events before the cursor.'

/** Creates `GET /event`: the account's events in the order in which they were stored. */
export function eventRoutes(auth: AuthService, events: EventReader) {
  return new Elysia({ name: 'events', normalize: false })
    .use(accepts)
    .use(guard(auth))
    .get(
      '/event',
      async ({ accountId, bearer, query, request, server, set }) => {
        const { after, limit = PAGE_SIZE, wait = 0, event, call_id } = query
        if (wait > 0) server?.timeout(request, wait + MARGIN_S)
        const revoked = new AbortController()
        const unwatch = auth.onRevoked(bearer, () => revoked.abort())
        const page = await events
          .read(accountId, {
            after,
            limit,
            waitMs: wait * 1_000,
            names: event,
            callId: call_id,
            signal: AbortSignal.any([request.signal, revoked.signal]),
          })
          .finally(unwatch)
        // A client that logged out while it waited gets none of the events that came since.
        if (revoked.signal.aborted) await requireSession(auth, bearer)
        if ('gone' in page) throw gone(page)
        set.headers['content-type'] = 'application/json'
        return new Response(textOf(page))
      },
      {
        ...asks(Query, 'refused'),
        response: responses(EventList, 'unauthenticated', 'gone', 'invalid', 'too_many_requests'),
        detail: {
          summary: 'The events of the account, in the order in which they were stored',
          description: DESCRIPTION,
          tags: ['Calls'],
          security: [{ bearer: [] }],
        },
      },
    )
}

const GONE = {
  deleted: 'Events after this cursor were deleted.',
  'other history': 'The store has lost events before this cursor: a backup was restored, or a standby took over.',
} as const

const gone = ({ gone, oldestCursor }: EventsGone) =>
  new Fault('gone', `${GONE[gone]} The oldest usable cursor is ${oldestCursor}`)

/** Bodies are stored as JSON text: parsing and serializing them again would cost more than the rest of the request. */
function textOf({ items, nextCursor }: EventPage): string {
  const result = `{"items":[${items.map(itemText).join(',')}],"next_cursor":"${nextCursor}"}`
  return `{"status":"success","code":200,"result":${result},"message":"These are the events."}`
}

function itemText({ uuid, name, callId, sequence, atUs, body }: EventItem): string {
  const isOfCall = sequence > 0
  const head = {
    id: uuid,
    event: name,
    call_id: isOfCall ? callId : null,
    sequence: isOfCall ? sequence : null,
    created_at: rfc3339(atUs),
  }
  return `${JSON.stringify(head).slice(0, -1)},"body":${body}}`
}
