import { useEffect, useState } from 'preact/hooks'
import { ErrorMessage } from '../../components/error-message.tsx'
import { Icon } from '../../components/icon.tsx'
import { request } from '../../lib/api.ts'
import { formatParty } from '../../lib/format.ts'
import type { CallItem, CallRecord, Recording } from '../../lib/resources.ts'
import { RecordingPlayer } from './recording-player.tsx'

/** Plays the recordings of a call of the list, below it. */
export function RowPlayer({ call, onClose }: { call: CallItem; onClose: () => void }) {
  const [recordings, setRecordings] = useState<readonly Recording[] | null>(null)
  const [error, setError] = useState<string | null>(null)
  useEffect(() => {
    void request<CallRecord>('GET', `/call/${encodeURIComponent(call.id)}`).then((response) => {
      if (response.ok) setRecordings(response.result.recordings)
      else setError(response.message)
    })
  }, [])
  const playable = recordings?.filter(({ url }) => url !== undefined) ?? []
  return (
    <section class="row-player" aria-label="Recording">
      <header class="section-head">
        <h2 class="cut">
          <bdi>{formatParty(call.from)}</bdi> → <bdi>{formatParty(call.to)}</bdi>
        </h2>
        <button type="button" class="button quiet small only push" aria-label="Close" onClick={onClose}>
          <Icon name="cross" />
        </button>
      </header>
      {error === null ? null : <ErrorMessage text={error} />}
      {recordings !== null && playable.length === 0 ? (
        <p class="hint">
          Its recordings are on the PBX only: with <code>recordings=</code> in the URL of the PBX they can be played
          here.
        </p>
      ) : (
        playable.map(({ id, duration }, at) => (
          <RecordingPlayer
            key={id}
            callId={call.id}
            id={id}
            number={at + 1}
            isNumbered={playable.length > 1}
            recordedS={duration}
          />
        ))
      )}
    </section>
  )
}
