import { beganAt, behind, diallerOf, diallersOf, halvesBefore, isRungByQueue, pagerOf } from '../facts/diallers.ts'
import { destination } from '../facts/places.ts'
import { type Dialler, type Group, groupsOf, isBefore, type Ring, type Shown, type Stamp } from '../picture/groups.ts'
import { channelOf, legsOf, stageOf } from '../state/registry.ts'
import { addStage, attemptsAt, dropStage } from '../state/stage-moves.ts'
import {
  type Call,
  type Channel,
  isPartyStage,
  isUp,
  isVirtual,
  type QueueState,
  type Stage,
  type TrackerState,
} from '../state/state.ts'

/**
 * Gives the stages of a call their groups and queues, as the facts show them now. Only this file makes groups and sets
 * `parentId`; a stage that has ended keeps its place, and one whose place is a fact of its own (`placed`) keeps it.
 */
export function arrange(state: TrackerState, call: Call): void {
  if (!state.unplaced.delete(call.id)) return
  const rings = ringsOf(state, call)
  const over = endedGroups(call)
  const { groups, innermost } = groupsOf([...rings.values()], shownIn(state, call))
  const stageOfGroup = match(state, call, groups, over)
  const idOf = (group: Group | null): string | null => (group === null ? null : (stageOfGroup.get(group)?.id ?? null))
  // A dial may be reported after the end of its queue.
  const openQueueOf = ({ queue }: Ring): string | null => (queue !== null && over.has(queue) ? null : queue)
  for (const group of groups) {
    const stage = stageOfGroup.get(group)
    if (stage === undefined || stage.ended) continue
    bringUpToDate(state, call, stage, group)
    stage.parentId = idOf(group.around) ?? queueAround(group)
  }
  for (const [stage, ring] of rings)
    if (!isSettled(stage, over)) stage.parentId = idOf(innermost.get(ring.stage) ?? null) ?? openQueueOf(ring)
}

/** Returns whether a stage keeps its place: its end was emitted, or the group around it has ended. */
const isSettled = (stage: Stage, over: ReadonlySet<string>): boolean =>
  stage.emitted.ended || (stage.parentId !== null && over.has(stage.parentId))

const endedGroups = (call: Call): ReadonlySet<string> =>
  new Set(call.stages.filter((stage) => stage.ended && !isPartyStage(stage)).map(({ id }) => id))

/** Notes that the place of a stage does not follow from its dials. */
export function place(stage: Stage, parentId: string | null): void {
  stage.placed = true
  stage.parentId = parentId
}

const queueAround = ({ rings }: Group): string | null => rings.find(({ queue }) => queue !== null)?.queue ?? null

/** Finds the stage of each group, by its key or else by its members; makes those that are missing, and drops others. */
function match(
  state: TrackerState,
  call: Call,
  groups: readonly Group[],
  over: ReadonlySet<string>,
): Map<Group, Stage> {
  const found = new Map<Group, Stage>()
  const known = new Set(call.stages.filter((one) => one.kind === 'group' && one.key !== null))
  if (groups.length === 0 && known.size === 0) return found
  const find = (group: Group, isIts: (stage: Stage) => boolean): void => {
    const stage = found.has(group) ? undefined : [...known].find(isIts)
    if (stage === undefined) return
    found.set(group, stage)
    known.delete(stage)
  }
  for (const group of groups) find(group, ({ key }) => key === group.key)
  for (const group of groups) find(group, (stage) => !stage.ended && isOfMember(call, stage, group))
  for (const group of groups) {
    if (found.has(group)) continue
    const { source, rings } = group
    const open = rings.flatMap(({ stage }) => stageOf(call, stage) ?? []).filter((one) => !isSettled(one, over))
    if (open.length < (group.shownBy === null ? 2 : 1)) continue
    const target = nameOf(state, call, group)
    const startedUs = open[0]?.startedUs ?? null
    found.set(group, addStage(state, call, { kind: 'group', target, source, name: null, startedUs }))
  }
  for (const stage of known) if (!stage.ended && stage.key !== OF_EARLIER_VERSION) drop(call, stage)
  return found
}

/** Drops a group that turned out to be none. */
function drop(call: Call, group: Stage): void {
  for (const stage of call.stages) if (stage.parentId === group.id) stage.parentId = null
  dropStage(call, group)
}

/** A group is named after the extension that rings it, else after the one that was called. */
function nameOf(state: TrackerState, call: Call, { target, source }: Group): string | null {
  return target ?? destination(channelOf(state, source)?.dialledNumber ?? null) ?? call.to.number
}

/** Returns whether a stage is the group around one of these members so far. */
const isOfMember = (call: Call, stage: Stage, { rings }: Group): boolean =>
  rings.some((ring) => stageOf(call, ring.stage)?.parentId === stage.id)

/** The key of a group that an earlier version made: it is found by its members. */
export const OF_EARLIER_VERSION = 'earlier'

function bringUpToDate(state: TrackerState, call: Call, stage: Stage, group: Group): void {
  // The extension that rang it may not have been stored.
  const isNamed = stage.key === OF_EARLIER_VERSION && group.shownBy === null
  if (!isNamed) stage.key = group.key
  stage.shownBy = group.shownBy
  stage.rungOut = group.isRungOut
  stage.dialler = group.awaitsNameOf
  const target = group.target ?? stage.target ?? nameOf(state, call, group)
  if (stage.target === target || isNamed) return
  stage.target = target
  stage.attempt = attemptsAt(call, { kind: 'group', target }, stage) + 1
}

/** Returns the rung parties of a call, by their stages. */
function ringsOf(state: TrackerState, call: Call): Map<Stage, Ring> {
  const rings = new Map<Stage, Ring>()
  for (const stage of call.stages) {
    if (stage.placed || stage.kind === 'group') continue
    const ring = isPartyStage(stage) ? ringOf(state, call, stage) : visitOf(state, call, stage)
    if (ring !== undefined) rings.set(stage, ring)
  }
  return rings
}

function ringOf(state: TrackerState, call: Call, stage: Stage): Ring | undefined {
  const legs = legsOf(state, stage)
  const [first] = legs
  if (first === undefined) return failedRing(state, call, stage)
  if (stage.source === null && !stage.own) return undefined
  const rang = { from: beganAt(first.dial), until: latest(legs, (leg) => rangUntil(state, stage, leg)) }
  const chain = first.dial?.paged === true ? pagerOf(state, stage.source) : diallersOf(state, first)
  const mayBeQueue = call.queues.length > 0 && isRungByQueue(state, first)
  const queue = mayBeQueue ? queueAt(call, stage, chain, rang) : undefined
  return ringFrom(stage, chain, queue, { rang, over: latest(legs, goneAt), legs })
}

/** A dial for which the PBX created no channel. */
function failedRing(state: TrackerState, call: Call, stage: Stage): Ring | undefined {
  const dialler = channelOf(state, stage.dialler)
  if (dialler === undefined) return undefined
  const chain = [diallerOf(dialler, null, dialler.dialledNumber, false), ...behind(state, dialler)]
  // After all that began at the same microsecond.
  const at = { us: stage.startedUs ?? 0, seq: stage.failedSeq ?? Number.MAX_SAFE_INTEGER }
  const rang = { from: at, until: at }
  return ringFrom(stage, chain, queueAt(call, stage, chain, rang), { rang, over: at })
}

/** A queue that is the member of a group, or of another queue: a virtual half stands in it. */
function visitOf(state: TrackerState, call: Call, stage: Stage): Ring | undefined {
  const visit = call.queues.find(({ stageId }) => stageId === stage.id)
  const half = channelOf(state, visit?.channel ?? null)
  if (visit === undefined || half === undefined || !isVirtual(half)) return undefined
  const chain = behind(state, half)
  const until = visit.leftUs === null ? null : { us: visit.leftUs, seq: 0 }
  const rang = { from: { us: visit.joinedUs, seq: 0 }, until }
  return ringFrom(stage, chain, queueAt(call, stage, chain, rang), { rang, over: until })
}

/** Returns whether a party was answered, or a list shows that one of its devices was. */
const isAnswered = ({ answered }: Stage, legs: readonly Channel[]): boolean =>
  answered || legs.some(({ dial }) => dial?.foundAnswered === true)

type Times = Pick<Ring, 'from' | 'until'>

function ringFrom(
  stage: Stage,
  chain: readonly Dialler[],
  queue: QueueState | undefined,
  { rang: { from, until }, over, legs = [] }: { rang: Times; over: Stamp | null; legs?: readonly Channel[] },
): Ring {
  return {
    stage: stage.id,
    source: stage.source,
    chain: queue === undefined ? chain : within(chain, queue),
    queue: queue?.stageId ?? null,
    from,
    until,
    over,
    isAnswered: isAnswered(stage, legs),
    isWeak: legs.length === 0,
  }
}

/** Returns the visit to a queue that made a dial: the one whose channel is nearest in the chain, else the outermost. */
function queueAt(call: Call, stage: Stage, chain: readonly Dialler[], rang: Times): QueueState | undefined {
  if (call.queues.length === 0) return undefined
  for (const { channel } of chain)
    for (const visit of call.queues) {
      if (visit.channel === channel && isOpenTo(visit, stage, rang) && isItsDial(visit, rang)) return visit
    }
  return call.queues.find(
    (visit) =>
      visit.joinedUs <= rang.from.us &&
      isOpenTo(visit, stage, rang) &&
      stageOf(call, visit.stageId)?.source === stage.source,
  )
}

/** Returns whether a visit was open when a stage began: its caller had not left, and nobody had answered. */
const isOpenTo = (visit: QueueState, stage: Stage, { from }: Times): boolean =>
  visit.stageId !== stage.id &&
  [visit.leftUs, visit.answeredUs].every((us) => us === null || us > from.us || isMoment(visit, us, stage, from.us))

/**
 * One who waits on the line answers at the moment of the dial, with which the queue lets its caller go. A list that
 * shows who answered also shows who rings for the queue still.
 */
const isMoment = (
  { answeredUs: queueUs }: QueueState,
  us: number,
  { answeredUs, startedUs }: Stage,
  fromUs: number,
): boolean =>
  (us === fromUs && answeredUs === fromUs) || (us === queueUs && startedUs === null && us > fromUs - SAME_LIST_US)

const SAME_LIST_US = 100_000

/** That a channel is in a queue may be reported after the first of its dials. */
const isItsDial = ({ joinedUs }: QueueState, { from, until }: Times): boolean =>
  joinedUs <= from.us || until === null || until.us > joinedUs

/** Returns the diallers inside a queue. */
function within(chain: readonly Dialler[], { channel }: QueueState): readonly Dialler[] {
  const end = chain.findIndex((one) => one.channel === channel)
  return end < 0 ? chain : chain.slice(0, end)
}

/** Returns the last of these times; `null` if one is still to come. */
function latest(legs: readonly Channel[], at: (leg: Channel) => Stamp | null): Stamp | null {
  let last = NEVER
  for (const leg of legs) {
    const one = at(leg)
    if (one === null) return null
    if (isBefore(last, one)) last = one
  }
  return last
}

const NEVER: Stamp = { us: Number.NEGATIVE_INFINITY, seq: 0 }

const earlier = (one: Stamp | null, other: Stamp | null): Stamp | null =>
  one === null || (other !== null && isBefore(other, one)) ? other : one

/** Returns when a phone stopped ringing: it was answered, given up, or gone, or a virtual half in front of it was. */
function rangUntil(state: TrackerState, stage: Stage, leg: Channel): Stamp | null {
  const { dial } = leg
  let first = goneAt(leg)
  if (isAnswered(stage, [leg])) first = earlier({ us: stage.answeredUs ?? 0, seq: dial?.answeredSeq ?? 0 }, first)
  if (dial?.endedUs != null) first = earlier(first, { us: dial.endedUs, seq: dial.endedSeq })
  if (leg.missingUs !== null) first = earlier(first, { us: leg.missingUs, seq: 0 })
  for (const half of halvesBefore(state, leg)) first = earlier(first, goneAt(half))
  return first
}

const goneAt = (channel: Channel): Stamp | null =>
  isUp(channel) ? null : { us: channel.goneUs ?? 0, seq: channel.goneSeq }

function shownIn(state: TrackerState, call: Call): Shown[] {
  const shown: Shown[] = []
  for (const id of call.channels)
    for (const one of channelOf(state, id)?.ringing ?? [])
      shown.push({ ...one, place: destination(one.place) ?? '', channel: id })
  return shown
}
