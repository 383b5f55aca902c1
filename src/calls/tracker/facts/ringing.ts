import type { Stamp } from '../picture/groups.ts'
import { callOf, markChanged, markUnplaced } from '../state/registry.ts'
import type { Channel, Ringing, TrackerState } from '../state/state.ts'

/** The facts that a PBX shows about how an extension rings its phones. Only this file writes them. */

const now = (state: TrackerState) => ({ us: state.atUs, seq: state.seq })

function note(
  state: TrackerState,
  channel: Channel,
  ringing: Omit<Ringing, 'from' | 'until'>,
  from: Stamp = now(state),
): void {
  channel.ringing = [...channel.ringing, { ...ringing, from, until: null }]
  markUnplaced(state, callOf(state, channel))
  markChanged(state, callOf(state, channel))
}

/** Notes that the channel's extension begins to ring a group, maybe once more. */
export function noteGroup(state: TrackerState, channel: Channel, place: string): void {
  note(state, channel, { place, isNewAttempt: true })
}

/** Notes that a snapshot shows that the channel's extension rings a group. */
export function noteListedGroup(state: TrackerState, channel: Channel, place: string): void {
  const last = channel.ringing.at(-1)
  if (last?.place === place && last.until === null) return
  note(state, channel, { place, isNewAttempt: false })
}

/** Notes that a pager rings the phones of a page, those included that refused before. */
export function notePage(state: TrackerState, pager: Channel, place: string): void {
  if (pager.ringing.some((one) => one.place === place)) return
  note(state, pager, { place, isNewAttempt: false }, { us: 0, seq: 0 })
}

/** Notes that all that the channel rings is known. */
export function noteRungAll(state: TrackerState, channel: Channel, until: Stamp = now(state)): void {
  if (channel.ringing.every((one) => one.until !== null)) return
  channel.ringing = channel.ringing.map((one) => (one.until === null ? { ...one, until } : one))
  markUnplaced(state, callOf(state, channel))
  markChanged(state, callOf(state, channel))
}
