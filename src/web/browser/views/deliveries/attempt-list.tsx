import { EmptyState } from '../../components/empty-state.tsx'
import { Icon } from '../../components/icon.tsx'
import { Time } from '../../components/time.tsx'
import { isAccepted } from '../../lib/attempt-outcome.ts'
import { formatMilliseconds, pluralize } from '../../lib/format.ts'
import type { Attempt } from '../../lib/resources.ts'

/** The time limit of an attempt: the full width of its bar. */
const TIMEOUT_MS = 10_000

/** Shows the attempts of a delivery, the oldest first. */
export function AttemptList({ attempts, pending }: { attempts: readonly Attempt[]; pending: boolean }) {
  if (attempts.length === 0)
    return (
      <EmptyState icon="clock" title="No attempts yet">
        <p>
          {pending
            ? 'This delivery is due. It is sent after earlier events of its call, and when its webhook is up.'
            : 'The delivery was cancelled before its first attempt.'}
        </p>
      </EmptyState>
    )
  return (
    <ol class="attempts">
      {attempts.map((attempt, at) => (
        <li key={at}>
          <AttemptRow attempt={attempt} name={nameOf(attempt, countAttempts(attempts.slice(0, at + 1)))} />
        </li>
      ))}
    </ol>
  )
}

/** Returns the name of an attempt: of a flow its step. */
function nameOf({ probe, step, method, kept = [] }: Attempt, number: number): string {
  if (step !== undefined)
    return `${step}${method == null ? '' : `, ${method}`}${kept.length === 0 ? '' : `, keeps ${kept.join(', ')}`}`
  return probe ? 'probe' : `attempt ${number}`
}

/** Returns how many of these count: probes of a webhook that is down do not. */
function countAttempts(attempts: readonly Attempt[]): number {
  return attempts.filter((attempt) => !attempt.probe).length
}

/** Writes how often a delivery was attempted and probed. */
export function describeAttempts(attempts: readonly Attempt[]): string {
  const made = countAttempts(attempts)
  const probes = attempts.length - made
  return probes === 0 ? `${made} made` : `${made} made, and ${pluralize(probes, 'probe')}`
}

function AttemptRow({ attempt, name }: { attempt: Attempt; name: string }) {
  const succeeded = isAccepted(attempt)
  const tone = succeeded ? 'good' : 'bad'
  const share = Math.min(1, (attempt.duration_ms ?? 0) / TIMEOUT_MS)
  return (
    <>
      <div class="attempt-head">
        <span class={`attempt-status ${tone}`}>
          <Icon name={succeeded ? 'check' : 'cross'} />
          {attempt.status ??
            (attempt.error === null ? 'acknowledged' : attempt.method === null ? 'not sent' : 'no response')}
        </span>
        <span class="muted" title={attempt.probe ? 'Sent while the webhook was down; it does not count.' : ''}>
          {name}
        </span>
        <Time at={attempt.at} day />
        <span class="attempt-duration">{formatMilliseconds(attempt.duration_ms)}</span>
      </div>
      {/* The square root keeps a few milliseconds visible beside ten seconds. */}
      <div
        class="timing"
        role="img"
        aria-label={`took ${formatMilliseconds(attempt.duration_ms)} of at most ${TIMEOUT_MS / 1_000} s`}
      >
        <i class={tone} style={{ width: `${(Math.sqrt(share) * 100).toFixed(2)}%` }} />
      </div>
      {attempt.error === null ? null : <p class="attempt-error">{attempt.error}</p>}
      {attempt.address === null ? null : <p class="muted attempt-address">to {attempt.address}</p>}
      {attempt.response === null || attempt.response === '' ? null : (
        <details>
          <summary>Response</summary>
          <pre class="response">{attempt.response}</pre>
        </details>
      )}
    </>
  )
}
