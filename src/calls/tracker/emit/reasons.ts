import type { CallEvent } from '../../../events/bodies.ts'
import type { StageResult } from '../../../events/enums.ts'
import { isFeatureCode } from '../rules/direction.ts'
import { answeredMeanwhile } from '../rules/stage-results.ts'
import { hangupOf } from '../state/call-result.ts'
import { handledBy } from '../state/handled-by.ts'
import { channelOf, stageOf } from '../state/registry.ts'
import { type Call, type Channel, isUp, type Stage, type TrackerState } from '../state/state.ts'

/**
 * Explains in a sentence why a call got its direction, a stage its result and a call its owner. Nothing is stored for
 * this: it is derived from the tracker's state right after the event was emitted.
 */

/**
 * Returns the reason for the direction, result or owner in an event; `undefined` if the event has none of these, or its
 * call is no longer in the state.
 */
export function reasonFor(state: TrackerState, { name, callId, body }: CallEvent): string | undefined {
  const call = state.calls.get(callId)
  if (call === undefined) return undefined
  if (name === 'call_started') return explainDirection(state, call)
  if (name === 'call_ended') return `${explainEnd(state, call)}; ${explainOwner(state, call)}`
  if (name !== 'dial_ended' || !('stage' in body.data) || body.data.stage === null) return undefined
  const stage = stageOf(call, body.data.stage.id)
  return stage === undefined ? undefined : explainResult(state, call, stage)
}

const nameOf = (channel: Channel | undefined): string => channel?.endpoint.number ?? 'an unknown number'

function explainDirection(state: TrackerState, call: Call): string {
  const root = channelOf(state, call.root)
  const dialled = call.to.number ?? 'nothing'
  if (call.parentId !== null) return `${call.direction}: ${call.from.number} asks ${dialled} while another call waits`
  if (call.customerFirst) return 'outbound: the PBX rang the outside party first, for an agent'
  if (call.clickToCall) return `${call.direction}: the PBX rang the agent's own phone first, and shows it ${dialled}`
  if (root === undefined) return `${call.direction}: the caller is unknown, only the dialled party is known`
  if (root.endpoint.kind === 'external') return `inbound: ${nameOf(root)} came in by a trunk`
  if (call.directionKnown && call.direction === 'outbound')
    return `outbound: ${dialled} was dialled through a trunk for ${nameOf(root)}`
  if (call.directionKnown) return `internal: ${nameOf(root)} is an extension, and so is the party dialled for it`
  const kind = isFeatureCode(dialled)
    ? 'a feature code'
    : call.direction === 'internal'
      ? 'an internal number'
      : 'an outside number'
  return `${call.direction}: ${nameOf(root)} is an extension, and ${dialled} looks like ${kind}; no party was dialled yet`
}

function explainResult(state: TrackerState, call: Call, stage: Stage): string {
  const legs = stage.legs.flatMap((id) => channelOf(state, id) ?? [])
  if (stage.kind === 'group') return explainGroup(call, stage)
  if (stage.kind === 'queue') return explainQueue(state, call, stage)
  if (stage.result === 'answered') return explainLeaving(legs)
  const caller = channelOf(state, stage.source)
  const reported = legs.map(reportedResult).find((one) => one !== undefined)
  switch (stage.result) {
    case 'answered_elsewhere': {
      const winner = call.stages.find((other) => other !== stage && answeredMeanwhile(state, other, stage, legs))
      return `${winner?.target ?? 'another party'} answered the same caller while it rang`
    }
    case 'cancelled':
      if (caller?.hungUpItself === true) return 'the caller gave up while it rang'
      return 'the PBX stopped ringing it, the caller did not hang up, and nobody else had answered'
    case 'forwarded':
      return `the phone forwarded the call to ${stage.forwardedTo ?? 'another number'}`
    case 'other':
      if (call.lost !== null) return 'its end was not seen'
      if (caller !== undefined && !isUp(caller) && !caller.hungUpItself) return 'the PBX itself hung up the caller'
      return reported ?? 'the PBX gave no known reason'
    default:
      return reported ?? `the PBX reports ${stage.result}`
  }
}

/** Returns the PBX's own report on a dial and on the end of its channel. */
function reportedResult({ dial, end }: Channel): string | undefined {
  const dialResult = dial?.result ?? null
  const words: Partial<Record<StageResult, string>> = { no_answer: 'not answered', unavailable: 'not reachable' }
  const ofDial = dialResult === null ? undefined : `the dial ended as ${words[dialResult] ?? dialResult}`
  const ofEnd = end?.code == null ? undefined : `the channel ended with cause ${end.code}`
  const both = [ofDial, ofEnd].filter((one) => one !== undefined)
  return both.length === 0 ? undefined : both.join(', ')
}

function explainLeaving(legs: readonly Channel[]): string {
  if (legs.some((leg) => leg.leftUs !== null)) return 'it transferred the call away'
  if (legs.some((leg) => leg.hungUpItself)) return 'it hung up'
  return 'the other party, or the PBX, ended the conversation'
}

function explainGroup(call: Call, group: Stage): string {
  const members = call.stages.filter((stage) => stage.parentId === group.id)
  return `its members: ${members.map(({ target, result }) => `${target ?? '-'} ${result}`).join(', ')}`
}

function explainQueue(state: TrackerState, call: Call, stage: Stage): string {
  const queue = call.queues.find((one) => one.stageId === stage.id)
  const caller = channelOf(state, stage.source)
  if (stage.result === 'answered') return 'one of its members took the caller'
  if (queue?.leftByKey === true) return 'the caller left it by pressing a key'
  if (caller?.hungUpItself === true) return 'the caller hung up in the queue'
  if (caller !== undefined && !isUp(caller)) return 'the PBX hung up the caller'
  return `the PBX reports that the caller left it: ${queue?.result ?? 'no reason'}`
}

function explainEnd(state: TrackerState, call: Call): string {
  if (call.mergedInto !== null) return 'it goes on in another call'
  if (call.lost !== null) return 'its channels were missing in the list of the PBX'
  const { by } = hangupOf(state, call)
  if (by === 'system' || by === 'unknown') return 'the PBX ended it'
  return call.hungUpBy === null ? `the ${by} hung up` : `the ${by} hung up first`
}

function explainOwner(state: TrackerState, call: Call): string {
  const owner = handledBy(state, call).at(-1)
  if (owner === undefined) return 'it has no owner, since nobody answered'
  if (owner.extension === null) return `${owner.number ?? '-'} owns it: no extension of the PBX talked`
  if (call.direction === 'outbound' && owner.extension === call.from.extension)
    return `${owner.extension} owns it: it called`
  return `${owner.extension} owns it: it was the last to join the last conversation`
}
