import type { ChannelSignal } from '../../../calls/signal.ts'
import { cleanText } from '../../sanitize.ts'
import type { EslEvent } from '../event.ts'
import { type EslContext, everLeg, type Leg, partyBehind, variableOf } from './legs.ts'

/** Who talks to whom, and what a meeting of two legs means: an answer, a transfer, a pick-up. */

const bridgeName = (a: string, b: string): string => (a < b ? `${a} ${b}` : `${b} ${a}`)

export function bridge(context: EslContext, event: EslEvent): ChannelSignal[] {
  const a = event.get('Bridge-A-Unique-ID')
  const b = event.get('Bridge-B-Unique-ID')
  const one = context.legs.get(a)
  const two = context.legs.get(b)
  if (a === '' || b === '' || a === b) return []
  const name = bridgeName(a, b)
  for (const [leg, other] of [[one, two] as const, [two, one] as const]) {
    if (leg === undefined) continue
    leg.bridged = true
    leg.answered ||= hasAnswered(event, leg)
    leg.left = false
    leg.peer = other?.id ?? null
  }
  const meant = met(
    context,
    partyBehind(context, one),
    partyBehind(context, two),
    one?.virtual || two?.virtual || false,
  )
  const place = { bridge: name, conference: false, holding: false }
  return [
    ...meant,
    { kind: 'bridged', id: a, ...place },
    { kind: 'bridged', id: b, ...place },
    ...(one === undefined ? [] : answered(one)),
    ...(two === undefined ? [] : answered(two)),
  ]
}

/** Two parties talk to each other, directly or through the halves of loopback channels. */
function met(context: EslContext, one: Leg | undefined, two: Leg | undefined, through: boolean): ChannelSignal[] {
  if (one === undefined || two === undefined || one === two) return []
  const meant = meeting(context, one, two, through)
  one.peers.push(two.id)
  two.peers.push(one.id)
  return meant
}

/** Its CHANNEL_ANSWER may have been missed. */
function hasAnswered(event: EslEvent, leg: Leg): boolean {
  const isOwn = event.get('Unique-ID') === leg.id
  if (!isOwn && event.get('Other-Leg-Unique-ID') !== leg.id) return false
  return Number(event.get(`${isOwn ? 'Caller' : 'Other-Leg'}-Channel-Answered-Time`)) > 0
}

export function unbridge(context: EslContext, event: EslEvent): ChannelSignal[] {
  const a = event.get('Bridge-A-Unique-ID')
  const b = event.get('Bridge-B-Unique-ID')
  const own = event.get('Unique-ID')
  for (const [id, other] of [
    [a, b],
    [b, a],
  ] as const) {
    const leg = context.legs.get(id)
    if (leg === undefined || leg.peer !== other) continue
    leg.peer = null
    leg.left = id !== own
  }
  const name = bridgeName(a, b)
  return [
    ...wentAlone(context.legs.get(own === a ? b : a)),
    { kind: 'unbridged', id: a, bridge: name },
    { kind: 'unbridged', id: b, bridge: name },
  ]
}

/** A dialled leg is answered once it has both answered and been bridged: of several that answer one is kept. */
export function answered(leg: Leg): ChannelSignal[] {
  if (leg.told || leg.gone || !leg.answered) return []
  if (leg.source === null && !leg.originated) return []
  if (!leg.bridged && !leg.originated) return []
  leg.told = true
  return [{ kind: 'dial_end', source: leg.source, dest: leg.id, result: 'answered', forwardedTo: null }]
}

/**
 * Two legs that were not dialled for one another: both talked to somebody before, so that somebody handed one to the
 * other; one is rung for somebody who already handed over; or one, that talked to nobody yet, takes over a call
 * (pick-up, parking).
 */
function meeting(context: EslContext, one: Leg, two: Leg, through: boolean): ChannelSignal[] {
  if (related(one, two)) return []
  const [first, second] = one.order < two.order ? [one, two] : [two, one]
  const talked = (leg: Leg, other: Leg): string | undefined => leg.peers.findLast((id) => id !== other.id)
  const firstPeer = talked(first, second)
  const secondPeer = talked(second, first)
  if (firstPeer !== undefined && secondPeer !== undefined) {
    // The one whose partner was replaced is the target, be it the earlier one.
    const [transferee, target] = everLeg(context, firstPeer)?.replaced ? [second, first] : [first, second]
    return attended([firstPeer, secondPeer], transferee, target, through)
  }
  const waiting = secondPeer === undefined ? first : second
  const fresh = waiting === first ? second : first
  const peer = firstPeer ?? secondPeer
  if (peer !== undefined && fresh.dialler !== null && fresh.dialler !== waiting.id) {
    return attended([peer, fresh.dialler], waiting, fresh, through)
  }
  if (fresh.source !== null || fresh.originated) return []
  return [{ kind: 'joined', id: fresh.id, into: waiting.id, ...(through ? { through } : {}) }]
}

/**
 * They were to talk: one was dialled for the other, or for the same party, takes the other out of a queue, or talked
 * to it before.
 */
function related(one: Leg, two: Leg): boolean {
  if (one.peers.includes(two.id) || one.takes === two.id || two.takes === one.id) return true
  return one.dialler === two.id || two.dialler === one.id || (one.dialler !== null && one.dialler === two.dialler)
}

/** The same legs hand somebody over once, in however many ways and events that is told. */
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
  const told = { transferers: by, transferee: transferee.id, target: target?.id ?? null }
  return [{ kind: 'attended_transfer', ...told, ...(through ? { through } : {}) }]
}

/** What a leg's variables tell of transfers, in whatever event of it they are seen first. */
export function transfersOf(context: EslContext, event: EslEvent, leg: Leg): ChannelSignal[] {
  return [
    ...referred(context, event, leg),
    ...replaced(context, event, leg),
    ...arranged(context, event, leg),
    ...moved(context, event, leg),
  ]
}

/**
 * REFER with Replaces while the target still rings: the other party waits, and says for whom; the phone's second line
 * rang it.
 */
function arranged(context: EslContext, event: EslEvent, leg: Leg): ChannelSignal[] {
  const number = variableOf(event, 'att_xfer_destination_number')
  const peer = everLeg(context, counterpart(context, leg) ?? null)
  if (number === '' || peer === undefined || leg.arranged) return []
  const legs = [...context.legs.values()]
  const second = legs.findLast(
    (one) => one !== leg && one.source === null && one.dialled === number && one.extension === peer.extension,
  )
  if (second === undefined) return []
  leg.arranged = true
  const target = legs.findLast((one) => one.source === second.id && !one.gone)
  return attended([peer.id, second.id], leg, target?.virtual === true ? undefined : target)
}

/** The party that a leg talks to or talked to last, behind loopback halves. */
function counterpart(context: EslContext, leg: Leg): string | undefined {
  return partyBehind(context, everLeg(context, leg.peer))?.id ?? leg.peers.at(-1)
}

/** REFER: the leg's own phone sent the other party away. */
function referred(context: EslContext, event: EslEvent, leg: Leg): ChannelSignal[] {
  const destination = variableOf(event, 'transfer_destination')
  const to = cleanText(destination.replace(/^blind:/, ''))
  if (!isBlind(event) || !destination.startsWith('blind:') || to === null || leg.sentTo === to) return []
  leg.sentTo = to
  // What the PBX moves is the leg that it is bridged with, be it a loopback half.
  const moved = context.legs.get(leg.peer ?? leg.peers.at(-1) ?? '')
  if (moved !== undefined) moved.expected = to
  return [{ kind: 'blind_transfer', transferer: leg.id, transferee: counterpart(context, leg) ?? null, to }]
}

const isBlind = (event: EslEvent): boolean =>
  variableOf(event, 'endpoint_disposition') === 'BLIND_TRANSFER' || event.get('Hangup-Cause') === 'BLIND_TRANSFER'

/**
 * REFER with Replaces: the leg says by which other leg of its phone that was arranged, and to whom its other party
 * goes. That other leg may talk to nobody (a conference, a queue, a phone that still rings): then the other party is
 * sent where it had called.
 */
function replaced(context: EslContext, event: EslEvent, leg: Leg): ChannelSignal[] {
  const to = /^att:(.+)$/.exec(variableOf(event, 'transfer_to'))?.[1]
  const second = variableOf(event, 'refer_uuid')
  const isDone = to !== undefined || (variableOf(event, 'transfer_disposition') === 'recv_replace' && second !== '')
  const transferee = context.legs.get(counterpart(context, leg) ?? '')
  if (!isDone || isBlind(event) || transferee === undefined || transferee.id === to) return []
  const asked = everLeg(context, second)
  const named = context.legs.get(to ?? asked?.peer ?? '')
  const target = partyBehind(context, named)
  if (target === undefined && asked !== undefined) transferee.expected = asked.dialled
  return attended([leg.id, ...(second === '' ? [] : [second])], transferee, target, named?.virtual)
}

const BLIND = /^\d+:[^:]*:bl_xfer:([^/":]+)\/[^/]*\/(?!inline)/

/**
 * A leg that is bridged with a person is sent elsewhere (by a feature code or the API): a new `bl_xfer`. The
 * dialplan's own `transfer` writes one too, but of a leg that talks to nobody.
 */
function moved(context: EslContext, event: EslEvent, leg: Leg): ChannelSignal[] {
  const source = variableOf(event, 'transfer_source')
  const wasLeft = leg.left
  leg.left = false
  if (source === '' || source === leg.transferSource) return []
  // It may overtake the bridge that it announces, and what the party that leaves says of itself: these tell more.
  if (event.name === 'CALL_UPDATE' && HANDED.test(source)) return []
  const handed = handedOn(context, source, leg)
  const isFirst = leg.transferSource === '' && leg.peers.length === 0
  leg.transferSource = source
  const to = cleanText(BLIND.exec(source)?.[1] ?? '')
  const peer = partyBehind(context, everLeg(context, leg.peer))?.id ?? (wasLeft ? leg.peers.at(-1) : undefined)
  if (isFirst || to === null || peer === undefined) return handed
  if (leg.expected === to) {
    leg.expected = null
    return []
  }
  const other = context.legs.get(peer)
  // It was sent here together with the party that it sent, or runs the transfer itself: both go, and nobody leaves
  // (three-way).
  if (leg.sentTo === to || variableOf(event, 'current_application') === 'transfer') return bothGo(leg, other, to)
  if (other?.pending === to) return bothGo(other, leg, to)
  // Of a party that was dialled it shows with the caller's next event whether the caller goes too.
  if (leg.peer === peer && leg.dialler === peer && event.name !== 'CHANNEL_BRIDGE') {
    leg.pending = to
    return []
  }
  const second = consultation(context, other, to)
  if (second !== undefined) return attended([peer, second.id], partyBehind(context, leg) ?? leg, undefined)
  if (other !== undefined) other.sentTo = to
  return [{ kind: 'blind_transfer', transferer: peer, transferee: (partyBehind(context, leg) ?? leg).id, to }]
}

/** A party and the other one, who did not bring it about, go somewhere together. */
function bothGo(leg: Leg, other: Leg | undefined, to: string): ChannelSignal[] {
  leg.sentTo = to
  leg.pending = null
  if (other !== undefined) other.expected = to
  return [{ kind: 'blind_transfer', transferer: leg.id, transferee: other?.id ?? null, to, stays: true }]
}

/** The other party did not go where this one was sent: it sent it there. */
export function wentAlone(leg: Leg | undefined): ChannelSignal[] {
  const peer = leg?.peers.at(-1)
  if (leg === undefined || leg.pending === null || peer === undefined) return []
  const to = leg.pending
  leg.pending = null
  return [{ kind: 'blind_transfer', transferer: peer, transferee: leg.id, to }]
}

const HANDED = /^\d+:[^:]*:uuid_br:(.+)$/

/**
 * A leg that talked to somebody is about to be bridged with one that rings or talks for that party (or for somebody
 * it talked to).
 */
function handedOn(context: EslContext, source: string, leg: Leg): ChannelSignal[] {
  const target = context.legs.get(HANDED.exec(source)?.[1] ?? '')
  // While it is still bridged with another one, it shows with its own next bridge who was handed over.
  if (target === undefined || target.virtual || leg.virtual || target.peer !== null) return []
  return meeting(context, leg, target, false).filter((one) => one.kind === 'attended_transfer')
}

/** Another leg of the same phone called there and talks to no person: the other party takes its place. */
function consultation(context: EslContext, first: Leg | undefined, to: string): Leg | undefined {
  if (first === undefined || first.extension === null) return undefined
  return [...context.ended.values(), ...context.legs.values()].findLast(
    (leg) =>
      leg !== first &&
      leg.source === null &&
      leg.extension === first.extension &&
      leg.dialled === to &&
      leg.peers.length === 0 &&
      (leg.replaced || (leg.answered && !leg.gone)),
  )
}
