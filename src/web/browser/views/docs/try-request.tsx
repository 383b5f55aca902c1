import { useId, useState } from 'preact/hooks'
import { CodeBlock } from '../../components/code-block.tsx'
import { FormField } from '../../components/form-field.tsx'
import type { ApiDocument, ApiOperation } from '../../lib/api-document.ts'
import { useObservable } from '../../lib/observable.ts'
import { accessToken } from '../../lib/session.ts'
import { curlOf, type RequestForm, requestFormOf, send, type TriedResponse } from '../../lib/try-request.ts'

/** Shows a form that sends a request to this service, the curl command of the same request, and the response. */
export function TryRequest({ endpoint, document }: { endpoint: ApiOperation; document: ApiDocument }) {
  const id = useId()
  const [form, setForm] = useState<RequestForm>(() => requestFormOf(endpoint, document))
  const [response, setResponse] = useState<TriedResponse | null>(null)
  const [busy, setBusy] = useState(false)
  const lacksToken = useObservable(accessToken) === null && (endpoint.security ?? []).length > 0
  const sendNow = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    setResponse(await send(endpoint, form))
    setBusy(false)
  }
  return (
    <form class="doc-try" onSubmit={sendNow}>
      {(endpoint.parameters ?? []).map(({ name, required }) => (
        <FormField
          key={name}
          label={required ? name : `${name} (optional)`}
          name={name}
          value={form.parameters[name] ?? ''}
          onInput={(value) => setForm({ ...form, parameters: { ...form.parameters, [name]: value } })}
          required={required ?? false}
        />
      ))}
      {form.body === null ? null : (
        <div class="field">
          <label for={`${id}-body`}>Body</label>
          <textarea
            id={`${id}-body`}
            rows={Math.min(16, form.body.split('\n').length + 1)}
            spellcheck={false}
            value={form.body}
            onInput={(event) => setForm({ ...form, body: event.currentTarget.value })}
          />
        </div>
      )}
      {lacksToken ? <p class="note">Log in at the top of this page first: this request needs a token.</p> : null}
      <div class="actions">
        <button type="submit" class="button primary" disabled={busy}>
          {busy ? 'Sending…' : `Send ${endpoint.method} to this service`}
        </button>
      </div>
      <div role="status">
        {response === null ? null : (
          <>
            <p class="doc-response">
              <b class={response.status >= 200 && response.status < 300 ? 'state good' : 'state bad'}>
                {response.status === 0 ? 'no answer' : response.status}
              </b>{' '}
              {response.durationMs} ms <span class="dim">{response.type}</span>
            </p>
            <CodeBlock text={response.text} label={`the response of ${endpoint.method} ${endpoint.path}`} />
          </>
        )}
      </div>
      <details>
        <summary>The same with curl</summary>
        <CodeBlock
          text={curlOf(endpoint, form, location.origin)}
          label={`the curl command of ${endpoint.method} ${endpoint.path}`}
        />
      </details>
    </form>
  )
}
