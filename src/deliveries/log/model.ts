import { Type } from '@sinclair/typebox'
import { t } from 'elysia'
import { CURSOR } from '../../http/paging.ts'
import { UUID, WEBHOOK_URL } from '../../lib/api-schema.ts'
import { EVENT_NAMES } from '../../lib/event-kinds.ts'
import { DELIVERY_STATES } from '../../store/operations/delivery-state.ts'

/** The form of the id of a delivery. */
export const DELIVERY_ID = { pattern: '^[0-9]+$', maxLength: 19 }
const count = { minimum: 0 }
const text = (description: string) => t.Union([t.String(), t.Null()], { description })
const time = (description: string) => t.Union([t.String({ format: 'date-time' }), t.Null()], { description })
const status = t.Union([Type.Integer({ form: { minimum: 100, maximum: 599 } }), t.Null()], {
  description: 'The status of the response; `null` if there was none',
})
const duration = Type.Integer({ description: 'Milliseconds until the status', form: count })
const error = text('Why there was no response; `null` if there was one')
const response = text('The first 4 KiB of the body of the response')
const moment = (description: string) => t.Optional(t.String({ format: 'date-time', description }))

/** One event for one webhook. */
export const Delivery = t.Object({
  id: t.String({ description: 'The id of the delivery', form: DELIVERY_ID }),
  event_id: t.String({ description: 'the webhook-id header', form: UUID }),
  event: t.String({ description: 'The kind of event', form: { enum: EVENT_NAMES } }),
  call_id: t.Union([t.String({ form: UUID }), t.Null()], {
    description: 'The id of the call; `null` of the event of a phone, trunk, agent or queue',
  }),
  url: t.String({ description: 'The URL of the webhook', form: WEBHOOK_URL }),
  state: t.UnionEnum(DELIVERY_STATES, {
    default: undefined,
    description:
      '`pending`: it will be sent, or sent again. `delivered`: the receiver answered 2xx. `failed`: all attempts failed. ' +
      '`cancelled`: its URL left the list',
  }),
  attempts_made: Type.Integer({ description: 'without probes', form: count }),
  next_attempt_at: time('When it is retried; `null` if it is not scheduled'),
  created_at: t.String({ format: 'date-time', description: 'When the event was stored' }),
  delivered_at: time('When it was delivered; `null` if it was not'),
})
export type Delivery = typeof Delivery.static

/** One POST request. Without an answer `status` is `null`, else `error`. */
export const LoggedAttempt = t.Object({
  at: t.String({ format: 'date-time', description: 'When the request was sent' }),
  probe: t.Optional(
    t.Boolean({ description: 'with `probes=true`: it failed while the webhook was down, and does not count' }),
  ),
  status,
  duration_ms: duration,
  error,
  address: text('The IP address to which the request went'),
  response,
})
export type LoggedAttempt = typeof LoggedAttempt.static

export const DeliveryDetail = t.Composite([
  Delivery,
  t.Object({
    body: t.String({ description: 'the default body' }),
    rendered: t.Optional(
      t.Union([t.String(), t.Null()], {
        description:
          'the body as the options of the webhook render it now, if they change it; null: the template fails or rests',
      }),
    ),
    attempts: t.Array(LoggedAttempt, { description: 'All attempts, the oldest first' }),
  }),
])
export type DeliveryDetail = typeof DeliveryDetail.static

export const DeliveryPage = t.Object({
  items: t.Array(Delivery, { description: 'The deliveries, the newest first' }),
  next_cursor: t.Union([t.String({ form: CURSOR }), t.Null()], {
    description: 'null on the last page. A page may hold fewer than `limit` items; keep following `next_cursor`.',
  }),
})
export type DeliveryPage = typeof DeliveryPage.static

/** Conditions that deliveries have to meet. */
export const DeliveryFilter = t.Object({
  state: t.Optional(t.UnionEnum(DELIVERY_STATES, { default: undefined, description: 'Only deliveries in this state' })),
  event: t.Optional(t.UnionEnum(EVENT_NAMES, { default: undefined, description: 'Only this kind of event' })),
  url: t.Optional(t.String({ maxLength: WEBHOOK_URL.maxLength, description: 'Only this URL' })),
  call_id: t.Optional(t.String({ maxLength: 64, description: 'the id of a call, or its last 8 characters or more' })),
  number: t.Optional(
    t.String({ maxLength: 64, description: 'of the caller or the number called; the newest 1,000 calls are searched' }),
  ),
  since: moment('created at this time (RFC 3339) or later'),
  until: moment('created before this time (RFC 3339)'),
})
export type DeliveryFilter = typeof DeliveryFilter.static

export const Queued = t.Object({
  queued: Type.Integer({ description: 'How many deliveries are sent again', form: count }),
})

/** The outcome of a test request. */
export const Tested = t.Object({
  status,
  duration_ms: duration,
  error,
  response,
})
export type Tested = typeof Tested.static
