import { Type } from '@sinclair/typebox'
import { t } from 'elysia'
import { NODE_STATES } from '../cluster/cluster.ts'
import { Delivery } from '../deliveries/deliveries.ts'
import { Call, Party, Stage, Transfer } from '../events/bodies.ts'
import { EVENT_NAMES } from '../events/kinds.ts'
import { ACCOUNT_NAME, described, named, UUID, WEBHOOK_URL } from '../lib/api-schema.ts'
import { PBX_STATES } from '../pbx/pbx.ts'
import { PBX_KINDS } from '../pbx/source/pbx-facts.ts'

/** The resources of `GET /overview` and `GET /call/{id}/event`, which are for the page. Times as in the contract. */

const time = (description: string) => t.String({ format: 'date-time', description })
const timeOrNull = (description: string) => t.Union([t.String({ format: 'date-time' }), t.Null()], { description })
const whole = (description: string) => Type.Integer({ minimum: 0, description })
const wholeOrNull = (description: string) => t.Union([Type.Integer({ minimum: 0 }), t.Null()], { description })
const text = (description: string, form = {}) => t.Union([t.String({ form }), t.Null()], { description })

/** One event of a call, with its deliveries. */
export const EventWithDeliveries = named(
  'EventWithDeliveries',
  t.Object({
    id: t.String({ description: 'The id of the event: the header `webhook-id`', form: UUID }),
    name: t.String({ description: 'The kind of event', form: { enum: EVENT_NAMES } }),
    sequence: whole('The place among the events of its call'),
    at: time('When it happened'),
    stage: t.Union([Stage, t.Null()], { description: 'The stage that it is about, or `null`' }),
    transfer: t.Union([Transfer, t.Null()], { description: 'The transfer that it is about, or `null`' }),
    by: t.Union([Party, t.Null()], {
      description: 'The party that put the other one on hold or took it off; else `null`',
    }),
    deliveries: t.Array(Delivery, { description: 'Its deliveries' }),
  }),
)
export type EventWithDeliveries = typeof EventWithDeliveries.static

/** A call that is up, with its stages so far. */
export const LiveCall = named(
  'LiveCall',
  t.Object({
    pbx: t.String({ description: 'The name of the PBX' }),
    call: described(Call, 'The call as it is now'),
    stages: t.Array(Stage, { description: 'Its stages so far' }),
  }),
)
export type LiveCall = typeof LiveCall.static

const PbxEndpoints = named(
  'PbxEndpoints',
  t.Object({
    trunks: t.Array(t.String(), { description: 'Endpoints that count as trunks, at most 100' }),
    phones: t.Array(t.String(), { description: 'Endpoints that count as phones, at most 100' }),
    undecided: t.Array(t.String(), { description: 'Endpoints that were not classified yet, at most 100' }),
  }),
)

/** The state of one PBX of the account. */
export const PbxStatus = named(
  'PbxStatus',
  t.Object({
    name: t.String({ description: 'The name of the PBX' }),
    kind: t.UnionEnum(PBX_KINDS, { default: undefined, description: '`asterisk` or `freeswitch`' }),
    state: t.UnionEnum(PBX_STATES, {
      default: undefined,
      description: '`up`: events arrive. `connecting`, `down`: it is tried again. `refused`: the login was refused',
    }),
    since: timeOrNull('Since when it is in that state'),
    detail: text('Why it is not up; `null` if it is'),
    calls: t.Boolean({ description: 'Whether its URL allows calls to be made, with `calls=`' }),
    /** `trunks` and `extensions` in the URL of the PBX override them. */
    endpoints: described(PbxEndpoints, 'Which endpoints count as trunks and phones'),
  }),
)
export type PbxStatus = typeof PbxStatus.static

const LastAttempt = named(
  'LastAttempt',
  t.Object({
    at: time('When it was made'),
    status: t.Union([Type.Integer({ minimum: 0, form: { minimum: 100, maximum: 599 } }), t.Null()], {
      description: 'The status of the response; `null` if there was none, and by MQTT, which has none',
    }),
    error: text('Why there was no response, or why an MQTT broker refused the event; `null` otherwise'),
    duration_ms: t.Union([t.Number({ form: { minimum: 0 } }), t.Null()], {
      description: 'Milliseconds until the status',
    }),
  }),
)

/** A webhook of the list and the state of its receiver. `down_since` is set while its circuit breaker is open. */
export const WebhookHealth = named(
  'WebhookHealth',
  t.Object({
    url: t.String({ description: 'The URL of the webhook', form: WEBHOOK_URL }),
    occurrence: whole('Which one it is, from 0, if the list has its URL several times'),
    name: text('Its name for people, from its options; `null` if it has none', { maxLength: 100 }),
    paused: t.Boolean({ description: 'Whether its options pause it' }),
    filtered: t.Boolean({ description: 'Whether its options select some events' }),
    events: t.Array(t.UnionEnum(EVENT_NAMES, { default: undefined }), {
      description: 'The kinds of event that it asks for, by its switches and its options',
    }),
    down_since: timeOrNull('Since when only probes are sent to it; `null` if it is not down'),
    refusing_since: timeOrNull(
      'The first of at least five answers in a row that are a 4xx other than 408 and 429, or refusals of an MQTT broker; ' +
        '`null` after a success',
    ),
    pending: whole('How many deliveries are pending for it'),
    last: t.Union([LastAttempt, t.Null()], {
      description: 'Its last attempt; `null` if there was none since the start',
    }),
  }),
)
export type WebhookHealth = typeof WebhookHealth.static

/** One minute of a webhook. Latency is from the stored event to its delivery, of those delivered in that minute. */
export const WebhookMinute = named(
  'WebhookMinute',
  t.Object({
    at: time('When the minute began'),
    delivered: whole('How many deliveries were delivered'),
    failed_attempts: whole('How many attempts failed, probes not counted'),
    failed_probes: whole('How many probes failed'),
    p50_ms: wholeOrNull('Half of the deliveries took at most this long from the event; `null` if there was none'),
    p99_ms: wholeOrNull('99 of 100 deliveries took at most this long from the event; `null` if there was none'),
  }),
)
export type WebhookMinute = typeof WebhookMinute.static

/** One minute of an account. */
export const Minute = named(
  'Minute',
  t.Composite([WebhookMinute, t.Object({ events: whole('How many events were stored') })]),
)
export type Minute = typeof Minute.static

/** A period of an account's last day or week; all figures are `null` while the service did not run. */
export const TrafficPeriod = named(
  'TrafficPeriod',
  t.Object({
    at: time('When the period began'),
    events: wholeOrNull('How many events were stored'),
    delivered: wholeOrNull('How many deliveries were delivered'),
    failed_attempts: wholeOrNull('How many attempts failed, probes not counted'),
    failed_probes: wholeOrNull('How many probes failed'),
    p50_ms: wholeOrNull('Half of the deliveries took at most this long from the event; `null` if there was none'),
    p99_ms: wholeOrNull('99 of 100 deliveries took at most this long from the event; `null` if there was none'),
  }),
)
export type TrafficPeriod = typeof TrafficPeriod.static

/** A node of several that share a database. Times are by the clock of the database. */
const NodePbx = t.Object({
  name: t.String({ description: 'The name of the PBX' }),
  state: t.UnionEnum(PBX_STATES, { default: undefined, description: 'Whether the node is connected to it' }),
  since: t.Union([t.String({ format: 'date-time' }), t.Null()], {
    description: 'Since when; `null`: the node has just taken it over',
  }),
  error: t.Union([t.String(), t.Null()], { description: 'Why the node is not connected' }),
})

export const Node = t.Object(
  {
    id: t.String({ description: 'Its id, another one after each start' }),
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
    clock_ahead_ms: t.Union([Type.Integer(), t.Null()], {
      description: 'How far its clock is ahead of that of the database; `null`: not known',
    }),
    account_count: Type.Integer({ minimum: 0, description: 'How many accounts it owns: it sends their deliveries' }),
    accounts: t.Array(t.String(), { description: 'The names of these accounts, the first 100' }),
    pbxs: t.Array(t.String(), { description: 'The names of the PBXs that it owns: it watches them' }),
    pbx_states: t.Array(NodePbx, { description: 'These PBXs, each with its state' }),
    presets: t.Array(t.String(), {
      description: 'The names of its presets of CRMs; empty for a node of an earlier version, which does not say',
    }),
    lacking_presets: t.Array(t.String(), {
      description:
        'The presets that another node has and it lacks: it sends for an account that uses one only while no node with ' +
        'this preset is up',
    }),
    maintenance: t.Boolean({ description: 'Whether it deletes the old records of all nodes' }),
    answers: t.Boolean({ description: 'Whether it is the node that answers this request' }),
  },
  { description: 'One of several nodes that share a database' },
)
export type Node = typeof Node.static

export const Overview = named(
  'Overview',
  t.Object({
    now: time('The time of the service'),
    account: t.String({ description: 'The name of the account', form: ACCOUNT_NAME }),
    calls: t.Array(LiveCall, { description: 'The calls that are up, the newest first, at most 500' }),
    call_count: whole('How many calls are up'),
    pbxs: t.Array(PbxStatus, { description: 'The PBXs of the account' }),
    webhooks: t.Array(WebhookHealth, { description: 'The list of webhooks, each with the state of its receiver' }),
    minutes: t.Array(Minute, { description: 'The last hour, minute by minute' }),
  }),
)
export type Overview = typeof Overview.static
