import { Type } from '@sinclair/typebox'
import { t } from 'elysia'
import { EVENT_NAMES } from '../../lib/event-kinds.ts'
import { DELIVERY_STATES } from '../../store/operations/delivery-state.ts'

const text = t.Union([t.String(), t.Null()])
const time = t.Union([t.String({ format: 'date-time' }), t.Null()])
const moment = (description: string) => t.Optional(t.String({ format: 'date-time', description }))

/** One event for one webhook. */
export const Delivery = t.Object({
  id: t.String(),
  event_id: t.String({ description: 'the webhook-id header' }),
  event: t.String(),
  call_id: t.String(),
  url: t.String(),
  state: t.UnionEnum(DELIVERY_STATES, { default: undefined }),
  attempts_made: Type.Integer({ description: 'without probes' }),
  next_attempt_at: time,
  created_at: t.String({ format: 'date-time' }),
  delivered_at: time,
})
export type Delivery = typeof Delivery.static

/** One POST request. Without an answer `status` is `null`, else `error`. */
export const LoggedAttempt = t.Object({
  at: t.String({ format: 'date-time' }),
  probe: t.Optional(
    t.Boolean({ description: 'with `probes=true`: it failed while the webhook was down, and does not count' }),
  ),
  status: t.Union([Type.Integer(), t.Null()]),
  duration_ms: Type.Integer(),
  error: text,
  address: text,
  response: text,
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
    attempts: t.Array(LoggedAttempt),
  }),
])
export type DeliveryDetail = typeof DeliveryDetail.static

export const DeliveryPage = t.Object({
  items: t.Array(Delivery),
  next_cursor: t.Union([t.String(), t.Null()], {
    description: 'null on the last page. A page may hold fewer than `limit` items; keep following `next_cursor`.',
  }),
})
export type DeliveryPage = typeof DeliveryPage.static

/** Conditions that deliveries have to meet. */
export const DeliveryFilter = t.Object({
  state: t.Optional(t.UnionEnum(DELIVERY_STATES, { default: undefined })),
  event: t.Optional(t.UnionEnum(EVENT_NAMES, { default: undefined })),
  url: t.Optional(t.String({ maxLength: 2_048 })),
  call_id: t.Optional(t.String({ maxLength: 64, description: 'the id of a call, or its last 8 characters or more' })),
  number: t.Optional(
    t.String({ maxLength: 64, description: 'of the caller or the number called; the newest 1,000 calls are searched' }),
  ),
  since: moment('created at this time (RFC 3339) or later'),
  until: moment('created before this time (RFC 3339)'),
})
export type DeliveryFilter = typeof DeliveryFilter.static

export const Queued = t.Object({ queued: Type.Integer() })

/** The outcome of a test request. */
export const Tested = t.Object({
  status: t.Union([Type.Integer(), t.Null()]),
  duration_ms: Type.Integer(),
  error: text,
  response: text,
})
export type Tested = typeof Tested.static
