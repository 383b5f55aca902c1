import type { ChannelSignal, Endpoint } from '../../../calls/calls.ts'
import { isShortNumber, kindOfContext } from '../../endpoints/endpoint-classifier.ts'
import { cleanText } from '../../endpoints/sanitize.ts'
import { userOf } from '../address.ts'
import { type EslEvent, variableOf } from '../event.ts'
import { calledUser, dialledUser, isNameless } from '../nameless.ts'
import { addLeg, customerOf, type EslContext, type Leg, partyBehind, placeOf, secondsIn, tenantIn } from './legs.ts'
import { noteOffer } from './queues.ts'
import { blind, wentAlone } from './transfers.ts'

/** Reads CHANNEL_CREATE: a new leg, its party, and the leg for which it is created. */
export function createLeg(context: EslContext, event: EslEvent): ChannelSignal[] {
  const id = event.get('Unique-ID')
  context.dialling.delete(id)
  if (id === '' || context.legs.has(id)) return []
  const virtual = event.get('Channel-Name').startsWith('loopback/')
  const outbound = event.get('Call-Direction') === 'outbound'
  const other = virtual ? variableOf(event, 'other_loopback_leg_uuid') : ''
  const isSecond = virtual && !outbound && other !== ''
  const source = outbound ? (sourceOf(event) ?? waitingFor(context, event) ?? campingFor(context, event)) : null
  const twin = outbound && source === null && !virtual ? twinOf(context, event) : undefined
  const endpoint = endpointOf(context, event, virtual, outbound)
  const dialled = event.get('Caller-Destination-Number')
  const tenant = tenantIn(context, event)
  const leg = addLeg(context, {
    id,
    virtual,
    source,
    first: isSecond ? other : null,
    pair: other === '' ? null : other,
    originated: outbound && source === null,
    extension: endpoint.kind === 'extension' ? endpoint.number : null,
    tenant,
    dialled,
    number: outbound ? '' : event.get('Caller-Caller-ID-Number'),
  })
  leg.created = { place: placeOf(event), stamp: event.get('Event-Date-Timestamp') }
  leg.heardUs = context.nowUs
  if (outbound && endpoint.kind === 'extension' && endpoint.name === null) noteUnnamed(context, event, leg)
  if (leg.originated) leg.originate = originateOf(event)
  if (!outbound && endpoint.kind === 'external') {
    leg.lacksNumber = endpoint.number === null
    leg.lacksName = endpoint.name === null
  }
  if (outbound) {
    leg.timeoutSeconds = secondsIn(event, 'leg_timeout', 'originate_timeout')
    leg.dialSeconds = secondsIn(event, 'call_timeout')
  }
  const channel: ChannelSignal = {
    kind: 'channel',
    id,
    linkedId: source === null && !isSecond ? (twin?.id ?? id) : null,
    endpoint,
    dialledNumber: outbound && !virtual ? null : dialled,
    originated: outbound && source === null,
    shown: null,
    tenant,
  }
  if (isSecond) return [channel, { kind: 'pair', one: other, two: id }]
  const calls = endpoint.kind === 'extension' && source === null ? callsExtension(context, leg, calledUser(event)) : []
  if (!outbound) return [channel, ...calls]
  return [...sourceMoved(context, event, source, endpoint), channel, ...calls, dialOf(context, event, leg, endpoint)]
}

/**
 * Returns the signal that a leg calls an extension, or is rung to call one: once the name of that user is known, or if
 * the configuration has the number and all users are of one customer.
 */
export function callsExtension({ endpoints, tenants }: EslContext, leg: Leg, user: string): ChannelSignal[] {
  const name = endpoints.userNames.get(user)
  const number = userOf(user)
  leg.calls = name === undefined ? user : ''
  const listed = tenants === undefined ? endpoints.extensionAt(number) : null
  const endpoint: Endpoint | null = name === undefined ? listed : { kind: 'extension', number, name }
  return endpoint === null ? [] : [{ kind: 'calls_extension', id: leg.id, endpoint }]
}

function noteUnnamed(context: EslContext, event: EslEvent, leg: Leg): void {
  leg.unnamed = dialledUser(event)
  if (leg.unnamed !== '' && leg.source !== null)
    context.legs.get(leg.source)?.unnamedCallees.set(leg.id, placeOf(event))
}

/** The number that FreeSWITCH shows to a phone that it rings for no particular party. */
const NO_CALLER = '0000000000'

/** Legs that are originated for a caller (`:_:`) show the caller, but not the caller's place in the dialplan. */
function noteDial(event: EslEvent, dialler: Leg): void {
  dialler.dialledFrom = {
    after: placeOf(event),
    atSeconds: Number(event.get('Caller-Channel-Created-Time')) / 1_000_000,
  }
}

function dialOf(context: EslContext, event: EslEvent, { id, source }: Leg, endpoint: Endpoint): ChannelSignal {
  const number = cleanText(event.get('Caller-Caller-ID-Number'))
  const shown = number === endpoint.number || number === NO_CALLER ? null : number
  const place = event.get('Other-Type') === 'originator' ? cleanText(event.get('Other-Leg-Destination-Number')) : null
  const byQueue = isByQueue(event)
  const dialler = source === null ? undefined : context.legs.get(source)
  if (dialler !== undefined && place === null && !byQueue) noteDial(event, dialler)
  return {
    kind: 'dial_begin',
    source,
    dest: id,
    endpoint,
    shown,
    place,
    placeFollows: dialler?.dialledFrom != null && place === null && !byQueue,
    forwarded: dialler?.isForwarded === true && endpoint.kind === 'external',
    byQueue,
    forConference: source === null && isMadeByConference(event),
    paged: source === null && isAutoAnswered(event) && pagerOf(context, event) !== undefined,
    intercom: source !== null && answersByItself(event),
  }
}

/** Returns the rung party, the party for which it is rung, and the time. */
function originateOf(event: EslEvent): NonNullable<Leg['originate']> {
  const user = ['dialed_user', 'dialed_domain'].map((name) => variableOf(event, name))
  const shown = event.get('Caller-Caller-ID-Number')
  return {
    what: [...user, shown].join(' '),
    shown,
    domain: variableOf(event, 'dialed_domain'),
    atUs: Number(event.get('Caller-Channel-Created-Time')),
  }
}

/** All devices of a party are rung at the same moment. */
const TWINS_US = 500_000

/** Returns another device of the same party, or another party, that the same originate rings. */
function twinOf(context: EslContext, event: EslEvent): Leg | undefined {
  const { what, shown, atUs } = originateOf(event)
  if (variableOf(event, 'dialed_user') === '') return undefined
  // Parties of one originate see the same caller and have one time stamp; paged phones do not compete.
  const domain = variableOf(event, 'dialed_domain')
  const mayBeRival = atUs > 0 && /^\+?\d+$/.test(shown) && shown !== NO_CALLER && !isAutoAnswered(event)
  return context.legs.values().find(({ originate, answered, gone }) => {
    if (originate === null || answered || gone) return false
    const isOneParty = originate.what === what && Math.abs(originate.atUs - atUs) < TWINS_US
    return (
      isOneParty || (mayBeRival && originate.shown === shown && originate.domain === domain && originate.atUs === atUs)
    )
  })
}

/** mod_callcenter and mod_fifo name the caller for whom they ring a member. */
const isByQueue = (event: EslEvent): boolean =>
  ['cc_member_session_uuid', 'fifo_bridge_uuid', 'fifo_hangup_check'].some((name) => variableOf(event, name) !== '')

/** Returns whether a phone is originated for no leg and has to answer by itself: a page, or its own user. */
export const isAutoAnswered = (event: EslEvent): boolean =>
  event.get('Call-Direction') === 'outbound' && sourceOf(event) === null && answersByItself(event)

const answersByItself = (event: EslEvent): boolean =>
  variableOf(event, 'sip_auto_answer') === 'true' || /answer-after=0/.test(variableOf(event, 'sip_h_Call-Info'))

/**
 * Returns the party that pages a phone: the phone is shown its number, and it has called in and waits for the others.
 */
export function pagerOf(context: EslContext, event: EslEvent): Leg | undefined {
  const shown = event.get('Caller-Caller-ID-Number')
  if (shown === event.get('Caller-Destination-Number')) return undefined
  const tenant = tenantIn(context, event)?.toLowerCase() ?? null
  return context.legs
    .values()
    .find(
      (leg) =>
        leg.extension === shown &&
        leg.source === null &&
        !leg.originated &&
        !leg.gone &&
        leg.peers.length === 0 &&
        leg.reached.size === 0 &&
        (tenant === null || customerOf(context, leg) === tenant),
    )
}

/** A leg that a module originates has the variables of the event that requested it. */
const isMadeByConference = (event: EslEvent): boolean =>
  /^(mod_)?conference/.test(variableOf(event, 'Event-Calling-File')) ||
  variableOf(event, 'conference_bgdial_jobid') !== '' ||
  (event.get('Caller-Caller-ID-Number') === NO_CALLER && event.get('Caller-Caller-ID-Name') === 'conference')

/** Returns the caller who has waited longest, if mod_fifo rings a member. */
function waitingFor(context: EslContext, event: EslEvent): string | null {
  const callers = context.waiting.get(variableOf(event, 'fifo_name'))
  return variableOf(event, 'fifo_hangup_check') === '' ? null : (callers?.[0] ?? null)
}

/** Returns the caller that camps on a busy phone, for which the phone is rung again by no leg. */
export function campingFor(context: EslContext, event: EslEvent): string | null {
  const number = event.get('Caller-Caller-ID-Number')
  const tenant = tenantIn(context, event)?.toLowerCase() ?? null
  const legs = [
    ...context.legs
      .values()
      .filter((leg) => leg.camps === number && !leg.gone && (tenant === null || customerOf(context, leg) === tenant)),
  ]
  return (legs.find(({ peer }) => peer === null) ?? legs[0])?.id ?? null
}

/** Returns the signals of the dialling leg's move: the event has its present extension in the dialplan. */
function sourceMoved(context: EslContext, event: EslEvent, source: string | null, endpoint: Endpoint): ChannelSignal[] {
  const leg = source === null ? undefined : context.legs.get(source)
  if (leg === undefined || source === null) return []
  for (const party of [endpoint.number, variableOf(event, 'dialed_user')]) if (party) leg.reached.add(party)
  const agent = variableOf(event, 'cc_agent')
  if (agent !== '') {
    noteOffer(context, source, agent, -1)
    noteAgent(context, agent, endpoint)
  }
  const where = event.get('Other-Type') === 'originator' ? event.get('Other-Leg-Destination-Number') : ''
  if (where === '' || where === leg.dialled) return []
  const sent = sentAway(context, event, leg, where)
  leg.dialled = where
  return [...sent, { kind: 'extension_changed', id: source, extension: where }]
}

/** The most agents with a known party. */
const MAX_AGENTS = 10_000

/** Notes the party of an agent: if it cannot be reached the next time there is no leg, and its name may say nothing. */
function noteAgent({ agents }: EslContext, agent: string, endpoint: Endpoint): void {
  if (endpoint.kind === 'virtual') return
  if (agents.size >= MAX_AGENTS) agents.clear()
  agents.set(agent, endpoint)
}

/**
 * Returns the transfer of a dialled leg that dials itself: it is no longer bridged, or its last destination has become
 * the place that redirected it. So the other party sent it there, which its own events will show late.
 */
function sentAway(context: EslContext, event: EslEvent, leg: Leg, where: string): ChannelSignal[] {
  const transferer = partyBehind(context, context.legs.get(leg.peer ?? ''))?.id ?? leg.peers.at(-1)
  const talks = leg.peer !== null && context.legs.get(leg.peer)?.gone === false
  const wasMoved = event.get('Other-Leg-RDNIS') === leg.dialled
  const to = cleanText(where)
  if (leg.pendingDestination === to) return wentAlone(context, leg)
  if (leg.source === null || leg.virtual || transferer === undefined || to === null || leg.expectedDestination === to)
    return []
  if (talks && !wasMoved) return []
  leg.expectedDestination = to
  const by = context.legs.get(transferer)
  if (by !== undefined) by.sentTo = to
  return [blind(context, { transferer, transferee: leg.id, to })]
}

/** Returns the leg that has dialled this one. The order of the tests matters: a queue's legs name no other leg. */
export function sourceOf(event: EslEvent): string | null {
  const other = event.get('Other-Type') === 'originator' ? event.get('Other-Leg-Unique-ID') : ''
  const found =
    other ||
    variableOf(event, 'cc_member_session_uuid') ||
    variableOf(event, 'fifo_bridge_uuid') ||
    variableOf(event, 'ent_originate_aleg_uuid') ||
    variableOf(event, 'originating_leg_uuid')
  return found === '' ? null : found
}

const VIRTUAL: Endpoint = { kind: 'virtual', number: null, name: null }

function endpointOf(context: EslContext, event: EslEvent, virtual: boolean, outbound: boolean): Endpoint {
  if (virtual) return VIRTUAL
  const profile = variableOf(event, 'sofia_profile_name')
  const gateway = variableOf(event, 'sip_gateway_name')
  const number = event.get('Caller-Destination-Number')
  if (!outbound) {
    const user = variableOf(event, 'user_name')
    const caller = event.get('Caller-Orig-Caller-ID-Number') || event.get('Caller-Caller-ID-Number')
    const name = event.get('Caller-Orig-Caller-ID-Name') || event.get('Caller-Caller-ID-Name')
    const display = name === caller ? '' : name
    const place = event.get('Caller-Context')
    const shown = { number: caller, display, context: place }
    if (user !== '') {
      // Many phones send no name, or their number: FreeSWITCH shows the directory's name for them.
      const listed = variableOf(event, 'effective_caller_id_name')
      const own = display === '' && listed !== caller ? listed : display
      return context.endpoints.caller(user, { ...shown, display: own, user: true })
    }
    const letIn = variableOf(event, 'sip_gateway') === '' && isLetIn(context, caller, { profile, place })
    return context.endpoints.caller(letIn ? caller : variableOf(event, 'sip_gateway') || profile, shown)
  }
  const user = variableOf(event, 'dialed_user') || dialledExtension(event)
  const shown = nameOfCallee(context, event)
  if (gateway !== '') return context.endpoints.callee(gateway, { sent: number, number: '', display: '' })
  if (user !== '') return context.endpoints.callee(user, { sent: null, number, display: shown })
  // Dialled by its address only (a redirected call).
  return isOwn(context, number, profile)
    ? context.endpoints.callee(number, { sent: null, number, display: shown })
    : context.endpoints.callee(profile, { sent: number, number, display: shown })
}

/**
 * Returns the dialled extension: FusionPBX dials the contacts of an extension, which need not have its number, and has
 * their owner in a variable.
 */
function dialledExtension(event: EslEvent): string {
  const extension = variableOf(event, 'dialed_extension')
  return extension !== '' && extension === userOf(variableOf(event, 'presence_id')) ? extension : ''
}

/**
 * Returns the name of the dialled party, `''` if it is unknown. A dialplan may have replaced it: FusionPBX shows the
 * number that the caller dialled.
 */
function nameOfCallee({ endpoints }: EslContext, event: EslEvent): string {
  if (!isNameless(event)) return event.get('Caller-Callee-ID-Name')
  const known = endpoints.userNames.get(dialledUser(event)) ?? variableOf(event, 'extension_caller_id_name')
  return known !== '' ? known : ownName(event, userOf(variableOf(event, 'presence_id')))
}

/**
 * Returns the name that the directory gives the user of a dialled phone, `''` if its leg does not show it: a dialplan
 * may give a leg another party's name, and then it has that one's number.
 */
export function ownName(event: EslEvent, extension: string | null): string {
  const isOwn = extension !== null && extension !== '' && variableOf(event, 'effective_caller_id_number') === extension
  return isOwn && event.get('Call-Direction') === 'outbound' ? variableOf(event, 'effective_caller_id_name') : ''
}

/** Returns whether a number is one of the PBX's own: a short one is, unless it goes out through a trunk profile. */
export function isOwn({ endpoints }: EslContext, number: string, profile: string): boolean {
  if (endpoints.isExtension(number)) return true
  return isShortNumber(number) && endpoints.kindOf(profile) !== 'trunk'
}

/**
 * Returns whether a phone that need not log in calls: FreeSWITCH knows it by its address, Hookswitch by its number and
 * the context of its calls.
 */
function isLetIn(
  { endpoints }: EslContext,
  number: string,
  { profile, place }: { readonly profile: string; readonly place: string },
): boolean {
  if (kindOfContext(place) === 'trunk' || endpoints.kindOf(profile) === 'trunk') return false
  return endpoints.isExtension(number) || (isShortNumber(number) && kindOfContext(place) === 'extension')
}
