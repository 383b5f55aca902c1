import type { At } from '../../signal.ts'
import { answerByConference } from '../state/call-answer.ts'
import {
  addToConference,
  callByLinkedId,
  callOf,
  channelOf,
  claimLinkedId,
  markChanged,
  stageOf,
} from '../state/registry.ts'
import { enterConversation } from '../state/stage-moves.ts'
import { type Call, type Channel, isUp, isVirtual, type PendingLink, type TrackerState } from '../state/state.ts'
import { noteUnseen } from '../state/unseen.ts'
import { isStill } from '../state/waits.ts'
import { startNow } from './call-start.ts'
import { partyFor } from './dial-origin.ts'
import { setDirection } from './direction.ts'
import { isOver, merge } from './merges.ts'
import { joinPage } from './pages.ts'
import { takeOverCall } from './transfers.ts'

/** Calls that turn out to belong together, and conferences. */

/** A transfer or pick-up that explains a call's new id comes with it; after this time the two calls count as one. */
const LINK_SETTLING_US = 300_000

/** Notes that the PBX now counts a channel to another call, and expects the transfer or pick-up that explains it. */
export function linkCalls(state: TrackerState, channel: Channel, linkedId: string): void {
  channel.linkedId = linkedId
  const own = callOf(state, channel)
  const other = callByLinkedId(state, linkedId)
  if (own === undefined || own === other || isVirtual(channel)) return
  if (other === undefined) {
    claimLinkedId(state, own, linkedId)
    return
  }
  if (own.consultedBy === null && !isOver(other)) expectLink(state, channel, other, false)
}

/**
 * Joins two calls later, unless a transfer or pick-up explains their link in time. `unseen`: it happened while there
 * was no connection.
 */
export function expectLink(state: TrackerState, channel: Channel, other: Call, unseen: boolean): void {
  if (state.pendingLinks.some((link) => link.channel === channel.id)) return
  const { atUs, nowUs } = state
  state.pendingLinks.push({ channel: channel.id, callId: other.id, atUs, dueUs: nowUs + LINK_SETTLING_US, unseen })
}

/**
 * Notes a transfer that may have been missed: the party that asked in a consultation is gone or may be, and the asked
 * party talks with a party of the first call.
 */
export function expectUnseenTransfer(state: TrackerState, one: Channel, other: Channel): void {
  const [own, others] = [callOf(state, one), callOf(state, other)]
  if (own === undefined || others === undefined || own === others || isOver(own) || isOver(others)) return
  if (isLeftAsking(state, own, others)) expectLink(state, one, others, true)
  else if (isLeftAsking(state, others, own)) expectLink(state, other, own, true)
}

function isLeftAsking(state: TrackerState, call: Call, first: Call): boolean {
  if (call.parentId !== first.id) return false
  const asking = channelOf(state, call.consultedBy ?? call.root)
  return asking === undefined || !isUp(asking) || asking.missingUs !== null
}

/** Joins a consultation with the call for which it was made, after a transfer that was missed. */
export function joinUnseenTransfer(state: TrackerState, consultation: Call, first: Call): void {
  noteUnseen(consultation, first)
  merge(state, consultation, first)
}

/** Joins linked calls whose link nothing explained in time. */
export function joinDueLinks(state: TrackerState): void {
  while (state.pendingLinks.length > 0) {
    const link = state.pendingLinks[0]
    if (link === undefined || isStill(state, link.dueUs)) return
    state.pendingLinks.shift()
    const channel = channelOf(state, link.channel)
    const own = callOf(state, channel)
    const other = state.calls.get(link.callId)
    if (channel === undefined || own === undefined || other === undefined || own === other) continue
    if (isOver(own) || isOver(other)) continue
    if (link.unseen) noteUnseen(own, other)
    joinLinkedCalls(state, channel, { own, other, atUs: link.atUs, unseen: link.unseen })
  }
}

/** Joins a call that is about to end with the calls it is linked to; returns whether there were any. */
export function joinLinksOf(state: TrackerState, call: Call): boolean {
  const isOf = (link: PendingLink) => link.callId === call.id || channelOf(state, link.channel)?.callId === call.id
  const due = state.pendingLinks.filter(isOf)
  if (due.length > 0) joinNow(state, due)
  return due.length > 0
}

/** Joins calls that were linked unseen at once, before the next signal of these channels is applied. */
export function joinUnseenLinks(state: TrackerState, ids: readonly (string | null)[]): void {
  const due = state.pendingLinks.filter((link) => link.unseen && ids.includes(link.channel))
  if (due.length > 0) joinNow(state, due)
}

function joinNow(state: TrackerState, links: readonly PendingLink[]): void {
  for (const link of links) link.dueUs = state.nowUs
  state.pendingLinks.sort((a, b) => a.dueUs - b.dueUs)
  joinDueLinks(state)
}

function joinLinkedCalls(
  state: TrackerState,
  channel: Channel,
  { own, other, atUs, unseen }: { own: Call; other: Call; atUs: number; unseen: boolean },
): void {
  const at = { atUs, arrivedUs: state.nowUs }
  const into = channelOf(state, other.root)
  const isThere = isUp(channel) || (into !== undefined && channel.talked.includes(into.id))
  // A caller from outside picks nothing up.
  const mayPickUp = !unseen || channel.endpoint.kind !== 'external'
  const picksUp = mayPickUp && own.root === channel.id && own.stages.length === 0 && isThere
  if (into !== undefined && picksUp && !isOlder(own, other)) {
    takeOverCall(state, at, channel, into)
    return
  }
  // The PBX counts a channel to the older call, in whatever order it reports the two calls.
  const isOwnFirst = unseen || own.emitted !== other.emitted ? isOlder(own, other) : false
  const [first, second] = isOwnFirst ? [own, other] : [other, own]
  merge(state, second, first, atUs)
  const stage = stageOf(first, channel.dial?.stageId ?? null)
  if (stage?.answered === true) enterConversation(stage, at.atUs)
}

/** Returns whether the id of the first call survives; receivers do not know a call that was not emitted. */
function isOlder(one: Call, other: Call): boolean {
  return one.emitted === other.emitted ? (one.startedUs ?? 0) < (other.startedUs ?? 0) : one.emitted
}

/**
 * Puts a channel into a conference. A conference is answered, by no party in particular, once it has two members; when
 * that was is unknown if a snapshot shows it.
 */
export function enterConference(
  state: TrackerState,
  at: At,
  channel: Channel,
  conference: string,
  isListed = false,
): void {
  if (!isUp(channel)) return
  noteCalledIn(state, channel)
  const members = addToConference(state, channel, conference)
  const present = [...members].flatMap((id) => channelOf(state, id) ?? [])
  joinPage(state, at, present)
  const parties = new Set(present.flatMap((one) => (isVirtual(one) ? (partyFor(state, one) ?? []) : one)))
  if (parties.size < 2) return
  for (const party of parties) {
    const call = callOf(state, party)
    if (call === undefined) continue
    answerByConference(call, isListed ? null : at.atUs)
    markChanged(state, call)
  }
}

/**
 * Corrects the call of an agent whose phone the PBX rang, and who is in a conference now: as far as known, there is no
 * outside party.
 */
function noteCalledIn(state: TrackerState, channel: Channel): void {
  const call = callOf(state, channel)
  if (call === undefined || !call.clickToCall || call.customerFirst || call.directionKnown) return
  if (call.root !== channel.id || call.to.number !== null) return
  setDirection(call, 'internal')
  startNow(state, call)
}
