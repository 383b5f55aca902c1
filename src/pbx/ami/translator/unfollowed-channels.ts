import type { ChannelSignal } from '../../../calls/calls.ts'
import { dropOldest } from '../../connection/oldest.ts'
import type { AmiFrame } from '../frame.ts'
import type { AmiContext } from './channels.ts'

// Channels of calls that are not followed, because as many are open as are followed. Only their ids are kept: an
// Asterisk that never ends a call fills the memory no further, and pushes out no channel of a call that is followed.

/** The state of a channel that calls the PBX. */
const RING = '4'

/**
 * Returns the signals of an event whose channel is not followed, `undefined` for a followed channel. The next list of
 * channels shows the channel again once there is room.
 */
export function ofUnfollowed(context: AmiContext, frame: AmiFrame, id: string): ChannelSignal[] | undefined {
  const { unfollowed, channels } = context
  if (unfollowed.has(id)) return []
  if (frame.name !== 'Newchannel' || id === '' || channels.has(id)) return undefined
  const linkedId = frame.get('Linkedid')
  const begins = frame.get('ChannelState') === RING && linkedId === id && context.isFull()
  if (!begins && !unfollowed.has(linkedId)) return undefined
  dropOldest(unfollowed)
  unfollowed.add(id)
  return begins ? [{ kind: 'not_followed', id }] : []
}
