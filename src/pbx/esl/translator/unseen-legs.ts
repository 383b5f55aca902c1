import type { ChannelSignal } from '../../../calls/calls.ts'
import { SECOND } from '../../../lib/time.ts'
import { cleanText } from '../../endpoints/sanitize.ts'
import type { EslEvent } from '../event.ts'
import { bridgeName } from './bridges.ts'
import { createLeg, sourceOf } from './channel-create.ts'
import { type EslContext, everLeg, type Leg, partyBehind, placeOf } from './legs.ts'
import { blind } from './transfers.ts'

/** Signals, with the PBX's time stamp of what they report. */
type Stamped = { readonly signals: readonly ChannelSignal[]; readonly stamp: string }

/**
 * Returns the beginning of a leg whose creation was not seen, and which the list of channels lacked: FreeSWITCH writes
 * its list some 100 ms after its events, so neither shows a leg that began just before the connection. The leg's later
 * events have the same facts, with their times.
 */
export function beginningOf(context: EslContext, event: EslEvent): Stamped[] {
  if (!beginsHere(context, event)) return []
  const id = event.get('Unique-ID')
  if (id === '' || context.legs.has(id) || context.ended.has(id)) return []
  // Later events do not name the caller for whom a queue or an enterprise group rings.
  if (event.get('Call-Direction') === 'outbound' && everLeg(context, sourceOf(event)) === undefined) return []
  // A leg that another one met has joined that one's call.
  const isOfOther = event.get('Other-Type') === 'originator'
  const left = leftBefore(context, event)
  const begun = createLeg(context, event)
  const signals = [...left, ...(isOfOther ? begun : begun.map(unseen))]
  const created = { signals, stamp: event.get('Caller-Channel-Created-Time') }
  const leg = context.legs.get(id)
  if (leg === undefined) return []
  const rang = RINGING_TIMES.map((name) => event.get(name)).find((stamp) => Number(stamp) > 0)
  if (rang === undefined || leg.source === null) return [created]
  leg.rang = true
  return [created, { signals: [{ kind: 'ringing', id }], stamp: rang }]
}

const unseen = (signal: ChannelSignal): ChannelSignal =>
  signal.kind === 'channel' ? { ...signal, unseen: true } : signal

/**
 * Returns the transfer of a leg that dials from another place of the dialplan than the list shows: the list is older,
 * and the party of the list sent the leg there.
 */
function leftBefore(context: EslContext, event: EslEvent): ChannelSignal[] {
  const leg = context.legs.get(sourceOf(event) ?? '')
  const to = event.get('Other-Type') === 'originator' ? cleanText(event.get('Other-Leg-Destination-Number')) : null
  // A party that consults another one does not leave the first one.
  if (to === 'att_xfer') return []
  const peer = context.legs.get(leg?.peer ?? '')
  const party = partyBehind(context, peer)
  if (leg === undefined || peer === undefined || party === undefined || to === null) return []
  if (leg.heard > 0 || leg.virtual || leg.dialled === to) return []
  Object.assign(leg, { peer: null, expectedDestination: to })
  Object.assign(peer, { peer: null, sentTo: to })
  const bridge = bridgeName(leg.id, peer.id)
  return [
    blind(context, { transferer: party.id, transferee: leg.id, to }),
    { kind: 'unbridged', id: leg.id, bridge },
    { kind: 'unbridged', id: peer.id, bridge },
  ]
}

/**
 * Returns the unseen answer of a dialled party, if the first event of the party or of its dialler shows a conversation:
 * the list is older, and shows the party ringing.
 */
export function answeredBefore(context: EslContext, event: EslEvent, leg: Leg): ChannelSignal[] {
  if (leg.heard > 0 || leg.peer !== null || leg.bridged || BEFORE_TALK.has(event.name)) return []
  // Of a leg whose creation was seen, its answer is seen too.
  if (leg.created.place > 0 && leg.created.place !== placeOf(event)) return []
  const other = context.legs.get(event.get('Other-Leg-Unique-ID'))
  if (other === undefined || other.peer !== null) return []
  const [dialled, dialler] = leg.source === other.id ? [leg, other] : [other, leg]
  if (dialled.source !== dialler.id || dialled.answerSignalled) return []
  if (!/^(ACTIVE|HELD|UNHELD)$/.test(event.get('Channel-Call-State'))) return []
  const answered = event.get(`${dialled === leg ? 'Caller' : 'Other-Leg'}-Channel-Answered-Time`)
  if (!(Number(answered) > 0)) return []
  const one = dialler.id
  Object.assign(dialled, { answered: true, answerSignalled: true, bridged: true, peer: one })
  Object.assign(dialler, { bridged: true, peer: dialled.id })
  if (!dialled.virtual && !dialler.virtual) {
    dialled.peers.push(one)
    dialler.peers.push(dialled.id)
  }
  const place = { bridge: bridgeName(one, dialled.id), conference: false, holding: false }
  return [
    { kind: 'dial_end', source: one, dest: dialled.id, result: 'answered', forwardedTo: null, unseen: true },
    { kind: 'bridged', id: one, ...place },
    { kind: 'bridged', id: dialled.id, ...place },
  ]
}

/** Returns whether an event is taken for the beginning of its leg, if that is unknown. */
export const beginsHere = (context: EslContext, event: EslEvent): boolean =>
  (SHOWS_LEG.has(event.name) || showsLegLate(event)) && isBarelyUnlisted(context, event)

/** Returns the same for an event that comes before the first list: that list has what was up just before. */
export const beginsBeforeList = (context: EslContext, event: EslEvent): boolean =>
  SHOWS_LEG.has(event.name) && isBarelyUnlisted(context, event)

/** The time before a list in which legs begin that it may lack, and that in which events overtake each other. */
const BEFORE_US = SECOND
const BEHIND_US = 50_000

/**
 * Returns whether a leg began so shortly before the connection's first list that the list may lack it: its creation
 * will not come. A leg that a dial string delays shows the time of the dial as its creation, and rings as soon as it
 * is created.
 */
function isBarelyUnlisted({ listedUs, dialling }: EslContext, event: EslEvent): boolean {
  // A creation that was reported waits for its turn.
  if (listedUs === null || listedUs <= 0 || dialling.has(event.get('Unique-ID'))) return false
  const times = event.get('Call-Direction') === 'outbound' ? [CREATION_TIME, ...RINGING_TIMES] : [CREATION_TIME]
  return times.some((name) => {
    const us = Number(event.get(name))
    return us >= listedUs - BEFORE_US && us < listedUs + BEHIND_US
  })
}

/** Events of a leg's own that have the facts of its creation. */
const SHOWS_LEG: ReadonlySet<string> = new Set([
  'CHANNEL_PROGRESS',
  'CHANNEL_PROGRESS_MEDIA',
  'CHANNEL_ANSWER',
  'CHANNEL_BRIDGE',
])

/**
 * Returns whether an event shows a leg that talked or rang before. That of a dialled leg does not show its group, which
 * the next list does, unless the leg has ended by then.
 */
const showsLegLate = (event: EslEvent): boolean =>
  event.name === 'CHANNEL_HANGUP' || (event.name === 'CALL_UPDATE' && event.get('Call-Direction') === 'inbound')

/** Events of a dialled party, or of its dialler, that come before their conversation, or report it themselves. */
const BEFORE_TALK: ReadonlySet<string> = new Set([
  'CHANNEL_CREATE',
  'CHANNEL_PROGRESS',
  'CHANNEL_PROGRESS_MEDIA',
  'CHANNEL_ANSWER',
  'CHANNEL_BRIDGE',
])

const RINGING_TIMES = ['Caller-Channel-Progress-Time', 'Caller-Channel-Progress-Media-Time']
const CREATION_TIME = 'Caller-Channel-Created-Time'
