import { useState } from 'preact/hooks'
import { Icon } from '../../components/icon.tsx'
import { TryNow } from '../../components/try-now.tsx'
import { request, withQuery } from '../../lib/api.ts'
import { useReconnected } from '../../lib/connection.ts'
import { formatMilliseconds, pluralize } from '../../lib/format.ts'
import { usePolling } from '../../lib/polling.ts'
import type { WebhookHealth, WebhookMinute } from '../../lib/resources.ts'
import { routeHref } from '../../lib/router.ts'
import { serverNowMs } from '../../lib/server-clock.ts'
import { describeLast, describeTrouble, troubleSince, webhookKey } from '../../lib/webhook-state.ts'

const EVERY_MS = 5_000

/** Shows how a webhook does: its trouble with what to do, and its last hour. */
export function WebhookHealthPart({ webhook }: { webhook: WebhookHealth }) {
  const { url, occurrence } = webhook
  const [minutes, setMinutes] = useState<readonly WebhookMinute[] | null>(null)
  const load = async () => {
    const path = withQuery('/overview/webhook', { url, occurrence: String(occurrence) })
    const response = await request<WebhookMinute[]>('GET', path)
    if (response.ok) setMinutes(response.result)
  }
  usePolling(load, EVERY_MS, [url, occurrence])
  useReconnected(load)
  return (
    <div class="part">
      {troubleSince(webhook) === null ? null : <Trouble webhook={webhook} />}
      {minutes === null ? <p class="hint">Last hour</p> : <LastHour minutes={minutes} />}
    </div>
  )
}

function Trouble({ webhook }: { webhook: WebhookHealth }) {
  const { advice } = describeTrouble(webhook, serverNowMs())
  return (
    <div class="note bad" role="status">
      <Icon name="alert" />
      <div>
        <p>
          <b>{describeLast(webhook.last)}</b>. {advice}
        </p>
        <p class="actions">
          {webhook.pending > 0 ? <TryNow url={webhook.url} isSmall /> : null}
          <a class="button small quiet" href={routeHref('deliveries', null, { webhook: webhookKey(webhook) })}>
            Its deliveries
          </a>
        </p>
      </div>
    </div>
  )
}

const CELLS = 60

/** Shows the answers of the last hour, a cell for each minute, and a sentence about them. */
function LastHour({ minutes }: { minutes: readonly WebhookMinute[] }) {
  const sum = (count: (minute: WebhookMinute) => number) => minutes.reduce((total, one) => total + count(one), 0)
  const failed = sum((one) => one.failed_attempts + one.failed_probes)
  const median = minutes.findLast(({ p50_ms }) => p50_ms !== null)?.p50_ms ?? null
  const sentence = [
    `${sum((one) => one.delivered).toLocaleString('en')} delivered`,
    ...(failed === 0 ? [] : [pluralize(failed, 'failed attempt')]),
    ...(median === null ? [] : [`median ${formatMilliseconds(median)}`]),
  ].join(', ')
  const bad = minutes.filter((one) => one.failed_attempts + one.failed_probes > 0).length
  return (
    <>
      <p class="actions">
        <span class="label">Last hour</span>
        <span class="hint push">{sentence}</span>
      </p>
      <svg
        class="hour"
        role="img"
        aria-label={`Answers in each minute of the last hour: ${pluralize(bad, 'minute')} with failures`}
      >
        {minutes.slice(-CELLS).map((minute, at) => (
          <rect
            key={minute.at}
            class={toneOf(minute)}
            x={`${((at + CELLS - Math.min(CELLS, minutes.length)) * 100) / CELLS}%`}
            width="1.2%"
            height="14"
            rx="1"
          />
        ))}
      </svg>
    </>
  )
}

function toneOf({ delivered, failed_attempts, failed_probes }: WebhookMinute): 'ok' | 'no' | 'off' {
  if (failed_attempts + failed_probes > 0) return 'no'
  return delivered > 0 ? 'ok' : 'off'
}
