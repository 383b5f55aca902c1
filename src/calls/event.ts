import { type TSchema, Type } from '@sinclair/typebox'
import { t } from 'elysia'
import {
  CALL_RESULTS,
  CALL_STATES,
  DIRECTIONS,
  HANGUP_BY,
  HANGUP_CAUSES,
  STAGE_KINDS,
  STAGE_RESULTS,
} from '../lib/call-enums.ts'
import type { EventKind } from '../lib/event-kinds.ts'

/**
 * The bodies of the call events, as receivers get them. Keys never disappear: what is unknown is `null`, lists may be
 * `[]`; enumerations are closed. Times are RFC 3339 in UTC with microseconds, durations whole seconds rounded down and
 * `null` until they are over, numbers and ids strings. `sequence`, not `time`, is the order.
 */
const closed = { additionalProperties: false } as const
const text = t.Union([t.String(), t.Null()])
const time = t.Union([t.String({ format: 'date-time' }), t.Null()])
const seconds = t.Union([Type.Integer({ minimum: 0 }), t.Null()])

/** A closed set of words. Elysia's UnionEnum would name the first one as default, which none of ours has. */
const words = <const T extends readonly [string, ...string[]]>(values: T) => t.UnionEnum(values, { default: undefined })
const wordsOrNull = <const T extends readonly [string, ...string[]]>(values: T) =>
  t.Union([t.UnionEnum(values, { default: undefined }), t.Null()])

/**
 * `extension` is set when the party is one of the PBX's own, `e164` when the PBX's country is known and the number is a
 * possible one there; anonymous: all `null`.
 */
export const Party = t.Object({ number: text, name: text, extension: text, e164: text }, closed)
export type Party = typeof Party.static
const party = t.Union([Party, t.Null()])

export const Hangup = t.Object(
  { cause: words(HANGUP_CAUSES), code: t.Union([Type.Integer(), t.Null()]), by: words(HANGUP_BY) },
  closed,
)
export type Hangup = typeof Hangup.static

export const CallQueue = t.Object(
  { name: t.String(), position: t.Union([Type.Integer(), t.Null()]), wait_duration: seconds },
  closed,
)

export const Call = t.Object(
  {
    id: t.String(),
    pbx_id: t.String(),
    merged_from: t.Array(t.String()),
    merged_into: text,
    parent_id: text,
    direction: words(DIRECTIONS),
    state: words(CALL_STATES),
    from: Party,
    to: Party,
    did: text,
    started_at: time,
    answered_at: time,
    ended_at: time,
    duration: seconds,
    wait_duration: seconds,
    talk_duration: seconds,
    result: wordsOrNull(CALL_RESULTS),
    answered_by: party,
    handled_by: t.Array(Party),
    queue: t.Union([CallQueue, t.Null()]),
    transfers: Type.Integer({ minimum: 0 }),
    recorded: t.Boolean(),
    hangup: t.Union([Hangup, t.Null()]),
    variables: t.Record(t.String(), t.String()),
    missed: t.Union([t.Boolean(), t.Null()]),
    missed_by: t.Array(Party),
    stages_omitted: Type.Integer({ minimum: 0 }),
    partial: t.Boolean(),
  },
  closed,
)
export type Call = typeof Call.static

export const Stage = t.Object(
  {
    id: t.String(),
    parent_id: text,
    kind: words(STAGE_KINDS),
    target: text,
    name: text,
    attempt: Type.Integer({ minimum: 1 }),
    started_at: time,
    answered_at: time,
    ended_at: time,
    ring_duration: seconds,
    talk_duration: seconds,
    result: wordsOrNull(STAGE_RESULTS),
    forwarded_to: text,
  },
  closed,
)
export type Stage = typeof Stage.static
const stageOrNull = t.Union([Stage, t.Null()])

export const Transfer = t.Object(
  {
    kind: words(['blind', 'attended']),
    by: Party,
    transferee: party,
    to: Party,
    call_id: t.String(),
    other_call_id: text,
  },
  closed,
)
export type Transfer = typeof Transfer.static

export const Recording = t.Object(
  {
    id: t.String(),
    path: text,
    format: text,
    duration: seconds,
    started_at: time,
    ended_at: time,
    /** Present if the PBX URL has the place of the recordings' files. */
    url: t.Optional(text),
  },
  closed,
)
export type Recording = typeof Recording.static

const head = {
  id: t.String({ description: 'The webhook-id header: the same on every attempt and at every webhook' }),
  sequence: Type.Integer({ minimum: 1 }),
  account: t.String(),
  pbx: t.String(),
  call: Call,
}

const body = <const Name extends string, const Extra extends Parameters<typeof t.Object>[0]>(
  name: Name,
  extra: Extra,
) =>
  t.Object(
    {
      time: t.String({ format: 'date-time' }),
      data: t.Object({ name: t.Literal(name), ...head, ...extra }, closed),
    },
    closed,
  )

/** One schema for each kind of event, by name. */
export const BODIES = {
  call_started: body('call_started', {}),
  dial_started: body('dial_started', { stage: Stage }),
  dial_answered: body('dial_answered', { stage: Stage }),
  dial_ended: body('dial_ended', { stage: Stage }),
  call_blind_transferred: body('call_blind_transferred', { transfer: Transfer }),
  call_attended_transferred: body('call_attended_transferred', { transfer: Transfer }),
  call_ended: body('call_ended', { stages: t.Array(Stage) }),
  call_missed: body('call_missed', { stages: t.Array(Stage) }),
  call_held: body('call_held', { by: party, stage: stageOrNull }),
  call_resumed: body('call_resumed', { by: party, stage: stageOrNull }),
  call_saved: body('call_saved', { stages: t.Array(Stage), recordings: t.Array(Recording) }),
  recording_saved: body('recording_saved', { recording: Recording }),
} as const satisfies Readonly<Record<EventKind, TSchema>>

export type EventBody = (typeof BODIES)[EventKind]['static']

/** The record of a saved call, as `GET /call/{id}` returns it. */
export const CallRecord = t.Object({ call: Call, stages: t.Array(Stage), recordings: t.Array(Recording) }, closed)
export type CallRecord = typeof CallRecord.static

/** An event of a call as the tracker emits it, ready to be stored and sent. */
export type CallEvent = {
  readonly id: string
  readonly name: EventKind
  readonly callId: string
  readonly sequence: number
  readonly atUs: number
  readonly body: EventBody
  /**
   * The stages that filters of webhooks go by, since the body has not all of them: the one that it is about, or all so
   * far.
   */
  readonly dialled?: readonly Dialled[]
  /** The E.164 form of the call's `did`, for the same purpose. */
  readonly didE164?: string | null
}

/** The party that a stage is for. */
export type Dialled = { readonly kind: string; readonly target: string | null; readonly e164?: string | null }
