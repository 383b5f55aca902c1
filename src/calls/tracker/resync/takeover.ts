import { OF_EARLIER_VERSION } from '../rules/arrange.ts'
import { newCall, newChannel, newDial, newStage } from '../state/initial-state.ts'
import { restoreCall, restoreChannel } from '../state/registry.ts'
import type { Call, Channel, Ringing, TrackerState } from '../state/state.ts'

/** Takes over the live calls that an earlier process or another node stored. */

/** A live call as it is stored: it survives JSON. */
export type StoredCall = { readonly call: Call; readonly channels: readonly Channel[] }

type Keyed = Record<string, unknown>

/** Fields that had other names in an earlier version; a store may still have its live calls. */
const EARLIER_NAMES = {
  call: { told: 'emitted', settled: 'directionKnown', partial: 'unseen' },
  recall: { waiting: 'transferee' },
  stage: { told: 'emitted', holdUs: 'settlingSinceUs' },
  queue: { isElsewhere: 'leftByKey' },
  channel: {
    dialled: 'dialledNumber',
    room: 'inConference',
    waiting: 'inHoldingBridge',
    meets: 'conference',
    held: 'onHold',
  },
  dial: { forRoom: 'forConference' },
} as const

/** Lists of a call in which an earlier version named the items' fields differently. */
const LISTS = ['stages', 'queues', 'recordings'] as const

/** Returns a new stage. Each has lists of its own. */
const anyStage = () =>
  newStage({ id: '', kind: 'user', target: null, name: null, attempt: 1, startedUs: null, source: null })

/** The values of new calls and stages, which need not be stored. */
const NEW_CALL: Keyed = newCall({ id: '', account: null, boot: null, pbxId: '', startedUs: null })
const NEW_STAGE: Keyed = anyStage()
const NEW_CHANNEL: Keyed = newChannel('', { kind: 'virtual', number: null, name: null })
const NEW_DIAL: Keyed = newDial(null, null, 0)

/** Fields that are stored whatever their values are: they are read before missing ones get theirs. */
const ALWAYS_STORED = namesOf('id model account boot pbxId startedUs recordings queues endpoint bridge kind')

/** Fields that rarely change once they are known. */
const FACTS =
  namesOf(`id account boot pbxId startedUs linkedIds root channels direction directionKnown from to did parentId kind
  target name attempt legs source linkedId endpoint dialledNumber shown`)

function namesOf(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/))
}

/** A part of the fields of a call, of its stages and of its channels, each list in its order. */
type Fields = { readonly call: Keyed; readonly stages: readonly Keyed[]; readonly channels: readonly Keyed[] }

/**
 * Returns the text of a live call as it is stored. It is written again with each event, so it is short and ends with
 * what rarely changes: Postgres logs a changed row without the end that it has in common with the row before. Fields
 * that have the values of a new call, stage, channel or dial are left out, and get these values back when the call is
 * taken over.
 */
export function liveCallText({ call: { stages, ...call }, channels }: StoredCall): string {
  const newOfCall = { ...NEW_CHANNEL, callId: call.id }
  const all: Fields = {
    call: stored(call, NEW_CALL),
    stages: stages.map((stage) => stored(stage, NEW_STAGE)),
    channels: channels.map(({ dial, ...channel }) => ({
      ...stored(channel, newOfCall),
      ...(dial === null ? {} : { dial: stored(dial, NEW_DIAL) }),
    })),
  }
  const part = (isWanted: (name: string) => boolean): Fields => ({
    call: some(all.call, isWanted),
    stages: all.stages.map((one) => some(one, isWanted)),
    channels: all.channels.map((one) => some(one, isWanted)),
  })
  return JSON.stringify({ ...part((name) => !FACTS.has(name)), facts: part((name) => FACTS.has(name)) })
}

/** Returns the fields that have to be stored. */
function stored(fields: Keyed, defaults: Keyed): Keyed {
  const isDefault = (value: unknown, usual: unknown) => value === usual || (Array.isArray(value) && value.length === 0)
  return some(fields, (name) => ALWAYS_STORED.has(name) || !isDefault(fields[name], defaults[name]))
}

function some(fields: Keyed, isWanted: (name: string) => boolean): Keyed {
  const kept: Keyed = {}
  for (const name in fields) if (isWanted(name)) kept[name] = fields[name]
  return kept
}

type Lists = Readonly<Record<(typeof LISTS)[number], readonly Keyed[]>>
type Text = { readonly call: Keyed & Lists; readonly channels: readonly Keyed[] }

/** Puts the fields of a text together again. In earlier versions a call had its stages in itself, and all fields. */
function joined(text: Text | (Fields & { readonly facts: Fields })): Text {
  if (!('facts' in text)) return text
  const { call, stages, channels, facts } = text
  const each = (ones: readonly Keyed[], more: readonly Keyed[]) => ones.map((one, at) => ({ ...one, ...more[at] }))
  // This program stored it: it has the lists of a call.
  return {
    call: { ...call, ...facts.call, stages: each(stages, facts.stages) } as unknown as Text['call'],
    channels: each(channels, facts.channels),
  }
}

/** Reads a live call back from the store. Throws if the text is not JSON. */
export function readLiveCall(json: string): StoredCall {
  const { call, channels } = joined(JSON.parse(json))
  const isEarlier = !('model' in call)
  const stages = call.stages.map((one) => ({
    ...anyStage(),
    ...(isEarlier ? decidedBefore(one) : {}),
    ...renamed(one, EARLIER_NAMES.stage),
  }))
  const queues = call.queues.map((one) => ({ entry: null, ...renamed(one, EARLIER_NAMES.queue) }))
  const recordings = call.recordings.map((one) => ({
    whileBridged: false,
    recordedUs: 0,
    sinceUs: one.startedUs,
    ...one,
  }))
  const recall = isKeyed(call.recall) ? renamed(call.recall, EARLIER_NAMES.recall) : null
  // This program stored it: it has the shape of the state under these names.
  return {
    call: { ...renamed(call, EARLIER_NAMES.call), recall, stages, queues, recordings },
    channels: channels.map((one) => {
      const { dial, group, inTurn: _, ...channel } = renamed(one, EARLIER_NAMES.channel)
      const ownDial = isKeyed(dial) ? readDial(renamed(dial, EARLIER_NAMES.dial)) : null
      const leftUs = isKeyed(dial) && typeof dial.leftUs === 'number' ? dial.leftUs : null
      return { callId: call.id, ringing: ringingOf(group), leftUs, ...channel, dial: ownDial }
    }),
  } as unknown as StoredCall
}

/** Before 0.3.0 a dial had `byQueue`: `null` if the PBX did not report it. */
const readDial = ({ byQueue, ...dial }: Keyed): Keyed => ({ ...NEW_DIAL, notByQueue: byQueue === false, ...dial })

/** The groups that a version before 0.3.0 made stay, as far as it did not store the facts. */
const decidedBefore = ({ kind, answered }: Keyed): Keyed =>
  kind === 'group' ? { key: OF_EARLIER_VERSION } : { placed: answered === true }

/** Versions before 0.3.0 stored only the phones that a channel rang at that moment, and not since when. */
const ringingOf = (group: unknown): readonly Ringing[] =>
  typeof group === 'string' ? [{ place: group, from: { us: 0, seq: 0 }, until: null, isNewAttempt: false }] : []

const isKeyed = (value: unknown): value is Keyed => typeof value === 'object' && value !== null

const renamed = (object: Keyed, names: Readonly<Record<string, string>>): Keyed =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [names[key] ?? key, value]))

/**
 * Puts stored calls back into a tracker, before its first signal. The first snapshot then ends the calls that are over.
 */
export function takeOverLiveCalls(state: TrackerState, stored: readonly StoredCall[]): void {
  // What happens from now on is later than all that the earlier process noted, within the same microsecond too.
  state.seq = Math.max(state.seq, ...stored.map(lastSeqOf))
  for (const { call: known, channels } of stored) {
    const { account } = state
    // A field that an earlier version did not store yet has the value of a new call.
    const call = { ...newCall({ ...known, account }), ...known }
    restoreCall(state, call)
    for (const one of channels) restoreChannel(state, { ...newChannel(one.id, one.endpoint), ...one })
  }
}

/** Returns the last place in the order of signals that a stored call has. */
function lastSeqOf({ call, channels }: StoredCall): number {
  let last = 0
  const note = (...all: readonly (number | undefined)[]): void => {
    for (const seq of all) last = Math.max(last, seq ?? 0)
  }
  for (const { failedSeq } of call.stages) note(failedSeq)
  for (const { dial, seenSeq, goneSeq, moves = [], ringing = [] } of channels) {
    note(seenSeq, goneSeq, dial?.beganSeq, dial?.answeredSeq, dial?.endedSeq)
    for (const { seq } of moves) note(seq)
    for (const { from, until } of ringing) note(from.seq, until?.seq)
  }
  return last
}
