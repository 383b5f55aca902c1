import { type TSchema, Type } from '@sinclair/typebox'
import { t } from 'elysia'
import { ACCOUNT_NAME, described, named, UUID } from '../lib/api-schema.ts'
import { CALL_RESULTS, CALL_STATES, DIRECTIONS, HANGUP_BY, HANGUP_CAUSES, STAGE_KINDS, STAGE_RESULTS } from './enums.ts'
import { type CallEventKind, EVENT_NAMES, type EventKind, type StateEventKind } from './kinds.ts'
import { Agent, Phone, Queue, Trunk } from './states.ts'

/**
 * The bodies of the call events, as receivers get them. Keys never disappear: unknown values are `null`, lists may be
 * `[]`; enumerations are closed. Times are RFC 3339 in UTC with microseconds; durations are whole seconds, rounded
 * down, and `null` until they are over; numbers and ids are strings. `sequence`, not `time`, is the order.
 */
const closed = { additionalProperties: false } as const
type Form = Readonly<Record<string, unknown>>
const id = (description: string) => t.String({ description, form: UUID })
const text = (description: string, form: Form = {}) => t.Union([t.String({ form }), t.Null()], { description })
const time = (description: string) => t.Union([t.String({ format: 'date-time' }), t.Null()], { description })
const seconds = (description: string) => t.Union([Type.Integer({ minimum: 0 }), t.Null()], { description })

/**
 * A closed set of words. Elysia's UnionEnum would declare the first one as the default, and none of these has a
 * default.
 */
const words = <const T extends readonly [string, ...string[]]>(values: T, description: string) =>
  t.UnionEnum(values, { default: undefined, description })
const wordsOrNull = <const T extends readonly [string, ...string[]]>(values: T, description: string) =>
  t.Union([t.UnionEnum(values, { default: undefined }), t.Null()], { description })

/** The account's own record of a number. */
export const Contact = named(
  'Contact',
  t.Object(
    {
      id: text('Its id in that system'),
      name: text('The name of the person'),
      company: text('The company'),
      url: text('A link to it, or `null`'),
      owner: text('The extension of the person who is responsible, or `null`'),
    },
    closed,
  ),
)
export type Contact = typeof Contact.static

/**
 * `extension` is set when the party is one of the PBX's own, `e164` when the PBX's country is known and the number is a
 * possible one there; anonymous: all `null`.
 */
export const Party = named(
  'Party',
  t.Object(
    {
      number: text('The number of the party as the PBX has it; `null` if it is anonymous or unknown'),
      name: text('Its display name, or `null`'),
      extension: text("The extension, if the party is one of the PBX's own; else `null`"),
      e164: text(
        'The number in E.164 form, if the PBX URL names a country and the number is a possible one; else `null`',
        { pattern: '^\\+[1-9][0-9]{1,14}$' },
      ),
      contact: t.Union([Contact, t.Null()], {
        description: 'The contact that was found for an outside number; `null` without a look-up, or if it found none',
      }),
    },
    closed,
  ),
)
export type Party = typeof Party.static
const party = (description: string) => t.Union([Party, t.Null()], { description })

export const Hangup = named(
  'Hangup',
  t.Object(
    {
      cause: words(
        HANGUP_CAUSES,
        'Why the call ended. `normal`: a party hung up. `busy`, `no_answer`, `rejected`: what the called party did. ' +
          '`cancelled`: the caller gave up. `unavailable`: the party could not be reached. `congestion`: the network was ' +
          'overloaded. `invalid_number`: the number does not exist. `pbx_restart`: the PBX restarted. `other`: another ' +
          'cause. `unknown`: the end was not seen',
      ),
      code: t.Union([Type.Integer({ form: { minimum: 0, maximum: 127 } }), t.Null()], {
        description: 'The Q.850 code, or `null`',
      }),
      by: words(HANGUP_BY, 'Who ended the call: `caller`, `callee`, `system` (the PBX), or `unknown`'),
    },
    closed,
  ),
)
export type Hangup = typeof Hangup.static

const CallQueue = named(
  'CallQueue',
  t.Object(
    {
      name: t.String({ description: 'The name of the queue' }),
      position: t.Union([Type.Integer(), t.Null()], {
        description: 'The position of the caller, if the PBX reported it; else `null`',
      }),
      wait_duration: seconds('Whole seconds in the queue; `null` until that is over'),
    },
    closed,
  ),
)

export const Call = named(
  'Call',
  t.Object(
    {
      id: id('The id of the call: a UUIDv7, the same through transfers and restarts'),
      pbx_id: t.String({
        description:
          "The PBX's own id (Asterisk Linkedid, FreeSWITCH uuid of the first channel), for finding the call there",
      }),
      merged_from: t.Array(t.String({ form: UUID }), {
        description: 'The ids of calls that were merged into this one',
      }),
      merged_into: text('The id of the call into which this one was merged; else `null`', UUID),
      parent_id: text('If this is a consultation, the id of the call for which it was made; else `null`', UUID),
      request_id: text('Of a call that was made with `POST /call`, the id of that request; else `null`', UUID),
      direction: words(DIRECTIONS, '`inbound`: from outside. `outbound`: to outside. `internal`: within the PBX'),
      state: words(
        CALL_STATES,
        '`ringing`: nobody has answered yet. `waiting`: in a queue or an IVR. `answered`: two people talk. `ended`: the ' +
          'call is over',
      ),
      from: described(Party, 'Who called'),
      to: described(
        Party,
        'Who was called: the dialled number of an inbound call, the extension of an internal one, the number as sent to the ' +
          'trunk of an outbound one',
      ),
      did: text('The dialled outside number of an inbound call; else `null`'),
      started_at: time('When the call started; `null` if its start was missed'),
      answered_at: time('When the first person answered; never an IVR, a queue or voicemail'),
      ended_at: time('When the call ended; `null` while it is up'),
      duration: seconds('Whole seconds from the start to the end'),
      wait_duration: seconds('Whole seconds from the start to the answer, or to the end of an unanswered call'),
      talk_duration: seconds('Whole seconds from the answer to the end'),
      result: wordsOrNull(
        CALL_RESULTS,
        '`answered`: a person answered. `no_answer`: nobody answered, or the call was declined. `busy`: the called party was ' +
          'busy. `cancelled`: the caller gave up. `failed`: it could not be set up. `voicemail`: voicemail answered. `null` ' +
          'while the call is up',
      ),
      answered_by: party('The party that answered first; `null` if nobody answered'),
      handled_by: t.Array(Party, {
        description: 'The parties that handled the call, in order; the last one owns it',
      }),
      queue: t.Union([CallQueue, t.Null()], { description: 'The last queue of the call, or `null`' }),
      transfers: Type.Integer({ minimum: 0, description: 'The number of transfers so far' }),
      recorded: t.Boolean({ description: 'Whether a recording has started' }),
      hangup: t.Union([Hangup, t.Null()], { description: 'How the call ended; `null` while it is up' }),
      variables: t.Record(t.String(), t.String(), { description: 'The channel variables that the operator chose' }),
      missed: t.Union([t.Boolean(), t.Null()], {
        description:
          'Whether no extension of the PBX answered an inbound or internal call. `null` before its end, and for ' +
          'other calls',
      }),
      missed_by: t.Array(Party, {
        description: 'The extensions that a missed call tried, in order; else empty',
      }),
      stages_omitted: Type.Integer({
        minimum: 0,
        description: 'The number of stages left out because the body would be too large',
      }),
      partial: t.Boolean({ description: 'Whether its start, an answer or its end was missed' }),
    },
    closed,
  ),
)
export type Call = typeof Call.static

export const Stage = named(
  'Stage',
  t.Object(
    {
      id: id('The id of the stage'),
      parent_id: text('The id of the group or queue to which it belongs, or `null`', UUID),
      kind: words(
        STAGE_KINDS,
        '`user`: an extension. `external`: an outside number. `group`: several parties that ring together. `queue`: a queue',
      ),
      target: text(
        'The extension, the outside number, the name of the queue, or the dialplan extension that rang the group',
      ),
      name: text('The display name of the target, or `null`'),
      attempt: Type.Integer({
        minimum: 1,
        description: 'Counts the attempts at this target within the call: 1, 2, …',
      }),
      started_at: time('When it was dialled'),
      answered_at: time('When it was answered, or `null`'),
      ended_at: time('When it stopped ringing, or when that party left the call'),
      ring_duration: seconds('Whole seconds from the first ringing; 0 if it did not ring'),
      talk_duration: seconds('Whole seconds from the answer to the end'),
      result: wordsOrNull(
        STAGE_RESULTS,
        '`answered`. `no_answer`: it rang until it was given up. `busy`, `rejected`: what the phone answered. `cancelled`: ' +
          'the caller gave up. `answered_elsewhere`: another phone of the group answered. `unavailable`: it could not be ' +
          'reached. `congestion`: the network was overloaded. `forwarded`: it was forwarded. `abandoned`: the caller left ' +
          'the queue. `timeout`: the queue gave up. `other`: another cause. `null` while it goes on',
      ),
      forwarded_to: text('The number to which it was forwarded, or `null`'),
    },
    closed,
  ),
)
export type Stage = typeof Stage.static
const aboutStage = described(Stage, 'The stage that the event is about')
const aboutStageOrNull = t.Union([Stage, t.Null()], { description: 'The stage that the event is about' })
const allStages = t.Array(Stage, { description: 'All stages of the call, in order of their start' })

export const Transfer = named(
  'Transfer',
  t.Object(
    {
      kind: words(['blind', 'attended'], '`blind`: without a consultation. `attended`: after one'),
      by: described(Party, 'The party that transferred the call'),
      transferee: party('The party that was transferred, or `null`'),
      to: described(Party, 'The target; for a blind transfer the dialled number'),
      call_id: id('The id of the call that goes on'),
      other_call_id: text('For an attended transfer the id of the call that was merged into it; else `null`', UUID),
    },
    closed,
  ),
)
export type Transfer = typeof Transfer.static
const aboutTransfer = described(Transfer, 'The transfer that the event is about')

export const Recording = named(
  'Recording',
  t.Object(
    {
      id: id('The id of the recording'),
      path: text('Its path on the PBX, as the PBX reported it'),
      format: text('The format of the file, such as `wav`'),
      duration: seconds('Its length in whole seconds'),
      started_at: time('When it started'),
      ended_at: time('When it ended'),
      /** Present if the PBX URL says where the recordings' files are. */
      url: t.Optional(text('A link to the recording, or `null`', { format: 'uri' })),
    },
    closed,
  ),
)
export type Recording = typeof Recording.static

const eventId = t.String({
  description: 'The webhook-id header: the same on every attempt and at every webhook',
  form: UUID,
})
const account = t.String({ description: 'The name of the account', form: ACCOUNT_NAME })
const pbx = t.String({ description: 'The name of the PBX' })
const head = {
  id: eventId,
  sequence: Type.Integer({
    minimum: 1,
    description: 'The number of the event within its call: 1, 2, 3, … without gaps',
  }),
  account,
  pbx,
  call: described(Call, 'The whole call as of that moment'),
}
/** A custom event of a dialplan. */
export const Custom = t.Object(
  {
    name: t.String({ description: 'The name that the PBX gives it', form: { pattern: '^[A-Za-z0-9_.:-]{1,64}$' } }),
    fields: t.Record(t.String(), t.String(), { description: 'What it says, 50 fields at most, as text' }),
  },
  closed,
)
export type Custom = typeof Custom.static
const holder = party('The party that pressed hold, or `null`')

const happened = t.String({ format: 'date-time', description: 'When the event happened, not when it is sent' })
const kind = <const Name extends string>(name: Name) => t.Literal(name, { description: 'The kind of event' })

const body = <const Name extends string, const Extra extends Parameters<typeof t.Object>[0]>(
  name: Name,
  extra: Extra,
) =>
  t.Object(
    {
      time: happened,
      data: t.Object({ name: kind(name), ...head, ...extra }, { description: 'The event', ...closed }),
    },
    closed,
  )

/** Events of states belong to no call: neither `call` nor `sequence`. */
const stateHead = {
  id: eventId,
  account,
  pbx,
  resync: t.Boolean({
    description:
      'Whether the change was found in the lists that a PBX sends after a connection, not reported by an event',
  }),
}
const stateBody = <const Name extends string, const Extra extends Parameters<typeof t.Object>[0]>(
  name: Name,
  extra: Extra,
) =>
  t.Object(
    {
      time: happened,
      data: t.Object({ name: kind(name), ...stateHead, ...extra }, { description: 'The event', ...closed }),
    },
    closed,
  )

/** One schema for each kind of event, by name. */
export const BODIES = {
  call_started: body('call_started', {}),
  dial_started: body('dial_started', { stage: aboutStage }),
  dial_answered: body('dial_answered', { stage: aboutStage }),
  dial_ended: body('dial_ended', { stage: aboutStage }),
  call_blind_transferred: body('call_blind_transferred', { transfer: aboutTransfer }),
  call_attended_transferred: body('call_attended_transferred', { transfer: aboutTransfer }),
  call_ended: body('call_ended', { stages: allStages }),
  call_missed: body('call_missed', { stages: allStages }),
  call_held: body('call_held', { by: holder, stage: aboutStageOrNull }),
  call_resumed: body('call_resumed', { by: holder, stage: aboutStageOrNull }),
  call_saved: body('call_saved', {
    stages: allStages,
    recordings: t.Array(Recording, { description: 'The recordings of the call' }),
  }),
  recording_saved: body('recording_saved', {
    recording: described(Recording, 'The recording that the event is about'),
  }),
  custom: t.Object(
    {
      time: happened,
      data: t.Object(
        {
          name: kind('custom'),
          id: eventId,
          sequence: t.Union([Type.Integer({ minimum: 1 }), t.Null()], {
            description: 'The number of the event before it in its call; `null` without a call',
          }),
          account,
          pbx,
          call: t.Union([Call, t.Null()], {
            description: 'The call of its channel as of that moment; `null` without one',
          }),
          custom: described(Custom, 'What the dialplan says'),
        },
        { description: 'The event', ...closed },
      ),
    },
    closed,
  ),
  phone_changed: stateBody('phone_changed', { phone: described(Phone, 'The phone as of that moment') }),
  trunk_changed: stateBody('trunk_changed', { trunk: described(Trunk, 'The trunk as of that moment') }),
  agent_changed: stateBody('agent_changed', { agent: described(Agent, 'The agent in that queue, as of that moment') }),
  queue_changed: stateBody('queue_changed', { queue: described(Queue, 'The queue as of that moment') }),
} as const satisfies Readonly<Record<EventKind, TSchema>>
// `call_started` is `CallStarted`.
for (const name of EVENT_NAMES)
  named(
    name.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase()),
    BODIES[name],
  )

export type EventBody = (typeof BODIES)[EventKind]['static']
type CustomBody = (typeof BODIES)['custom']['static']
/** The body of a custom event of a call. */
type CustomOfCall = Omit<CustomBody, 'data'> & {
  readonly data: Omit<CustomBody['data'], 'call' | 'sequence'> & { call: Call; sequence: number }
}
/** The body of a call event. */
export type CallEventBody = (typeof BODIES)[Exclude<CallEventKind, 'custom'>]['static'] | CustomOfCall
/** The body of an event about a phone, trunk, agent or queue. */
export type StateEventBody = (typeof BODIES)[StateEventKind]['static']

/** The body of a test request, which is no event. */
type TestBody = {
  readonly time: string
  readonly data: { readonly name: 'test'; readonly id: string; readonly account: string | null }
}
/** The body of a request to a webhook. */
export type SentBody = EventBody | TestBody

/** The record of a saved call, as `GET /call/{id}` returns it. */
export const CallRecord = t.Object(
  {
    call: described(Call, 'The call as it was at its end'),
    stages: t.Array(Stage, { description: 'Its stages in order of their start' }),
    recordings: t.Array(Recording, { description: 'Its recordings' }),
  },
  closed,
)
export type CallRecord = typeof CallRecord.static

/** An event of a call as the tracker emits it, ready to be stored and sent. */
export type CallEvent = {
  readonly id: string
  readonly name: CallEventKind
  readonly callId: string
  readonly sequence: number
  readonly atUs: number
  readonly body: CallEventBody
  /**
   * The stages that filters check, which a body does not have in full: the stage of the event, or all stages so far.
   */
  readonly dialled?: readonly Dialled[]
  /** The E.164 form of the call's `did`, also for filters. */
  readonly didE164?: string | null
}

/** The party that a stage is for. */
export type Dialled = { readonly kind: string; readonly target: string | null; readonly e164?: string | null }
