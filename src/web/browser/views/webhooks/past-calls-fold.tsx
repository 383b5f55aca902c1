import { useState } from 'preact/hooks'
import { ErrorMessage } from '../../components/error-message.tsx'
import { Fold } from '../../components/fold.tsx'
import { CheckField } from '../../components/form-field.tsx'
import { Icon } from '../../components/icon.tsx'
import { Range } from '../../components/range.tsx'
import { errorText, request } from '../../lib/api.ts'
import { pluralize } from '../../lib/format.ts'
import { timesOf } from '../../lib/range.ts'
import { serverNowMs } from '../../lib/server-clock.ts'

type Chosen = Partial<Record<'range' | 'from' | 'to', string>>

/** Sends the events of past calls to a webhook: for a receiver that was added, or was wrong, after they occurred. */
export function PastCallsFold({ url }: { url: string }) {
  const [chosen, setChosen] = useState<Chosen>({ range: 'today' })
  const [isAgain, setAgain] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [said, setSaid] = useState<string | null>(null)
  const [error, setError] = useState<string | null>(null)
  const { since, until } = timesOf(chosen, serverNowMs())
  const send = async () => {
    setBusy(true)
    setSaid(null)
    const body = { url, since, ...(until === undefined ? {} : { until }), again: isAgain }
    const response = await request<{ queued: number }>('POST', '/integration/webhook/replay', body)
    setBusy(false)
    setError(response.ok ? null : errorText(response))
    if (response.ok) setSaid(queuedText(response.result.queued))
  }
  return (
    <Fold title="Past calls" value="not sent unless you ask for it">
      <p class="hint">
        The stored events of this time are sent as if they had just occurred, the oldest first, with the same ids. Those
        that this webhook has had are left out.
      </p>
      <div class="actions">
        <Range query={chosen} onChange={(changes) => setChosen({ ...chosen, ...changes })} />
      </div>
      <CheckField checked={isAgain} onChange={setAgain}>
        <span>
          Also what it has had already
          <small>A receiver recognizes repetitions by webhook-id.</small>
        </span>
      </CheckField>
      <div class="actions">
        <button type="button" class="button" disabled={isBusy || since === undefined} onClick={() => void send()}>
          <Icon name="send" />
          {isBusy ? 'Sending…' : 'Send past calls'}
        </button>
        <span class="dim" role="status">
          {said}
        </span>
      </div>
      {error === null ? null : <ErrorMessage text={error} />}
    </Fold>
  )
}

const queuedText = (count: number): string =>
  count === 0 ? 'There is no such event.' : `${pluralize(count, 'event')} on the way.`
