import type { At } from '../../signal.ts'
import { destination } from '../facts/places.ts'
import { notePage } from '../facts/ringing.ts'
import { callOf, channelOf, channelsOf, markChanged } from '../state/registry.ts'
import { ringFor } from '../state/stage-moves.ts'
import { type Call, type Channel, isUp, isVirtual, type TrackerState } from '../state/state.ts'
import { isOfSameAccount } from '../state/tenants.ts'
import { arrange } from './arrange.ts'
import { decideDirectionByDial, isByFeatureCode } from './direction.ts'
import { isOver, mayBecomeOne, merge } from './merges.ts'
import { noteAnswer } from './stages.ts'

/**
 * A page for which the PBX rings each phone by itself, and connects them with the pager in a conference: one call, from
 * the pager to the page's number.
 */

/**
 * Joins the phones that are rung for a page to the pager's call, once both are in the conference. The pages of several
 * customers may have conferences of one name.
 */
export function joinPage(state: TrackerState, at: At, present: readonly Channel[]): void {
  for (const pager of present.filter((one) => isPager(state, one))) joinPageOf(state, at, pager, present)
}

function joinPageOf(state: TrackerState, at: At, pager: Channel, present: readonly Channel[]): void {
  const page = callOf(state, pager)
  if (page === undefined) return
  const isHere = (call: Call): boolean => channelsOf(state, call).some((one) => present.includes(one))
  const waiting = [...state.calls.values()].filter((call) => call.paged && !call.emitted && !isOver(call))
  for (const call of waiting) {
    const { number } = pager.endpoint
    const isShown = number !== null && channelsOf(state, call).some(({ shown }) => shown === number)
    const isOfOther = channelsOf(state, call).some((one) => !isOfSameAccount(state, page, one))
    const isOfPage = (isHere(call) || isShown) && !isOfOther
    if (isOfPage && mayBecomeOne(call, page))
      join(state, at, { call, page, pager, isIntercom: waiting.length === 1 && callsPhone(state, call, pager) })
  }
  markChanged(state, page)
}

/** Joins a phone that is rung for a page in progress. */
export function joinPageUnderWay(state: TrackerState, at: At, call: Call | undefined): void {
  if (call?.paged !== true || call.emitted) return
  for (const members of state.conferences.values())
    joinPage(
      state,
      at,
      [...members].flatMap((id) => channelOf(state, id) ?? []),
    )
}

/**
 * Returns whether the pager dialled a feature code with the number of this one phone: an intercom, a call to that
 * phone.
 */
function callsPhone(state: TrackerState, { stages }: Call, pager: Channel): boolean {
  const leg = channelOf(state, stages[0]?.legs[0] ?? null)
  return leg !== undefined && isByFeatureCode(destination(pager.dialledNumber), leg)
}

/** Returns whether a channel is the caller of a call that rings only phones of a page. */
function isPager(state: TrackerState, channel: Channel): boolean {
  const call = callOf(state, channel)
  if (call === undefined || isVirtual(channel) || !isUp(channel) || call.root !== channel.id || isOver(call))
    return false
  return call.stages.every((stage) => stage.kind === 'group' || stage.parentId !== null)
}

function join(
  state: TrackerState,
  at: At,
  { call, page, pager, isIntercom }: { call: Call; page: Call; pager: Channel; isIntercom: boolean },
): void {
  const stages = [...call.stages]
  merge(state, call, page)
  if (isIntercom) {
    for (const stage of stages) ringFor(stage, pager.id)
    const leg = channelOf(state, stages[0]?.legs[0] ?? null)
    if (leg !== undefined) decideDirectionByDial(state, page, leg, pager)
    for (const stage of stages)
      if (stage.answered && leg !== undefined) noteAnswer(state, page, stage, { leg, enteredUs: at.atUs })
    return
  }
  const number = destination(pager.dialledNumber) ?? page.to.number
  if (number !== null) notePage(state, pager, number)
  for (const stage of stages) ringFor(stage, pager.id)
  arrange(state, page)
  for (const stage of stages) {
    const leg = channelOf(state, stage.legs[0] ?? null)
    if (stage.answered && leg !== undefined) noteAnswer(state, page, stage, { leg, enteredUs: at.atUs })
  }
}
