import type { Stamp } from '../picture/groups.ts'
import type { Channel } from '../state/state.ts'

/** Where a channel is in the dialplan, and was when it dialled. */

/** Places in a dialplan, not destinations (of Asterisk). */
const PLACES: ReadonlySet<string> = new Set(['s', 'i', 't', 'h', 'failed', ''])

/** Returns the dialled number; `null` if it is a place in a dialplan. */
export const destination = (dialled: string | null): string | null =>
  dialled === null || PLACES.has(dialled) ? null : dialled

/** Notes that a channel is in another extension of the dialplan. */
export function noteMove(channel: Channel, to: string, at: Stamp): void {
  if (channel.moves.length === 0) channel.moves = [{ to: channel.dialledNumber, us: 0, seq: 0 }]
  channel.moves = [...channel.moves, { to, ...at }]
  channel.dialledNumber = to
}

/** Notes the place of a channel that a list shows; its place before is unknown. */
export function startAt(channel: Channel, place: string | null): void {
  channel.dialledNumber = place
}

/** Returns where a channel was, whenever that was reported. */
export function placeAt({ moves, dialledNumber }: Channel, at: Stamp): string | null {
  if (moves.length === 0) return dialledNumber
  const isThen = ({ us, seq }: Stamp): boolean => us < at.us || (us === at.us && seq <= at.seq)
  return (moves.findLast(isThen) ?? moves[0])?.to ?? null
}
