import { useEffect, useState } from 'preact/hooks'
import { CodeBlock } from '../../components/code-block.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { OutcomeLine } from '../../components/outcome-line.tsx'
import { errorText, request } from '../../lib/api.ts'
import { describeAnswer, isAccepted } from '../../lib/attempt-outcome.ts'
import { refreshOverview } from '../../lib/connection.ts'
import { formatMilliseconds } from '../../lib/format.ts'
import type { FlowTestResult, TestResult } from '../../lib/resources.ts'

/** Sends a signed test request and shows the response. The steps of a flow are shown first, and sent on demand. */
export function TestPart({ url }: { url: string }) {
  const [result, setResult] = useState<TestResult | FlowTestResult | null>(null)
  const [error, setError] = useState<string | null>(null)
  const [busy, setBusy] = useState(true)
  const isFlow = result !== null && 'steps' in result
  const send = async () => {
    setBusy(true)
    const body = { url, send: isFlow }
    const response = await request<TestResult | FlowTestResult>('POST', '/integration/webhook/test', body)
    setBusy(false)
    setError(response.ok ? null : errorText(response))
    setResult(response.ok ? response.result : null)
    // A successful test ends the outage of a webhook that was down.
    void refreshOverview()
  }
  useEffect(() => void send(), [])
  return (
    <section class="part" aria-label="Test request" aria-live="polite">
      {busy ? <p class="hint">Sending a signed request. This takes at most 10 seconds…</p> : null}
      {error === null || busy ? null : <ErrorMessage text={error} />}
      {result === null || busy ? null : 'steps' in result ? (
        <FlowOutcome result={result} />
      ) : (
        <TestOutcome result={result} />
      )}
      {isFlow && !busy ? (
        <>
          <p class="hint">
            These are the steps after a call, filled in with a sample call. If you send them, the CRM creates this call.
          </p>
          <p class="actions">
            <button type="button" class="button small" onClick={send}>
              Send the steps
            </button>
          </p>
        </>
      ) : (
        <p class="hint">
          The request is sent as the webhook is saved, and is marked with the name <code>test</code>: it is no call
          event, and it is stored nowhere.
        </p>
      )}
    </section>
  )
}

function TestOutcome({ result }: { result: TestResult }) {
  const succeeded = isAccepted(result)
  return (
    <>
      <OutcomeLine isGood={succeeded}>
        <b>{succeeded ? 'Received' : 'Failed'}</b>:{' '}
        {result.status === null && result.error !== null ? result.error : describeAnswer(result)}
        {result.duration_ms === null
          ? ''
          : `${result.status === null && !succeeded ? ', after' : ' in'} ${formatMilliseconds(result.duration_ms)}`}
      </OutcomeLine>
      {result.status !== null && result.error !== null ? <p>{result.error}</p> : null}
      {result.status === null && !succeeded ? null : result.response === null || result.response === '' ? (
        <p class="hint">The response has no body.</p>
      ) : (
        <CodeBlock text={result.response} label="the response" head="The response" />
      )}
    </>
  )
}

function FlowOutcome({ result: { steps } }: { result: FlowTestResult }) {
  if (steps.length === 0) return <p class="hint">No step begins when a call ends.</p>
  return (
    <>
      {steps.map((step, at) => (
        <section key={at}>
          <OutcomeLine isGood={step.error === null}>
            <b>{step.step}</b> {step.method} {step.url ?? ''} {step.status ?? ''}
          </OutcomeLine>
          {step.error === null ? null : <p>{step.error}</p>}
          {step.body === null || step.body === '' ? null : <CodeBlock text={step.body} label="the body" head="Body" />}
        </section>
      ))}
    </>
  )
}
