import { formatStageTarget } from './format.ts'
import type { Recording, Stage } from './resources.ts'

/** Maps seconds of recordings to moments of their call (milliseconds since 1970), and back. Pure. */

/** A recording that has its place in the call. */
export type Track = {
  readonly id: string
  readonly number: number
  readonly fromMs: number
  readonly toMs: number
}

/** A moment that is played. */
export type Position = { readonly trackId: string; readonly seconds: number }

/** Returns the recordings that can be played at their place in the call: those with a file and a known start. */
export function tracksOf(recordings: readonly Recording[]): Track[] {
  return recordings.flatMap(({ id, url, started_at, ended_at, duration }, at) => {
    if (url === undefined || started_at === null) return []
    const fromMs = Date.parse(started_at)
    const toMs = ended_at === null ? fromMs + (duration ?? 0) * 1_000 : Date.parse(ended_at)
    return [{ id, number: at + 1, fromMs, toMs: Math.max(toMs, fromMs + 1_000) }]
  })
}

/**
 * Returns the position of a moment of the call: in the track that is played, if it covers the moment, else in the
 * nearest.
 */
export function positionAt(tracks: readonly Track[], atMs: number, playedId?: string): Position | undefined {
  const distance = ({ fromMs, toMs }: Track) => Math.max(fromMs - atMs, atMs - toMs, 0)
  const rank = (track: Track) => distance(track) * 2 + (track.id === playedId ? 0 : 1)
  const [nearest] = tracks.toSorted((one, other) => rank(one) - rank(other))
  if (nearest === undefined) return undefined
  const { id: trackId, fromMs, toMs } = nearest
  return { trackId, seconds: (Math.min(Math.max(atMs, fromMs), toMs) - fromMs) / 1_000 }
}

/** Returns the moment of the call that is at a position. */
export function momentOf(tracks: readonly Track[], position: Position | null): number | null {
  const track = tracks.find(({ id }) => id === position?.trackId)
  return track === undefined || position === null ? null : track.fromMs + position.seconds * 1_000
}

/** Returns the stages that are ringing, talking or waiting at a moment. */
function stagesAt(stages: readonly Stage[], atMs: number | null): readonly Stage[] {
  if (atMs === null) return []
  return stages.filter(({ started_at, answered_at, ended_at }) => {
    const start = started_at ?? answered_at
    return start !== null && Date.parse(start) <= atMs && (ended_at === null || atMs < Date.parse(ended_at))
  })
}

/** Writes what happens at a moment, as `101 Anna talking`; who is rung at the same time is written once. */
export function describeMoment(stages: readonly Stage[], atMs: number): string {
  const now = stagesAt(stages, atMs)
  const people = now.filter(({ kind }) => kind === 'user' || kind === 'external')
  return (people.length > 0 ? people : now)
    .map((stage) => `${formatStageTarget(stage)} ${stateOf(stage, atMs)}`)
    .join(', ')
}

function stateOf({ kind, answered_at }: Stage, atMs: number): string {
  if (answered_at !== null && Date.parse(answered_at) <= atMs) return 'talking'
  return kind === 'queue' ? 'waiting' : 'ringing'
}
