import { useEffect, useRef, useState } from 'preact/hooks'
import { Segments } from '../../components/choice.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { Icon } from '../../components/icon.tsx'
import { request } from '../../lib/api.ts'
import { formatStopwatch } from '../../lib/format.ts'
import { readWaveform } from '../../lib/waveform.ts'

const STEP_S = 5
const RATES = [
  ['1', '1×'],
  ['1.5', '1.5×'],
  ['2', '2×'],
] as const
/** The file may begin later than the recording did, or have gaps. From this difference on a note reports it. */
const NOTED_DIFFERENCE_S = 3

type PlayerProps = {
  readonly callId: string
  readonly id: string
  readonly number: number
  /** Whether its number is shown: there are others beside it. */
  readonly isNumbered?: boolean
  /** How long the PBX recorded, by its events. */
  readonly recordedS: number | null
  /** Writes what happens at a second of the file. */
  readonly describe?: (seconds: number) => string
  readonly onPlayer?: (player: HTMLAudioElement | null) => void
  readonly onPosition?: (seconds: number) => void
  readonly onPlay?: () => void
  readonly onWaveform?: (samples: readonly number[]) => void
}

/** Plays a recording. A player cannot send a token, so it gets a link of its own. */
export function RecordingPlayer(props: PlayerProps) {
  const { callId, id } = props
  const [path, setPath] = useState<string | null>(null)
  const [error, setError] = useState<string | null>(null)
  const tries = useRef(0)
  const load = async () => {
    const link = `/call/${encodeURIComponent(callId)}/recording/${encodeURIComponent(id)}/link`
    const found = await request<{ path: string }>('GET', link)
    setError(found.ok ? null : found.message)
    tries.current += 1
    // A browser caches by address, even another file: so each try has its own address.
    if (found.ok) setPath(`${found.result.path}&try=${tries.current}`)
  }
  useEffect(() => void load(), [callId, id])
  if (error !== null) return <ErrorMessage text={error} onRetry={load} />
  if (path === null) return null
  return <Controls {...props} path={path} onError={() => void reasonOf(path).then(setError)} />
}

/** Returns why a file cannot be played, which the player itself does not report. */
async function reasonOf(path: string): Promise<string> {
  const response = await fetch(path, { headers: { range: 'bytes=0-0' }, credentials: 'omit' }).catch(() => undefined)
  if (response === undefined) return 'Hookswitch does not answer. Is it running?'
  if (response.ok) {
    const type = response.headers.get('content-type') ?? 'its format'
    return `This browser cannot play ${type}. Download the recording to play it elsewhere.`
  }
  const envelope: unknown = await response.json().catch(() => undefined)
  const hasMessage = typeof envelope === 'object' && envelope !== null && 'message' in envelope
  return hasMessage ? String(envelope.message) : `The recording cannot be loaded: status ${response.status}.`
}

type ControlsProps = PlayerProps & { readonly path: string; readonly onError: () => void }

function Controls({
  number,
  isNumbered,
  path,
  recordedS,
  describe,
  onError,
  onPlayer,
  onPosition,
  onPlay,
  onWaveform,
}: ControlsProps) {
  const audio = useRef<HTMLAudioElement>(null)
  const [isPlaying, setIsPlaying] = useState(false)
  const [seconds, setSeconds] = useState(0)
  const [lengthS, setLengthS] = useState<number | null>(null)
  const [rate, setRateText] = useState('1')
  useEffect(() => {
    onPlayer?.(audio.current)
    return () => onPlayer?.(null)
  }, [])
  const shownLengthS = lengthS ?? recordedS ?? 0
  const followed = () => {
    const now = audio.current?.currentTime ?? 0
    setSeconds(now)
    return now
  }
  const seek = (toS: number) => {
    if (audio.current !== null) audio.current.currentTime = Math.min(Math.max(toS, 0), shownLengthS)
    onPosition?.(followed())
  }
  const toggle = () => {
    if (audio.current?.paused === false) audio.current.pause()
    else void audio.current?.play().catch(() => undefined)
  }
  const asked = useRef(false)
  const showWaveform = () => {
    if (asked.current || onWaveform === undefined) return
    asked.current = true
    void readWaveform(path).then((samples) => samples !== null && onWaveform(samples))
  }
  const setRate = (next: string) => {
    setRateText(next)
    if (audio.current !== null) audio.current.playbackRate = Number(next)
  }
  const happening = describe?.(seconds) ?? ''
  const value = `${formatStopwatch(seconds)} of ${formatStopwatch(shownLengthS)}`
  return (
    <fieldset class="player" aria-label={`Recording ${number}`}>
      {/* biome-ignore lint/a11y/useMediaCaption: there is no text of a recorded call */}
      <audio
        ref={audio}
        preload="metadata"
        src={path}
        onError={onError}
        onDurationChange={() => setLengthS(finite(audio.current?.duration))}
        onTimeUpdate={() => {
          const now = followed()
          // Until something was chosen, nothing is marked in the timeline.
          if (audio.current?.paused === false) onPosition?.(now)
        }}
        onSeeked={followed}
        onPlay={() => {
          showWaveform()
          setIsPlaying(true)
          onPlay?.()
        }}
        onPause={() => setIsPlaying(false)}
      />
      {isNumbered === true ? <b aria-hidden="true">Recording {number}</b> : null}
      <button type="button" class="button only" aria-label={isPlaying ? 'Pause' : 'Play'} onClick={toggle}>
        <Icon name={isPlaying ? 'pause' : 'play'} />
      </button>
      <input
        type="range"
        min={0}
        max={shownLengthS}
        step={0.1}
        value={seconds}
        aria-label="Position"
        aria-valuetext={happening === '' ? value : `${value}, ${happening}`}
        onInput={(event) => seek(Number(event.currentTarget.value))}
        onKeyDown={(event) => {
          const step = { ArrowLeft: -STEP_S, ArrowDown: -STEP_S, ArrowRight: STEP_S, ArrowUp: STEP_S }[event.key]
          if (step !== undefined) seek((audio.current?.currentTime ?? 0) + step)
          else if (event.key === ' ') toggle()
          else return
          event.preventDefault()
        }}
      />
      <span class="dim nowrap">{value}</span>
      <Segments label="Speed" isSmall value={rate} options={RATES} onChange={setRate} />
      <a class="button quiet small only" href={path} download aria-label="Download" title="Download">
        <Icon name="download" />
      </a>
      {happening === '' ? null : <span class="hint player-now">{happening}</span>}
      {isShorter(lengthS, recordedS) ? (
        <small class="hint player-now">
          The file is shorter than the time in which it was recorded, so it may be ahead of the timeline.
        </small>
      ) : null}
    </fieldset>
  )
}

const finite = (seconds: number | undefined): number | null =>
  seconds !== undefined && Number.isFinite(seconds) ? seconds : null

const isShorter = (lengthS: number | null, recordedS: number | null): boolean =>
  lengthS !== null && recordedS !== null && recordedS - lengthS > NOTED_DIFFERENCE_S
