import { formatStopwatch } from '../../lib/format.ts'
import { describeMoment } from '../../lib/playback.ts'
import type { CallRecord, Recording } from '../../lib/resources.ts'
import { RecordingPlayer } from './recording-player.tsx'
import type { Playback } from './use-playback.ts'

/** Shows the players of the recordings that have their place in the timeline of the call, below it. */
export function TimelinePlayers({ record, playback }: { record: CallRecord; playback: Playback }) {
  if (playback.tracks.length === 0) return null
  return (
    <div class="players">
      {playback.tracks.map(({ id, number, fromMs, toMs }) => (
        <RecordingPlayer
          key={id}
          callId={record.call.id}
          id={id}
          number={number}
          isNumbered={playback.tracks.length > 1}
          recordedS={(toMs - fromMs) / 1_000}
          describe={(seconds) => describeMoment(record.stages, fromMs + seconds * 1_000)}
          onPlayer={(player) => playback.setPlayer(id, player)}
          onPosition={(seconds) => playback.follow({ trackId: id, seconds })}
          onPlay={() => playback.pauseOthers(id)}
        />
      ))}
    </div>
  )
}

type ListProps = { callId: string; recordings: readonly Recording[]; playback: Playback }

/** Lists the recordings of a call, and plays the ones without a place in the timeline. */
export function RecordingList({ callId, recordings, playback }: ListProps) {
  if (recordings.length === 0) return null
  const isPlayable = recordings.some(({ url }) => url !== undefined)
  const isInTimeline = (id: string) => playback.tracks.some((track) => track.id === id)
  return (
    <section class="card" aria-labelledby="recordings">
      <header class="card-head">
        <h2 id="recordings">Recordings</h2>
        {isPlayable ? null : <p class="muted">These files are on the PBX.</p>}
      </header>
      <ul class="recordings">
        {recordings.map(({ id, url, path, format, duration }, at) => (
          <li key={id}>
            <b>Recording {at + 1}</b>
            <code>{path ?? 'path unknown'}</code>
            <span class="muted">
              {[format, duration === null ? null : formatStopwatch(duration)]
                .filter((part) => part !== null)
                .join(' · ')}
            </span>
            {url === undefined || isInTimeline(id) ? null : (
              <RecordingPlayer callId={callId} id={id} number={at + 1} recordedS={duration} />
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}
