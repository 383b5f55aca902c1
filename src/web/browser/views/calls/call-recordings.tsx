import { useEffect, useState } from 'preact/hooks'
import { ErrorMessage } from '../../components/error-message.tsx'
import { request } from '../../lib/api.ts'
import { formatStopwatch } from '../../lib/format.ts'
import type { Recording } from '../../lib/resources.ts'

/** Shows the recordings of a call, with a player for those whose files can be read. */
export function RecordingList({ callId, recordings }: { callId: string; recordings: readonly Recording[] }) {
  if (recordings.length === 0) return null
  const isPlayable = recordings.some(({ url }) => url !== undefined)
  return (
    <section class="card" aria-labelledby="recordings">
      <header class="card-head">
        <h2 id="recordings">Recordings</h2>
        {isPlayable ? null : <p class="muted">These files are on the PBX.</p>}
      </header>
      <ul class="recordings">
        {recordings.map((recording, at) => (
          <li key={recording.id}>
            {recording.url === undefined ? null : <Player callId={callId} id={recording.id} number={at + 1} />}
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

/** Plays a recording. A player cannot send a token, so it gets a link of its own. */
function Player({ callId, id, number }: { callId: string; id: string; number: number }) {
  const [path, setPath] = useState<string | null>(null)
  const [error, setError] = useState<string | null>(null)
  const load = async () => {
    const link = `/call/${encodeURIComponent(callId)}/recording/${encodeURIComponent(id)}/link`
    const found = await request<{ path: string }>('GET', link)
    setError(found.ok ? null : found.message)
    if (found.ok) setPath(found.result.path)
  }
  useEffect(() => void load(), [callId, id])
  const onFailure = () =>
    setError('The recording cannot be played: its file is missing, still being written, or of another format.')
  if (error !== null) return <ErrorMessage text={error} onRetry={load} />
  if (path === null) return null
  return (
    // biome-ignore lint/a11y/useMediaCaption: there is no text of a recorded call
    <audio controls preload="metadata" src={path} aria-label={`Recording ${number}`} onError={onFailure} />
  )
}
