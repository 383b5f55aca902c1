import type { At, ChannelSignal } from '../../signal.ts'
import { noteHandedOver, noteSource, noteTakenOver } from '../facts/dials.ts'
import { destination } from '../facts/places.ts'
import { answerCall } from '../state/call-answer.ts'
import { markLeft, realPartyOf, talkedWith } from '../state/conversations.ts'
import {
  callOf,
  channelOf,
  consultationsOf,
  heardBy,
  legsOf,
  markChanged,
  placeInCall,
  stageOf,
} from '../state/registry.ts'
import { addLeg, addStage, enterConversation, noteConnected, noteStageAnswered, ringFor } from '../state/stage-moves.ts'
import {
  ANONYMOUS,
  type Call,
  type Channel,
  isUp,
  isVirtual,
  type Party,
  partyOf,
  partyOfNumber,
  type Stage,
  type TrackerState,
} from '../state/state.ts'
import { isExtensionOf, setAccount } from '../state/tenants.ts'
import { place } from './arrange.ts'
import { originOf } from './dial-origin.ts'
import { openQueue } from './dial-stages.ts'
import { decideDirectionByDial } from './direction.ts'
import { addTransfer, isNewTransfer } from './due-transfers.ts'
import { noteCallGoesOn } from './hangups.ts'
import { endsInside, isKnown, isOver, mayBecomeOne, merge, mergeTransferred } from './merges.ts'
import { membersOf } from './parent-stages.ts'
import { noteAnswer, noteQueueAnswer } from './stages.ts'

/** Transfers, and channels that take over a call. */

type Blind = Extract<ChannelSignal, { kind: 'blind_transfer' }>

/** Notes a blind transfer, once for all reports of it. The transferer has left the call unless it `stays`. */
export function blindTransfer(state: TrackerState, at: At, signal: Blind): void {
  const { to } = signal
  const transferee = channelOf(state, signal.transferee)
  const transferer = channelOf(state, signal.transferer) ?? otherParty(state, transferee)
  const call = callOf(state, transferer) ?? callOf(state, transferee)
  if (call === undefined || isOver(call)) return
  const by = realPartyOf(state, transferer) ?? transferer
  const real = realPartyOf(state, transferee ?? otherParty(state, transferer), by === undefined ? [] : [by])
  const transfer = {
    kind: 'blind' as const,
    by: partyIn(state, call, by) ?? ANONYMOUS,
    transferee: partyIn(state, call, real),
    to: { ...partyOfNumber(to, isExtensionOf(state, call, to)), name: signal.name ?? null },
    otherCallId: null,
    atUs: at.atUs,
  }
  if (isNewTransfer(call, { key: `blind by ${by?.endpoint.number ?? '-'} to ${to}`, by: by?.id ?? null }, at))
    addTransfer(call, transfer)
  call.parking = null
  for (const one of [transferer, by]) {
    if (one === undefined) continue
    if (signal.stays === true) one.leftUs = null
    else markLeft(one, at.atUs)
  }
  noteCallGoesOn(call)
  markChanged(state, call)
}

function otherParty(state: TrackerState, channel: Channel | undefined): Channel | undefined {
  return channel === undefined ? undefined : heardBy(state, channel)[0]
}

type Attended = Extract<ChannelSignal, { kind: 'attended_transfer' }>

/** Notes an attended transfer, once for all reports of it, and merges its calls into the oldest. */
export function attendedTransfer(state: TrackerState, at: At, signal: Attended): void {
  const transferers = signal.transferers.flatMap((id) => channelOf(state, id) ?? [])
  const parties = transferParties(state, signal, transferers)
  const transferee = channelOf(state, signal.transferee)
  const target = channelOf(state, signal.target)
  const calls = [transferee, target, ...transferers].flatMap((one) => callOf(state, one) ?? [])
  for (const one of transferers) calls.push(...consultationsOf(state, one.id))
  const [first, ...others] = [...new Set(calls)].filter((call) => !isOver(call)).sort(older)
  if (first === undefined) return
  // While the first call's account is undecided it takes the account of the others, which decides which calls may join.
  const known = others.find(isKnown)
  if (first.accountDueUs !== null && known !== undefined) setAccount(state, first, known)
  const rest = others.filter((call) => mayBecomeOne(call, first))
  const other = rest.find((call) => endsInside(call, first)) ?? rest[0]
  // Two parties are joined only once, however late a second report comes.
  const isPair = transferee !== undefined && target !== undefined
  const key = isPair ? `${transferee.id} to ${target.id}` : `attended by ${parties.by?.endpoint.number ?? '-'}`
  const report = { key, by: parties.by?.id ?? null }
  const isTransfer = isNewTransfer(first, isPair ? { ...report, withinUs: Number.POSITIVE_INFINITY } : report, at)
  if (isTransfer) {
    const transfer = {
      kind: 'attended' as const,
      by: partyIn(state, first, parties.by) ?? ANONYMOUS,
      transferee: partyIn(state, first, parties.transferee),
      to: targetIn(state, first, { parties, transferers, target, other, isApart: rest.length < others.length }),
      otherCallId: other !== undefined && endsInside(other, first) ? other.id : null,
      atUs: at.atUs,
    }
    addTransfer(first, transfer)
  }
  if (signal.stays !== true)
    for (const one of [...transferers, parties.by]) if (one !== undefined) markLeft(one, at.atUs)
  for (const call of [first, ...rest]) handOver(state, call, parties, { transferers, at })
  const isToCaller = parties.to !== undefined && callOf(state, parties.to)?.root === parties.to.id
  for (const call of rest) {
    if (isTransfer && call === other && endsInside(call, first))
      mergeTransferred(state, call, first, signal.through === true)
    else merge(state, call, first)
  }
  // The party that answered the consultation handles the call from now on; if it is an outside party or a caller, the
  // party joined to it does.
  if (stageOfParty(state, parties.to)?.answered === true) {
    noteEntered(state, parties.to?.endpoint.kind === 'external' ? parties.transferee : parties.to, at)
  } else if (isToCaller) noteEntered(state, parties.transferee, at)
  noteCallGoesOn(first)
  markChanged(state, first)
}

type Parties = { by: Channel | undefined; transferee: Channel | undefined; to: Channel | undefined }

/** Returns a party as a call's receivers may see it: `null` without a party, or if it is in another account's call. */
function partyIn(state: TrackerState, call: Call, channel: Channel | undefined): Party | null {
  const own = callOf(state, channel)
  if (channel === undefined || (own?.emitted === true && own.account !== call.account)) return null
  return partyOf(channel.endpoint)
}

/** Returns the target of an attended transfer as the first call's receivers may see it. */
function targetIn(
  state: TrackerState,
  first: Call,
  of: {
    parties: Parties
    transferers: readonly Channel[]
    target: Channel | undefined
    other: Call | undefined
    isApart: boolean
  },
): Party {
  const { parties, transferers, target, other, isApart } = of
  if (parties.to !== undefined) return partyIn(state, first, parties.to) ?? ANONYMOUS
  // The other call belongs to another account.
  if (isApart && other === undefined) return ANONYMOUS
  const rung = rungTargetOf(state, other ?? first, transferers)
  if (rung !== undefined) return rung
  // The dialplan may have moved the transferer on, from the number that it dialled.
  const hasCalled = other !== undefined && transferers.some(({ id }) => id === other.root)
  return hasCalled && other.to.number !== null ? other.to : dialledTargetOf(state, other ?? first, transferers, target)
}

/**
 * Returns the three parties of a transfer as real parties. A PBX may name virtual halves, and may have moved them
 * before its report. The transferee is neither the target nor the transferer: if it seems so, it is the other party of
 * the transferer's conversation.
 */
function transferParties(state: TrackerState, signal: Attended, transferers: readonly Channel[]): Parties {
  const by = realPartyOf(state, transferers[0]) ?? transferers[0]
  const mine = [...transferers, ...(by === undefined ? [] : [by])]
  const to = realPartyOf(state, channelOf(state, signal.target), mine) ?? whoAnswered(state, mine)
  const taken = to === undefined ? mine : [...mine, to]
  const named = realPartyOf(state, channelOf(state, signal.transferee), taken)
  if (named !== undefined && !taken.includes(named)) return { by, transferee: named, to }
  const talked = mine.flatMap((one) => talkedWith(state, one)).find((one) => !taken.includes(one))
  return { by, transferee: talked, to }
}

/** Returns the party that answered the consultation, for PBXs that do not name the target. */
function whoAnswered(state: TrackerState, asking: readonly Channel[]): Channel | undefined {
  const asked = asking.flatMap((one) => consultationsOf(state, one.id))
  const stage = asked.flatMap((call) => call.stages).findLast((one) => one.answered && !one.ended)
  const leg = stage?.legs.findLast((id) => (channelOf(state, id)?.dial?.answeredUs ?? null) !== null)
  return channelOf(state, leg ?? null)
}

/** Hands the transferer's open dials over to the transferee. If nobody answers them, the PBX may call back. */
function handOver(
  state: TrackerState,
  call: Call,
  { by, transferee, to }: Parties,
  of: { transferers: readonly Channel[]; at: At },
): void {
  if (transferee === undefined) return
  const { transferers, at } = of
  const ids = new Set(transferers.map(({ id }) => id))
  for (const stage of call.stages) {
    if (stage.ended || stage.answered || stage.source === null || !ids.has(stage.source)) continue
    ringFor(stage, transferee.id, at.atUs)
    noteHandedOver(legsOf(state, stage), ids)
  }
  call.recall = { by: by?.endpoint.number ?? null, to: to?.endpoint.number ?? null, transferee: transferee.id }
}

/** Notes that a party joined a conversation by a transfer: it handles the call from now on. */
function noteEntered(state: TrackerState, party: Channel | undefined, at: At): void {
  const stage = stageOfParty(state, party)
  if (stage?.kind === 'user' && stage.answered) enterConversation(stage, at.atUs)
}

function stageOfParty(state: TrackerState, party: Channel | undefined): Stage | undefined {
  const call = callOf(state, party)
  return call === undefined ? undefined : stageOf(call, party?.dial?.stageId ?? null)
}

const older = (a: Call, b: Call): number => (a.startedUs ?? 0) - (b.startedUs ?? 0) || (a.id < b.id ? -1 : 1)

/** Returns the phone, group or queue that rings for the transferer; undefined if none does. */
function rungTargetOf(state: TrackerState, call: Call, transferers: readonly Channel[]): Party | undefined {
  const ids = new Set(transferers.map((one) => one.id))
  const open = call.stages.filter((stage) => !stage.ended && stage.source !== null && ids.has(stage.source))
  const answered = open.findLast((one) => one.answered)
  const stage = answered ?? open.findLast((one) => one.kind === 'queue' || one.kind === 'group') ?? open.at(-1)
  if (stage?.kind === 'group' && stage.target !== null) return partyOfNumber(stage.target)
  const leg = channelOf(state, stage?.legs[0] ?? null)
  return leg === undefined ? undefined : partyOf(leg.endpoint)
}

/** Returns the number that the transferer dialled, which the virtual half of that dial still has. */
function dialledTargetOf(
  state: TrackerState,
  call: Call,
  transferers: readonly Channel[],
  target: Channel | undefined,
): Party {
  const through = target !== undefined && isVirtual(target) ? [target] : []
  const [dialled] = [...transferers.filter((one) => callOf(state, one)?.id === call.id), ...through].flatMap(
    (one) => destination(one.dialledNumber) ?? [],
  )
  return dialled === undefined ? call.to : partyOfNumber(dialled)
}

/**
 * Lets a channel take over a call: a pick-up, a retrieved parking or an intercept. Its own call turns out to be none:
 * it becomes a stage that was answered without ringing, and the phones that rang for the other call are answered
 * elsewhere.
 */
export function takeOverCall(state: TrackerState, at: At, joiner: Channel, into: Channel): void {
  const source = callerOf(state, into)
  // A phone that rings in a consultation is picked up in the consultation.
  const call = rungIn(state, into) ?? callOf(state, source)
  const own = callOf(state, joiner)
  if (call === undefined || call === own || isOver(call)) return
  if (own !== undefined && (isOver(own) || !mayBecomeOne(own, call))) return
  const rung = own === undefined ? undefined : stageOf(own, joiner.dial?.stageId ?? null)
  if (own !== undefined && rung?.answered === true && !rung.ended) {
    bringTogether(state, at, { own, call, joiner, into, source, stage: rung })
    return
  }
  if (own !== undefined) merge(state, own, call)
  else placeInCall(state, joiner, call)
  const stage = addStage(state, call, {
    kind: joiner.endpoint.kind === 'external' ? 'external' : 'user',
    target: joiner.endpoint.number,
    source: source.id,
    name: joiner.endpoint.name,
    startedUs: at.atUs,
  })
  noteTakenOver(at, joiner, source.id)
  addLeg(stage, joiner)
  noteStageAnswered(stage, at.atUs)
  stage.emitted.started = true
  takeOverParent(call, stage, parentOfJoined(call, into, source))
  noteAnswer(state, call, stage, { leg: joiner, enteredUs: at.atUs })
  markChanged(state, call)
}

/**
 * Connects, by command, a party that answered in a call of its own with a party of another call: its stage goes on
 * there.
 */
function bringTogether(
  state: TrackerState,
  at: At,
  parts: { own: Call; call: Call; joiner: Channel; into: Channel; source: Channel; stage: Stage },
): void {
  const { own, call, joiner, into, source, stage } = parts
  answerCall(own, at.atUs, partyOf(source.endpoint))
  answerCall(call, at.atUs, partyOf(joiner.endpoint))
  merge(state, own, call)
  noteSource(joiner, source.id)
  ringFor(stage, source.id, at.atUs)
  noteConnected(stage)
  takeOverParent(call, stage, parentOfJoined(call, into, source))
  noteAnswer(state, call, stage, { leg: joiner, enteredUs: at.atUs })
  decideDirectionByDial(state, call, joiner, source)
  markChanged(state, call)
}

/**
 * Gives a group or queue the answer of a party that takes its caller. If it has rung members, this party is not one of
 * them: the group or queue was picked up, and ends with its own members. Without members, this party is the queue's
 * agent.
 */
function takeOverParent(call: Call, taker: Stage, parent: Stage | undefined): void {
  place(taker, null)
  if (parent === undefined) return
  if (membersOf(call, parent.id).length === 0) {
    place(taker, parent.id)
    return
  }
  noteStageAnswered(parent, taker.answeredUs)
  noteQueueAnswer(call, parent, taker.answeredUs)
}

/** Gives the group or queue that rang for a caller the answer of a party that was found to have picked up the call. */
export const takeOverUnseen = (call: Call, taker: Stage, caller: Channel): void =>
  takeOverParent(call, taker, parentOfJoined(call, caller, caller))

/** Returns the group or queue that rang the taken-over party, or in which the caller was found. */
function parentOfJoined(call: Call, into: Channel, source: Channel): Stage | undefined {
  const rung = stageOf(call, into.dial?.stageId ?? null)
  const parent = rung?.answered === false ? stageOf(call, rung.parentId) : undefined
  if (parent?.ended === false) return parent
  const open = call.stages.filter((stage) => stage.source === source.id && !stage.ended && !stage.answered)
  return openQueue(call, source) ?? open.findLast((stage) => stage.kind === 'group')
}

/** Returns the call in which a channel rings. */
const rungIn = (state: TrackerState, channel: Channel): Call | undefined =>
  stageOfParty(state, channel)?.answered === false ? callOf(state, channel) : undefined

/** Returns the party that is taken over: if the PBX names a phone that rings, the party for which it rings. */
function callerOf(state: TrackerState, channel: Channel): Channel {
  if (isVirtual(channel) && channel.half === 1 && channel.dial?.answeredUs === null) {
    const origin = originOf(state, channel.dial)
    if (origin.kind === 'party') return origin.channel
  }
  if (isVirtual(channel)) return realPartyOf(state, channel) ?? channel
  if (channel.dial === null || channel.dial.answeredUs !== null) return channel
  // A transfer may have changed the party for which it rings.
  const stage = stageOfParty(state, channel)
  const rungFor = channelOf(state, stage?.source ?? null)
  if (rungFor !== undefined && isUp(rungFor)) return rungFor
  const origin = originOf(state, channel.dial)
  return origin.kind === 'party' ? origin.channel : channel
}
