import type { EslEvent } from '../event.ts'
import type { EventOrder, Prerequisite } from './causal-order.ts'
import { sourceOf } from './channel-create.ts'
import { type EslContext, variableOf } from './legs.ts'

// Facts that must be known before an event can be understood.

/** Ten times what a busy FreeSWITCH was seen to take. */
const TIMEOUT_US = 1_000_000
/**
 * A party that consults another one is in two bridges for as long as that takes, so that this prerequisite may never be
 * met.
 */
const BRIDGE_TIMEOUT_US = 150_000

/** Returns the leg that an event belongs to, in whose order it stays, and the prerequisites of the event. */
export function orderOf(context: EslContext, event: EslEvent): EventOrder {
  const own = event.get('Unique-ID')
  const legs = (...ids: readonly string[]): Prerequisite[] =>
    ids.flatMap((id) => (id === '' ? [] : legIsMade(context, id)))
  switch (event.name) {
    case 'CHANNEL_CREATE':
      return { own: '', prerequisites: [...legs(dialledBy(event)), ...queueIsJoined(context, event)] }
    case 'CHANNEL_BRIDGE': {
      const [a, b] = [event.get('Bridge-A-Unique-ID'), event.get('Bridge-B-Unique-ID')]
      const isConsulting = variableOf(event, 'current_application') === 'att_xfer'
      return {
        own,
        prerequisites: [
          ...legs(own, a, b),
          ...(isConsulting ? [] : [legIsFree(context, a, b), legIsFree(context, b, a)]),
        ],
      }
    }
    case 'CUSTOM': {
      const member = event.get('CC-Member-Session-UUID')
      return { own: member || own, prerequisites: legs(member || own, event.get('FIFO-Caller-UUID')) }
    }
    default:
      return { own, prerequisites: legs(own) }
  }
}

/** Returns the leg that dialled the new one, or the first half of a loopback channel. */
function dialledBy(event: EslEvent): string {
  if (event.get('Call-Direction') === 'outbound') return sourceOf(event) ?? ''
  return event.get('Channel-Name').startsWith('loopback/') ? variableOf(event, 'other_loopback_leg_uuid') : ''
}

const legIsMade = (context: EslContext, id: string): Prerequisite => ({
  name: id,
  isMet: () => context.legs.has(id) || context.ended.has(id),
  timeoutUs: TIMEOUT_US,
})

/**
 * A member of a queue is rung for a caller who is in it; a caller who is sent from one queue to another enters both.
 */
function queueIsJoined(context: EslContext, event: EslEvent): Prerequisite[] {
  const caller = variableOf(event, 'cc_member_session_uuid') || variableOf(event, 'fifo_bridge_uuid')
  if (caller === '') return []
  const entry = variableOf(event, 'cc_member_uuid')
  const isMet = (): boolean => {
    const entries = context.queued.get(caller)
    return entries !== undefined && (entry === '' || entries.has(entry) || entries.has(''))
  }
  return [{ name: `queue ${caller} ${entry}`, isMet, timeoutUs: TIMEOUT_US }]
}

/** A leg that is bridged is out of the bridge that it was in before. */
const legIsFree = (context: EslContext, id: string, other: string): Prerequisite => ({
  name: `bridge ${id} ${other}`,
  isMet() {
    const peer = context.legs.get(id)?.peer ?? null
    return peer === null || peer === other || context.legs.get(peer)?.gone !== false
  },
  timeoutUs: BRIDGE_TIMEOUT_US,
})
