import type { Dialler, Stamp } from '../picture/groups.ts'
import { channelOf } from '../state/registry.ts'
import { type Channel, type Dial, isVirtual, type TrackerState } from '../state/state.ts'
import { destination, placeAt } from './places.ts'

/** Who dials whom: the channel that rings a party, and the channels behind it, out to the party that calls. */

const MAX_NESTING = 16

/** Returns the diallers of a channel, the nearest first. */
export function diallersOf(state: TrackerState, dialled: Channel | undefined): Dialler[] {
  const diallers: Dialler[] = []
  let channel = dialled
  while (channel !== undefined && diallers.length < MAX_NESTING) {
    const source = channelOf(state, channel.dial?.source ?? null)
    if (source === undefined) return diallers
    const { place = null, placeFollows = false, handedOverBy = null } = channel.dial ?? {}
    const from = place === null ? destination(placeAt(source, beganAt(channel.dial))) : null
    diallers.push(diallerOf(source, place, from, placeFollows && handedOverBy === null))
    channel = isVirtual(source) ? channelOf(state, source.pair) : undefined
  }
  return diallers
}

/** Returns the virtual halves in front of a channel that dialled on its way, the nearest first. */
export function halvesBefore(state: TrackerState, dialled: Channel): Channel[] {
  const halves: Channel[] = []
  let channel = dialled
  while (halves.length < MAX_NESTING) {
    const source = channelOf(state, channel.dial?.source ?? null)
    const half = channelOf(state, source?.pair ?? null)
    if (half === undefined) return halves
    halves.push(half)
    channel = half
  }
  return halves
}

/** Returns the pager as the dialler of a phone of a page, which the PBX rings by itself. */
export function pagerOf(state: TrackerState, source: string | null): Dialler[] {
  const pager = channelOf(state, source)
  return pager === undefined ? [] : [diallerOf(pager, pager.ringing.at(-1)?.place ?? null, null, false)]
}

/** Returns when a dial began, or was found. */
export const beganAt = (dial: Dial | null): Stamp => ({
  us: dial?.beganUs ?? dial?.foundUs ?? 0,
  seq: dial?.beganSeq ?? 0,
})

/** Returns the diallers behind a virtual half; a party has none. */
export const behind = (state: TrackerState, half: Channel): Dialler[] =>
  isVirtual(half) ? diallersOf(state, channelOf(state, half.pair)) : []

/** Describes a dialling channel. */
export const diallerOf = (
  channel: Channel,
  place: string | null,
  from: string | null,
  awaitsPlace: boolean,
): Dialler => ({
  channel: channel.id,
  isHalf: isVirtual(channel),
  place: place ?? from,
  isPlaceReported: place !== null,
  awaitsPlace,
})

/** Returns whether the PBX does not exclude that a queue rings this phone. */
export function isRungByQueue(state: TrackerState, leg: Channel): boolean {
  let channel: Channel | undefined = leg
  for (let depth = 0; channel !== undefined && depth < MAX_NESTING; depth++) {
    const source = channelOf(state, channel.dial?.source ?? null)
    if (source === undefined) return false
    if (channel.dial?.notByQueue !== true) return true
    channel = isVirtual(source) ? channelOf(state, source.pair) : undefined
  }
  return false
}
