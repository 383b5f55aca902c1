import { formatStopwatch } from '../../lib/format.ts'
import { describeMoment } from '../../lib/playback.ts'
import type { Recording, Stage } from '../../lib/resources.ts'
import { RecordingPlayer } from './recording-player.tsx'
import type { Playback } from './use-playback.ts'

type PlayersProps = { callId: string; stages: readonly Stage[]; playback: Playback }

/** Shows the players of the recordings that have their place in the timeline of the call, below it. */
export function TimelinePlayers({ callId, stages, playback }: PlayersProps) {
  return (
    <>
      {playback.tracks.map(({ id, number, fromMs, toMs }) => (
        <RecordingPlayer
          key={id}
          callId={callId}
          id={id}
          number={number}
          isNumbered={playback.tracks.length > 1}
          recordedS={(toMs - fromMs) / 1_000}
          describe={(seconds) => describeMoment(stages, fromMs + seconds * 1_000)}
          onPlayer={(player) => playback.setPlayer(id, player)}
          onPosition={(seconds) => playback.follow({ trackId: id, seconds })}
          onPlay={() => playback.pauseOthers(id)}
          onWaveform={(samples) => playback.setWaveform(id, samples)}
        />
      ))}
    </>
  )
}

type ListProps = { callId: string; recordings: readonly Recording[]; playback: Playback }

/** Lists the recordings that have no place in the timeline, and plays those that have a file. */
export function RecordingList({ callId, recordings, playback }: ListProps) {
  const others = recordings.filter(({ id }) => !playback.tracks.some((track) => track.id === id))
  if (others.length === 0) return null
  const isPlayable = others.some(({ url }) => url !== undefined)
  return (
    <section aria-labelledby="recordings">
      <header class="section-head">
        <h2 id="recordings">Recordings</h2>
        {isPlayable ? null : <p>These files are on the PBX.</p>}
      </header>
      <ul class="rows">
        {others.map(({ id, url, path, format, duration }) => (
          <li key={id}>
            <div>
              <code class="anywhere">{path ?? 'path unknown'}</code>
              <small>
                {[format, duration === null ? null : formatStopwatch(duration)]
                  .filter((part) => part !== null)
                  .join(' · ')}
              </small>
              {url === undefined ? null : (
                <RecordingPlayer
                  callId={callId}
                  id={id}
                  number={recordings.findIndex((one) => one.id === id) + 1}
                  recordedS={duration}
                />
              )}
            </div>
          </li>
        ))}
      </ul>
    </section>
  )
}
