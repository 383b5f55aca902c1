import type { StageResult } from '../../../lib/call-enums.ts'
import { newStage } from '../state/initial-state.ts'
import { callOf, channelOf, channelsOf, markChanged, stageOf } from '../state/registry.ts'
import {
  type Call,
  type Channel,
  isPartyStage,
  isUp,
  isVirtual,
  type Stage,
  type TrackerState,
} from '../state/state.ts'
import { decideDirectionByDial, destination } from './direction.ts'

/** The stages of dials, and the groups and queues that they belong to. */

/** Gives a dial its stage: a new one, or the stage of another device of the same party. */
export function assignStage(
  state: TrackerState,
  call: Call | undefined,
  dest: Channel,
  party: Channel | null,
  own: boolean,
): void {
  const dial = dest.dial
  if (call === undefined || dial === null) return
  const sourceId = party?.id ?? null
  const kind = dest.endpoint.kind === 'external' ? 'external' : 'user'
  const target = dest.endpoint.number
  const diallers = diallersBefore(state, dest)
  // Another device of the party, as long as one rings; a later dial is a new attempt, even if the first is not over
  // yet.
  const same = call.stages.find(
    (stage) =>
      stage.kind === kind &&
      stage.target === target &&
      stage.source === sourceId &&
      isOpen(stage) &&
      !stage.answered &&
      legsRinging(state, stage) &&
      !isOfLeftQueue(call, stage, diallers),
  )
  const stage =
    same ?? addStage(state, call, { kind, target, source: sourceId, name: dest.endpoint.name, startedUs: dial.beganUs })
  stage.own = own
  if (!stage.legs.includes(dest.id)) stage.legs.push(dest.id)
  nameStage(state, stage, stage.name ?? dest.endpoint.name)
  dial.stageId = stage.id
  call.hungUpBy = null
  if (same === undefined && (party !== null || own)) findParent(state, call, stage, party)
  if (!own) decideDirectionByDial(state, call, dest, party)
  markChanged(state, call)
}

/** Names the party of a stage, and its devices that show no name: FreeSWITCH shows it at one of them only. */
export function nameStage(state: TrackerState, stage: Stage, name: string | null): void {
  stage.name = name
  for (const id of stage.legs) {
    const device = channelOf(state, id)
    if (device !== undefined && device.endpoint.name === null) device.endpoint = { ...device.endpoint, name }
  }
}

/**
 * Returns whether a stage belongs to a queue that the caller has left, so that its phones are about to stop. A dialler
 * outside the queue shows it too.
 */
function isOfLeftQueue(call: Call, stage: Stage, diallers: readonly Dialler[]): boolean {
  let id = stage.parentId
  for (let depth = 0; id !== null && depth < MAX_NESTING; depth++) {
    const queue = call.queues.find(({ stageId }) => stageId === id)
    if (queue !== undefined) {
      const isPast = diallers.length > 0 && diallers.every(({ byQueue }) => byQueue === false)
      return queue.answeredUs === null && (queue.leftUs !== null || isPast)
    }
    id = stageOf(call, id)?.parentId ?? null
  }
  return false
}

/** Returns whether a stage has not ended yet. */
const isOpen = (stage: Stage): boolean => !stage.ended && stage.result === null

/** Adds a stage to a call and returns it; `attempt` counts the stages with the same target. */
export function addStage(
  state: TrackerState,
  call: Call,
  of: {
    kind: Stage['kind']
    target: string | null
    source: string | null
    name: string | null
    startedUs: number | null
  },
): Stage {
  const id = state.newId(of.startedUs ?? state.atUs)
  const stage = newStage({ ...of, id, attempt: attemptsAt(call, of) + 1 })
  call.stages.push(stage)
  return stage
}

/** Returns the number of stages with a target, not counting `except`. */
const attemptsAt = (call: Call, of: Pick<Stage, 'kind' | 'target'>, except?: Stage): number =>
  call.stages
    .filter((stage) => stage !== except && stage.kind === of.kind && stage.target === of.target)
    .reduce((last, stage) => Math.max(last, stage.attempt), 0)

/** Ends a stage with its result. */
export function closeStage(stage: Stage, atUs: number | null, result: StageResult): void {
  stage.ended = true
  stage.endedUs = atUs
  // A party that did not answer has no answered stage, whatever the PBX reports.
  stage.result = result === 'answered' && isPartyStage(stage) && !stage.answered ? 'other' : result
}

/** Returns the queue that rings this party, or the group that the same caller rings at the same time. */
export function findParent(state: TrackerState, call: Call, stage: Stage, party: Channel | null): void {
  const diallers = diallersOf(state, stage)
  const queue = openQueue(call, party, diallers)
  if (queue !== undefined && diallers.some(({ byQueue }) => byQueue !== false)) {
    const inner = innermostGroup(state, call, diallersIn(call, queue, diallers), stage.startedUs)
    stage.parentId = (inner ?? queue).id
    if (inner === undefined) nestGroup(state, call, stage, { party, around: queue })
    else outermostGroup(call, inner).parentId = queue.id
    return
  }
  const around = groupAroundStage(state, call, stage)
  if (around !== undefined) {
    stage.parentId = around.id
    return
  }
  const siblings = call.stages.filter(
    (other) =>
      other.id !== stage.id &&
      isPartyStage(other) &&
      other.source === stage.source &&
      !other.answered &&
      legsRinging(state, other) &&
      stageOf(call, other.parentId)?.kind !== 'queue' &&
      !isOfLeftQueue(call, other, diallers) &&
      !areInTurn(state, other, stage) &&
      isSamePlace(outermost(state, other), outermost(state, stage)),
  )
  if (siblings.length === 0) return
  // Phones that the PBX rings by itself are a group only if an extension of its dialplan rings them.
  if (party === null && commonDialler(state, [...siblings, stage]) === undefined) return
  const group = commonGroup(state, call, siblings, diallers) ?? addGroup(state, call, party, [...siblings, stage])
  for (const member of [...siblings, stage]) {
    const own = stageOf(call, member.parentId)
    if (own?.kind === 'group' && own !== group && !own.ended) own.parentId = group.id
    else member.parentId = group.id
  }
  nestGroup(state, call, stage, { party, around: group })
}

/** Returns the siblings' group if a stage with these diallers belongs to it too, and not to a group further inside. */
function commonGroup(
  state: TrackerState,
  call: Call,
  siblings: readonly Stage[],
  diallers: readonly Dialler[],
): Stage | undefined {
  const groups = siblings.flatMap((sibling) => groupsAround(call, sibling))
  if (diallers.some(isNamedByPlace)) {
    // Siblings that are rung from the same place, even through halves, form the group that is named after that place.
    const place = diallers.at(-1)?.place ?? null
    return (
      groups.find(({ target }) => place !== null && target === place) ??
      groups.find((group) => !isOfOtherHalf(state, call, group, diallers))
    )
  }
  return groups.find((group) => {
    const by = commonDialler(state, partiesIn(call, group))
    return by === undefined || diallers.some(({ id }) => id === by.id)
  })
}

/** Returns whether a virtual half outside these diallers rings all members of a group. */
function isOfOtherHalf(state: TrackerState, call: Call, group: Stage, diallers: readonly Dialler[]): boolean {
  const half = channelOf(state, commonDialler(state, partiesIn(call, group))?.id ?? null)
  return half !== undefined && isVirtual(half) && diallers.every(({ id }) => id !== half.id)
}

/** The PBX reports the place with each dial: the halves are not needed. */
const isNamedByPlace = ({ place, placeFollows }: Dialler): boolean => place !== null || placeFollows

/** Returns the stages of the parties in a group, and in groups inside it. */
const partiesIn = (call: Call, group: Stage): Stage[] =>
  call.stages
    .filter((stage) => stage.parentId === group.id)
    .flatMap((stage) => (isPartyStage(stage) ? [stage] : partiesIn(call, stage)))

/** Returns the nearest channel and place that dialled all of these stages. */
function commonDialler(state: TrackerState, members: readonly Stage[]): Dialler | undefined {
  const [first = [], ...others] = members.map((member) => diallersOf(state, member))
  return first.find((one) => others.every((chain) => chain.some((other) => isSamePlace(one, other))))
}

/** Returns the open groups around a stage, the innermost first. */
function groupsAround(call: Call, stage: Stage): Stage[] {
  const around = stageOf(call, stage.parentId)
  return around?.kind === 'group' && !around.ended ? [around, ...groupsAround(call, around)] : []
}

/**
 * Makes a group of its own, inside the group or queue around, of stages that one virtual half rings from an extension
 * with a number.
 */
function nestGroup(
  state: TrackerState,
  call: Call,
  stage: Stage,
  { party, around }: { party: Channel | null; around: Stage },
): void {
  const [nearest] = diallersOf(state, stage)
  const half = channelOf(state, nearest?.id ?? null)
  if (nearest === undefined || half === undefined || !isVirtual(half) || nearest.placeFollows) return
  if (!/^\d+$/.test(nearest.place ?? half.dialledNumber ?? '')) return
  // Members that a queue rings at once are no group.
  if (call.queues.some((queue) => queue.channel === half.id)) return
  const siblings = call.stages.filter(
    (other) =>
      other !== stage &&
      isPartyStage(other) &&
      !other.answered &&
      legsRinging(state, other) &&
      diallersOf(state, other)[0]?.id === half.id,
  )
  const isInner = ({ parentId }: Stage): boolean => parentId !== around.id
  const isAll = partiesIn(call, around).every((one) => one === stage || siblings.includes(one))
  if (siblings.length === 0 || (isAll && around.kind === 'group')) return
  const known = siblings.find(isInner)
  const isHere = around.kind === 'group' && around.target === nearest.place
  const group = isHere
    ? around
    : (stageOf(call, known?.parentId ?? null) ?? addGroup(state, call, party, [...siblings, stage]))
  if (group !== around && !isInside(call, around, group)) group.parentId = around.id
  for (const member of [...siblings, stage]) member.parentId = group.id
}

/** Returns whether a stage is in a group, at any depth. */
function isInside(call: Call, stage: Stage, group: Stage): boolean {
  let around = stageOf(call, stage.parentId)
  for (let depth = 0; around !== undefined && around !== group && depth < MAX_NESTING; depth++)
    around = stageOf(call, around.parentId)
  return around === group
}

/**
 * Begins the group that a channel's extension rings. If all phones of its present group were given up, the dialplan led
 * back to the same extension: that group is over, and this is another attempt.
 */
export function beginGroup(state: TrackerState, channel: Channel, place: string): void {
  const call = callOf(state, channel)
  for (const group of call?.stages ?? []) {
    if (call === undefined || group.shownBy !== channel.id || group.ended) continue
    const members = partiesIn(call, group)
    const isGivenUp = (member: Stage): boolean => !member.answered && !legsRinging(state, member)
    if (members.length > 0 && members.every(isGivenUp)) group.rungOut = true
  }
  noteGroup(state, channel, place)
}

/**
 * Notes that a channel's extension rings a group; the stages that it rings already become members. A group with the
 * same members is replaced; groups further inside stay inside, and the new group goes into the groups around.
 */
export function noteGroup(state: TrackerState, channel: Channel, place: string): void {
  channel.group = place
  const call = callOf(state, channel)
  if (call === undefined) return
  for (const stage of [...call.stages]) {
    if (!isPartyStage(stage) || stage.emitted.ended) continue
    // A phone that was given up, as the channel was moved here, is not one that the group rings.
    if (!stage.answered && !legsRinging(state, stage)) continue
    if (groupsAround(call, stage).some(({ rungOut }) => rungOut)) continue
    const diallers = diallersOf(state, stage)
    if (!diallers.some((one) => one.id === channel.id && (one.place ?? channel.dialledNumber) === place)) continue
    const [shown] = groupOf(state, call, channel, stage.startedUs)
    if (shown !== undefined) placeInShown(state, call, { stage, shown, channel })
  }
}

/** Notes that a channel rings parties in turn: no group, even if the end of one is reported after the next rings. */
export function ringInTurn(state: TrackerState, channel: Channel, parties: readonly string[]): void {
  channel.inTurn = parties
  const call = callOf(state, channel)
  if (call === undefined) return
  for (const group of call.stages.filter(
    ({ kind, shownBy, ended }) => kind === 'group' && shownBy === null && !ended,
  )) {
    const members = partiesIn(call, group)
    if (!members.every((one) => members.every((other) => one === other || areInTurn(state, one, other)))) continue
    for (const member of members) member.parentId = group.parentId
    call.stages = call.stages.filter((stage) => stage !== group)
  }
}

/** Ends the groups that a channel rings: all their members are known. */
export function endRinging(state: TrackerState, channel: Channel): void {
  delete channel.inTurn
  channel.group = null
  const call = callOf(state, channel)
  for (const group of call?.stages ?? []) if (group.shownBy === channel.id && !group.ended) group.rungOut = true
  if (call !== undefined) markChanged(state, call)
}

/** Returns whether one channel rings the parties of both stages, one after the other. */
function areInTurn(state: TrackerState, one: Stage, other: Stage): boolean {
  const [nearest] = diallersOf(state, other)
  const parties = channelOf(state, nearest?.id ?? null)?.inTurn
  return (
    parties !== undefined &&
    one.target !== other.target &&
    [one, other].every(({ target }) => target !== null && parties.includes(target))
  )
}

function placeInShown(
  state: TrackerState,
  call: Call,
  { stage, shown, channel }: { stage: Stage; shown: Stage; channel: Channel },
): void {
  const diallerOf = (group: Stage): string | undefined => commonDialler(state, partiesIn(call, group))?.id
  const isWithin = (group: Stage): boolean =>
    diallerOf(group) !== channel.id &&
    partiesIn(call, group).every((one) => diallersOf(state, one).some(({ id }) => id === channel.id))
  let member = stage
  let around = stageOf(call, stage.parentId)
  for (
    let depth = 0;
    around?.kind === 'group' && around !== shown && isWithin(around) && depth < MAX_NESTING;
    depth++
  ) {
    member = around
    around = stageOf(call, around.parentId)
  }
  if (around === shown || (around?.kind === 'queue' && !isVirtual(channel))) return
  if (around?.kind === 'group' && around.shownBy === null && diallerOf(around) === channel.id) {
    for (const one of call.stages) if (one.parentId === around.id) one.parentId = shown.id
    shown.parentId ??= around.parentId
    call.stages = call.stages.filter((one) => one !== around)
    return
  }
  member.parentId = shown.id
  if (around !== undefined && !isInside(call, around, shown)) shown.parentId ??= around.id
}

function outermostGroup(call: Call, group: Stage): Stage {
  let outer = group
  for (let depth = 0; depth < MAX_NESTING; depth++) {
    const around = stageOf(call, outer.parentId)
    if (around?.kind !== 'group') return outer
    outer = around
  }
  return outer
}

/** Returns the diallers that the queue created, directly or not. */
function diallersIn(call: Call, queue: Stage, diallers: readonly Dialler[]): readonly Dialler[] {
  const channel = call.queues.find(({ stageId }) => stageId === queue.id)?.channel
  const end = diallers.findIndex(({ id }) => id === channel)
  return end < 0 ? diallers : diallers.slice(0, end)
}

/** Returns the innermost group that the PBX shows around a stage. */
function groupAroundStage(state: TrackerState, call: Call, stage: Stage): Stage | undefined {
  return innermostGroup(state, call, diallersOf(state, stage), stage.startedUs)
}

/** Returns the group that the PBX shows around a virtual half. */
export function groupAround(state: TrackerState, call: Call, half: Channel): Stage | undefined {
  return innermostGroup(state, call, diallersBefore(state, channelOf(state, half.pair)), state.atUs)
}

function innermostGroup(
  state: TrackerState,
  call: Call,
  diallers: readonly Dialler[],
  startedUs: number | null,
): Stage | undefined {
  const groups = diallers.flatMap(({ id, place }) => {
    const channel = channelOf(state, id)
    const isThere = channel?.group != null && (place ?? channel.dialledNumber) === channel.group
    return isThere ? groupOf(state, call, channel, startedUs) : []
  })
  groups.forEach((group, at) => {
    const around = groups[at + 1]
    if (around !== undefined && around !== group) group.parentId = around.id
  })
  return groups[0]
}

/** Returns the groups that the PBX shows to be rung for a channel; `[]` if it shows none. */
export function groupOf(state: TrackerState, call: Call, channel: Channel, startedUs: number | null): Stage[] {
  const { group: target } = channel
  if (target === null) return []
  const open = call.stages.find(
    (one) => one.shownBy === channel.id && one.target === target && !one.ended && !one.rungOut,
  )
  if (open !== undefined) return [open]
  const source = isVirtual(channel) ? partyBehindOf(state, channel) : channel.id
  const group = addStage(state, call, { kind: 'group', target, source, name: null, startedUs })
  group.shownBy = channel.id
  return [group]
}

const partyBehindOf = (state: TrackerState, half: Channel): string | null =>
  channelOf(state, half.pair)?.dial?.source ?? half.id

/**
 * Adds a group, named after the dialplan extension that rings all of its members, behind any number of virtual halves.
 */
function addGroup(state: TrackerState, call: Call, party: Channel | null, members: readonly Stage[]): Stage {
  const common = commonDialler(state, members)
  const dialler = channelOf(state, common?.id ?? null) ?? party
  const place = common?.place ?? null
  const dialled = [dialler?.dialledNumber, party?.dialledNumber].map((one) => destination(one ?? null))
  const group = addStage(state, call, {
    kind: 'group',
    target: place ?? dialled.find((one) => one !== null) ?? call.to.number,
    source: party?.id ?? null,
    name: null,
    startedUs: members[0]?.startedUs ?? null,
  })
  if (common?.placeFollows === true) group.dialler = dialler?.id ?? null
  return group
}

/** Notes the extension from which a channel made its last dials: their group is named after it. */
export function noteDialledFrom(state: TrackerState, channel: Channel, shown: string): void {
  const place = destination(shown)
  const call = callOf(state, channel)
  if (call === undefined) return
  for (const { dial } of channelsOf(state, call)) {
    if (dial?.source !== channel.id || !dial.placeFollows) continue
    dial.place = place
    dial.placeFollows = false
  }
  for (const group of call.stages) {
    if (group.dialler !== channel.id || group.ended) continue
    group.dialler = null
    if (place === null || place === group.target) continue
    group.target = place
    group.attempt = attemptsAt(call, { kind: 'group', target: place }, group) + 1
  }
}

const MAX_NESTING = 16

/** A dialling channel, and the dialplan extension from which it dialled, if reported. */
type Dialler = {
  readonly id: string
  readonly place: string | null
  readonly placeFollows: boolean
  readonly byQueue: boolean | null
}

const isSamePlace = (one: Dialler | undefined, other: Dialler | undefined): boolean =>
  one?.id === other?.id && (one?.place == null || other?.place == null || one.place === other.place)

/** Returns the channels that dialled a stage, from the nearest to the party for which all of them dial. */
function diallersOf(state: TrackerState, stage: Stage): Dialler[] {
  return diallersBefore(state, channelOf(state, stage.legs[0] ?? null))
}

function diallersBefore(state: TrackerState, dialled: Channel | undefined): Dialler[] {
  const diallers: Dialler[] = []
  let channel = dialled
  while (channel !== undefined && diallers.length < MAX_NESTING) {
    const source = channelOf(state, channel.dial?.source ?? null)
    if (source === undefined) return diallers
    const { place = null, placeFollows = false, byQueue = null } = channel.dial ?? {}
    diallers.push({ id: source.id, place, placeFollows, byQueue })
    channel = isVirtual(source) ? channelOf(state, source.pair) : undefined
  }
  return diallers
}

const outermost = (state: TrackerState, stage: Stage): Dialler | undefined => diallersOf(state, stage).at(-1)

/**
 * Returns the queue in which this party still waits: it makes the party's dials from now on. Among nested queues it is
 * the one whose channel is nearest in `diallers`, else the outermost.
 */
export function openQueue(
  call: Call,
  party: Channel | null,
  diallers: readonly { id: string }[] = [],
): Stage | undefined {
  const open = call.queues.filter((one) => {
    const stage = stageOf(call, one.stageId)
    return (
      one.leftUs === null && one.answeredUs === null && stage?.ended === false && stage.source === (party?.id ?? null)
    )
  })
  const nearest = diallers.map(({ id }) => open.find((one) => one.channel === id)).find((one) => one !== undefined)
  return stageOf(call, (nearest ?? open[0])?.stageId ?? null)
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
  return diallersBefore(state, leg).some(({ id }) => {
    const half = channelOf(state, channelOf(state, id)?.pair ?? null)
    return half !== undefined && !isUp(half)
  })
}
