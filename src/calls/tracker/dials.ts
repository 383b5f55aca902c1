import type { At, Endpoint } from '../signal.ts'
import type { StageResult } from '../words.ts'
import {
  callByLinkedId,
  callOf,
  channelOf,
  consult,
  consultationsOf,
  heardBy,
  openCall,
  place,
  stageOf,
  touch,
} from './calls.ts'
import { settleDirection } from './direction.ts'
import { newDial } from './new-state.ts'
import { originOf } from './origin.ts'
import type { Call, Channel, Stage, TrackerState } from './state.ts'
import { isUp, isVirtual, partyOf, partyOfNumber } from './state.ts'

/**
 * Dials: who is rung, for whom, and how it ends. A dial is one attempt at one channel; a stage is what people see of it: one for each
 * party, however many devices ring and however many virtual halves stand between the caller and the phone.
 */

/** A dial from a channel that talks to somebody is a consultation, unless the talk turns out to be over: as long we wait to see. */
export const CONSULTATION_SETTLE_US = 60_000

export function beginDial(
  state: TrackerState,
  at: At,
  source: string | null,
  dest: Channel,
  endpoint: Endpoint,
  shown: string | null,
): void {
  if (dest.dial !== null && dest.dial.beganUs !== null) return
  if (endpoint.kind !== 'virtual') dest.endpoint = { ...endpoint, name: endpoint.name ?? dest.endpoint.name }
  dest.shown = shown
  dest.dial = newDial(source, at.atUs, at.arrivedUs)
  const call = callOf(state, dest) ?? callOf(state, channelOf(state, source))
  if (call !== undefined && dest.callId === null) place(state, dest, call)
  touch(state, call)
  placeDial(state, dest)
}

/** Gives a dial its call and its stage, as soon as it is known for whom it is made. */
export function placeDial(state: TrackerState, dest: Channel): void {
  const dial = dest.dial
  if (dial === null || dial.stageId !== null || isVirtual(dest)) return
  const origin = originOf(state, dial)
  const waitedUs = state.nowUs - dial.beganArrivedUs
  if (origin.kind === 'unknown') {
    if (waitedUs >= CONSULTATION_SETTLE_US) assignStage(state, callOf(state, dest), dest, null, false)
    return
  }
  if (origin.kind === 'nobody') {
    const call = callOf(state, dest) ?? callByLinkedId(state, dest.linkedId)
    if (call === undefined) return
    place(state, dest, call)
    const root = channelOf(state, call.root)
    if (root !== undefined && root !== dest) {
      // The PBX rings somebody for a call that there is already: who transferred it, since nobody answered.
      assignStage(state, call, dest, root, false)
      return
    }
    call.clickToCall = true
    call.root ??= dest.id
    assignStage(state, call, dest, null, true)
    return
  }
  const party = origin.channel
  const first = callOf(state, party)
  if (first === undefined) return
  const busy = origin.consulting || (party.spoke && heardBy(state, party).some((other) => other.id !== dest.id))
  if (busy && !origin.consulting && waitedUs < CONSULTATION_SETTLE_US) return
  const call = busy ? consultation(state, party, first, origin.through, dest) : first
  place(state, dest, call)
  assignStage(state, call, dest, party, false)
}

/** The call of its own in which a party of `first` asks somebody else. */
function consultation(state: TrackerState, party: Channel, first: Call, through: Channel | null, dest: Channel): Call {
  const asking = consultationsOf(state, party.id).find((call) => !call.ended && call.endDueUs === null)
  if (asking !== undefined) return asking
  const dial = dest.dial
  const call = openCall(state, first.pbxId, dial?.beganUs ?? null, dial?.beganUs ?? state.atUs)
  consult(state, call, party.id)
  call.parentId = first.id
  call.from = partyOf(party.endpoint)
  call.root = null
  const dialled = through?.dialled ?? null
  call.to =
    dialled === null || dialled === dest.endpoint.number ? partyOf(dest.endpoint) : partyOfNumber(dialled, false)
  for (const half of [through, channelOf(state, through?.pair ?? null)]) {
    if (half !== undefined && half !== null) place(state, half, call)
  }
  return call
}

function assignStage(
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
  const same = call.stages.find(
    (stage) =>
      stage.kind === kind && stage.target === target && stage.source === sourceId && isOpen(stage) && !stage.answered,
  )
  const stage =
    same ?? addStage(state, call, { kind, target, source: sourceId, name: dest.endpoint.name, startedUs: dial.beganUs })
  stage.own = own
  if (!stage.legs.includes(dest.id)) stage.legs.push(dest.id)
  dial.stageId = stage.id
  call.hungUpBy = null
  if (same === undefined && party !== null) findParent(state, call, stage, party)
  settleDirection(state, call, dest, party, own)
  touch(state, call)
}

export const isOpen = (stage: Stage): boolean => !stage.ended && stage.result === null

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
  const before = call.stages
    .filter((stage) => stage.kind === of.kind && stage.target === of.target)
    .reduce((last, stage) => Math.max(last, stage.attempt), 0)
  const stage: Stage = {
    id: state.newId(of.startedUs ?? state.atUs),
    parentId: null,
    kind: of.kind,
    target: of.target,
    name: of.name,
    attempt: before + 1,
    startedUs: of.startedUs,
    rangUs: null,
    answeredUs: null,
    enteredUs: null,
    endedUs: null,
    result: null,
    forwardedTo: null,
    legs: [],
    source: of.source,
    rang: false,
    answered: false,
    ended: false,
    holdUs: null,
    told: { started: false, answered: false, ended: false },
    own: false,
  }
  call.stages.push(stage)
  return stage
}

/** The queue that rings this party, or the group: others that the same caller rings at the same time. */
function findParent(state: TrackerState, call: Call, stage: Stage, party: Channel): void {
  const queue = openQueue(call, party)
  if (queue !== undefined) {
    stage.parentId = queue.id
    return
  }
  const siblings = call.stages.filter(
    (other) =>
      other.id !== stage.id &&
      (other.kind === 'user' || other.kind === 'external') &&
      other.source === party.id &&
      !other.answered &&
      legsRinging(state, other),
  )
  if (siblings.length === 0) return
  const groups = siblings.map((sibling) => stageOf(call, sibling.parentId))
  const group =
    groups.find((one) => one !== undefined && !one.ended) ??
    addStage(state, call, {
      kind: 'group',
      target: party.dialled,
      source: party.id,
      name: null,
      startedUs: siblings[0]?.startedUs ?? stage.startedUs,
    })
  for (const member of [...siblings, stage]) member.parentId = group.id
}

/** The queue in which this party still waits: who is dialled now is dialled by it. */
function openQueue(call: Call, party: Channel): Stage | undefined {
  return call.queues
    .filter((one) => one.leftUs === null && one.answeredUs === null)
    .map((one) => stageOf(call, one.stageId))
    .find((stage) => stage !== undefined && !stage.ended && stage.source === party.id)
}

function legsRinging(state: TrackerState, stage: Stage): boolean {
  return stage.legs.some((id) => {
    const leg = channelOf(state, id)
    return leg !== undefined && isUp(leg) && leg.dial?.endedUs === null
  })
}

export function endDial(
  state: TrackerState,
  at: At,
  dest: Channel,
  result: StageResult,
  forwardedTo: string | null,
): void {
  const dial = dest.dial
  if (dial === null) return
  if (result === 'answered') {
    if (dial.answeredUs === null && dial.endedUs === null) dial.answeredUs = at.atUs
  } else if (dial.endedUs === null && dial.answeredUs === null) {
    // app_queue ends each dial twice: the first one tells the reason.
    dial.endedUs = at.atUs
    dial.result = result
    dial.forwardedTo = forwardedTo
  }
  touch(state, callOf(state, dest))
}

/** A dial for which the PBX made no channel gives its end alone. */
export function failDial(state: TrackerState, at: At, source: Channel, endpoint: Endpoint, result: StageResult): void {
  const call = callOf(state, source)
  if (call === undefined) return
  const party = isVirtual(source) ? originParty(state, source) : source
  const stage = addStage(state, call, {
    kind: endpoint.kind === 'external' ? 'external' : 'user',
    target: endpoint.number,
    source: party?.id ?? null,
    name: endpoint.name,
    startedUs: at.atUs,
  })
  stage.ended = true
  stage.endedUs = at.atUs
  stage.result = result === 'answered' ? 'other' : result
  if (party !== undefined) {
    const group = call.stages.find((one) => one.kind === 'group' && one.source === party.id && !one.ended)
    stage.parentId = openQueue(call, party)?.id ?? group?.id ?? null
    const dest: Channel = { ...source, id: stage.id, endpoint, dial: null }
    settleDirection(state, call, dest, party, false)
  }
  touch(state, call)
}

function originParty(state: TrackerState, source: Channel): Channel | undefined {
  const origin = originOf(state, newDial(source.id, null, state.nowUs))
  return origin.kind === 'party' ? origin.channel : undefined
}
