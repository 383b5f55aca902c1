import { useEffect, useState } from 'preact/hooks'
import { DeliveryBadge } from '../../components/badge.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { DeliveryDue } from '../../components/delivery-due.tsx'
import { Loading } from '../../components/empty-state.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { Icon } from '../../components/icon.tsx'
import { Time } from '../../components/time.tsx'
import { showToast } from '../../components/toast.tsx'
import { WebhookLabel } from '../../components/webhook-label.tsx'
import { errorText, request } from '../../lib/api.ts'
import { liveState, useReconnected } from '../../lib/connection.ts'
import { curlCommand, requestHeaders } from '../../lib/curl.ts'
import { formatJson, humanize } from '../../lib/format.ts'
import { useObservable } from '../../lib/observable.ts'
import type { DeliveryDetail, WebhookSecret } from '../../lib/resources.ts'
import { routeHref } from '../../lib/router.ts'
import { serverNowMs } from '../../lib/server-clock.ts'
import { AttemptList, describeAttempts } from './attempt-list.tsx'

/** A retry that is due is not announced by the stream, so a pending delivery is read again at this interval. */
const POLL_INTERVAL_MS = 2_000

/** Shows one delivery: its attempts, its body, and a command that repeats the request. */
export function DeliveryDetailView({ id }: { id: string }) {
  const [delivery, setDelivery] = useState<DeliveryDetail | null>(null)
  const [error, setError] = useState<string | null>(null)
  const path = `/integration/delivery/${encodeURIComponent(id)}?probes=true`
  const load = async () => {
    const response = await request<DeliveryDetail>('GET', path)
    if (response.ok) setDelivery(response.result)
    if (response.ok) setError(null)
    else
      setError(
        response.status === 404 ? 'There is no such delivery. It may be older than the retention.' : response.message,
      )
  }
  const changed = useObservable(liveState)
    .feed.flatMap((event) => event.deliveries)
    .find((one) => one.id === id)
  useEffect(() => void load(), [changed?.state, changed?.attempts_made, changed?.next_attempt_at])
  useReconnected(load)
  const pending = delivery?.state === 'pending'
  useEffect(() => {
    if (!pending) return
    const timer = setInterval(() => document.hidden || void load(), POLL_INTERVAL_MS)
    return () => clearInterval(timer)
  }, [pending])
  const retry = async () => {
    const response = await request('POST', `/integration/delivery/${encodeURIComponent(id)}/retry`)
    if (response.ok) showToast('good', 'The delivery is being sent again.')
    else showToast('bad', errorText(response))
    await load()
  }
  return (
    <div class="view">
      <a class="back" href={routeHref('deliveries')}>
        <Icon name="back" /> Deliveries
      </a>
      {error === null ? null : <ErrorMessage text={error} onRetry={load} />}
      {delivery !== null ? (
        <DeliveryContent delivery={delivery} onRetry={retry} />
      ) : error === null ? (
        <Loading what="the delivery" />
      ) : null}
    </div>
  )
}

function DeliveryContent({ delivery, onRetry }: { delivery: DeliveryDetail; onRetry: () => void }) {
  const pending = delivery.state === 'pending'
  return (
    <>
      <header class="view-head">
        <h1>{humanize(delivery.event)}</h1>
        <DeliveryBadge state={delivery.state} retrying={pending && delivery.attempts_made > 0} />
        <button type="button" class="primary push" onClick={onRetry}>
          <Icon name="retry" /> {delivery.state === 'delivered' ? 'Send again' : 'Retry now'}
        </button>
      </header>
      <DeliveryFacts delivery={delivery} />
      <div class="detail-grid">
        <section class="card" aria-labelledby="attempts">
          <header class="card-head">
            <h2 id="attempts">Attempts</h2>
            <p class="muted">{describeAttempts(delivery.attempts)}</p>
          </header>
          <AttemptList attempts={delivery.attempts} pending={pending} />
        </section>
        <section class="card" aria-labelledby="body">
          <header class="card-head">
            <h2 id="body">Body</h2>
            <p class="muted">{new TextEncoder().encode(delivery.body).length.toLocaleString()} bytes, as sent</p>
          </header>
          <CodeBlock text={formatJson(delivery.body)} label="the body" />
        </section>
        <CurlCommand delivery={delivery} />
      </div>
    </>
  )
}

function DeliveryFacts({ delivery }: { delivery: DeliveryDetail }) {
  return (
    <dl class="facts card">
      <dt>Webhook</dt>
      <dd class="break">
        <WebhookLabel url={delivery.url} whole />
      </dd>
      <dt>Call</dt>
      <dd class="break">
        {delivery.call_id === null ? (
          'none: the event is not of a call'
        ) : (
          <a href={routeHref('calls', delivery.call_id)}>{delivery.call_id}</a>
        )}
      </dd>
      <dt>Event id (webhook-id)</dt>
      <dd class="break">{delivery.event_id}</dd>
      <dt>Created</dt>
      <dd>
        <Time at={delivery.created_at} day />
      </dd>
      {delivery.delivered_at === null ? null : (
        <>
          <dt>Delivered</dt>
          <dd>
            <Time at={delivery.delivered_at} day />
          </dd>
        </>
      )}
      {delivery.next_attempt_at === null ? null : (
        <>
          <dt>Next attempt</dt>
          <dd>
            <DeliveryDue delivery={delivery} />
          </dd>
        </>
      )}
    </dl>
  )
}

/** Shows the same request for a shell. It is signed now, because receivers refuse an old timestamp. */
function CurlCommand({ delivery }: { delivery: DeliveryDetail }) {
  const [command, setCommand] = useState('')
  const [signed, setSigned] = useState(false)
  const sign = async () => {
    const response = await request<WebhookSecret[]>('GET', '/integration/webhook/secret')
    const secret = response.ok ? (response.result.find((one) => one.url === delivery.url)?.secret ?? null) : null
    const headers = await requestHeaders(delivery.event_id, delivery.body, secret, serverNowMs())
    setSigned(headers.some(([name]) => name === 'webhook-signature'))
    setCommand(curlCommand(delivery.url, headers, delivery.body))
  }
  useEffect(() => void sign(), [delivery.id])
  return (
    <section class="card wide-card" aria-labelledby="curl">
      <header class="card-head">
        <h2 id="curl">The same request with curl</h2>
        <button type="button" class="ghost" onClick={sign}>
          <Icon name="retry" /> Sign again
        </button>
      </header>
      <CodeBlock text={command} label="the curl command" />
      <p class="hint">
        {signed
          ? 'Signed just now with the secret of this URL. Receivers accept the signature for about five minutes.'
          : 'Not signed: the browser signs only on https or localhost, and only for a URL in the list.'}
      </p>
    </section>
  )
}
