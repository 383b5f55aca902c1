import { isShortNumber } from '../../endpoints/endpoint-classifier.ts'
import { type EslEvent, variableOf } from '../event.ts'
import type { EventOrder, Prerequisite } from './causal-order.ts'
import { campingFor, isAutoAnswered, pagerOf, sourceOf } from './channel-create.ts'
import { type EslContext, type Leg, placeOf } from './legs.ts'
import { bridgedBy } from './queues.ts'
import { beginsHere } from './unseen-legs.ts'

// Facts that must be known before an event can be understood.

/** Ten times the longest delay measured on a busy FreeSWITCH. */
const TIMEOUT_US = 1_000_000
/** A party that consults another one is in two bridges meanwhile, so this prerequisite may never be met. */
const BRIDGE_TIMEOUT_US = 150_000

/** Returns the leg in whose order an event stays, and the event's prerequisites. */
export function orderOf(context: EslContext, event: EslEvent): EventOrder {
  const own = event.get('Unique-ID')
  const legs = (...ids: readonly string[]): Prerequisite[] =>
    ids.flatMap((id) => (id === '' ? [] : legIsMade(context, id)))
  switch (event.name) {
    case 'CHANNEL_CREATE':
      noteDialling(context, event)
      return {
        own: '',
        prerequisites: [
          ...legs(dialledBy(event)),
          ...queueIsJoined(context, event),
          ...callerIsHeard(context, event),
          ...earlierAttemptIsOver(context, event),
          ...campingIsShown(context, event),
          ...pagerIsMade(context, event),
        ],
      }
    case 'CHANNEL_BRIDGE': {
      const [a, b] = [event.get('Bridge-A-Unique-ID'), event.get('Bridge-B-Unique-ID')]
      const isConsulting = variableOf(event, 'current_application') === 'att_xfer'
      return {
        own,
        prerequisites: [
          ...legs(own, a, b),
          ...(isConsulting ? [] : [legIsFree(context, a, b), legIsFree(context, b, a)]),
          ...agentIsShown(context, event),
        ],
      }
    }
    case 'CUSTOM': {
      const member = event.get('CC-Member-Session-UUID')
      const isLeaving = event.get('CC-Action') === 'member-queue-end' || event.get('FIFO-Action') === 'abort'
      const others = [event.get('FIFO-Caller-UUID'), isLeaving ? bridgedBy(event) : '']
      // These are events of the agent's leg: the caller's bridge may wait for them.
      if (/^bridge-agent-(start|end)$/.test(event.get('CC-Action'))) {
        const isIn = isInQueue(context, member, event.get('CC-Member-UUID'))
        return { own, prerequisites: [...legs(own, member), isIn] }
      }
      return { own: member || own, prerequisites: legs(member || own, ...others) }
    }
    case 'CHANNEL_PROGRESS':
    case 'CHANNEL_PROGRESS_MEDIA':
      return {
        own,
        prerequisites: [...ownIsMade(context, event), ...membersAreMade(context, event)],
      }
    default:
      return { own, prerequisites: ownIsMade(context, event) }
  }
}

/**
 * The leg of an event, unless the event is taken for its beginning; of one that ends at once, the leg that dialled it.
 */
function ownIsMade(context: EslContext, event: EslEvent): Prerequisite[] {
  const own = event.get('Unique-ID')
  const begins = !context.legs.has(own) && beginsHere(context, event)
  const needed = !begins ? own : event.name === 'CHANNEL_HANGUP' ? dialledBy(event) : ''
  return needed === '' ? [] : [legIsMade(context, needed)]
}

/** Notes a dialled leg until its creation is read. */
function noteDialling({ dialling, legs, ended }: EslContext, event: EslEvent): void {
  const [id, source] = [event.get('Unique-ID'), dialledBy(event)]
  if (id !== '' && source !== '' && !legs.has(id) && !ended.has(id)) dialling.set(id, { source, place: placeOf(event) })
}

/** A group exists from its first dial: a party rings after the creation of all members that were dialled before. */
function membersAreMade({ dialling, legs }: EslContext, event: EslEvent): Prerequisite[] {
  const own = event.get('Unique-ID')
  const isMember = (id: string): boolean => {
    const member = dialling.get(id)
    return (
      member !== undefined && id !== own && member.source === legs.get(own)?.source && member.place < placeOf(event)
    )
  }
  return [...dialling.keys()].map((id) => ({
    name: `${id} before ${own} rings`,
    isMet: () => !isMember(id),
    timeoutUs: HEARD_TIMEOUT_US,
  }))
}

/** Returns the leg that dialled the new one, or the first half of a loopback channel. */
function dialledBy(event: EslEvent): string {
  if (event.get('Call-Direction') === 'outbound') return sourceOf(event) ?? ''
  return event.get('Channel-Name').startsWith('loopback/') ? variableOf(event, 'other_loopback_leg_uuid') : ''
}

const legIsMade = (context: EslContext, id: string): Prerequisite => ({
  name: id,
  isMet: () => context.legs.has(id) || context.ended.has(id) || context.unfollowed.has(id),
  timeoutUs: TIMEOUT_US,
})

/** A queue rings a member for a caller that is in it; a caller that is sent from one queue to another enters both. */
function queueIsJoined(context: EslContext, event: EslEvent): Prerequisite[] {
  const caller = variableOf(event, 'cc_member_session_uuid') || variableOf(event, 'fifo_bridge_uuid')
  if (caller === '') return []
  return [isInQueue(context, caller, variableOf(event, 'cc_member_uuid'))]
}

const isInQueue = (context: EslContext, caller: string, entry: string): Prerequisite => ({
  name: `queue ${caller} ${entry}`,
  isMet() {
    const entries = context.queued.get(caller)
    return entries !== undefined && (entry === '' || entries.has(entry) || entries.has(''))
  },
  timeoutUs: TIMEOUT_US,
})

/** The caller's next event comes 20 ms after its phone or line was rung for it; an answered caller has none. */
const HEARD_TIMEOUT_US = 150_000

/**
 * A call from outside, or to a short number, goes to an outside number: maybe because a user was unreachable, which
 * only the caller's next event shows.
 */
function callerIsHeard(context: EslContext, event: EslEvent): Prerequisite[] {
  const caller = event.get('Call-Direction') === 'outbound' ? event.get('Other-Leg-Unique-ID') : ''
  if (caller === '' || variableOf(event, 'sip_gateway_name') === '') return []
  const isForwarded = (): boolean => {
    const leg = context.legs.get(caller)
    if (leg === undefined || leg.source !== null || leg.originated || leg.virtual) return false
    return leg.extension === null || isShortNumber(leg.dialled)
  }
  const isMet = (): boolean => !isForwarded() || (context.legs.get(caller)?.heard ?? 0) > placeOf(event)
  return [{ name: `heard ${event.get('Unique-ID')}`, isMet, timeoutUs: HEARD_TIMEOUT_US }]
}

/**
 * A number is dialled again through a gateway while it still seems to ring: if the first gateway failed, its end is on
 * its way, and this is another attempt. If both ring at once, the number rings once.
 */
function earlierAttemptIsOver(context: EslContext, event: EslEvent): Prerequisite[] {
  if (event.get('Call-Direction') !== 'outbound' || variableOf(event, 'sip_gateway_name') === '') return []
  const [source, number] = [sourceOf(event), event.get('Caller-Destination-Number')]
  if (source === null) return []
  const isEarlier = (leg: Leg): boolean =>
    leg.source === source && leg.dialled === number && !leg.gone && !leg.answered && leg.created.place < placeOf(event)
  return [...context.legs.values().filter(isEarlier)].map(({ id }) => ({
    name: `end of ${id} before ${event.get('Unique-ID')}`,
    isMet: () => context.legs.get(id)?.gone !== false,
    timeoutUs: HEARD_TIMEOUT_US,
  }))
}

/**
 * A phone is rung for no leg, as mod_dptools does for a caller that camps on it: the event that shows this is on its
 * way.
 */
function campingIsShown(context: EslContext, event: EslEvent): Prerequisite[] {
  if (event.get('Call-Direction') !== 'outbound' || variableOf(event, 'originate_early_media') !== 'true') return []
  const shown = event.get('Caller-Caller-ID-Number')
  const isCaller = ({ number, heard, gone }: Leg): boolean => number === shown && heard === 0 && !gone
  const mayBeCaller = isShortNumber(shown) && shown !== event.get('Caller-Destination-Number')
  if (sourceOf(event) !== null || !(mayBeCaller || context.legs.values().some(isCaller))) return []
  const isMet = (): boolean => campingFor(context, event) !== null
  return [{ name: `camping ${event.get('Unique-ID')}`, isMet, timeoutUs: HEARD_TIMEOUT_US }]
}

/** A phone that has to answer by itself may be paged by a party whose leg is on its way. */
const pagerIsMade = (context: EslContext, event: EslEvent): Prerequisite[] =>
  isAutoAnswered(event) && isShortNumber(event.get('Caller-Caller-ID-Number'))
    ? [
        {
          name: `pager ${event.get('Unique-ID')}`,
          isMet: () => pagerOf(context, event) !== undefined,
          timeoutUs: HEARD_TIMEOUT_US,
        },
      ]
    : []

/** A queue gives its caller to an agent who waits in a call of its own: the queue's event shows it. */
function agentIsShown(context: EslContext, event: EslEvent): Prerequisite[] {
  if (variableOf(event, 'current_application') !== 'callcenter') return []
  const [caller, agent] = [event.get('Unique-ID'), event.get('Other-Leg-Unique-ID')]
  const isShown = (): boolean => {
    const leg = context.legs.get(agent)
    return leg !== undefined && (leg.source !== null || leg.originated || leg.takesCaller === caller)
  }
  return [{ name: `agent ${agent} of ${caller}`, isMet: isShown, timeoutUs: BRIDGE_TIMEOUT_US }]
}

/** A bridged leg must have left its earlier bridge. */
const legIsFree = (context: EslContext, id: string, other: string): Prerequisite => ({
  name: `bridge ${id} ${other}`,
  isMet() {
    const peer = context.legs.get(id)?.peer ?? null
    return peer === null || peer === other || context.legs.get(peer)?.gone !== false
  },
  timeoutUs: BRIDGE_TIMEOUT_US,
})
