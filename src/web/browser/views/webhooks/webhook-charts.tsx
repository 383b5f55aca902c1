import { useState } from 'preact/hooks'
import { Loading } from '../../components/empty-state.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { request, withQuery } from '../../lib/api.ts'
import { useReconnected } from '../../lib/connection.ts'
import { usePolling } from '../../lib/polling.ts'
import type { WebhookMinute } from '../../lib/resources.ts'
import { LatencyChart, SuccessChart } from '../live/last-hour-charts.tsx'

const POLL_INTERVAL_MS = 5_000

/** Charts the last hour of one webhook: the share of its requests that succeeded, and the latency of its deliveries. */
export function WebhookCharts({ url, occurrence }: { url: string; occurrence: number }) {
  const [minutes, setMinutes] = useState<readonly WebhookMinute[] | null>(null)
  const [error, setError] = useState<string | null>(null)
  const load = async () => {
    const path = withQuery('/overview/webhook', { url, occurrence: String(occurrence) })
    const response = await request<WebhookMinute[]>('GET', path)
    setError(response.ok ? null : response.message)
    if (response.ok) setMinutes(response.result)
  }
  usePolling(load, POLL_INTERVAL_MS, [url, occurrence])
  useReconnected(load)
  if (error !== null) return <ErrorMessage text={error} onRetry={load} />
  if (minutes === null) return <Loading what="the charts" />
  return (
    <div class="webhook-charts">
      <SuccessChart minutes={minutes} />
      <LatencyChart minutes={minutes} framed={false} />
    </div>
  )
}
