import { callOf, channelOf, channelsOf, heardBy, stageOf } from './registry.ts'
import { type Call, type Channel, isUp, isVirtual, type TrackerState } from './state.ts'

/** Conversations: the real parties that virtual halves represent, and the parties that talked with each other. */

/**
 * Returns the real parties on the other side of a virtual half: those in a bridge with its pair now, else those that
 * dialled it or that it dialled. Parties in the same bridge as the half itself are on this side.
 */
function partiesBehind(state: TrackerState, half: Channel, seen = new Set<string>()): Channel[] {
  const pair = channelOf(state, half.pair)
  if (pair === undefined || seen.has(half.id)) return []
  seen.add(half.id).add(pair.id)
  const across = (channel: Channel): Channel[] => (isVirtual(channel) ? partiesBehind(state, channel, seen) : [channel])
  const members = pair.bridge === null ? [] : (state.bridges.get(pair.bridge) ?? [])
  const bridged = members.flatMap((id) => channelOf(state, id) ?? []).filter((one) => !seen.has(one.id) && isUp(one))
  const parties = bridged.flatMap(across)
  if (parties.length > 0) return parties
  if (pair.half === 1) {
    const source = channelOf(state, pair.dial?.source ?? null)
    return source === undefined || seen.has(source.id) ? [] : across(source)
  }
  const call = callOf(state, pair) ?? callOf(state, half)
  const dialled = call === undefined ? [] : channelsOf(state, call).filter((one) => one.dial?.source === pair.id)
  const answered = dialled.filter((one) => one.dial?.answeredUs !== null && isUp(one))
  const ringing = dialled.filter((one) => isUp(one) && one.dial?.endedUs === null)
  // If several ring, or may ring in turn, none represents the others.
  const isOne = ringing.length === 1 && ringing.every((one) => isVirtual(one) || isAlone(call, one))
  return (answered.length > 0 ? answered : isOne ? ringing : []).flatMap(across)
}

const isAlone = (call: Call | undefined, leg: Channel): boolean =>
  call !== undefined && stageOf(call, leg.dial?.stageId ?? null)?.parentId === null

/** Returns the real party that a channel is or represents; those in `except` do not count. */
export function realPartyOf(
  state: TrackerState,
  channel: Channel | undefined,
  except: readonly Channel[] = [],
): Channel | undefined {
  if (channel === undefined || !isVirtual(channel)) return channel
  const parties = channelOf(state, channel.pair) === undefined ? heardBy(state, channel) : partiesBehind(state, channel)
  return parties.find((one) => !except.includes(one))
}

/** More than any transfer needs. */
const MAX_TALKED = 8

/** Notes that a party now talks with others. */
export function noteConversation(channel: Channel, others: readonly Channel[]): void {
  for (const other of others) {
    if (channel.talked.at(-1) === other.id) continue
    channel.talked = [...channel.talked.filter((id) => id !== other.id), other.id].slice(-MAX_TALKED)
  }
}

/** Notes that a transferer is out of the call, however long its channel stays up. A phone that still rings is not. */
export function markLeft(transferer: Channel, atUs: number): void {
  if (transferer.dial === null || transferer.dial.answeredUs !== null) transferer.leftUs ??= atUs
}

/** Returns the parties that a channel talked with and that are still up, the earliest first. */
export function talkedWith(state: TrackerState, channel: Channel): Channel[] {
  return channel.talked.flatMap((id) => channelOf(state, id) ?? []).filter(isUp)
}
