import { useState } from 'preact/hooks'
import { EVENT_NAMES } from '../../../deliveries/names.ts'
import { request } from '../lib/api.ts'
import { serverNowMs } from '../lib/clock.ts'
import { overview } from '../lib/connection.ts'
import { picked, toUtc } from '../lib/filters.ts'
import { plural, shortUrl, words } from '../lib/format.ts'
import { usePages } from '../lib/pages.ts'
import type { Delivery } from '../lib/resources.ts'
import { go, place, placeHref, settle } from '../lib/router.ts'
import { useCell } from '../lib/state.ts'
import { Confirm } from '../parts/dialog.tsx'
import { Icon } from '../parts/icon.tsx'
import { DeliveryBadge, Empty, EventName, Until, Waiting, When } from '../parts/shown.tsx'
import { say } from '../parts/toast.tsx'
import { Choice, MoreFilters, Search, Segments, TimeFilters } from './filter-bar.tsx'
import { Paged } from './paged.tsx'

const FILTERS = ['state', 'event', 'url', 'call_id', 'since', 'until'] as const
type Filters = Partial<Record<(typeof FILTERS)[number], string>>

const STATES = [
  ['', 'All'],
  ['pending', 'Pending'],
  ['delivered', 'Delivered'],
  ['failed', 'Failed'],
  ['cancelled', 'Cancelled'],
] as const

export function DeliveryList() {
  const filters: Filters = picked(useCell(place).query, FILTERS)
  const asked = { ...filters, since: toUtc(filters.since), until: toUtc(filters.until) }
  const pages = usePages<Delivery>('/integration/delivery', asked)
  const [asking, setAsking] = useState(false)
  const pick = (name: keyof Filters, value: string) =>
    settle(placeHref('deliveries', null, { ...filters, [name]: value }))
  const filtered = Object.keys(filters).length > 0

  const retryAll = async () => {
    setAsking(false)
    const sent = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined))
    const answer = await request<{ queued: number }>('POST', '/integration/delivery/retry', sent)
    if (!answer.ok) return say('bad', answer.message)
    say('good', `${plural(answer.result.queued, 'delivery is', 'deliveries are')} tried again.`)
    pages.again()
  }
  const what = filters.state === undefined ? 'failed' : filters.state

  return (
    <div class="view">
      <header class="view-head">
        <h1>Deliveries</h1>
        <p class="view-sub">Each event at each webhook, the newest first.</p>
        <button type="button" onClick={pages.again}>
          <Icon name="retry" /> Refresh
        </button>
        <button type="button" onClick={() => setAsking(true)}>
          <Icon name="send" /> Retry all {what}
        </button>
      </header>
      <search class="filters" aria-label="Filter the deliveries">
        <Segments label="State" value={filters.state ?? ''} options={STATES} onPick={(value) => pick('state', value)} />
        <MoreFilters filtered={filtered} onClear={() => settle(placeHref('deliveries'))}>
          <Choice
            label="Event"
            value={filters.event ?? ''}
            options={[['', 'Any'], ...EVENT_NAMES.map((name) => [name, words(name)] as const)]}
            onPick={(value) => pick('event', value)}
          />
          <UrlChoice value={filters.url ?? ''} onPick={(value) => pick('url', value)} />
          <Search label="Call id" value={filters.call_id ?? ''} onPick={(value) => pick('call_id', value)} />
          <TimeFilters times={filters} onPick={pick} />
        </MoreFilters>
      </search>
      <Paged label="Deliveries" pages={pages}>
        <Rows items={pages.items} filtered={filtered} />
      </Paged>
      {asking ? (
        <Confirm
          title={`Retry all ${what} deliveries?`}
          text={`Every ${what} delivery ${filtered ? 'that matches the filters' : 'of this account'} is sent again, each with a new schedule. Receivers see the same webhook-id as before, so they can tell repeats.`}
          action={`Retry all ${what}`}
          onConfirm={retryAll}
          onClose={() => setAsking(false)}
        />
      ) : null}
    </div>
  )
}

function UrlChoice({ value, onPick }: { value: string; onPick: (value: string) => void }) {
  const seen = useCell(overview)
  const urls = new Set((seen?.webhooks ?? []).map((webhook) => webhook.url))
  if (value !== '') urls.add(value)
  const options = [['', 'Any'] as const, ...[...urls].map((url) => [url, shortUrl(url)] as const)]
  return <Choice label="Webhook" value={value} options={options} onPick={onPick} />
}

function Rows({ items, filtered }: { items: readonly Delivery[] | null; filtered: boolean }) {
  if (items === null) return <Waiting what="deliveries" />
  if (items.length === 0)
    return filtered ? (
      <Empty icon="filter" title="Nothing matches">
        <p>Take a filter away, or look at a longer time.</p>
      </Empty>
    ) : (
      <Empty icon="deliveries" title="Nothing was sent yet">
        <p>
          The first call that moves fills this log. Is there <a href={placeHref('webhooks')}>a webhook in the list</a>?
        </p>
      </Empty>
    )
  return (
    <table class="rows stack">
      <thead>
        <tr>
          <th scope="col">State</th>
          <th scope="col">Event</th>
          <th scope="col">Webhook</th>
          <th scope="col">Call</th>
          <th scope="col">Created</th>
          <th scope="col" class="number">
            Attempts
          </th>
          <th scope="col">Next, or delivered</th>
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <DeliveryRow key={item.id} item={item} />
        ))}
      </tbody>
    </table>
  )
}

function DeliveryRow({ item }: { item: Delivery }) {
  const href = placeHref('deliveries', item.id)
  return (
    <tr onClick={(event) => (event.target instanceof Element && event.target.closest('a')) || go(href)}>
      <td class="cell-state">
        <DeliveryBadge state={item.state} retrying={item.state === 'pending' && item.attempts_made > 0} />
      </td>
      <td class="cell-main">
        <a href={href}>
          <EventName name={item.event} />
        </a>
      </td>
      <td class="url-cell cell-second" title={item.url}>
        {shortUrl(item.url)}
      </td>
      <td class="id-cell cell-extra">
        <a
          href={placeHref('calls', item.call_id)}
          title={item.call_id}
          aria-label={`${item.call_id.slice(-8)}, the call`}
        >
          {item.call_id.slice(-8)}
        </a>
      </td>
      <td class="cell-when">
        <When at={item.created_at} day />
      </td>
      <td class="number cell-extra">{item.attempts_made}</td>
      <td class="cell-extra">
        {item.next_attempt_at === null ? (
          <When at={item.delivered_at} day />
        ) : (
          <Until at={item.next_attempt_at} nowMs={serverNowMs()} />
        )}
      </td>
    </tr>
  )
}
