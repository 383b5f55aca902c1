import type { ChannelSignal } from '../../../calls/calls.ts'
import type { EslEvent } from '../event.ts'
import { type EslContext, type Leg, partyBehind, secondsIn } from './legs.ts'
import { meaningOfMeeting, wentAlone } from './transfers.ts'

// Bridges: which legs talk to each other, and the answers of dialled legs.

/** Returns the name of the bridge of two legs. */
export const bridgeName = (a: string, b: string): string => (a < b ? `${a} ${b}` : `${b} ${a}`)

/** Reads CHANNEL_BRIDGE: two legs talk to each other. */
export function bridge(context: EslContext, event: EslEvent): ChannelSignal[] {
  const a = event.get('Bridge-A-Unique-ID')
  const b = event.get('Bridge-B-Unique-ID')
  const one = context.legs.get(a)
  const two = context.legs.get(b)
  if (a === '' || b === '' || a === b) return []
  const name = bridgeName(a, b)
  const own = context.legs.get(event.get('Unique-ID'))
  if (own !== undefined) own.dialSeconds = secondsIn(event, 'call_timeout')
  for (const [leg, other] of [[one, two] as const, [two, one] as const]) {
    if (leg === undefined) continue
    leg.bridged = true
    leg.answered ||= hasAnswered(event, leg)
    leg.wasLeft = false
    leg.peer = other?.id ?? null
  }
  // A party that was rung for no call has answered in a call of its own before it meets a party of another one.
  const answers = [one, two].flatMap((leg) => (leg?.originated === true ? answered(leg) : []))
  const transfers = bridgeParties(
    context,
    partyBehind(context, one),
    partyBehind(context, two),
    one?.virtual || two?.virtual || false,
  )
  const place = { bridge: name, conference: false, holding: false }
  return [
    ...answers,
    ...transfers,
    { kind: 'bridged', id: a, ...place },
    { kind: 'bridged', id: b, ...place },
    ...(one === undefined ? [] : answered(one)),
    ...(two === undefined ? [] : answered(two)),
  ]
}

/** Two parties talk to each other, directly or through the halves of loopback channels. */
function bridgeParties(
  context: EslContext,
  one: Leg | undefined,
  two: Leg | undefined,
  through: boolean,
): ChannelSignal[] {
  if (one === undefined || two === undefined || one === two) return []
  const signals = meaningOfMeeting(context, one, two, through)
  one.peers.push(two.id)
  two.peers.push(one.id)
  return signals
}

/** Returns whether a leg has answered: its CHANNEL_ANSWER may have been missed. */
function hasAnswered(event: EslEvent, leg: Leg): boolean {
  const isOwn = event.get('Unique-ID') === leg.id
  if (!isOwn && event.get('Other-Leg-Unique-ID') !== leg.id) return false
  return Number(event.get(`${isOwn ? 'Caller' : 'Other-Leg'}-Channel-Answered-Time`)) > 0
}

/** Reads CHANNEL_UNBRIDGE: two legs no longer talk to each other. */
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
    leg.wasLeft = id !== own
  }
  const name = bridgeName(a, b)
  return [
    ...wentAlone(context, context.legs.get(own === a ? b : a)),
    { kind: 'unbridged', id: a, bridge: name },
    { kind: 'unbridged', id: b, bridge: name },
  ]
}

/** Returns the answer of a dialled leg once it has answered and been bridged: if several answer, one is kept. */
export function answered(leg: Leg): ChannelSignal[] {
  if (leg.answerSignalled || leg.gone || !leg.answered) return []
  if (leg.source === null && !leg.originated) return []
  if (!leg.bridged && !leg.originated) return []
  leg.answerSignalled = true
  return [{ kind: 'dial_end', source: leg.source, dest: leg.id, result: 'answered', forwardedTo: null }]
}
