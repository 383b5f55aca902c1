import { useEffect, useState } from 'preact/hooks'
import { CodeBlock } from '../../components/code-block.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { Icon } from '../../components/icon.tsx'
import { OutcomeLine } from '../../components/outcome-line.tsx'
import { errorText, request } from '../../lib/api.ts'
import { describeAnswer, isAccepted } from '../../lib/attempt-outcome.ts'
import { refreshOverview } from '../../lib/connection.ts'
import { formatMilliseconds } from '../../lib/format.ts'
import type { FlowTestResult, TestResult } from '../../lib/resources.ts'
import { WebhookDialog } from './webhook-dialog.tsx'

/** Sends a signed test request and shows the response. The steps of a flow are shown first, and sent on demand. */
export function TestDialog({ url, onClose }: { url: string; onClose: () => void }) {
  const [result, setResult] = useState<TestResult | FlowTestResult | null>(null)
  const [error, setError] = useState<string | null>(null)
  const [busy, setBusy] = useState(true)
  const isFlow = result !== null && 'steps' in result
  const send = async () => {
    setBusy(true)
    const response = await request<TestResult | FlowTestResult>('POST', '/integration/webhook/test', {
      url,
      send: isFlow,
    })
    setBusy(false)
    setError(response.ok ? null : errorText(response))
    setResult(response.ok ? response.result : null)
    // A successful test ends the outage of a webhook that was down.
    void refreshOverview()
  }
  useEffect(() => void send(), [])
  return (
    <WebhookDialog title="Test request" url={url} onClose={onClose}>
      <div aria-live="polite">
        {busy ? <p class="loading">Sending a signed request. This takes at most 10 seconds…</p> : null}
        {error === null || busy ? null : <ErrorMessage text={error} />}
        {result === null || busy ? null : 'steps' in result ? (
          <FlowOutcome result={result} />
        ) : (
          <TestOutcome result={result} />
        )}
      </div>
      {isFlow ? (
        <p class="hint">
          These are the steps after a call, filled in with a sample call. If you send them, the CRM creates this call.
        </p>
      ) : (
        <p class="hint">
          The request is marked with the name <code>test</code>. It is no call event, and it is stored nowhere.
        </p>
      )}
      <div class="actions end">
        <button type="button" onClick={send} disabled={busy}>
          <Icon name="send" /> {isFlow ? 'Send the steps' : 'Send again'}
        </button>
        <button type="button" class="primary" onClick={onClose}>
          Done
        </button>
      </div>
    </WebhookDialog>
  )
}

function TestOutcome({ result }: { result: TestResult }) {
  const succeeded = isAccepted(result)
  return (
    <>
      <OutcomeLine isGood={succeeded}>
        <strong>{succeeded ? 'Received' : 'Failed'}</strong>
        <span>
          {result.status === null && result.error !== null ? result.error : describeAnswer(result)}
          {result.duration_ms === null
            ? ''
            : `${result.status === null && !succeeded ? ', after' : ' in'} ${formatMilliseconds(result.duration_ms)}`}
        </span>
      </OutcomeLine>
      {result.status !== null && result.error !== null ? <p class="dialog-text">{result.error}</p> : null}
      {result.status === null && !succeeded ? null : result.response === null || result.response === '' ? (
        <p class="muted">The response has no body.</p>
      ) : (
        <CodeBlock text={result.response} label="the response" />
      )}
    </>
  )
}

function FlowOutcome({ result: { steps } }: { result: FlowTestResult }) {
  if (steps.length === 0) return <p class="muted">No step begins when a call ends.</p>
  return (
    <>
      {steps.map((step, at) => (
        <section key={at}>
          <OutcomeLine isGood={step.error === null}>
            <strong>{step.step}</strong>
            <span>
              {step.method} {step.url ?? ''} {step.status ?? ''}
            </span>
          </OutcomeLine>
          {step.error === null ? null : <p class="dialog-text">{step.error}</p>}
          {step.body === null || step.body === '' ? null : <CodeBlock text={step.body} label="the body" />}
        </section>
      ))}
    </>
  )
}
