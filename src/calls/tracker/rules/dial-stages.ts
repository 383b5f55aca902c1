import { halvesBefore, isRungByQueue } from '../facts/diallers.ts'
import { nameEndpoint } from '../facts/endpoints.ts'
import { channelOf, dropChannelsOf, legsOf, markChanged, markUnplaced, stageOf } from '../state/registry.ts'
import { addLeg, addStage, awaitEnd, beginAgain, dropStage, noteMemberRang } from '../state/stage-moves.ts'
import { type Call, type Channel, isUp, isVirtual, type Stage, type TrackerState } from '../state/state.ts'
import { decideDirectionByDial } from './direction.ts'
import { noteCallGoesOn } from './hangups.ts'

/** The stages of dials. */

/**
 * Gives a dial its stage: a new one, or the stage of another device of the same party. It rings for `party`; `own`: it
 * is the agent's own phone.
 */
export function assignStage(
  state: TrackerState,
  call: Call | undefined,
  dest: Channel,
  { party, own = false }: { party: Channel | null; own?: boolean },
): void {
  const dial = dest.dial
  if (call === undefined || dial === null) return
  const sourceId = party?.id ?? null
  const kind = dest.endpoint.kind === 'external' ? 'external' : 'user'
  const target = dest.endpoint.number
  const same = stageOfOtherDevice(state, call, { kind, target, source: sourceId }, dest)
  const before = same === undefined ? rungBefore(state, call, { kind, target, source: sourceId }, dest) : undefined
  if (before?.emitted.ended === false) {
    awaitEnd(before)
    return
  }
  if (before !== undefined) ringAgain(state, call, before, dial.beganUs)
  const stage =
    same ??
    before ??
    addStage(state, call, { kind, target, source: sourceId, name: dest.endpoint.name, startedUs: dial.beganUs })
  addLeg(stage, dest, own)
  markUnplaced(state, call)
  nameStage(state, stage, stage.name ?? dest.endpoint.name)
  noteCallGoesOn(call)
  if (!own) decideDirectionByDial(state, call, dest, party)
  markChanged(state, call)
}

/**
 * Returns the stage in which another device of the party rings, as long as one does; a later dial is a new attempt,
 * even if the first is not over yet.
 */
export function stageOfOtherDevice(
  state: TrackerState,
  call: Call,
  of: Pick<Stage, 'kind' | 'target' | 'source'>,
  dest: Channel,
): Stage | undefined {
  return call.stages.find(
    (stage) =>
      stage.kind === of.kind &&
      stage.target === of.target &&
      stage.source === of.source &&
      isOpen(stage) &&
      !stage.answered &&
      legsRinging(state, stage) &&
      !isOfLeftQueue(state, call, stage, dest),
  )
}

/**
 * Returns the stage of a party that the same visit of a queue, or the same group, rang before: it is rung again. A
 * group that the PBX rings anew is another attempt.
 */
export function rungBefore(
  state: TrackerState,
  call: Call,
  of: Pick<Stage, 'kind' | 'target' | 'source'>,
  dest?: Channel,
): Stage | undefined {
  return call.stages.findLast((stage) => {
    if (stage.kind !== of.kind || stage.target !== of.target || stage.source !== of.source) return false
    const parent = stageOf(call, stage.parentId)
    if (parent === undefined || parent.ended || parent.rungOut || stage.answered || stage.placed) return false
    const shown = channelOf(state, parent.shownBy)?.ringing ?? []
    const isAnew = shown.some(({ isNewAttempt, from }) => isNewAttempt && from.us > (stage.startedUs ?? 0))
    return !isAnew && !isOfLeftQueue(state, call, stage, dest)
  })
}

/** Begins another ringing of a stage, whose last one was emitted to its end. */
export function ringAgain(state: TrackerState, call: Call, stage: Stage, startedUs: number | null): void {
  let parent = stageOf(call, stage.parentId)
  for (let depth = 0; parent !== undefined && depth < MAX_NESTING; depth++) {
    noteMemberRang(parent, stage.rangUs)
    parent = stageOf(call, parent.parentId)
  }
  const { legs } = stage
  beginAgain(call, stage, { startedUs, foundUs: foundUs(state, stage) })
  forgetLegs(state, call, legs)
}

/** Returns when a party that began to ring unseen was found; `null` if its phones are forgotten. */
function foundUs(state: TrackerState, stage: Stage): number | null {
  const found = legsOf(state, stage).flatMap(({ dial }) => dial?.foundUs ?? dial?.beganUs ?? [])
  return found.length === 0 ? null : Math.min(...found)
}

/** Drops a stage whose events were all emitted, and its channels. */
export function forgetStage(state: TrackerState, call: Call, stage: Stage): void {
  dropStage(call, stage)
  forgetLegs(state, call, stage.legs)
}

/** Drops the channels of legs that no stage has any more, and the virtual halves through which they were dialled. */
function forgetLegs(state: TrackerState, call: Call, legs: readonly string[]): void {
  const gone = new Set<string>()
  for (const id of legs) for (const channel of chainOf(state, id)) gone.add(channel.id)
  for (const other of call.stages) for (const id of other.legs) gone.delete(id)
  gone.delete(call.root ?? '')
  dropChannelsOf(state, call, gone)
}

/** Returns a leg and the virtual halves through which it was dialled, if all of them are gone. */
function chainOf(state: TrackerState, legId: string): Channel[] {
  const chain: Channel[] = []
  let channel = channelOf(state, legId)
  while (channel !== undefined && !isUp(channel) && !chain.includes(channel)) {
    chain.push(channel)
    const source = channelOf(state, channel.dial?.source ?? null)
    if (source === undefined || !isVirtual(source) || isUp(source)) return chain
    const one = channelOf(state, source.pair)
    if (one === undefined || isUp(one)) return chain
    chain.push(source)
    channel = one
  }
  return chain
}

/** Names the party of a stage, and its devices that show no name: FreeSWITCH shows it at one of them only. */
export function nameStage(state: TrackerState, stage: Stage, name: string | null): void {
  stage.name = name
  for (const id of stage.legs) {
    const device = channelOf(state, id)
    if (device?.endpoint.name === null) nameEndpoint(device, name)
  }
}

/**
 * Returns whether a stage belongs to a queue that the caller has left, so that its phones are about to stop. A dialler
 * outside the queue shows it too.
 */
function isOfLeftQueue(state: TrackerState, call: Call, stage: Stage, dest: Channel | undefined): boolean {
  let id = stage.parentId
  for (let depth = 0; id !== null && depth < MAX_NESTING; depth++) {
    const queue = call.queues.find(({ stageId }) => stageId === id)
    if (queue !== undefined) return queue.answeredUs === null && (queue.leftUs !== null || isPastQueue(state, dest))
    id = stageOf(call, id)?.parentId ?? null
  }
  return false
}

const isPastQueue = (state: TrackerState, dest: Channel | undefined): boolean =>
  dest !== undefined && channelOf(state, dest.dial?.source ?? null) !== undefined && !isRungByQueue(state, dest)

/** Returns whether a stage has not ended yet. */
const isOpen = (stage: Stage): boolean => !stage.ended && stage.result === null

const MAX_NESTING = 16

/** Returns the queue in which this party still waits, the outermost one: it makes the party's dials from now on. */
export function openQueue(call: Call, party: Channel | null): Stage | undefined {
  const stages = call.queues.flatMap(({ stageId, leftUs, answeredUs }) =>
    leftUs === null && answeredUs === null ? (stageOf(call, stageId) ?? []) : [],
  )
  return stages.find(({ ended, source }) => !ended && source === (party?.id ?? null))
}

function legsRinging(state: TrackerState, stage: Stage): boolean {
  return stage.legs.some((id) => {
    const leg = channelOf(state, id)
    // A phone that the last snapshot lacks has stopped ringing unseen.
    return (
      leg !== undefined &&
      isUp(leg) &&
      leg.missingUs === null &&
      leg.dial?.endedUs === null &&
      !isBehindGoneHalf(state, leg)
    )
  })
}

/** Returns whether a virtual half in front of a phone has ended: the PBX reports the end of the phone after it. */
function isBehindGoneHalf(state: TrackerState, leg: Channel): boolean {
  return halvesBefore(state, leg).some((half) => !isUp(half))
}
