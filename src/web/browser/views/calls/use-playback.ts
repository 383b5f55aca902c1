import { useRef, useState } from 'preact/hooks'
import { momentOf, type Position, positionAt, type Track } from '../../lib/playback.ts'

/** The recordings of a call and the moment that is heard: shared by its timeline, its stages and its players. */
export type Playback = {
  readonly tracks: readonly Track[]
  /** The moment of the call that is played or was chosen last; `null` before. */
  readonly atMs: number | null
  /** Sets the moment of the call. A recording that plays goes on there. */
  seek(atMs: number): void
  /** Gives a track its player, or takes it away. */
  setPlayer(trackId: string, player: HTMLAudioElement | null): void
  /** Takes over where a track is now. */
  follow(position: Position): void
  /** One track plays at a time: the others are stopped. */
  pauseOthers(trackId: string): void
  /** Returns how loud each part of a recording is; `null` until it was loaded for playing. */
  waveform(trackId: string): readonly number[] | null
  setWaveform(trackId: string, samples: readonly number[]): void
}

/** Keeps the position in the recordings of a call. */
export function usePlayback(tracks: readonly Track[]): Playback {
  const players = useRef(new Map<string, HTMLAudioElement>()).current
  const [position, setPosition] = useState<Position | null>(null)
  const [waveforms, setWaveforms] = useState<ReadonlyMap<string, readonly number[]>>(new Map())
  const pauseOthers = (trackId: string) => {
    for (const [id, player] of players) if (id !== trackId) player.pause()
  }
  return {
    tracks,
    atMs: momentOf(tracks, position),
    seek(atMs) {
      const next = positionAt(tracks, atMs, position?.trackId)
      const player = players.get(next?.trackId ?? '')
      if (next === undefined || player === undefined) return
      const isPlaying = [...players.values()].some(({ paused }) => !paused)
      const end = Number.isFinite(player.duration) ? player.duration : next.seconds
      const seconds = Math.min(next.seconds, end)
      player.currentTime = seconds
      setPosition({ ...next, seconds })
      if (!isPlaying || !player.paused) return
      pauseOthers(next.trackId)
      // A browser may not allow it: then its button starts it.
      void player.play().catch(() => undefined)
    },
    setPlayer(trackId, player) {
      if (player === null) players.delete(trackId)
      else players.set(trackId, player)
    },
    follow: setPosition,
    pauseOthers,
    waveform: (trackId) => waveforms.get(trackId) ?? null,
    setWaveform: (trackId, samples) => setWaveforms((known) => new Map(known).set(trackId, samples)),
  }
}
