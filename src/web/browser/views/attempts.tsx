import { milliseconds } from '../lib/format.ts'
import type { Attempt } from '../lib/resources.ts'
import { Icon } from '../parts/icon.tsx'
import { Empty, When } from '../parts/shown.tsx'

/** An attempt has 10 seconds: the bar's full width. */
const LONGEST_MS = 10_000

export function Attempts({ attempts, waiting }: { attempts: readonly Attempt[]; waiting: boolean }) {
  if (attempts.length === 0)
    return (
      <Empty icon="clock" title="No attempt yet">
        <p>
          {waiting
            ? 'It is due: it waits for an earlier event of its call, or until its webhook is up again.'
            : 'It was cancelled before it was sent.'}
        </p>
      </Empty>
    )
  return (
    <ol class="attempts">
      {attempts.map((attempt, at) => (
        <li key={at}>
          <AttemptRow attempt={attempt} place={at + 1} />
        </li>
      ))}
    </ol>
  )
}

function AttemptRow({ attempt, place }: { attempt: Attempt; place: number }) {
  const good = attempt.status !== null && attempt.status >= 200 && attempt.status < 300 && attempt.error === null
  const share = Math.min(1, (attempt.duration_ms ?? 0) / LONGEST_MS)
  return (
    <>
      <div class="attempt-head">
        <span class={good ? 'attempt-status good' : 'attempt-status bad'}>
          <Icon name={good ? 'check' : 'cross'} />
          {attempt.status ?? 'no answer'}
        </span>
        <span class="soft">attempt {place}</span>
        <When at={attempt.at} day />
        <span class="attempt-ms">{milliseconds(attempt.duration_ms)}</span>
      </div>
      {/* The square root lets a few milliseconds show beside ten seconds. */}
      <div class="timing" role="img" aria-label={`took ${milliseconds(attempt.duration_ms)} of at most 10 s`}>
        <i class={good ? 'good' : 'bad'} style={{ width: `${(Math.sqrt(share) * 100).toFixed(2)}%` }} />
      </div>
      {attempt.error === null ? null : <p class="attempt-error">{attempt.error}</p>}
      {attempt.address === null ? null : <p class="soft attempt-address">to {attempt.address}</p>}
      {attempt.response === null || attempt.response === '' ? null : (
        <details>
          <summary>Answer</summary>
          <pre class="answer">{attempt.response}</pre>
        </details>
      )}
    </>
  )
}
