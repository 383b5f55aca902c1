import type { At } from '../../signal.ts'
import { callOf, channelOf, markChanged, stageOf } from '../state/registry.ts'
import {
  type Call,
  type Channel,
  isUp,
  isVirtual,
  SECOND_LIST_US,
  type Stage,
  type TrackerState,
} from '../state/state.ts'
import { isStill } from '../state/waits.ts'

/** Hold and resume. */

/**
 * How long a resume is settling: a PBX takes a call off hold also when its phone transfers it or hangs up, although
 * nobody pressed resume.
 */
const RESUME_SETTLING_US = 300_000

/** A PBX takes a call off hold and hangs up at the same moment; people need longer for the two. */
const HANGING_UP_US = 100_000

/** Notes that a party pressed hold or resume; pressing the same again changes nothing. */
export function setHold(state: TrackerState, channel: Channel, { onHold, atUs, arrivedUs }: At & Hold): void {
  const isNews = channel.onHold !== onHold
  const call = isNews && !isVirtual(channel) ? callOf(state, channel) : undefined
  if (call !== undefined) call.holds = [...call.holds, { channel: channel.id, onHold, atUs, arrivedUs }]
  channel.onHold = onHold
  channel.holdDoubtUs = null
  if (onHold && isUp(channel)) state.onHold.add(channel.id)
  else state.onHold.delete(channel.id)
}

/** Forgets the hold of a channel that has ended. */
export function forgetHold(state: TrackerState, channel: Channel): void {
  state.onHold.delete(channel.id)
}

type Hold = { readonly onHold: boolean }

/**
 * Compares a hold with a snapshot. A snapshot may be older than the last events, so it counts only if a second one
 * agrees, with no hold or resume reported in between; at once, if nothing was heard since the connection was made.
 */
export function compareHold(state: TrackerState, at: At, channel: Channel, held: Hold & { isNews: boolean }): void {
  const { onHold, isNews } = held
  if (onHold === channel.onHold || !isUp(channel)) channel.holdDoubtUs = null
  else if (channel.holdDoubtUs === null && !isNews) channel.holdDoubtUs = at.arrivedUs
  else if (isNews || at.arrivedUs - (channel.holdDoubtUs ?? at.arrivedUs) >= SECOND_LIST_US) {
    setHold(state, channel, { ...at, onHold })
    markChanged(state, callOf(state, channel))
  }
}

type DueHold = { channel: Channel; stage: Stage | undefined; onHold: boolean; atUs: number }

/** Takes a call's due holds and resumes, each after the answer of its party; drops the holds of parties that left. */
export function takeDueHolds(state: TrackerState, call: Call): DueHold[] {
  if (call.holds.length === 0) return []
  const due: DueHold[] = []
  const settling: Call['holds'][number][] = []
  for (const hold of call.holds) {
    const channel = channelOf(state, hold.channel)
    const stage = stageOf(call, channel?.dial?.stageId ?? null)
    if (channel === undefined || stage?.emitted.ended === true) continue
    if (!hold.onHold && hasLeft(call, channel, hold.atUs)) continue
    const isUnanswered = stage !== undefined && !stage.emitted.answered
    if (
      isUnanswered ||
      (isUp(channel) && isResuming(state, hold)) ||
      settling.some((one) => one.channel === hold.channel)
    )
      settling.push(hold)
    else due.push({ channel, stage, onHold: hold.onHold, atUs: hold.atUs })
  }
  call.holds = settling
  return due
}

/** Returns whether a resume may still turn out to be part of a transfer or hang-up. */
const isResuming = (state: TrackerState, hold: Call['holds'][number]): boolean =>
  !hold.onHold && isStill(state, hold.arrivedUs + RESUME_SETTLING_US)

function hasLeft(call: Call, channel: Channel, sinceUs: number): boolean {
  if (channel.leftUs !== null) return true
  if (channel.goneUs !== null && channel.goneUs - sinceUs < HANGING_UP_US) return true
  return call.transferred.some((one) => one.by === channel.id && one.atUs >= sinceUs)
}
