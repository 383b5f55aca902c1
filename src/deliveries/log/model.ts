import { Type } from '@sinclair/typebox'
import { t } from 'elysia'
import { EVENT_NAMES } from '../../events/kinds.ts'
import { NAME_PATTERN, STEP_EVENTS } from '../../flows/flows.ts'
import { CURSOR } from '../../http/paging.ts'
import { named, UUID, WEBHOOK_URL } from '../../lib/api-schema.ts'
import { HTTP_METHODS } from '../../outbound/http-methods.ts'
import { DELIVERY_STATES } from '../../store/operations/delivery-state.ts'

/** The form of the id of a delivery. */
export const DELIVERY_ID = { pattern: '^[0-9]+$', maxLength: 19 }
const NAME = { pattern: NAME_PATTERN }
const count = { minimum: 0 }
const text = (description: string) => t.Union([t.String(), t.Null()], { description })
const time = (description: string) => t.Union([t.String({ format: 'date-time' }), t.Null()], { description })
const status = t.Union([Type.Integer({ form: { minimum: 100, maximum: 599 } }), t.Null()], {
  description: 'The status of the response; `null` if there was none, and by MQTT, which has none',
})
const duration = Type.Integer({ description: 'Milliseconds until the status', form: count })
const error = text(
  'Why there was no response, where a redirect leads, or why an MQTT broker refused the event; `null` otherwise',
)
const response = text('The first 4 KiB of the body of the response; by MQTT, how the broker acknowledged the event')
const moment = (description: string) => t.Optional(t.String({ format: 'date-time', description }))

/** One event for one webhook. */
export const Delivery = named(
  'Delivery',
  t.Object({
    id: t.String({ description: 'The id of the delivery', form: DELIVERY_ID }),
    event_id: t.String({ description: 'The `webhook-id` of its requests', form: UUID }),
    event: t.String({ description: 'The kind of event', form: { enum: EVENT_NAMES } }),
    call_id: t.Union([t.String({ form: UUID }), t.Null()], {
      description: 'The id of the call; `null` for an event of a phone, trunk, agent or queue',
    }),
    subject: t.String({
      description: 'What the event is about, as a sentence: who calls whom, or which phone, trunk, agent or queue',
    }),
    url: t.String({ description: 'The URL of the webhook', form: WEBHOOK_URL }),
    state: t.UnionEnum(DELIVERY_STATES, {
      default: undefined,
      description:
        '`pending`: it will be sent, or sent again. `delivered`: the receiver answered 2xx, or the MQTT broker acknowledged it. `failed`: all attempts failed. ' +
        '`cancelled`: its URL left the list',
    }),
    attempts_made: Type.Integer({ description: 'How many attempts were made, without probes', form: count }),
    next_attempt_at: time('When it is retried; `null` if it is not scheduled'),
    created_at: t.String({ format: 'date-time', description: 'When the event was stored' }),
    delivered_at: time('When it was delivered; `null` if it was not'),
  }),
)
/** `account`: where the deliveries of all accounts are listed, for the operator of the machine. */
export type Delivery = typeof Delivery.static & { readonly account?: string }

/** One request, or one message to an MQTT broker. A request has a `status` or an `error`. */
export const LoggedAttempt = named(
  'Attempt',
  t.Object({
    at: t.String({ format: 'date-time', description: 'When the request was sent' }),
    probe: t.Optional(
      t.Boolean({
        description: 'With `probes=true`: whether it failed while the webhook was down, and does not count',
      }),
    ),
    status,
    duration_ms: duration,
    error,
    address: text('The IP address to which the request went'),
    response,
    step: t.Optional(
      t.String({ description: 'Of a flow: the step that it was. `error` also says why it was skipped', form: NAME }),
    ),
    method: t.Optional(
      t.Union([t.String({ form: { enum: HTTP_METHODS } }), t.Null()], {
        description: 'Of a flow: the method; `null`: there was no request',
      }),
    ),
    url: t.Optional(
      t.Union([t.String({ form: { format: 'uri' } }), t.Null()], {
        description: 'Of a flow: the URL without its query; `null`: there was no request',
      }),
    ),
    kept: t.Optional(
      t.Array(t.String({ form: NAME }), { description: 'Of a flow: the names of the values that were kept' }),
    ),
  }),
)
export type LoggedAttempt = typeof LoggedAttempt.static

export const DeliveryDetail = named(
  'DeliveryDetail',
  t.Composite([
    Delivery,
    t.Object({
      body: t.String({ description: 'The default body' }),
      rendered: t.Optional(
        t.Union([t.String(), t.Null()], {
          description:
            'the body as the options of the webhook render it now, if they change it; null: the template fails or rests',
        }),
      ),
      attempts: t.Array(LoggedAttempt, { description: 'All attempts, the oldest first' }),
    }),
  ]),
)
export type DeliveryDetail = typeof DeliveryDetail.static

export const DeliveryPage = named(
  'DeliveryPage',
  t.Object({
    items: t.Array(Delivery, { description: 'The deliveries, the newest first' }),
    next_cursor: t.Union([t.String({ form: CURSOR }), t.Null()], {
      description: '`null` on the last page. A page may hold fewer than `limit` items; keep following `next_cursor`.',
    }),
  }),
)
export type DeliveryPage = typeof DeliveryPage.static

/** Conditions that deliveries have to meet. */
export const DeliveryFilter = t.Object({
  state: t.Optional(t.UnionEnum(DELIVERY_STATES, { default: undefined, description: 'Only deliveries in this state' })),
  event: t.Optional(t.UnionEnum(EVENT_NAMES, { default: undefined, description: 'Only this kind of event' })),
  url: t.Optional(t.String({ maxLength: WEBHOOK_URL.maxLength, description: 'Only this URL' })),
  call_id: t.Optional(t.String({ maxLength: 64, description: 'The id of a call, or its last 8 characters or more' })),
  number: t.Optional(
    t.String({
      maxLength: 64,
      description: 'The number of the caller, or the number called; the newest 1,000 calls are searched',
    }),
  ),
  since: moment('created at this time (RFC 3339) or later'),
  until: moment('created before this time (RFC 3339)'),
})
export type DeliveryFilter = typeof DeliveryFilter.static

export const Queued = named(
  'Queued',
  t.Object({
    queued: Type.Integer({ description: 'How many deliveries are sent again', form: count }),
  }),
)

/** Past events that a webhook is sent. */
export const NewReplay = t.Object(
  {
    url: t.String({ description: 'A URL of the list of webhooks', form: WEBHOOK_URL }),
    since: t.String({ format: 'date-time', description: 'Of events from this time on (RFC 3339)' }),
    until: moment('of events before this time (RFC 3339); default: now'),
    events: t.Optional(
      t.Array(t.UnionEnum(STEP_EVENTS, { default: undefined }), {
        minItems: 1,
        uniqueItems: true,
        description:
          'Kinds of call events, also those for which the webhook does not ask. Default: those for which it asks; with a preset, of these those of the end of a call',
      }),
    ),
    again: t.Optional(
      t.Boolean({ description: 'Also events that were delivered to this webhook before; default: `false`' }),
    ),
  },
  { additionalProperties: false },
)
export type NewReplay = typeof NewReplay.static

/** The outcome of a test request. */
export const Tested = named(
  'TestResult',
  t.Object({
    status,
    duration_ms: duration,
    error,
    response,
  }),
)
export type Tested = typeof Tested.static

/** A step of a flow in a test. */
const TestedStep = t.Object({
  step: t.String({ description: 'The name of the step; empty: of none' }),
  method: t.String({ description: 'The method of its request', form: { enum: HTTP_METHODS } }),
  url: t.Union([t.String({ form: { format: 'uri' } }), t.Null()], {
    description: 'The URL of its request; `null`: it makes none',
  }),
  headers: t.Array(t.String(), { description: 'The names of the headers of the webhook and the step' }),
  body: text('The body of its request, with `***` for secrets'),
  status: t.Union([Type.Integer({ form: { minimum: 100, maximum: 599 } }), t.Null()], {
    description: 'The status of the response; `null` if there was none, or nothing was sent',
  }),
  error: text('Why it failed, or is skipped'),
})
export type TestedStep = typeof TestedStep.static

/** The outcome of a test of a flow. */
export const TestedFlow = t.Object({
  steps: t.Array(TestedStep, { description: 'The steps that begin with `call_ended`, in their order' }),
})
export type TestedFlow = typeof TestedFlow.static

export const TestRequest = t.Object({
  url: t.String({ description: 'A URL of the list of webhooks', form: WEBHOOK_URL }),
  send: t.Optional(t.Boolean({ description: 'Of a flow: its steps are sent; else they are rendered alone' })),
})
