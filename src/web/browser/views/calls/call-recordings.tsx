import { formatStopwatch } from '../../lib/format.ts'
import type { Recording } from '../../lib/resources.ts'

/** Shows where the recordings of a call are on the PBX. */
export function RecordingList({ recordings }: { recordings: readonly Recording[] }) {
  if (recordings.length === 0) return null
  return (
    <section class="card" aria-labelledby="recordings">
      <header class="card-head">
        <h2 id="recordings">Recordings</h2>
        <p class="muted">These files are on the PBX.</p>
      </header>
      <ul class="recordings">
        {recordings.map((recording) => (
          <li key={recording.id}>
            <code>{recording.path ?? 'path unknown'}</code>
            <span class="muted">
              {[recording.format, recording.duration === null ? null : formatStopwatch(recording.duration)]
                .filter((part) => part !== null)
                .join(' · ')}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
