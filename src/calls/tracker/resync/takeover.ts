import { newCall, newChannel } from '../state/initial-state.ts'
import { addConsultation, addToConference, enterBridge } from '../state/registry.ts'
import type { Call, Channel, TrackerState } from '../state/state.ts'

/** Takes over the live calls that an earlier process or another node stored. */

/** A live call as it is stored: it survives JSON. */
export type StoredCall = { readonly call: Call; readonly channels: readonly Channel[] }

type Keyed = Record<string, unknown>

/** Fields that had other names before 0.1.0; a store may still have live calls of such a version. */
const EARLIER_NAMES = {
  call: { told: 'emitted', settled: 'directionKnown' },
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

/** Fields that are stored whatever their values are: they are read before missing ones get theirs. */
const ALWAYS_STORED: ReadonlySet<string> = new Set('account boot startedUs stages queues recordings bridge'.split(' '))

/**
 * Returns the text of a live call as it is stored. Most fields of most calls have the values of a new call, and the
 * text is written again with each event: fields of a call or channel that are `null`, `false` or an empty list are left
 * out, and get these values back when the call is taken over.
 */
export function liveCallText({ call, channels }: StoredCall): string {
  return JSON.stringify({ call: withoutDefaults(call), channels: channels.map(withoutDefaults) })
}

function withoutDefaults(fields: object): Keyed {
  const kept: Keyed = {}
  for (const [key, value] of Object.entries(fields)) {
    const isDefault = value === null || value === false || (Array.isArray(value) && value.length === 0)
    if (!isDefault || ALWAYS_STORED.has(key)) kept[key] = value
  }
  return kept
}

/** Reads a live call back from the store. Throws if the text is not JSON. */
export function readLiveCall(json: string): StoredCall {
  const { call, channels }: { call: Keyed & Record<(typeof LISTS)[number], Keyed[]>; channels: Keyed[] } =
    JSON.parse(json)
  const stages = call.stages.map((one) => ({ shownBy: null, rungOut: false, ...renamed(one, EARLIER_NAMES.stage) }))
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
      const { dial, ...channel } = renamed(one, EARLIER_NAMES.channel)
      return { ...channel, dial: isKeyed(dial) ? renamed(dial, EARLIER_NAMES.dial) : null }
    }),
  } as unknown as StoredCall
}

const isKeyed = (value: unknown): value is Keyed => typeof value === 'object' && value !== null

const renamed = (object: Keyed, names: Readonly<Record<string, string>>): Keyed =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [names[key] ?? key, value]))

/**
 * Puts stored calls back into a tracker, before its first signal. The first snapshot then ends the calls that are over.
 */
export function takeOverLiveCalls(state: TrackerState, stored: readonly StoredCall[]): void {
  for (const { call: known, channels } of stored) {
    const { account } = state
    // A field that an earlier version did not store yet has the value of a new call.
    const call = { ...newCall({ ...known, account }), ...known }
    state.calls.set(call.id, call)
    for (const linkedId of call.linkedIds) state.byLinkedId.set(linkedId, call.id)
    if (call.consultedBy !== null) addConsultation(state, call, call.consultedBy)
    for (const one of channels) {
      const channel = { ...newChannel(one.id, one.endpoint), ...one, bridge: null }
      state.channels.set(channel.id, channel)
      if (one.bridge !== null) enterBridge(state, channel, one.bridge)
      if (channel.onHold && channel.goneUs === null) state.onHold.add(channel.id)
      if (channel.slot !== null && channel.goneUs === null) state.parked.add(channel.id)
      if (channel.conference !== null) addToConference(state, channel, channel.conference)
    }
    state.dirty.add(call.id)
  }
}
