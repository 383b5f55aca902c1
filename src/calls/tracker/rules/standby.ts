import type { At } from '../../signal.ts'
import { newChannel } from '../state/initial-state.ts'
import {
  callOf,
  leaveBridge,
  leaveConference,
  markChanged,
  markUnplaced,
  openCall,
  placeInCall,
  putChannel,
} from '../state/registry.ts'
import { type Channel, isUp, type TrackerState } from '../state/state.ts'
import { endRecordings } from './recordings.ts'

/** Agents who stay on the line: they serve one caller after the other with the same channel. */

/** The end of such a party's part in a call, which goes on or ends without it. */
const LEFT = { code: 16, result: 'answered', withdrawn: false, mayTransfer: false, forwardedTo: null } as const

/**
 * Ends the part of a party in the call that it took over. That part stays in the call as an ended channel; the party
 * itself waits in a new call, which emits nothing unless it takes over another one.
 */
export function waitAgain(state: TrackerState, at: At, channel: Channel): void {
  const call = callOf(state, channel)
  if (call === undefined || call.root === channel.id || channel.dial === null || !isUp(channel)) return
  endRecordings(state, channel, at.atUs)
  leaveBridge(state, channel)
  leaveConference(state, channel)
  const left: Channel = {
    ...channel,
    id: `${channel.id} until ${at.atUs}`,
    goneUs: channel.talkedUs ?? at.atUs,
    goneArrivedUs: at.arrivedUs,
    end: LEFT,
  }
  const inItsPlace = (id: string): string => (id === channel.id ? left.id : id)
  putChannel(state, left)
  call.channels = call.channels.map(inItsPlace)
  for (const stage of call.stages) stage.legs = stage.legs.map(inItsPlace)
  const { tenant, dialledNumber, upUs } = channel
  const waiting = newChannel(channel.id, channel.endpoint, { tenant, dialledNumber, upUs })
  putChannel(state, waiting)
  markUnplaced(state, call)
  placeInCall(state, waiting, openCall(state, channel.id, at.atUs, at.atUs))
  markChanged(state, call)
}
