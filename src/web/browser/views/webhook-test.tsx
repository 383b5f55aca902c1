import { useEffect, useState } from 'preact/hooks'
import { request } from '../lib/api.ts'
import { milliseconds } from '../lib/format.ts'
import type { TestResult } from '../lib/resources.ts'
import { CodeBlock } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Icon } from '../parts/icon.tsx'
import { Problem } from '../parts/shown.tsx'

/** Sends one signed request, marked as a test, and shows what came back. */
export function TestDialog({ url, onClose }: { url: string; onClose: () => void }) {
  const [result, setResult] = useState<TestResult | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const [busy, setBusy] = useState(true)
  const send = async () => {
    setBusy(true)
    const answer = await request<TestResult>('POST', '/integration/webhook/test', { url })
    setBusy(false)
    setProblem(answer.ok ? null : answer.message)
    setResult(answer.ok ? answer.result : null)
  }
  useEffect(() => void send(), [])
  const good = result !== null && result.status !== null && result.status >= 200 && result.status < 300
  return (
    <Dialog title="Test request" onClose={onClose} wide>
      <p class="dialog-url">{url}</p>
      <div aria-live="polite">
        {busy ? <p class="loading">Sending a signed request, waiting up to 10 seconds…</p> : null}
        {problem === null || busy ? null : <Problem text={problem} />}
        {result === null || busy ? null : (
          <>
            <p class={good ? 'verdict good' : 'verdict bad'}>
              <Icon name={good ? 'check' : 'cross'} />
              <strong>{good ? 'Received' : 'Not received'}</strong>
              <span>
                {result.status === null ? result.error : `answered ${result.status}`}
                {result.duration_ms === null ? '' : ` in ${milliseconds(result.duration_ms)}`}
              </span>
            </p>
            {result.status !== null && result.error !== null ? <p class="dialog-text">{result.error}</p> : null}
            {result.response === null || result.response === '' ? (
              <p class="soft">The answer had no body.</p>
            ) : (
              <CodeBlock text={result.response} what="the answer" />
            )}
          </>
        )}
      </div>
      <p class="hint">
        The sample is marked with the name <code>test</code>; it is no call event and is stored nowhere.
      </p>
      <div class="actions end">
        <button type="button" onClick={send} disabled={busy}>
          <Icon name="send" /> Send again
        </button>
        <button type="button" class="primary" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  )
}
