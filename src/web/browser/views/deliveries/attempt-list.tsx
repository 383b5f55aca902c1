import { Time } from '../../components/time.tsx'
import { isAccepted } from '../../lib/attempt-outcome.ts'
import type { Hold } from '../../lib/delivery-words.ts'
import { formatMilliseconds, pluralize } from '../../lib/format.ts'
import type { Attempt, DeliveryDetail } from '../../lib/resources.ts'

const NOT_YET = {
  paused: 'No attempt yet: its webhook is paused. It is sent when that is resumed.',
  down: 'No attempt yet: its webhook is down. It is sent when that answers again.',
  none: 'No attempt yet: it is sent after the earlier events of its call.',
} as const

type AttemptListProps = { delivery: DeliveryDetail; next: string | null; hold: Hold | null }

/** Shows the attempts of a delivery in time, the oldest first, and when the next one is due. */
export function AttemptList({ delivery, next, hold }: AttemptListProps) {
  const { attempts } = delivery
  if (attempts.length === 0)
    return (
      <p class="well">
        {delivery.state === 'pending' ? NOT_YET[hold ?? 'none'] : 'It was cancelled before its first attempt.'}
      </p>
    )
  return (
    <ol class="story tries">
      {attempts.map((attempt, at) => (
        <AttemptRow key={at} attempt={attempt} name={nameOf(attempt, countAttempts(attempts.slice(0, at + 1)))} />
      ))}
      {next === null ? null : (
        <li>
          <span />
          <i class="knot" aria-hidden="true" />
          <p class="dim">{next}</p>
        </li>
      )}
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
  const { at, status, error, method, duration_ms: durationMs, address, response, probe } = attempt
  const succeeded = isAccepted(attempt)
  const outcome = status ?? (error === null ? 'acknowledged' : method === null ? 'not sent' : 'no response')
  return (
    <li>
      <Time at={at} as="seconds" />
      <i class={succeeded ? 'knot talk' : 'knot bad'} aria-hidden="true" />
      <div>
        <p title={probe ? 'Sent while the webhook was down; it does not count.' : ''}>
          <span class={succeeded ? 'key' : 'key bad'}>{outcome}</span> <span class="dim">{name}</span>
          <small>
            {durationMs === null ? '' : `${formatMilliseconds(durationMs)} of at most 10 s`}
            {address === null ? '' : ` · to ${address}`}
          </small>
        </p>
        {error === null ? null : <p class="hint">{error}</p>}
        {response === null || response === '' ? null : (
          <details>
            <summary class="hint">Response</summary>
            <pre class="response">{response}</pre>
          </details>
        )}
      </div>
    </li>
  )
}
