type WaveformProps = {
  /** How loud each part of the recording is, from 0 to 1; `null`: not loaded. */
  readonly samples: readonly number[] | null
  readonly left: number
  readonly width: number
  /** Where the moment that is played is. */
  readonly playedTo: number | null
}

const MIDDLE = 15
const HALF_HEIGHT = 9
const QUIET = 1

/** Draws a recording in its lane: a bar, or its waveform once it is loaded for playing. */
export function Waveform({ samples, left, width, playedTo }: WaveformProps) {
  if (width <= 0) return null
  if (samples === null || samples.length === 0)
    return <rect class="wave" x={`${left}%`} width={`${width}%`} y={MIDDLE - 2} height="4" />
  const step = width / samples.length
  return (
    <>
      {samples.map((loudness, at) => {
        const x = left + at * step
        const half = Math.max(QUIET, loudness * HALF_HEIGHT)
        return (
          <rect
            key={at}
            class={playedTo !== null && x <= playedTo ? 'wave played' : 'wave'}
            x={`${x}%`}
            width={`${step * 0.6}%`}
            y={MIDDLE - half}
            height={2 * half}
          />
        )
      })}
    </>
  )
}
