import type { EslEvent } from '../event.ts'
import type { Need } from './causal-order.ts'
import { sourceOf } from './channel-create.ts'
import { type EslContext, variableOf } from './legs.ts'

/** What must have been told before an event can be understood. */

/** Ten times what a busy FreeSWITCH was seen to take. */
const PATIENCE_US = 1_000_000
/**
 * A party that asks another one is in two bridges for as long as that takes: no more is spent on hoping that it is
 * not.
 */
const BRIDGE_PATIENCE_US = 150_000

/** Returns the leg that an event is of, in whose order it stays, and what it needs. */
export function needsOf(context: EslContext, event: EslEvent): { own: string; needs: Need[] } {
  const own = event.get('Unique-ID')
  const legs = (...ids: readonly string[]): Need[] => ids.flatMap((id) => (id === '' ? [] : legIsMade(context, id)))
  switch (event.name) {
    case 'CHANNEL_CREATE':
      return { own: '', needs: [...legs(dialledBy(event)), ...queueIsJoined(context, event)] }
    case 'CHANNEL_BRIDGE': {
      const [a, b] = [event.get('Bridge-A-Unique-ID'), event.get('Bridge-B-Unique-ID')]
      const isAsking = variableOf(event, 'current_application') === 'att_xfer'
      return {
        own,
        needs: [...legs(own, a, b), ...(isAsking ? [] : [legIsFree(context, a, b), legIsFree(context, b, a)])],
      }
    }
    case 'CUSTOM': {
      const member = event.get('CC-Member-Session-UUID')
      return { own: member || own, needs: legs(member || own, event.get('FIFO-Caller-UUID')) }
    }
    default:
      return { own, needs: legs(own) }
  }
}

/** The leg that dialled the one which is made, or the first half of a loopback channel. */
function dialledBy(event: EslEvent): string {
  if (event.get('Call-Direction') === 'outbound') return sourceOf(event) ?? ''
  return event.get('Channel-Name').startsWith('loopback/') ? variableOf(event, 'other_loopback_leg_uuid') : ''
}

const legIsMade = (context: EslContext, id: string): Need => ({
  name: id,
  isMet: () => context.legs.has(id) || context.ended.has(id),
  patienceUs: PATIENCE_US,
})

/** The member of a queue is rung for a caller who is in it; who is sent from one queue to another enters both. */
function queueIsJoined(context: EslContext, event: EslEvent): Need[] {
  const caller = variableOf(event, 'cc_member_session_uuid') || variableOf(event, 'fifo_bridge_uuid')
  if (caller === '') return []
  const entry = variableOf(event, 'cc_member_uuid')
  const isMet = (): boolean => {
    const entries = context.queued.get(caller)
    return entries !== undefined && (entry === '' || entries.has(entry) || entries.has(''))
  }
  return [{ name: `queue ${caller} ${entry}`, isMet, patienceUs: PATIENCE_US }]
}

/** A leg that is bridged is out of the bridge that it was in before. */
const legIsFree = (context: EslContext, id: string, other: string): Need => ({
  name: `bridge ${id} ${other}`,
  isMet() {
    const peer = context.legs.get(id)?.peer ?? null
    return peer === null || peer === other || context.legs.get(peer)?.gone !== false
  },
  patienceUs: BRIDGE_PATIENCE_US,
})
