import { useEffect, useState } from 'preact/hooks'
import { request } from '../lib/api.ts'
import { serverNowMs } from '../lib/clock.ts'
import { live } from '../lib/connection.ts'
import { curlCommand, requestHeaders } from '../lib/curl.ts'
import { words } from '../lib/format.ts'
import type { DeliveryDetail, WebhookSecret } from '../lib/resources.ts'
import { placeHref } from '../lib/router.ts'
import { useCell } from '../lib/state.ts'
import { CodeBlock } from '../parts/copy.tsx'
import { Icon } from '../parts/icon.tsx'
import { DeliveryBadge, Problem, Until, Waiting, When } from '../parts/shown.tsx'
import { say } from '../parts/toast.tsx'
import { Attempts } from './attempts.tsx'

const LOOK_EVERY_MS = 2_000

export function DeliveryDetailView({ id }: { id: string }) {
  const [held, setHeld] = useState<DeliveryDetail | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const path = `/integration/delivery/${encodeURIComponent(id)}`
  const load = async () => {
    const answer = await request<DeliveryDetail>('GET', path)
    if (answer.ok) setHeld(answer.result)
    setProblem(
      answer.ok
        ? null
        : answer.status === 404
          ? 'There is no such delivery. It may be older than what is kept.'
          : answer.message,
    )
  }
  // What the stream says of it is enough to know that it moved.
  const moved = useCell(live)
    .feed.flatMap((item) => item.deliveries)
    .find((delivery) => delivery.id === id)
  useEffect(() => void load(), [moved?.state, moved?.attempts_made, moved?.next_attempt_at])
  const pending = held?.state === 'pending'
  useEffect(() => {
    if (!pending) return
    const timer = setInterval(() => document.hidden || void load(), LOOK_EVERY_MS)
    return () => clearInterval(timer)
  }, [pending])
  const retry = async () => {
    const answer = await request('POST', `${path}/retry`)
    if (answer.ok) say('good', 'It is tried again now.')
    else say('bad', answer.errors.map((fault) => fault.message).join(' ') || answer.message)
    await load()
  }
  return (
    <div class="view">
      <a class="back" href={placeHref('deliveries')}>
        <Icon name="back" /> Deliveries
      </a>
      {problem === null ? null : <Problem text={problem} again={load} />}
      {held === null ? (
        problem === null ? (
          <Waiting what="the delivery" />
        ) : null
      ) : (
        <>
          <header class="view-head">
            <h1>{words(held.event)}</h1>
            <DeliveryBadge state={held.state} retrying={pending && held.attempts_made > 0} />
            <button type="button" class="primary push" onClick={retry}>
              <Icon name="retry" /> {held.state === 'delivered' ? 'Send again' : 'Retry now'}
            </button>
          </header>
          <Facts held={held} />
          <div class="detail-grid">
            <section class="card" aria-labelledby="attempts">
              <header class="card-head">
                <h2 id="attempts">Attempts</h2>
                <p class="soft">{held.attempts_made} made</p>
              </header>
              <Attempts attempts={held.attempts} waiting={pending} />
            </section>
            <section class="card" aria-labelledby="body">
              <header class="card-head">
                <h2 id="body">Body</h2>
                <p class="soft">{new TextEncoder().encode(held.body).length.toLocaleString()} bytes, as sent</p>
              </header>
              <CodeBlock text={pretty(held.body)} what="the body" />
            </section>
            <Curl held={held} />
          </div>
        </>
      )}
    </div>
  )
}

function Facts({ held }: { held: DeliveryDetail }) {
  return (
    <dl class="facts card">
      <dt>Webhook</dt>
      <dd class="break">{held.url}</dd>
      <dt>Call</dt>
      <dd>
        <a href={placeHref('calls', held.call_id)}>{held.call_id}</a>
      </dd>
      <dt>Event id (webhook-id)</dt>
      <dd class="break">{held.event_id}</dd>
      <dt>Created</dt>
      <dd>
        <When at={held.created_at} day />
      </dd>
      {held.delivered_at === null ? null : (
        <>
          <dt>Delivered</dt>
          <dd>
            <When at={held.delivered_at} day />
          </dd>
        </>
      )}
      {held.next_attempt_at === null ? null : (
        <>
          <dt>Next attempt</dt>
          <dd>
            <Until at={held.next_attempt_at} nowMs={serverNowMs()} />
          </dd>
        </>
      )}
    </dl>
  )
}

/** The same request for a shell, signed now, so that a receiver that checks the time takes it for five minutes. */
function Curl({ held }: { held: DeliveryDetail }) {
  const [command, setCommand] = useState('')
  const [signed, setSigned] = useState(false)
  const make = async () => {
    const answer = await request<WebhookSecret[]>('GET', '/integration/webhook/secret')
    const secret = answer.ok ? (answer.result.find((one) => one.url === held.url)?.secret ?? null) : null
    const headers = await requestHeaders(held.event_id, held.body, secret, serverNowMs())
    setSigned(headers.some(([name]) => name === 'webhook-signature'))
    setCommand(curlCommand(held.url, headers, held.body))
  }
  useEffect(() => void make(), [held.id])
  return (
    <section class="card wide-card" aria-labelledby="curl">
      <header class="card-head">
        <h2 id="curl">The same request with curl</h2>
        <button type="button" class="ghost" onClick={make}>
          <Icon name="retry" /> Sign anew
        </button>
      </header>
      <CodeBlock text={command} what="the curl command" />
      <p class="hint">
        {signed
          ? 'Signed with this URL’s secret at the moment it was shown; receivers accept that for about five minutes.'
          : 'Without a signature: the browser signs only on https or localhost, and only for a URL that is in the list.'}
      </p>
    </section>
  )
}

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}
