import type { ChannelSignal } from '../../calls/signal.ts'
import { cleanText } from '../text.ts'
import { diallerOf, type EslContext, type Leg, variableOf } from './context.ts'
import type { EslEvent } from './event.ts'

/** Who talks to whom, and what a meeting of two legs means: an answer, a transfer, a pick-up. */

const bridgeName = (a: string, b: string): string => (a < b ? `${a} ${b}` : `${b} ${a}`)

export function bridge(context: EslContext, event: EslEvent): ChannelSignal[] {
  const a = event.get('Bridge-A-Unique-ID')
  const b = event.get('Bridge-B-Unique-ID')
  const one = context.legs.get(a)
  const two = context.legs.get(b)
  if (a === '' || b === '' || a === b) return []
  const name = bridgeName(a, b)
  const meant = one === undefined || two === undefined ? [] : meeting(context, one, two)
  for (const [leg, other] of [[one, two] as const, [two, one] as const]) {
    if (leg === undefined) continue
    leg.bridged = true
    leg.answered ||= hasAnswered(event, leg)
    leg.left = false
    leg.peer = other?.id ?? null
    if (other !== undefined && !other.virtual) leg.peers.push(other.id)
  }
  const place = { bridge: name, room: false, waiting: false }
  return [
    ...meant,
    { kind: 'bridged', id: a, ...place },
    { kind: 'bridged', id: b, ...place },
    ...(one === undefined ? [] : answered(one)),
    ...(two === undefined ? [] : answered(two)),
  ]
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
  return [{ kind: 'dialed', source: leg.source, dest: leg.id, result: 'answered', forwardedTo: null }]
}

/**
 * Two legs that were not dialled for one another: both talked to somebody before, so that somebody handed one to the other; one is
 * rung for somebody who already handed over; or one, that talked to nobody yet, takes over a call (pick-up, parking).
 */
function meeting(context: EslContext, one: Leg, two: Leg): ChannelSignal[] {
  if (one.virtual || two.virtual || related(context, one, two)) return []
  const [first, second] = one.order < two.order ? [one, two] : [two, one]
  const talked = (leg: Leg, other: Leg): string | undefined => leg.peers.findLast((id) => id !== other.id)
  const firstPeer = talked(first, second)
  const secondPeer = talked(second, first)
  if (firstPeer !== undefined && secondPeer !== undefined) {
    return attended(context, [firstPeer, secondPeer], first.id, second.id)
  }
  const waiting = secondPeer === undefined ? first : second
  const fresh = waiting === first ? second : first
  const peer = firstPeer ?? secondPeer
  const dialler = diallerOf(context, fresh)
  if (peer !== undefined && dialler !== null && dialler !== waiting.id) {
    return attended(context, [peer, dialler], waiting.id, fresh.id)
  }
  if (fresh.source !== null || fresh.originated) return []
  return [{ kind: 'joined', id: fresh.id, into: waiting.id }]
}

function related(context: EslContext, one: Leg, two: Leg): boolean {
  const first = diallerOf(context, one)
  const second = diallerOf(context, two)
  return first === two.id || second === one.id || one.peers.includes(two.id) || (first !== null && first === second)
}

function attended(context: EslContext, transferers: string[], transferee: string, target: string): ChannelSignal[] {
  const pair = bridgeName(transferee, target)
  if (context.transferred.has(pair)) return []
  context.transferred.add(pair)
  return [{ kind: 'attended_transfer', transferers: [...new Set(transferers)], transferee, target }]
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

/** REFER with Replaces while the target still rings: the other party waits, and says for whom; the phone's second line rang it. */
function arranged(context: EslContext, event: EslEvent, leg: Leg): ChannelSignal[] {
  if (leg.peers.length === 0) return []
  const number = variableOf(event, 'att_xfer_destination_number')
  const peer = leg.peer ?? leg.peers.at(-1) ?? null
  if (number === '' || peer === null) return []
  // The first line may be gone by now.
  const extension = context.legs.get(peer)?.extension ?? null
  const legs = [...context.legs.values()]
  const second = legs.findLast(
    (one) => one.source === null && one.dialled === number && (extension === null || one.extension === extension),
  )
  const target = legs.findLast((one) => second !== undefined && one.source === second.id && !one.gone)
  if (second === undefined || target === undefined) return []
  return attended(context, [peer, second.id], leg.id, target.id)
}

/** REFER: the leg's own phone sent the other party away. */
function referred(context: EslContext, event: EslEvent, leg: Leg): ChannelSignal[] {
  const destination = variableOf(event, 'transfer_destination')
  const disposition = variableOf(event, 'endpoint_disposition')
  const isBlind = disposition === 'BLIND_TRANSFER' || event.get('Hangup-Cause') === 'BLIND_TRANSFER'
  const to = cleanText(destination.replace(/^blind:/, ''))
  if (!isBlind || !destination.startsWith('blind:') || to === null || leg.sentTo === to) return []
  leg.sentTo = to
  const transferee = leg.peer ?? leg.peers.at(-1) ?? null
  const other = transferee === null ? undefined : context.legs.get(transferee)
  if (other !== undefined) other.expected = to
  return [{ kind: 'blind_transfer', transferer: leg.id, transferee, to }]
}

/** REFER with Replaces: the leg says to whom its other party goes, and by which leg of its phone that was arranged. */
function replaced(context: EslContext, event: EslEvent, leg: Leg): ChannelSignal[] {
  const target = /^att:(.+)$/.exec(variableOf(event, 'transfer_to'))?.[1]
  const transferee = leg.peer ?? leg.peers.at(-1)
  if (target === undefined || transferee === undefined || transferee === target) return []
  const arranged = variableOf(event, 'refer_uuid')
  return attended(context, [leg.id, ...(arranged === '' ? [] : [arranged])], transferee, target)
}

const BLIND = /^\d+:[^:]*:bl_xfer:([^/":]+)\/[^/]*\/(?!inline)/

/**
 * A leg that is bridged with a person is sent elsewhere (by a feature code or the API): a new `bl_xfer`. The dialplan's own `transfer`
 * writes one too, but of a leg that talks to nobody.
 */
function moved(_context: EslContext, event: EslEvent, leg: Leg): ChannelSignal[] {
  const source = variableOf(event, 'transfer_source')
  const wasLeft = leg.left
  leg.left = false
  if (source === '' || source === leg.transferSource) return []
  const isFirst = leg.transferSource === '' && leg.peers.length === 0
  leg.transferSource = source
  const to = cleanText(BLIND.exec(source)?.[1] ?? '')
  const peer = leg.peer ?? (wasLeft ? leg.peers.at(-1) : undefined)
  if (isFirst || to === null || peer === undefined) return []
  if (leg.expected === to) {
    leg.expected = null
    return []
  }
  return [{ kind: 'blind_transfer', transferer: peer, transferee: leg.id, to }]
}
