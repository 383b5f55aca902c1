import { useState } from 'preact/hooks'
import { shownUrl } from '../../../../lib/shown-url.ts'
import { formatDuration } from '../../../../lib/time.ts'
import { showToast } from '../../components/toast.tsx'
import { errorText, request, withQuery } from '../../lib/api.ts'
import { describeAnswer } from '../../lib/attempt-outcome.ts'
import { refreshOverview } from '../../lib/connection.ts'
import { formatMilliseconds, formatPendingCount } from '../../lib/format.ts'
import type { Delivery, Page, WebhookHealth } from '../../lib/resources.ts'
import { serverNowMs } from '../../lib/server-clock.ts'
import { describeWebhookState } from '../../lib/webhook-state.ts'

/**
 * Shows whether a webhook is up, its pending deliveries and its last response, with a button that tries a down webhook.
 */
export function WebhookHealthLine({ health }: { health: WebhookHealth | null }) {
  if (health === null) return <p class="health muted">The state is not known yet.</p>
  const { url, last, paused, filtered, pending, down_since: downSince } = health
  return (
    <div class="health">
      <span class={`health-state ${toneOf(health)}`}>
        <i class="dot" aria-hidden="true" />
        {describeWebhookState(health, serverNowMs())}
      </span>
      {pending > 0 ? <span class="health-pending">{formatPendingCount(pending)} pending</span> : null}
      {filtered ? <span>only events that match its filter</span> : null}
      {last === null ? null : <span class="muted">{describeLast(last)}</span>}
      {downSince !== null && pending > 0 && !paused ? <RetryButton url={url} /> : null}
    </div>
  )
}

function toneOf({ paused, down_since: downSince, refusing_since: refusingSince }: WebhookHealth): string {
  if (paused) return 'paused'
  return downSince === null && refusingSince === null ? 'good' : 'bad'
}

function describeLast({ status, error, duration_ms: durationMs, at }: NonNullable<WebhookHealth['last']>): string {
  const isFailure = status === null && error !== null
  const outcome = isFailure ? `last attempt: ${error}` : `last ${describeAnswer({ status, error })}`
  const duration = durationMs === null ? '' : `${isFailure ? ', after' : ' in'} ${formatMilliseconds(durationMs)}`
  return `${outcome}${duration}, ${formatDuration(serverNowMs() - Date.parse(at))} ago`
}

/** Most responses to a probe have arrived after this time. */
const REFRESH_AFTER_MS = 1_000

function RetryButton({ url }: { url: string }) {
  const [busy, setBusy] = useState(false)
  const retry = async () => {
    setBusy(true)
    const error = await probeNow(url)
    setBusy(false)
    if (error !== null) return showToast('bad', error)
    showToast('good', 'A pending delivery is being sent as a probe. If it succeeds, the others follow in order.')
    setTimeout(() => void refreshOverview(), REFRESH_AFTER_MS)
  }
  return (
    <button type="button" class="small" onClick={retry} disabled={busy} aria-label={`Retry now: ${shownUrl(url)}`}>
      Retry now
    </button>
  )
}

/** Sends one pending delivery of a webhook that is down, as its probe. Returns the error; null if it succeeded. */
async function probeNow(url: string): Promise<string | null> {
  const pending = await request<Page<Delivery>>(
    'GET',
    withQuery('/integration/delivery', { state: 'pending', url, limit: '1' }),
  )
  if (!pending.ok) return errorText(pending)
  const [delivery] = pending.result.items
  if (delivery === undefined) return 'There is no pending delivery. Send a test instead.'
  const response = await request('POST', `/integration/delivery/${delivery.id}/retry`)
  return response.ok ? null : errorText(response)
}
