import type { CallEvent, CallEventBody, CallRecord } from '../../../events/bodies.ts'
import type { CallResult } from '../../../events/enums.ts'
import { type CallEventKind, isOnlyOnRequest } from '../../../events/kinds.ts'
import { rfc3339 } from '../../../lib/time.ts'
import { dialledBy } from '../../event-facts.ts'
import { relateToOthers } from '../rules/call-start.ts'
import { endMissingWithCall } from '../rules/channels.ts'
import { nameParties } from '../rules/direction.ts'
import { takeTransfers } from '../rules/due-transfers.ts'
import { takeDueHolds } from '../rules/holds.ts'
import { joinLinksOf } from '../rules/linked-calls.ts'
import { EXPLANATION_US } from '../rules/stage-results.ts'
import { closeStages, updateStages } from '../rules/stages.ts'
import { isAnswered } from '../state/call-answer.ts'
import { handledBy } from '../state/handled-by.ts'
import {
  callPayload,
  keptRecordings,
  partyPayload,
  stagePayload,
  stagesPayload,
  transferPayload,
} from '../state/payload.ts'
import { channelOf, channelsOf, forgetCall, markChanged, markStale, wakeAsking } from '../state/registry.ts'
import {
  type Call,
  type Channel,
  isPartyStage,
  isUp,
  isVirtual,
  partyOf,
  type Stage,
  type TrackerState,
} from '../state/state.ts'
import { placeInAccount } from '../state/tenants.ts'
import { END_SETTLING_US, isDue, isStill } from '../state/waits.ts'
import { isSaveDue, isStartDue } from './settling.ts'
import { forgetOldStages, MAX_BODY_BYTES, stagesWithin } from './size-limits.ts'

/**
 * Emits the events of a call that are due, always in this order: its start; the stages that ring; those that were
 * answered; transfers; the stages that ended, groups and queues after their members; its end; its record. Events whose
 * facts are not complete are settling: the call is processed again when its timer is due.
 *
 * A call: opened → emitted (call_started) → ended (call_ended) → saved (call_saved, and out of the tracker).
 */

/** The time from call_ended to call_saved; longer while the end or path of a recording is awaited. */
const SAVE_AFTER_US = 1_000_000
const SAVE_LATEST_US = 3_000_000
/** Room for the rest of a body beside the call, its stages and recordings: names, ids and a time. */
const ENVELOPE_BYTES = 2_048
/**
 * Room for the link that each recording gets when its event is stored: a public URL of 300 characters, two ids, a
 * signature.
 */
const LINK_BYTES = 512

/**
 * Returns the events that are due. If the events of a call cannot be made, other calls are not affected: the error is
 * added to `faults`.
 */
export function emitDue(state: TrackerState, faults: unknown[]): CallEvent[] {
  const events: CallEvent[] = []
  for (const { call, stages } of state.parting.splice(0)) emitStageEnds(state, call, events, stages)
  // One call may change another (a consultation its parent), so this repeats until nothing changes.
  for (const id of state.dirty) emitDirty(state, id, events, faults)
  return events
}

/** Yields the events that are due like `emitDue`, those of one call at a time. */
export function* emitDueInSteps(state: TrackerState, faults: unknown[]): Generator<readonly CallEvent[]> {
  let events: CallEvent[] = []
  for (const { call, stages } of state.parting.splice(0)) emitStageEnds(state, call, events, stages)
  for (const id of state.dirty) {
    emitDirty(state, id, events, faults)
    yield events
    events = []
  }
  yield events
}

function emitDirty(state: TrackerState, id: string, events: CallEvent[], faults: unknown[]): void {
  state.dirty.delete(id)
  const call = state.calls.get(id)
  if (call === undefined) return
  state.wakeUs = Number.POSITIVE_INFINITY
  try {
    emitCall(state, call, events)
    wakeAgain(state, call)
  } catch (error) {
    faults.push(error)
  }
}

function emitCall(state: TrackerState, call: Call, events: CallEvent[]): void {
  if (!call.ended && call.mergedInto !== null) emitMerged(state, call, call.mergedInto, events)
  else if (!call.ended) {
    endMissingWithCall(state, call)
    updateStages(state, call)
    noteEnd(state, call)
    if (placeInAccount(state, call)) relateToOthers(state, call)
    if (!call.emitted && !isStartDue(state, call)) {
      if (isDue(state, call.endDueUs) && call.direction === null) forgetCall(state, call)
      return
    }
    const isEnding = isDue(state, call.endDueUs)
    if (isEnding && joinLinksOf(state, call)) {
      markChanged(state, state.calls.get(call.id))
      return
    }
    emitLive(state, call, events)
    if (isEnding) closeAndEmitEnd(state, call, events)
  }
  if (call.ended && isSaveDue(state, call)) {
    const data = { ...stagesOf(state, call), recordings: keptRecordings(call) }
    emit(state, call, events, { name: 'call_saved', atUs: state.atUs, data })
    forgetCall(state, call)
  }
}

function emitLive(state: TrackerState, call: Call, events: CallEvent[]): void {
  if (!call.emitted) {
    if (call.account === null) state.withoutAccount.push(call.tenant)
    emit(state, call, events, { name: 'call_started', atUs: call.startedUs ?? state.atUs, data: {} })
    call.emitted = true
  }
  const parties = call.stages.filter(isPartyStage)
  const ringing = parties.filter(
    (stage) => stage.rang && !stage.emitted.started && !isBehindAnEnd(state, stage, parties),
  )
  // Events that happened before the first ring are emitted before it.
  const firstUs = ringing.length === 0 ? 0 : Math.min(...ringing.map((stage) => stage.rangUs ?? state.atUs))
  emitTransfers(state, call, events, firstUs)
  emitDueStageEnds(state, call, events, firstUs)
  for (const stage of ringing) {
    const rangUs = stage.rangUs ?? state.atUs
    emitAnswers(state, call, events, { us: rangUs, source: stage.source })
    stage.emitted.started = true
    emit(state, call, events, { name: 'dial_started', atUs: rangUs, data: { stage: stagePayload(stage) } })
  }
  emitAnswers(state, call, events)
  emitHolds(state, call, events)
  emitCustoms(state, call, events)
  emitTransfers(state, call, events)
  emitDueStageEnds(state, call, events)
  forgetOldStages(state, call)
}

/** A party began to ring for the party on a channel. */
type Ring = { readonly us: number; readonly source: string | null }

/** Emits the answers that happened before a party rang: its caller's answer always did. */
function emitAnswers(state: TrackerState, call: Call, events: CallEvent[], before?: Ring): void {
  const answered = call.stages.filter((stage) => isPartyStage(stage) && stage.answered && !stage.emitted.answered)
  // The phones of a page may have answered before the page itself was known.
  if (answered.length > 1) answered.sort((a, b) => (a.answeredUs ?? 0) - (b.answeredUs ?? 0))
  for (const stage of answered) {
    const answeredUs = stage.answeredUs ?? state.atUs
    const isNext = stage.emitted.started || !stage.rang
    const isEarlier =
      before === undefined ||
      answeredUs < before.us ||
      (answeredUs === before.us && before.source !== null && stage.legs.includes(before.source))
    if (!isNext || !isEarlier) continue
    Object.assign(stage.emitted, { started: true, answered: true })
    emit(state, call, events, { name: 'dial_answered', atUs: answeredUs, data: { stage: stagePayload(stage) } })
  }
}

/**
 * Returns whether another stage, which was over before this one rang, has a settling end; this lasts a moment at most.
 */
function isBehindAnEnd(state: TrackerState, stage: Stage, parties: readonly Stage[]): boolean {
  const rangUs = stage.rangUs ?? state.atUs
  return parties.some(
    ({ ended, settlingSinceUs: holdUs, overUs }) =>
      !ended && holdUs !== null && overUs !== null && overUs <= rangUs && isStill(state, holdUs + EXPLANATION_US),
  )
}

function emitTransfers(
  state: TrackerState,
  call: Call,
  events: CallEvent[],
  beforeUs = Number.POSITIVE_INFINITY,
): void {
  for (const transfer of takeTransfers(call, beforeUs)) {
    call.transferCount += 1
    const name = transfer.kind === 'blind' ? 'call_blind_transferred' : 'call_attended_transferred'
    const data = { transfer: transferPayload(state, call, transfer) }
    emit(state, call, events, { name, atUs: transfer.atUs, data })
  }
}

/** Emits the holds and resumes that are due. */
function emitHolds(state: TrackerState, call: Call, events: CallEvent[]): void {
  for (const { channel, stage, onHold, atUs } of takeDueHolds(state, call)) {
    const by = partyPayload(state, partyOf(channel.endpoint))
    const data = { by, stage: stage === undefined ? null : stagePayload(stage) }
    emit(state, call, events, { name: onHold ? 'call_held' : 'call_resumed', atUs, data })
  }
}

/** Emits the custom events of the dialplan. */
function emitCustoms(state: TrackerState, call: Call, events: CallEvent[]): void {
  if (call.customs.length === 0) return
  const { customs } = call
  call.customs = []
  for (const { custom, atUs } of customs) emit(state, call, events, { name: 'custom', atUs, data: { custom } })
}

/** Emits the stage ends that are due: parties first, then groups and queues. */
function emitDueStageEnds(
  state: TrackerState,
  call: Call,
  events: CallEvent[],
  beforeUs = Number.POSITIVE_INFINITY,
): void {
  const isDue = (stage: Stage): boolean =>
    stage.ended &&
    !stage.emitted.ended &&
    (stage.endedUs ?? 0) <= beforeUs &&
    (!stage.rang || stage.emitted.started) &&
    (!stage.answered || isAnswerEmitted(stage))
  const due = call.stages.filter(isDue)
  if (due.length === 0) return
  emitStageEnds(state, call, events, due.filter(isPartyStage))
  for (;;) {
    const ready = due.filter((stage) => !isPartyStage(stage) && !stage.emitted.ended && areMembersOver(call, stage))
    if (ready.length === 0) return
    emitStageEnds(state, call, events, ready)
  }
}

/** Groups and queues have no answer of their own. */
const isAnswerEmitted = (stage: Stage): boolean => stage.emitted.answered || !isPartyStage(stage)

const areMembersOver = (call: Call, parent: Stage): boolean =>
  call.stages.every((stage) => stage.parentId !== parent.id || stage.emitted.ended)

function emitStageEnds(state: TrackerState, call: Call, events: CallEvent[], stages: readonly Stage[]): void {
  const due = stages.filter((stage) => stage.ended && !stage.emitted.ended)
  for (const stage of due.toSorted((a, b) => (a.endedUs ?? 0) - (b.endedUs ?? 0))) {
    stage.emitted.ended = true
    const data = { stage: stagePayload(stage) }
    emit(state, call, events, { name: 'dial_ended', atUs: stage.endedUs ?? state.atUs, data })
    if (stage.again) markChanged(state, call)
  }
}

const isUpNow = (channel: Channel | undefined): boolean => channel !== undefined && isUp(channel)

/** Returns when a party's part ended: one that left by a transfer and whose end was not seen had left before. */
const endOf = ({ goneUs, leftUs, missingUs }: Channel): number | null =>
  missingUs !== null && leftUs !== null ? leftUs : goneUs

/** A call ends with the last of its channels, virtual ones included, if none follows for a moment. */
function noteEnd(state: TrackerState, call: Call): void {
  if (call.channels.some((id) => isUpNow(channelOf(state, id)))) {
    call.endDueUs = null
    return
  }
  if (call.endDueUs !== null) return
  // Where the end of a virtual channel was not seen, neither was when its party left.
  const parties = channelsOf(state, call).filter((channel) => !isVirtual(channel) || channel.end?.unseen === true)
  call.endedUs = Math.max(0, ...parties.map((channel) => endOf(channel) ?? 0)) || state.atUs
  call.endDueUs = state.nowUs + (call.lost === null ? END_SETTLING_US : 0)
  wakeAsking(state, call)
}

function closeAndEmitEnd(state: TrackerState, call: Call, events: CallEvent[]): void {
  closeStages(state, call)
  emitLive(state, call, events)
  emitEnd(state, call, events)
}

function emitEnd(state: TrackerState, call: Call, events: CallEvent[]): void {
  call.ended = true
  for (const recording of call.recordings) recording.endedUs ??= call.endedUs
  const data = stagesOf(state, call)
  const atUs = call.endedUs ?? state.atUs
  emit(state, call, events, { name: 'call_ended', atUs, data })
  if (data.call.missed === true) emit(state, call, events, { name: 'call_missed', atUs, data })
  call.saveDueUs = state.nowUs + SAVE_AFTER_US
  call.saveLatestUs = state.nowUs + SAVE_LATEST_US
}

/** Returns the stages of a call that fit into a body, and the call with the number of omitted stages. */
function stagesOf(state: TrackerState, call: Call): Pick<CallRecord, 'call' | 'stages'> {
  const all = stagesPayload(call)
  const view = callPayload(state, call)
  const recordings = keptRecordings(call)
  const ownBytes = Buffer.byteLength(JSON.stringify([view, recordings]))
  const restBytes = ownBytes + recordings.length * LINK_BYTES + ENVELOPE_BYTES
  const stages = stagesWithin(all, MAX_BODY_BYTES - restBytes)
  return { call: { ...view, stages_omitted: call.stagesOmitted + all.length - stages.length }, stages }
}

/** Ends a call that went on in another one: its end is emitted, and its open stages go on in the other. */
function emitMerged(
  state: TrackerState,
  call: Call,
  merged: { id: string | null; result: CallResult | null },
  events: CallEvent[],
): void {
  const into = merged.id === null ? undefined : state.calls.get(merged.id)
  nameParties(call)
  merged.result = into !== undefined && isAnswered(into) ? 'answered' : 'no_answer'
  emitEnd(state, call, events)
}

/** Sets the timer of a call to the earliest end of its waits. */
function wakeAgain(state: TrackerState, call: Call): void {
  if (state.wakeUs === Number.POSITIVE_INFINITY || !state.calls.has(call.id)) state.timers.delete(call.id)
  else state.timers.set(call.id, state.wakeUs)
}

/** An event: its time, and the part of its body beside the call. */
type Draft = { readonly name: CallEventKind; readonly atUs: number; readonly data: object }

function emit(state: TrackerState, call: Call, events: CallEvent[], draft: Draft): void {
  if (call.account === null) return
  // An event may be emitted after one that happened later, and clocks (the PBX's or this machine's) may be set back.
  const atUs = Math.max(draft.atUs, call.last?.atUs ?? draft.atUs)
  const id = state.newId(atUs, call.last?.id)
  // Optional events repeat the number of the event before, so that a receiver without them sees no gap.
  const { name } = draft
  const sequence = isOnlyOnRequest(name) ? call.sequence : call.sequence + 1
  const handled = handledBy(state, call)
  const data = {
    name,
    id,
    sequence,
    account: call.account,
    pbx: state.pbx,
    call: callPayload(state, call, handled),
    ...draft.data,
  }
  // The schemas in event.ts have the extra fields of each event; tests check every body against its schema.
  const body = { time: rfc3339(atUs), data } as CallEventBody
  // Counted last, when nothing can fail: there must be no gap.
  call.sequence = sequence
  call.last = { atUs, id }
  call.handled = handled
  markStale(state, call)
  const { stage } = data as { stage?: { id: string } | null }
  const dialled = dialledBy(call.stages, name.startsWith('dial_') ? stage?.id : undefined).map(({ kind, target }) => {
    return { kind, target, e164: kind === 'external' ? state.toE164(target) : null }
  })
  const didE164 = call.did === null ? null : state.toE164(call.did)
  events.push({ id, name, callId: call.id, sequence, atUs, body, dialled, didE164 })
}
