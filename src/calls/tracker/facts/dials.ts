import type { StageResult } from '../../../events/enums.ts'
import type { At, ChannelSignal } from '../../signal.ts'
import { newDial } from '../state/initial-state.ts'
import { callOf, channelsOf, markUnplaced } from '../state/registry.ts'
import type { Channel, TrackerState } from '../state/state.ts'
import { destination } from './places.ts'

/**
 * Dials as facts: begun, (rang), answered or over; a result may be corrected. Only this file writes them; which stage
 * shows a dial is decided elsewhere (dial-stages.ts).
 */

/** Notes that a channel is dialled. */
export function noteDialled(
  state: TrackerState,
  at: At,
  dest: Channel,
  signal: Omit<Extract<ChannelSignal, { kind: 'dial_begin' }>, 'kind' | 'dest' | 'endpoint' | 'shown'>,
): void {
  const dial = newDial(signal.source, at.atUs, at.arrivedUs)
  // A phone may ring before Asterisk reports its dial.
  if (dest.rangUs !== null) dial.rangUs = at.atUs
  dial.beganSeq = state.seq
  dial.place = destination(signal.place ?? null)
  dial.placeFollows = signal.placeFollows === true
  dial.forwarded = signal.forwarded === true
  dial.notByQueue = signal.byQueue === false
  dial.forConference = signal.forConference === true
  dial.paged = signal.paged === true
  dial.intercom = signal.intercom === true
  dest.dial = dial
}

/**
 * Notes that a list shows a channel as dialled: when that began was not seen. A channel that took a call over counts as
 * dialled, but never rang.
 */
export function noteFoundDialled(
  state: TrackerState,
  dest: Channel,
  source: string | null,
  { rings, paged = false }: { rings: boolean; paged?: boolean | undefined },
): void {
  dest.dial = newDial(source, null, state.nowUs)
  dest.dial.foundUs = state.atUs
  dest.dial.foundRinging = rings
  dest.dial.beganSeq = state.seq
  dest.dial.paged = paged
}

/** Notes that a party took the place of one who was dialled for this source: it was answered at once. */
export function noteTakenOver(at: At, joiner: Channel, source: string): void {
  joiner.dial = newDial(source, at.atUs, at.arrivedUs)
  joiner.dial.answeredUs = at.atUs
}

/** Notes that a party that was dialled for another one is connected with this source now. */
export function noteSource({ dial }: Channel, source: string): void {
  if (dial !== null) dial.source = source
}

/** Notes that the dials of a transferer go on for the transferee. */
export function noteHandedOver(legs: readonly Channel[], transferers: ReadonlySet<string>): void {
  for (const { dial } of legs) if (dial?.source != null && transferers.has(dial.source)) dial.handedOverBy = dial.source
}

/** Notes the extension from which a channel made its last dials. */
export function noteDialledFrom(state: TrackerState, channel: Channel, shown: string): void {
  const call = callOf(state, channel)
  if (call === undefined) return
  for (const { dial } of channelsOf(state, call)) {
    if (dial?.source !== channel.id || !dial.placeFollows) continue
    dial.place = destination(shown)
    dial.placeFollows = false
    markUnplaced(state, call)
  }
}

/** Notes the extension from which a list shows that a dial was made. */
export function noteDialPlace({ dial }: Channel, place: string): void {
  if (dial !== null) dial.place = place
}

/** Notes that a phone rings; its dial may be reported later. */
export function noteRinging(channel: Channel, atUs: number): void {
  if (channel.dial === null) channel.rangUs ??= atUs
  else if (channel.dial.answeredUs === null) channel.dial.rangUs ??= atUs
}

/** Notes that the party of a dial answered. */
export function noteDialAnswered(state: TrackerState, { dial }: Channel, atUs: number): void {
  if (dial === null || dial.answeredUs !== null || dial.endedUs !== null) return
  dial.answeredUs = atUs
  dial.answeredSeq = state.seq
}

/** Notes that a list shows a phone as ringing, or as having rung. */
export function noteFoundRinging({ dial }: Channel, atUs: number): void {
  if (dial === null) return
  dial.rangUs ??= atUs
  dial.foundRinging = true
}

/** Notes that a list shows the party of a dial as answered. */
export function noteFoundAnswered(state: TrackerState, { dial }: Channel): void {
  if (dial === null) return
  dial.answeredUs = state.atUs
  dial.foundAnswered = true
}

/** The end of a dial without an answer. */
export type DialEnd = {
  readonly result: StageResult
  readonly forwardedTo: string | null
  /** The PBX confirms or corrects it a moment later. */
  readonly provisional?: boolean
}

/** Notes the end of a dial that was not answered. app_queue ends each dial twice: the first end has the reason. */
export function noteDialOver(state: TrackerState, at: At, { dial }: Channel, end: DialEnd): void {
  if (dial === null || dial.endedUs !== null || dial.answeredUs !== null) return
  dial.endedUs = at.atUs
  dial.endedSeq = state.seq
  dial.result = end.result
  dial.forwardedTo = end.forwardedTo
  dial.provisional = end.provisional === true
}

/** Corrects or confirms the result of a dial that the PBX took down. */
export function amendDial({ dial }: Channel, result: StageResult | null): void {
  if (dial === null) return
  dial.result = result
  dial.provisional = false
}
