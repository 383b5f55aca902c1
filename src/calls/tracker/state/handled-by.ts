import { isAnswered } from './call-answer.ts'
import { channelOf, talkersWith } from './registry.ts'
import {
  type Call,
  type Channel,
  isPartyStage,
  isUp,
  isVirtual,
  type Party,
  partyOf,
  type Stage,
  sameParty,
  type TrackerState,
} from './state.ts'

/** The parties that handled a call; the last one owns it. */

/** The most handlers in a body; the last one is the owner. */
const MAX_HANDLERS = 100

/**
 * Returns the parties that handled a call, in order: the PBX's own extensions that talked, else the outside party that
 * answered. The list of the last event only grows: by who joined since, and by the owner, if that is another one now.
 */
export function handledBy(state: TrackerState, call: Call): readonly Party[] {
  if (!isAnswered(call)) return []
  // Its end was emitted; a name that is learned later is another call's.
  if (call.saveDueUs !== null && call.handled.length > 0) return call.handled
  const talked = call.stages
    .filter((stage) => stage.answered && !stage.own && isPartyStage(stage))
    .map((stage) => handlerOf(state, stage))
    .toSorted((a, b) => a.enteredUs - b.enteredUs)
  const own = talked.filter(({ party }) => party.extension !== null)
  const caller = callerAsHandler(state, call)
  if (caller !== undefined) own.unshift(caller)
  // An extension takes the place of an outside party.
  const isStart = call.handled.every(({ extension }) => extension === null)
  if (isStart && own.length === 0) return talked.slice(0, 1).map(({ party }) => party)
  const list = isStart ? startOf(own) : grown(state, call, own)
  return list.filter((party, index, all) => !sameParty(all[index - 1], party)).slice(-MAX_HANDLERS)
}

/** Returns the first list: who joined, and the owner at its end, if the last one to join has left before. */
function startOf(handlers: readonly Handler[]): readonly Party[] {
  const parties = handlers.map(({ party }) => party)
  const owner = ownersOf(handlers).at(-1)?.party
  return owner === undefined ? parties : [...parties, owner]
}

/** Returns the list with those who joined since, and the owner at its end. */
function grown(state: TrackerState, { handled, hungUpBy, root }: Call, handlers: readonly Handler[]): readonly Party[] {
  const known = handled.map((party) => handlers.find((one) => sameParty(one.party, party))?.party ?? party)
  const joined = handlers.map(({ party }) => party).filter((party) => !known.some((one) => sameParty(one, party)))
  const owners = ownersOf(handlers).map(({ party }) => party)
  const last = known.at(-1)
  // Once the caller has hung up, those who talk leave one by one.
  const endUs = channelOf(state, root)?.goneUs ?? state.atUs
  const wasThere = handlers.some(({ party, untilUs }) => sameParty(last, party) && untilUs >= endUs - SAME_END_US)
  const isEnding = hungUpBy === 'caller' && wasThere
  const isOwner = joined.length === 0 && last !== undefined && (isEnding || owners.some((one) => sameParty(one, last)))
  const owner = owners.at(-1)
  return isOwner || owner === undefined ? [...known, ...joined] : [...known, ...joined, owner]
}

/** A party that handled the call, and when it joined and left. */
type Handler = { readonly party: Party; readonly enteredUs: number; readonly untilUs: number }

const STILL = Number.POSITIVE_INFINITY

function handlerOf(state: TrackerState, stage: Stage): Handler {
  const enteredUs = stage.enteredUs ?? stage.answeredUs ?? 0
  const legs = stage.legs.flatMap((id) => channelOf(state, id) ?? [])
  const untilUs = Math.max(-1, ...legs.map((leg) => talksUntilUs(state, leg) ?? -1))
  // A transfer joins it to the call a moment before their bridge is reported.
  const isJoining = untilUs < enteredUs && legs.some((leg) => isUp(leg) && leg.leftUs === null)
  const isOpen = untilUs < 0 || isJoining
  return { party: stageParty(state, stage), enteredUs, untilUs: isOpen ? (stage.endedUs ?? STILL) : untilUs }
}

/**
 * Returns the time until which a party was in a conversation; `null` if it was in no bridge. A party that transferred
 * left with the transfer, however long its channel stays up.
 */
function talksUntilUs(state: TrackerState, leg: Channel): number | null {
  // A phone that rings for it, behind virtual halves, does not talk yet.
  const others = isUp(leg) ? talkersWith(state, leg).filter(({ dial }) => dial?.answeredUs !== null) : []
  const untilUs = others.length === 0 ? leg.talkedUs : Math.max(...others.map(({ leftUs }) => leftUs ?? STILL))
  return leg.leftUs === null ? untilUs : Math.min(leg.leftUs, untilUs ?? leg.leftUs)
}

/** The caller of an outbound call comes first; so does a party that the PBX rang and connected with another call. */
function callerAsHandler(state: TrackerState, call: Call): Handler | undefined {
  const wasConnected = call.clickToCall && call.mergedInto !== null
  // A call-back's agent has a stage of its own, which shows whether the agent answered.
  if ((call.direction !== 'outbound' && !wasConnected) || call.from.extension === null || call.customerFirst)
    return undefined
  const root = channelOf(state, call.root)
  const untilUs = root === undefined ? null : talksUntilUs(state, root)
  return { party: call.from, enteredUs: 0, untilUs: untilUs ?? root?.goneUs ?? STILL }
}

/** All channels of a finished conversation are hung up within this time. */
const SAME_END_US = 1_000_000

/** Returns those who stayed until the end of the last conversation; the last one to join owns the call. */
function ownersOf(handlers: readonly Handler[]): readonly Handler[] {
  const lastUs = handlers.reduce((last, { untilUs }) => Math.max(last, untilUs), 0)
  return handlers.filter(({ untilUs }) => untilUs >= lastUs - SAME_END_US)
}

/** Returns the party of a stage. */
export function stageParty(state: TrackerState, stage: Stage): Party {
  const leg = channelOf(state, stage.legs[0] ?? null)
  if (leg !== undefined && !isVirtual(leg)) return { ...partyOf(leg.endpoint), name: stage.name ?? leg.endpoint.name }
  return { number: stage.target, name: stage.name, extension: stage.kind === 'user' ? stage.target : null }
}
