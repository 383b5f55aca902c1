import type { ChannelSignal } from '../../../calls/calls.ts'
import { cleanText } from '../../endpoints/sanitize.ts'
import { userOf } from '../address.ts'
import { type EslEvent, variableOf } from '../event.ts'
import { areOfOneCustomer, customerOf, type EslContext, everLeg, type Leg, partyBehind } from './legs.ts'

// Transfers and pick-ups: FreeSWITCH has no events for them, so they follow from variables and from legs that meet.

/**
 * Returns the meaning of a meeting of two legs that were not dialled for one another. If both talked to a party before,
 * that party handed one to the other. The same holds if one is rung for a party that has already handed the other over.
 * A leg that has talked to nobody takes over a call (pick-up, parking, a panel that rang it for that).
 */
export function meaningOfMeeting(context: EslContext, one: Leg, two: Leg, through: boolean): ChannelSignal[] {
  if (related(one, two)) return []
  const [first, second] = one.order < two.order ? [one, two] : [two, one]
  const talked = (leg: Leg, other: Leg): string | undefined => leg.peers.findLast((id) => id !== other.id)
  const firstPeer = talked(first, second)
  const secondPeer = talked(second, first)
  if (firstPeer !== undefined && secondPeer !== undefined) {
    // The leg whose partner was replaced is the target, even if it is the older one.
    const [transferee, target] = everLeg(context, firstPeer)?.replaced ? [second, first] : [first, second]
    return attended([firstPeer, secondPeer], transferee, target, through)
  }
  const waiting = secondPeer === undefined ? first : second
  const fresh = waiting === first ? second : first
  const peer = firstPeer ?? secondPeer
  if (peer !== undefined && fresh.dialler !== null && fresh.dialler !== waiting.id) {
    return attended([peer, fresh.dialler], waiting, fresh, through)
  }
  if (fresh.source !== null) return []
  return [{ kind: 'joined', id: fresh.id, into: waiting.id }]
}

/**
 * Returns whether two legs were meant to talk: one was dialled for the other, or for the same party, takes the other
 * out of a queue, or talked to it before.
 */
function related(one: Leg, two: Leg): boolean {
  if (one.peers.includes(two.id) || one.takesCaller === two.id || two.takesCaller === one.id) return true
  if (one.dialler === two.id || two.dialler === one.id) return true
  const { dialler } = one
  return dialler !== null && dialler === two.dialler && ![one, two].every(({ peers }) => peers.includes(dialler))
}

/** Returns an attended transfer, once for the same legs: it shows in several ways and events. */
function attended(
  transferers: readonly string[],
  transferee: Leg,
  target: Leg | undefined,
  through = false,
): ChannelSignal[] {
  const by = [...new Set(transferers)]
  const known = [transferee, target].some((leg) => leg !== undefined && by.every((id) => leg.handedOverBy.has(id)))
  for (const leg of [transferee, target]) for (const id of by) leg?.handedOverBy.add(id)
  if (known) return []
  const parties = { transferers: by, transferee: transferee.id, target: target?.id ?? null }
  return [{ kind: 'attended_transfer', ...parties, ...(through ? { through } : {}) }]
}

/** Returns the transfers that the variables of a leg show, in the first event that has them. */
export function transfersOf(context: EslContext, event: EslEvent, leg: Leg): ChannelSignal[] {
  return [
    ...referred(context, event, leg),
    ...replaced(context, event, leg),
    ...arrangedTransfer(context, event, leg),
    ...sentElsewhere(context, event, leg),
  ]
}

/**
 * REFER with Replaces while the target still rings: the other party waits, and its variables name the target, which the
 * phone's second leg rang.
 */
function arrangedTransfer(context: EslContext, event: EslEvent, leg: Leg): ChannelSignal[] {
  const number = variableOf(event, 'att_xfer_destination_number')
  const peer = everLeg(context, counterpart(context, leg) ?? null)
  if (number === '' || peer === undefined || leg.isTransferArranged) return []
  const legs = [...context.legs.values()]
  const second = legs.findLast(
    (one) =>
      one !== leg &&
      one.source === null &&
      one.dialled === number &&
      one.extension === peer.extension &&
      areOfOneCustomer(context, one, peer),
  )
  if (second === undefined) return []
  leg.isTransferArranged = true
  const target = legs.findLast((one) => one.source === second.id && !one.gone)
  return attended([peer.id, second.id], leg, target?.virtual === true ? undefined : target)
}

/** Returns the party with which a leg talks or talked last, behind loopback halves. */
function counterpart(context: EslContext, leg: Leg): string | undefined {
  return partyBehind(context, everLeg(context, leg.peer))?.id ?? leg.peers.at(-1)
}

/** Returns the signal of a blind transfer, with the name of the extension that was dialled. */
export function blind(
  context: EslContext,
  of: { transferer: string; transferee: string | null; to: string },
): Extract<ChannelSignal, { kind: 'blind_transfer' }> {
  return { kind: 'blind_transfer', ...of, name: nameOfUser(context, everLeg(context, of.transferer), of.to) }
}

/** Returns the name of the user with a number; `null` if several customers have such a user. */
function nameOfUser(context: EslContext, leg: Leg | undefined, number: string): string | null {
  const domain = context.tenants?.by === 'domain' && leg !== undefined ? customerOf(context, leg) : null
  const names = [...context.endpoints.userNames].flatMap(([user, name]) => {
    const [own, at] = [userOf(user), user.slice(user.indexOf('@') + 1).toLowerCase()]
    return own === number && (domain === null || at === domain) ? name : []
  })
  const [name, ...others] = new Set(names)
  return others.length > 0 ? null : (name ?? null)
}

/** REFER: the leg's own phone sent the other party away. */
function referred(context: EslContext, event: EslEvent, leg: Leg): ChannelSignal[] {
  const destination = variableOf(event, 'transfer_destination')
  if (!destination.startsWith('blind:') || !isBlind(event)) return []
  const to = cleanText(destination.slice('blind:'.length))
  if (to === null || leg.sentTo === to) return []
  leg.sentTo = to
  // The PBX moves the leg that is bridged with this one, even a loopback half.
  const moved = context.legs.get(leg.peer ?? leg.peers.at(-1) ?? '')
  if (moved !== undefined) moved.expectedDestination = to
  return [blind(context, { transferer: leg.id, transferee: counterpart(context, leg) ?? null, to })]
}

const isBlind = (event: EslEvent): boolean =>
  variableOf(event, 'endpoint_disposition') === 'BLIND_TRANSFER' || event.get('Hangup-Cause') === 'BLIND_TRANSFER'

/**
 * REFER with Replaces: the variables name the phone's other leg, which made the consultation, and the leg to which the
 * other party goes. That other leg may talk to nobody (a conference, a queue, a phone that still rings): then the other
 * party is sent to the destination that it had dialled.
 */
function replaced(context: EslContext, event: EslEvent, leg: Leg): ChannelSignal[] {
  const to = /^att:(.+)$/.exec(variableOf(event, 'transfer_to'))?.[1]
  const isReplaced = to !== undefined || variableOf(event, 'transfer_disposition') === 'recv_replace'
  if (!isReplaced) return []
  const second = variableOf(event, 'refer_uuid')
  const isDone = to !== undefined || second !== ''
  const transferee = context.legs.get(counterpart(context, leg) ?? '')
  if (!isDone || isBlind(event) || transferee === undefined || transferee.id === to) return []
  const consulting = everLeg(context, second)
  const named = context.legs.get(to ?? consulting?.peer ?? '')
  const target = partyBehind(context, named)
  if (target === undefined && consulting !== undefined) transferee.expectedDestination = consulting.dialled
  return attended([leg.id, ...(second === '' ? [] : [second])], transferee, target, named?.virtual)
}

const BLIND = /^\d+:[^:]*:bl_xfer:([^/":]+)\/[^/]*\/(?!inline)/

/**
 * A leg in a conversation is sent elsewhere (by a feature code or the API): a new `bl_xfer`. The dialplan's own
 * `transfer` writes one too, but for a leg that talks to nobody.
 */
function sentElsewhere(context: EslContext, event: EslEvent, leg: Leg): ChannelSignal[] {
  const source = variableOf(event, 'transfer_source')
  const wasLeft = leg.wasLeft
  leg.wasLeft = false
  if (source === '' || source === leg.transferSource) return []
  // It may come before the bridge that it announces, and before the events of the leaving party, which are better
  // evidence.
  if (event.name === 'CALL_UPDATE' && HANDED.test(source)) return []
  const handed = handedOn(context, source, leg)
  const isFirst = leg.transferSource === '' && leg.peers.length === 0
  leg.transferSource = source
  const to = cleanText(BLIND.exec(source)?.[1] ?? '')
  const peer = partyBehind(context, everLeg(context, leg.peer))?.id ?? (wasLeft ? leg.peers.at(-1) : undefined)
  if (isFirst || to === null || peer === undefined) return handed
  if (leg.expectedDestination === to) {
    leg.expectedDestination = null
    return []
  }
  const other = context.legs.get(peer)
  // It was sent here together with the party that it sent, or runs the transfer itself: both go, and neither leaves
  // (three-way).
  if (leg.sentTo === to || variableOf(event, 'current_application') === 'transfer')
    return bothGo(context, leg, other, to)
  if (other?.pendingDestination === to) return bothGo(context, other, leg, to)
  // If that party was dialled, the caller's next event shows whether the caller goes too.
  if (leg.peer === peer && leg.dialler === peer && event.name !== 'CHANNEL_BRIDGE') {
    leg.pendingDestination = to
    return []
  }
  const second = consultation(context, other, to)
  if (second !== undefined) return attended([peer, second.id], partyBehind(context, leg) ?? leg, undefined)
  if (other !== undefined) other.sentTo = to
  return [blind(context, { transferer: peer, transferee: (partyBehind(context, leg) ?? leg).id, to })]
}

/** Returns the transfer of a party that takes the other one along. */
function bothGo(context: EslContext, leg: Leg, other: Leg | undefined, to: string): ChannelSignal[] {
  leg.sentTo = to
  leg.pendingDestination = null
  if (other !== undefined) other.expectedDestination = to
  return [{ ...blind(context, { transferer: leg.id, transferee: other?.id ?? null, to }), stays: true }]
}

/** Returns the transfer of a leg whose other party did not go along: that party sent it there. */
export function wentAlone(context: EslContext, leg: Leg | undefined): ChannelSignal[] {
  const peer = leg?.peers.at(-1)
  if (leg === undefined || leg.pendingDestination === null || peer === undefined) return []
  const to = leg.pendingDestination
  leg.pendingDestination = null
  return [blind(context, { transferer: peer, transferee: leg.id, to })]
}

const HANDED = /^\d+:[^:]*:uuid_br:(.+)$/

/**
 * Returns the signals of a leg that talked to a party and is about to be bridged with one that rings or talks for that
 * party (or for a party that it talked to).
 */
function handedOn(context: EslContext, source: string, leg: Leg): ChannelSignal[] {
  const target = context.legs.get(HANDED.exec(source)?.[1] ?? '')
  // While it is still bridged with another leg, its own next bridge shows which party was handed over.
  if (target === undefined || target.virtual || leg.virtual || target.peer !== null) return []
  return meaningOfMeeting(context, leg, target, false).filter((one) => one.kind === 'attended_transfer')
}

/**
 * Returns the consultation leg: another leg of the same phone that called there and talks to nobody. The other party
 * replaces it.
 */
function consultation(context: EslContext, first: Leg | undefined, to: string): Leg | undefined {
  if (first === undefined || first.extension === null) return undefined
  return [...context.ended.values(), ...context.legs.values()].findLast(
    (leg) =>
      leg !== first &&
      leg.source === null &&
      leg.extension === first.extension &&
      areOfOneCustomer(context, leg, first) &&
      leg.dialled === to &&
      leg.peers.length === 0 &&
      (leg.replaced || (leg.answered && !leg.gone)),
  )
}
