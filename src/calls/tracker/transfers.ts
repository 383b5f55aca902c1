import { rfc3339 } from '../../lib/time.ts'
import type { CallRecord, Party } from '../event.ts'
import type { At, ChannelSignal } from '../signal.ts'
import {
  callOf,
  channelOf,
  channelsOf,
  claimLinkedId,
  consultationsOf,
  dropCall,
  endConsultation,
  heardBy,
  place,
  stageOf,
  touch,
} from './calls.ts'
import { addStage } from './dials.ts'
import { newDial } from './new-state.ts'
import { originOf } from './origin.ts'
import { partyOn, talkedWith } from './parties.ts'
import { noteAnswer } from './stages.ts'
import type { Call, Channel, TrackerState } from './state.ts'
import { ANONYMOUS, isUp, isVirtual, partyOf, partyOfNumber } from './state.ts'
import { callView, keptRecordings, stagesView } from './view.ts'

/** Transfers, and calls that become one. The older call survives, with its id; what was open in the other goes on in it. */

/** The same transfer may be told twice, by each of its parties: within this it is one. */
const SAME_TRANSFER_US = 2_000_000

export function blindTransfer(
  state: TrackerState,
  at: At,
  transfererId: string | null,
  transfereeId: string | null,
  to: string,
): void {
  const transferee = channelOf(state, transfereeId)
  const transferer = channelOf(state, transfererId) ?? otherParty(state, transferee)
  const call = callOf(state, transferer) ?? callOf(state, transferee)
  if (call === undefined || isOver(call)) return
  const by = partyOn(state, transferer) ?? transferer
  const real = partyOn(state, transferee ?? otherParty(state, transferer), by === undefined ? [] : [by])
  const transfer = {
    kind: 'blind' as const,
    by: by === undefined ? ANONYMOUS : partyOf(by.endpoint),
    transferee: real === undefined ? null : partyOf(real.endpoint),
    to: partyOfNumber(to, state.extensions.has(to)),
    otherCallId: null,
    atUs: at.atUs,
  }
  if (isNew(call, `blind to ${to}`, at)) call.transfers.push(transfer)
  for (const one of [transferer, by]) leave(one, at)
  call.hungUpBy = null
  touch(state, call)
}

/** Who transfers a call away is out of it, however long its channel stays. */
function leave(transferer: Channel | undefined, at: At): void {
  if (transferer !== undefined && transferer.dial !== null && transferer.dial.answeredUs !== null)
    transferer.dial.leftUs ??= at.atUs
}

/** Notes a transfer; false if the same was noted within that time. */
function isNew(call: Call, key: string, at: At, withinUs = SAME_TRANSFER_US): boolean {
  const before = call.transferred.findLast((one) => one.key === key)
  if (before !== undefined && at.atUs - before.atUs < withinUs) return false
  call.transferred.push({ key, atUs: at.atUs })
  return true
}

function otherParty(state: TrackerState, channel: Channel | undefined): Channel | undefined {
  return channel === undefined ? undefined : heardBy(state, channel)[0]
}

type Attended = Extract<ChannelSignal, { kind: 'attended_transfer' }>

export function attendedTransfer(state: TrackerState, at: At, told: Attended): void {
  const transferers = told.transferers.flatMap((id) => channelOf(state, id) ?? [])
  const parties = transferParties(state, told, transferers)
  const transferee = channelOf(state, told.transferee)
  const target = channelOf(state, told.target)
  const calls = [transferee, target, ...transferers].flatMap((one) => callOf(state, one) ?? [])
  for (const one of transferers) calls.push(...consultationsOf(state, one.id))
  const [first, ...rest] = [...new Set(calls)].filter((call) => !isOver(call)).sort(older)
  if (first === undefined) return
  const other = rest[0]
  // Two parties are joined only once, however much later it is told again.
  const isPair = transferee !== undefined && target !== undefined
  const key = isPair ? `${transferee.id} to ${target.id}` : 'attended'
  const isTransfer = isNew(first, key, at, isPair ? Number.POSITIVE_INFINITY : SAME_TRANSFER_US)
  if (isTransfer) {
    first.transfers.push({
      kind: 'attended',
      by: parties.by === undefined ? ANONYMOUS : partyOf(parties.by.endpoint),
      transferee: parties.transferee === undefined ? null : partyOf(parties.transferee.endpoint),
      to: parties.to === undefined ? targetOf(state, other ?? first, transferers) : partyOf(parties.to.endpoint),
      otherCallId: other !== undefined && endsInside(other, first) ? other.id : null,
      atUs: at.atUs,
    })
  }
  if (told.stays !== true) for (const one of [...transferers, parties.by]) leave(one, at)
  for (const call of rest) {
    if (isTransfer && call === other && endsInside(call, first)) mergeTransferred(state, call, first)
    else merge(state, call, first)
  }
  for (const party of [parties.transferee, parties.to]) enter(state, party, at)
  first.hungUpBy = null
  touch(state, first)
}

type Parties = { by: Channel | undefined; transferee: Channel | undefined; to: Channel | undefined }

/**
 * Who transferred whom to whom, as real parties. A PBX may name virtual halves, and may have moved them before it tells of the transfer. The
 * transferee is never the target nor who transferred: where it looks like that, it is the party that the transferer talked with besides.
 */
function transferParties(state: TrackerState, told: Attended, transferers: readonly Channel[]): Parties {
  const by = partyOn(state, transferers[0]) ?? transferers[0]
  const mine = [...transferers, ...(by === undefined ? [] : [by])]
  const to = partyOn(state, channelOf(state, told.target), mine)
  const taken = to === undefined ? mine : [...mine, to]
  const named = partyOn(state, channelOf(state, told.transferee), taken)
  if (named !== undefined && !taken.includes(named)) return { by, transferee: named, to }
  const talked = mine.flatMap((one) => talkedWith(state, one)).find((one) => !taken.includes(one))
  return { by, transferee: talked, to }
}

/** A party came into a conversation by a transfer: it handles the call from now on. */
function enter(state: TrackerState, party: Channel | undefined, at: At): void {
  const call = callOf(state, party)
  const stage = call === undefined ? undefined : stageOf(call, party?.dial?.stageId ?? null)
  if (stage?.answered === true) stage.enteredUs = at.atUs
}

const older = (a: Call, b: Call): number => (a.startedUs ?? 0) - (b.startedUs ?? 0) || (a.id < b.id ? -1 : 1)

/** Whom the transferer was calling: the phone that rings, or what it dialled (a queue, a group). */
function targetOf(state: TrackerState, call: Call, transferers: readonly Channel[]): Party {
  const ids = new Set(transferers.map((one) => one.id))
  const open = call.stages.filter((stage) => !stage.ended && stage.source !== null && ids.has(stage.source))
  const stage = open.findLast((one) => one.kind === 'queue' || one.kind === 'group') ?? open.at(-1)
  const leg = channelOf(state, stage?.legs[0] ?? null)
  if (leg !== undefined) return partyOf(leg.endpoint)
  const second = transferers.find((one) => one.dialled !== null && callOf(state, one)?.id === call.id)
  return second?.dialled === null || second === undefined ? call.to : partyOfNumber(second.dialled)
}

/** Receivers know of `from`, and learn of its merging from the transfer itself. */
const endsInside = (from: Call, into: Call): boolean => from.told && from.account === into.account

/** An attended transfer, which names both calls, makes them one: nothing more is emitted of `from`. */
function mergeTransferred(state: TrackerState, from: Call, into: Call): void {
  if (isOver(from) || isOver(into)) return
  state.merged.push({ account: from.account, record: mergedRecord(state, from, into) })
  moveInto(state, from, into)
  dropCall(state, from)
  state.dirty.delete(from.id)
}

/** Two calls become one in any other way: `from`, where it was emitted, ends at once, so that no card stays open. */
export function merge(state: TrackerState, from: Call, into: Call): void {
  if (from === into || isOver(from) || isOver(into)) return
  // Stages that are not over go on in the other call: what is emitted of this one shows them as they are now.
  const asOfNow = from.stages.map((stage) => ({ ...stage }))
  const ended = from.recordings.filter((one) => one.endedUs !== null)
  from.recordings = from.recordings.filter((one) => one.endedUs === null)
  moveInto(state, from, into)
  if (!from.told) {
    into.recordings.push(...ended)
    dropCall(state, from)
    state.dirty.delete(from.id)
    return
  }
  endConsultation(state, from)
  Object.assign(from, { stages: asOfNow, queues: [], recordings: ended, transfers: [] })
  from.mergedInto = { id: from.account === into.account ? into.id : null, result: null }
  from.endedUs = state.atUs
  from.endDueUs = state.nowUs
  touch(state, from)
}

const isOver = (call: Call): boolean => call.ended || call.mergedInto !== null

function moveInto(state: TrackerState, from: Call, into: Call): void {
  const openQueues = from.queues.filter((queue) => stageOf(from, queue.stageId)?.ended === false)
  const openStages = from.stages.filter((stage) => !stage.ended || !stage.told.ended)
  for (const channel of channelsOf(state, from)) place(state, channel, into)
  into.stages.push(...openStages)
  into.queues.push(...openQueues)
  into.recordings.push(...from.recordings)
  into.transferred.push(...from.transferred)
  into.transfers.push(...from.transfers)
  into.recorded ||= from.recorded
  into.partial ||= from.partial
  into.variables = { ...from.variables, ...into.variables }
  if (from.account === into.account) into.mergedFrom.push(...(from.told ? [from.id] : []), ...from.mergedFrom)
  if (into.direction === null) inheritBeginning(from, into)
  for (const linkedId of from.linkedIds) claimLinkedId(state, into, linkedId)
  for (const stage of openStages) {
    // Who was rung for the transferer is rung for the transferred party from now on.
    stage.source = replaced(state, into, stage.source)
  }
  into.endDueUs = null
  touch(state, into)
}

/** What is kept of a call that ends here, inside another. */
function mergedRecord(state: TrackerState, from: Call, into: Call): CallRecord {
  const call = {
    ...callView(state, from),
    merged_into: into.id,
    state: 'ended' as const,
    ended_at: rfc3339(state.atUs),
  }
  return { call, stages: stagesView(from), recordings: keptRecordings(from) }
}

/** A call of plumbing alone becomes one by what is merged into it. */
function inheritBeginning(from: Call, into: Call): void {
  into.direction = from.direction
  into.settled = from.settled
  into.root = from.root
  into.from = from.from
  into.to = from.to
  into.did = from.did
}

function replaced(state: TrackerState, call: Call, source: string | null): string | null {
  const channel = channelOf(state, source)
  if (channel !== undefined && isUp(channel) && !isVirtual(channel) && channel.id === call.root) return source
  return call.root ?? source
}

/**
 * A channel took over a call: it picked it up, retrieved or intercepted it. Its own call was none; it becomes a stage that was answered
 * without ringing, and those that rang for that call have been answered elsewhere.
 */
export function join(state: TrackerState, at: At, joiner: Channel, into: Channel): void {
  const source = callerOf(state, into)
  const call = callOf(state, source)
  const own = callOf(state, joiner)
  if (call === undefined || call === own || isOver(call) || (own !== undefined && isOver(own))) return
  if (own !== undefined) merge(state, own, call)
  else place(state, joiner, call)
  const stage = addStage(state, call, {
    kind: joiner.endpoint.kind === 'external' ? 'external' : 'user',
    target: joiner.endpoint.number,
    source: source.id,
    name: joiner.endpoint.name,
    startedUs: at.atUs,
  })
  joiner.dial = newDial(source.id, at.atUs, at.arrivedUs)
  joiner.dial.answeredUs = at.atUs
  joiner.dial.stageId = stage.id
  stage.legs.push(joiner.id)
  stage.answered = true
  stage.answeredUs = at.atUs
  stage.told.started = true
  const rung = stageOf(call, into.dial?.stageId ?? null)
  const parent = stageOf(call, rung?.parentId ?? null)
  if (rung?.answered === false && parent?.ended === false) stage.parentId = parent.id
  noteAnswer(call, stage, joiner, at.atUs)
  touch(state, call)
}

/** The party that is taken over, where what is named is a phone that rings for it. */
function callerOf(state: TrackerState, channel: Channel): Channel {
  if (channel.dial === null || channel.dial.answeredUs !== null) return channel
  const origin = originOf(state, channel.dial)
  return origin.kind === 'party' ? origin.channel : channel
}
