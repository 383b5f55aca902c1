import { Type } from '@sinclair/typebox'
import { t } from 'elysia'
import { Call, Stage, Transfer } from '../calls/event.ts'
import { NODE_STATES } from '../cluster/node-state.ts'
import { Delivery } from '../deliveries/log/model.ts'
import { PBX_KINDS, PBX_STATES } from '../pbx/watch/model.ts'

/** The resources of `GET /overview` and `GET /call/{id}/event`, which are for the page. Times as in the contract. */

const time = t.String({ format: 'date-time' })
const timeOrNull = t.Union([time, t.Null()])
const whole = Type.Integer({ minimum: 0 })
const wholeOrNull = t.Union([whole, t.Null()])
const text = t.Union([t.String(), t.Null()])

/** One event of a call, with its deliveries. */
export const EventWithDeliveries = t.Object({
  id: t.String(),
  name: t.String(),
  sequence: whole,
  at: time,
  stage: t.Union([Stage, t.Null()]),
  transfer: t.Union([Transfer, t.Null()]),
  deliveries: t.Array(Delivery),
})
export type EventWithDeliveries = typeof EventWithDeliveries.static

/** A call that is up, with its stages so far. */
export const LiveCall = t.Object({ pbx: t.String(), call: Call, stages: t.Array(Stage) })
export type LiveCall = typeof LiveCall.static

export const PbxEndpoints = t.Object({
  trunks: t.Array(t.String()),
  phones: t.Array(t.String()),
  undecided: t.Array(t.String()),
})

/** The state of one PBX of the account. */
export const PbxStatus = t.Object({
  name: t.String(),
  kind: t.UnionEnum(PBX_KINDS, { default: undefined }),
  state: t.UnionEnum(PBX_STATES, { default: undefined }),
  since: timeOrNull,
  detail: text,
  /**
   * The endpoints that are taken for trunks and phones, and why; at most 100 of each. `trunks` and `extensions` in the
   * URL of the PBX override it.
   */
  endpoints: PbxEndpoints,
})
export type PbxStatus = typeof PbxStatus.static

export const LastAttempt = t.Object({
  at: time,
  status: wholeOrNull,
  error: text,
  duration_ms: t.Union([t.Number(), t.Null()]),
})

/** A webhook of the list and the state of its receiver. `down_since` is set while its circuit breaker is open. */
export const WebhookHealth = t.Object({
  url: t.String(),
  occurrence: whole,
  /** These three are from the options of the URL. */
  name: text,
  paused: t.Boolean(),
  filtered: t.Boolean(),
  down_since: timeOrNull,
  pending: whole,
  last: t.Union([LastAttempt, t.Null()]),
})
export type WebhookHealth = typeof WebhookHealth.static

/** One minute of a webhook. Latency is from the stored event to its delivery, of those delivered in that minute. */
export const WebhookMinute = t.Object({
  at: time,
  delivered: whole,
  failed_attempts: whole,
  failed_probes: whole,
  p50_ms: wholeOrNull,
  p99_ms: wholeOrNull,
})
export type WebhookMinute = typeof WebhookMinute.static

/** One minute of an account. */
export const Minute = t.Composite([WebhookMinute, t.Object({ events: whole })])
export type Minute = typeof Minute.static

/** A node of several that share a database. Times are by the clock of the database. */
export const Node = t.Object(
  {
    address: t.String({ description: 'The URL at which it answers' }),
    version: t.String({ description: 'The version of its program' }),
    state: t.UnionEnum(NODE_STATES, {
      default: undefined,
      description:
        '`silent`: it was not heard of for 4 s, and others are about to take over. `dead`: it has stopped or was found ' +
        'dead in the last hour, and owns nothing',
    }),
    since: t.String({ format: 'date-time', description: 'When it joined' }),
    last_heard_of: t.String({ format: 'date-time', description: 'When it last showed that it is alive' }),
    account_count: Type.Integer({ minimum: 0, description: 'How many accounts it owns: it sends their deliveries' }),
    accounts: t.Array(t.String(), { description: 'The names of these accounts, the first 100' }),
    pbxs: t.Array(t.String(), { description: 'The names of the PBXs that it owns: it watches them' }),
    maintenance: t.Boolean({ description: 'Whether it is the one that deletes what is too old' }),
    answers: t.Boolean({ description: 'Whether it is the node that answers this request' }),
  },
  { description: 'One of several nodes that share a database' },
)
export type Node = typeof Node.static

export const Overview = t.Object({
  now: time,
  account: t.String(),
  calls: t.Array(LiveCall),
  pbxs: t.Array(PbxStatus),
  webhooks: t.Array(WebhookHealth),
  minutes: t.Array(Minute),
})
export type Overview = typeof Overview.static
