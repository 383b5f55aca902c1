import { realPartyOf } from '../state/conversations.ts'
import { newDial } from '../state/initial-state.ts'
import { callOf, channelOf, heardBy } from '../state/registry.ts'
import { type Channel, type Dial, isUp, isVirtual, type TrackerState } from '../state/state.ts'

/** The origin of a dial: the party for which it is made, through any number of virtual halves. */

/**
 * The origin of a dial: a party, no party (the PBX originates it), or unknown so far. `replacing`: a virtual half took
 * the place of a party that transferred, among those who talk on: the dial is for them, and asks nothing.
 */
type Origin =
  | { kind: 'party'; channel: Channel; consulting: boolean; replacing: boolean; through: Channel | null }
  | { kind: 'nobody' }
  | { kind: 'unknown' }

const MAX_NESTING = 16

/**
 * Returns the party that a channel acts for: itself, or the party behind it if it is virtual; none during a
 * consultation.
 */
export function partyFor(state: TrackerState, channel: Channel): Channel | undefined {
  const origin = originOf(state, newDial(channel.id, null, state.nowUs))
  return origin.kind === 'party' && !origin.consulting ? origin.channel : undefined
}

/** Returns the origin of a dial, following its sources through virtual halves. */
export function originOf(state: TrackerState, dial: Dial): Origin {
  if (dial.source === null) return { kind: 'nobody' }
  let source = channelOf(state, dial.source)
  let through: Channel | null = null
  for (let depth = 0; depth < MAX_NESTING && source !== undefined; depth++) {
    if (!isVirtual(source)) {
      // The party that dialled the halves may have transferred the call: then the halves represent the party that
      // replaced it.
      const now = isUp(source) || through === null ? source : (realPartyOf(state, through) ?? source)
      return { kind: 'party', channel: now, consulting: false, replacing: false, through }
    }
    through ??= source
    if (source.half === 1) {
      // Click-to-call through a virtual channel: its first half represents the agent who answered behind the second.
      const agent = answeredBehind(state, source)
      if (agent === undefined) return { kind: 'unknown' }
      return { kind: 'party', channel: agent, consulting: false, replacing: false, through }
    }
    const one = channelOf(state, source.pair)
    if (one === undefined) return { kind: 'unknown' }
    if (one.dial !== null) {
      if (one.dial.source === null) return { kind: 'nobody' }
      source = channelOf(state, one.dial.source)
      continue
    }
    const talker = heardBy(state, one).find((party) => callOf(state, party) !== undefined)
    if (talker === undefined) return { kind: 'unknown' }
    const { adopted } = source
    return { kind: 'party', channel: talker, consulting: !adopted, replacing: adopted, through: source }
  }
  return { kind: 'unknown' }
}

/** Returns whether the PBX rings two parties by itself through the same virtual channel. */
export function isRungThroughSame(state: TrackerState, one: Channel, other: Channel): boolean {
  const half = originatedHalf(state, one)
  return half !== undefined && half === originatedHalf(state, other)
}

/** Returns the outermost virtual half through which a party is rung, if the PBX rings it by itself. */
export function originatedHalf(state: TrackerState, party: Channel): Channel | undefined {
  let rung = party
  for (let depth = 0; depth < MAX_NESTING; depth++) {
    if (rung.dial?.source === null) return rung === party ? undefined : rung
    const half = channelOf(state, channelOf(state, rung.dial?.source ?? null)?.pair ?? null)
    if (half === undefined) return undefined
    rung = half
  }
  return undefined
}

function answeredBehind(state: TrackerState, one: Channel): Channel | undefined {
  const party = realPartyOf(state, one)
  return party?.dial === null || (party?.dial.answeredUs ?? null) !== null ? party : undefined
}
