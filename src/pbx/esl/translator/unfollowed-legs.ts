import type { ChannelSignal } from '../../../calls/calls.ts'
import { dropOldest } from '../../connection/oldest.ts'
import { type EslEvent, variableOf } from '../event.ts'
import { sourceOf } from './channel-create.ts'
import type { EslContext } from './legs.ts'

// Legs of calls that are not followed, because as many are open as are followed. Only their ids are kept: a FreeSWITCH
// that never ends a call fills the memory no further, and pushes out no leg of a call that is followed.

/**
 * Returns the signals of an event whose leg is not followed, `undefined` for a followed leg. The next list of channels
 * shows the leg again once there is room.
 */
export function ofUnfollowed(context: EslContext, event: EslEvent): ChannelSignal[] | undefined {
  const id = event.get('Unique-ID')
  if (context.unfollowed.has(id)) return meetsFollowed(context, event) ? undefined : []
  if (event.name !== 'CHANNEL_CREATE' || id === '' || context.legs.has(id)) return undefined
  const isOutbound = event.get('Call-Direction') === 'outbound'
  const isHalf = event.get('Channel-Name').startsWith('loopback/')
  const other = isOutbound ? sourceOf(event) : isHalf ? variableOf(event, 'other_loopback_leg_uuid') : null
  const begins = !isOutbound && !isHalf && context.isFull()
  if (!begins && !context.unfollowed.has(other ?? '')) return undefined
  dropOldest(context.unfollowed)
  context.unfollowed.add(id)
  context.dialling.delete(id)
  return begins ? [{ kind: 'not_followed', id }] : []
}

/** Returns whether a leg meets, or leaves, a leg of a call that is followed. */
function meetsFollowed({ legs }: EslContext, event: EslEvent): boolean {
  if (event.name !== 'CHANNEL_BRIDGE' && event.name !== 'CHANNEL_UNBRIDGE') return false
  return legs.has(event.get('Bridge-A-Unique-ID')) || legs.has(event.get('Bridge-B-Unique-ID'))
}
