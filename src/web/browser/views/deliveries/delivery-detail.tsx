import { useEffect, useState } from 'preact/hooks'
import { Segments } from '../../components/choice.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { Copyable } from '../../components/copy-button.tsx'
import { Loading } from '../../components/empty-state.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { Icon } from '../../components/icon.tsx'
import { State } from '../../components/state.tsx'
import { Time } from '../../components/time.tsx'
import { showToast } from '../../components/toast.tsx'
import { WebhookAddress, WebhookLabel } from '../../components/webhook-label.tsx'
import { errorText, request } from '../../lib/api.ts'
import { isAccepted } from '../../lib/attempt-outcome.ts'
import { liveState, overview, useReconnected } from '../../lib/connection.ts'
import { curlCommand, requestHeaders } from '../../lib/curl.ts'
import { deliveryState, describeNext, describeProgress, holdOf } from '../../lib/delivery-words.ts'
import { formatJson, formatSentence, humanize } from '../../lib/format.ts'
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
      {error === null ? null : <ErrorMessage text={error} onRetry={load} />}
      {delivery !== null ? (
        <DeliveryContent delivery={delivery} onRetry={retry} />
      ) : (
        <>
          <Back />
          {error === null ? <Loading what="the delivery" /> : null}
        </>
      )}
    </div>
  )
}

function Back() {
  return (
    <a class="back" href={routeHref('deliveries')}>
      <Icon name="back" /> Deliveries
    </a>
  )
}

function DeliveryContent({ delivery, onRetry }: { delivery: DeliveryDetail; onRetry: () => void }) {
  const webhooks = useObservable(overview)?.webhooks ?? []
  const { tone, text } = deliveryState(delivery, webhooks)
  const progress = describeProgress(delivery, webhooks, serverNowMs())
  const isPending = delivery.state === 'pending'
  return (
    <>
      <div class="title">
        <Back />
        <header class="head">
          <h1>
            {humanize(delivery.event)} <span class="dim">→</span> <WebhookLabel url={delivery.url} />
          </h1>
          <State tone={tone}>{text}</State>
          <button type="button" class="button primary push" onClick={onRetry}>
            <Icon name="retry" /> {delivery.state === 'delivered' ? 'Send again' : 'Retry now'}
          </button>
        </header>
        <p class="hint">
          <bdi>{delivery.subject}</bdi>
          {delivery.call_id === null ? null : (
            <>
              {' · '}
              <a href={routeHref('calls', delivery.call_id)}>open the call</a>
            </>
          )}
        </p>
      </div>
      <WhyNot delivery={delivery} progress={progress} />
      <div class="columns detail">
        <div class="stack">
          <section aria-labelledby="attempts">
            <header class="section-head">
              <h2 id="attempts">Attempts</h2>
              <p>{describeAttempts(delivery.attempts)}</p>
            </header>
            <AttemptList
              delivery={delivery}
              next={isPending ? describeNext(delivery, webhooks, serverNowMs()) : null}
              hold={holdOf(delivery.url, webhooks)}
            />
          </section>
          <DeliveryFacts delivery={delivery} />
        </div>
        <Request delivery={delivery} />
      </div>
    </>
  )
}

/** Writes in a sentence why a delivery was not accepted. */
function WhyNot({ delivery: { state, attempts }, progress }: { delivery: DeliveryDetail; progress: string }) {
  const last = attempts.at(-1)
  if (state === 'delivered' || state === 'cancelled' || last === undefined || isAccepted(last)) return null
  const answer =
    last.status === null
      ? formatSentence(last.error ?? 'there was no response')
      : `The receiver answered ${last.status}${last.error === null ? '' : `: ${last.error}`}.`
  return (
    <div class={state === 'failed' ? 'note bad' : 'note warn'} role="status">
      <Icon name="alert" />
      <p>
        {answer} {formatSentence(progress)}
      </p>
    </div>
  )
}

function DeliveryFacts({ delivery }: { delivery: DeliveryDetail }) {
  return (
    <section aria-labelledby="support">
      <header class="section-head">
        <h2 id="support">For support</h2>
      </header>
      <dl class="facts">
        <dt>Webhook</dt>
        <dd>
          <WebhookAddress url={delivery.url} />
        </dd>
        <dt>Created</dt>
        <dd>
          <Time at={delivery.created_at} as="full" />
        </dd>
        {delivery.delivered_at === null ? null : (
          <>
            <dt>Delivered</dt>
            <dd>
              <Time at={delivery.delivered_at} as="full" />
            </dd>
          </>
        )}
        <dt>webhook-id</dt>
        <dd>
          <Copyable text={delivery.event_id} label="the id of the event" />
        </dd>
        {delivery.call_id === null ? null : (
          <>
            <dt>Call</dt>
            <dd>
              <Copyable text={delivery.call_id} label="the id of the call" />
            </dd>
          </>
        )}
      </dl>
    </section>
  )
}

const PARTS = [
  ['body', 'Body'],
  ['curl', 'curl'],
] as const

/** Shows the request: its body, or a command that repeats it. */
function Request({ delivery }: { delivery: DeliveryDetail }) {
  const [part, setPart] = useState<string>('body')
  const bytes = new TextEncoder().encode(delivery.body).length
  return (
    <section class="sticky" aria-labelledby="request">
      <header class="section-head">
        <h2 id="request">Request</h2>
        <span class="push">
          <Segments label="What is shown" isSmall value={part} options={PARTS} onChange={setPart} />
        </span>
      </header>
      {part === 'body' ? (
        <CodeBlock
          text={formatJson(delivery.body)}
          label="the body"
          head={`body · ${bytes.toLocaleString('en')} bytes${delivery.attempts.length === 0 ? '' : ', as sent'}`}
        />
      ) : (
        <CurlCommand delivery={delivery} />
      )}
    </section>
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
    <>
      <CodeBlock text={command} label="the curl command" head="the same request" />
      <p class="hint">
        {signed
          ? 'Signed just now with the secret of this URL. Receivers accept the signature for about five minutes.'
          : 'Not signed: the browser signs only on https or localhost, and only for a URL in the list.'}{' '}
        <button type="button" class="button small" onClick={sign}>
          Sign again
        </button>
      </p>
    </>
  )
}
