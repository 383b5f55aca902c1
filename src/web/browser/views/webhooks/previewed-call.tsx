import { useEffect, useId, useState } from 'preact/hooks'
import { CodeBlock } from '../../components/code-block.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { errorText, request } from '../../lib/api.ts'
import { type CrmForm, flowOfForm } from '../../lib/crm-form.ts'
import { formatDateTime, formatJson, formatParty, humanize } from '../../lib/format.ts'
import type { Call, CallPreview, Page } from '../../lib/resources.ts'

/** Shows which requests one of the last calls would have caused. Nothing is sent. */
export function PreviewedCall({ form }: { form: CrmForm }) {
  const id = useId()
  const [calls, setCalls] = useState<readonly Call[] | null>(null)
  const [chosen, setChosen] = useState('')
  const [preview, setPreview] = useState<CallPreview | null>(null)
  const [error, setError] = useState<string | null>(null)
  const load = async () => {
    const response = await request<Page<Call>>('GET', '/call?limit=20')
    if (!response.ok) return setError(errorText(response))
    setCalls(response.result.items)
    setChosen(response.result.items[0]?.id ?? '')
  }
  useEffect(() => void load(), [])
  const show = async () => {
    const body = { url: form.url.trim(), call_id: chosen, flow: flowOfForm(form) }
    const response = await request<CallPreview>('POST', '/integration/webhook/preview/call', body)
    setPreview(response.ok ? response.result : null)
    setError(response.ok ? null : errorText(response))
  }
  if (calls?.length === 0)
    return <p class="dim">There is no call yet. Once one has ended, this shows what it would have caused.</p>
  return (
    <section class="stack tight" aria-live="polite">
      <label class="label" for={id}>
        A call that has ended
      </label>
      <div class="with-button">
        <select id={id} value={chosen} onChange={(event) => setChosen(event.currentTarget.value)}>
          {(calls ?? []).map((call) => (
            <option key={call.id} value={call.id}>
              {call.started_at === null ? '' : `${formatDateTime(call.started_at)} · `} {humanize(call.direction)} ·{' '}
              {formatParty(call.from)} → {formatParty(call.to)}
            </option>
          ))}
        </select>
        <button class="button" type="button" onClick={() => void show()} disabled={chosen === ''}>
          Show its requests
        </button>
      </div>
      {error === null ? null : <ErrorMessage text={error} />}
      {preview === null ? null : <PreviewedSteps preview={preview} />}
    </section>
  )
}

function PreviewedSteps({ preview: { steps, truncated } }: { preview: CallPreview }) {
  const made = steps.filter(({ skipped }) => skipped === null)
  const others = steps.length - made.length
  return (
    <>
      <p class="hint">
        {made.length === 0
          ? 'This call causes no request.'
          : 'Nothing is sent. The answers are examples from the CRM’s documentation.'}
      </p>
      <ol class="previewed-steps">
        {made.map(({ event, step, method, url, body, error, answer }, at) => (
          <li key={at}>
            <p>
              <b>{humanize(step)}</b> <span class="dim">of {humanize(event)}</span>
            </p>
            {url === null ? null : (
              <p class="anywhere">
                <code>
                  {method} {url}
                </code>
              </p>
            )}
            {error === null ? null : <p class="error">{error}</p>}
            {body === null || body === '' ? null : (
              <CodeBlock text={formatJson(body)} label={`the body of ${humanize(step)}`} head="Body" />
            )}
            {answer === null ? null : <p class="dim">Answer: {answer.status}</p>}
          </li>
        ))}
      </ol>
      {truncated === null ? null : (
        <p class="hint">
          The preview ends here, before {humanize(truncated.step)} of {humanize(truncated.event)}: {truncated.reason}.
        </p>
      )}
      {others === 0 || made.length === 0 ? null : (
        <p class="hint">
          {others === 1 ? 'One more request is' : `${others} more requests are`} not needed for this call.
        </p>
      )}
    </>
  )
}
