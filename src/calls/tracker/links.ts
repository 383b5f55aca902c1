import type { At } from '../signal.ts'
import { callByLinkedId, callOf, channelOf, claimLinkedId, meet, touch } from './calls.ts'
import { merge } from './merges.ts'
import { partyFor } from './origin.ts'
import type { Channel, TrackerState } from './state.ts'
import { isUp, isVirtual } from './state.ts'
import { join } from './transfers.ts'

/** Calls that turn out to belong together, and rooms in which many meet. */

/** A transfer or pick-up that explains a new id of a call comes with it; after this it is taken for what it is, two calls made one. */
const LINK_SETTLE_US = 300_000

/** The PBX counts a channel to another call from now on. */
export function linkCalls(state: TrackerState, channel: Channel, linkedId: string): void {
  channel.linkedId = linkedId
  const own = callOf(state, channel)
  const other = callByLinkedId(state, linkedId)
  if (own === undefined || own === other || isVirtual(channel)) return
  if (other === undefined) {
    claimLinkedId(state, own, linkedId)
    return
  }
  if (own.consultedBy !== null || other.ended || state.links.some((link) => link.channel === channel.id)) return
  state.links.push({ channel: channel.id, callId: other.id, dueUs: state.nowUs + LINK_SETTLE_US })
}

/** Joins what nothing explained in time. */
export function settleLinks(state: TrackerState): void {
  while (state.links.length > 0) {
    const link = state.links[0]
    if (link === undefined || link.dueUs > state.nowUs) return
    state.links.shift()
    const channel = channelOf(state, link.channel)
    const own = callOf(state, channel)
    const other = state.calls.get(link.callId)
    if (channel === undefined || own === undefined || other === undefined || own === other || own.ended || other.ended)
      continue
    const into = channelOf(state, other.root)
    const [first, second] = (own.startedUs ?? 0) < (other.startedUs ?? 0) ? [own, other] : [other, own]
    if (first === other && into !== undefined && own.root === channel.id && own.stages.length === 0 && isUp(channel)) {
      join(state, { atUs: state.atUs, arrivedUs: state.nowUs }, channel, into)
    } else merge(state, second, first)
  }
}

/** A conference is answered, by nobody, once two are in it. */
export function enterRoom(state: TrackerState, at: At, channel: Channel, room: string): void {
  if (!isUp(channel)) return
  const members = meet(state, channel, room)
  const present = [...members].flatMap((id) => channelOf(state, id) ?? [])
  const parties = new Set(present.flatMap((one) => (isVirtual(one) ? (partyFor(state, one) ?? []) : one)))
  if (parties.size < 2) return
  for (const party of parties) {
    const call = callOf(state, party)
    if (call === undefined) continue
    call.answeredUs ??= at.atUs
    touch(state, call)
  }
}
