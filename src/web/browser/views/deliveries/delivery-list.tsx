import { useEffect, useState } from 'preact/hooks'
import { isOfCall } from '../../../../events/event-subject.ts'
import { EVENT_NAMES } from '../../../../events/kinds.ts'
import { shownUrl } from '../../../../lib/shown-url.ts'
import { DeliveryBadge, EventLabel } from '../../components/badge.tsx'
import { DeliveryDue } from '../../components/delivery-due.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { EmptyState, Loading, NoMatches } from '../../components/empty-state.tsx'
import { MoreFilters, SegmentedFilter, SelectFilter, TextFilter, TimeFilters } from '../../components/filters.tsx'
import { Icon } from '../../components/icon.tsx'
import { PagedSection } from '../../components/paged-section.tsx'
import { Time } from '../../components/time.tsx'
import { showToast } from '../../components/toast.tsx'
import { WebhookLabel } from '../../components/webhook-label.tsx'
import { errorText, request } from '../../lib/api.ts'
import { liveState, overview, subscribeDeliveries } from '../../lib/connection.ts'
import { type DeliveryFilters, matchesFilters, newDeliveries, updateDeliveries } from '../../lib/delivery-updates.ts'
import { localToUtc, pickFilters } from '../../lib/filters.ts'
import { humanize, pluralize, shortenUrl } from '../../lib/format.ts'
import { useObservable } from '../../lib/observable.ts'
import { type PagedList, usePagedList } from '../../lib/paged-list.ts'
import type { Delivery } from '../../lib/resources.ts'
import { currentRoute, openUnlessLink, replaceRoute, routeHref } from '../../lib/router.ts'

const FILTERS = ['state', 'event', 'url', 'number', 'call_id', 'since', 'until'] as const
type Filters = Partial<Record<(typeof FILTERS)[number], string>>

const STATES = [
  ['', 'All'],
  ['pending', 'Pending'],
  ['delivered', 'Delivered'],
  ['failed', 'Failed'],
  ['cancelled', 'Cancelled'],
] as const

/** Shows the deliveries, the newest first, with filters, and retries the matching ones. */
export function DeliveryList() {
  const filters: Filters = pickFilters(useObservable(currentRoute).query, FILTERS)
  const query = { ...filters, since: localToUtc(filters.since), until: localToUtc(filters.until) }
  const list = usePagedList<Delivery>('/integration/delivery', query)
  const newCount = useNewDeliveries(list, query)
  const [confirming, setConfirming] = useState(false)
  const setFilter = (name: keyof Filters, value: string) =>
    // A field calls this after a pause in the typing: by then another filter may have changed.
    replaceRoute(routeHref('deliveries', null, { ...pickFilters(currentRoute.get().query, FILTERS), [name]: value }))
  const filtered = Object.keys(filters).length > 0
  const state = filters.state ?? 'failed'

  const retryAll = async () => {
    setConfirming(false)
    const body = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined))
    const response = await request<{ queued: number }>('POST', '/integration/delivery/retry', body)
    if (!response.ok) return showToast('bad', errorText(response))
    showToast('good', `${pluralize(response.result.queued, 'delivery is', 'deliveries are')} being sent again.`)
    list.reload()
  }

  return (
    <div class="view">
      <header class="view-head">
        <h1>Deliveries</h1>
        <p class="view-sub">Each event for each webhook, the newest first.</p>
        <button type="button" onClick={list.reload}>
          <Icon name="retry" /> Refresh
        </button>
        <button type="button" onClick={() => setConfirming(true)}>
          <Icon name="send" /> Retry all {state}
        </button>
      </header>
      <FilterBar filters={filters} filtered={filtered} onChange={setFilter} />
      <PagedSection label="Deliveries" list={list} newCount={newCount}>
        <DeliveryTable items={list.items} filtered={filtered} />
      </PagedSection>
      {confirming ? (
        <ConfirmDialog
          title={`Retry all ${state} deliveries?`}
          text={`Every ${state} delivery ${filtered ? 'that matches the filters' : 'of this account'} is sent again, with a new retry schedule. Receivers get the same webhook-id as before, so they can recognise repeats.`}
          action={`Retry all ${state}`}
          onConfirm={retryAll}
          onClose={() => setConfirming(false)}
        />
      ) : null}
    </div>
  )
}

/** A larger count is not shown. */
const MAX_NEW = 1_000

/** Follows the stream: changes listed deliveries in place, and returns how many new ones match the filters. */
function useNewDeliveries(list: PagedList<Delivery>, filters: DeliveryFilters): number {
  const [newIds, setNewIds] = useState<ReadonlySet<string>>(new Set())
  const { items } = list
  useEffect(() => {
    setNewIds(new Set())
    if (items === null) return
    const matches = (delivery: Delivery) => {
      const event = liveState.get().feed.find(({ id }) => id === delivery.event_id)
      const call = event?.body && isOfCall(event.body) ? event.body.data.call : undefined
      return matchesFilters(filters, delivery, call)
    }
    return subscribeDeliveries((changed) => {
      list.update((before) => updateDeliveries(before, changed))
      const arrived = newDeliveries(items, changed, matches)
      if (arrived.length > 0) setNewIds((before) => new Set([...before, ...arrived].slice(0, MAX_NEW)))
    })
  }, [list.version])
  return newIds.size
}

type FilterBarProps = {
  filters: Filters
  filtered: boolean
  onChange: (name: keyof Filters, value: string) => void
}

function FilterBar({ filters, filtered, onChange }: FilterBarProps) {
  return (
    <search class="filters" aria-label="Filter the deliveries">
      <SegmentedFilter
        label="State"
        value={filters.state ?? ''}
        options={STATES}
        onChange={(value) => onChange('state', value)}
      />
      <MoreFilters filtered={filtered} onClear={() => replaceRoute(routeHref('deliveries'))}>
        <SelectFilter
          label="Event"
          value={filters.event ?? ''}
          options={[['', 'Any'], ...EVENT_NAMES.map((name) => [name, humanize(name)] as const)]}
          onChange={(value) => onChange('event', value)}
        />
        <WebhookFilter value={filters.url ?? ''} onChange={(value) => onChange('url', value)} />
        <TextFilter label="Number" value={filters.number ?? ''} onChange={(value) => onChange('number', value)} />
        <TextFilter label="Call id" value={filters.call_id ?? ''} onChange={(value) => onChange('call_id', value)} />
        <TimeFilters range={filters} onChange={onChange} />
      </MoreFilters>
    </search>
  )
}

function WebhookFilter({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const now = useObservable(overview)
  const names = new Map((now?.webhooks ?? []).map(({ url, name }) => [url, name]))
  if (value !== '' && !names.has(value)) names.set(value, null)
  const labelOf = (url: string, name: string | null) =>
    name === null ? shortenUrl(url) : `${name} (${shortenUrl(url)})`
  const options = [['', 'Any'] as const, ...[...names].map(([url, name]) => [url, labelOf(url, name)] as const)]
  return <SelectFilter label="Webhook" value={value} options={options} onChange={onChange} />
}

function DeliveryTable({ items, filtered }: { items: readonly Delivery[] | null; filtered: boolean }) {
  if (items === null) return <Loading what="deliveries" />
  if (items.length === 0) return <NoDeliveries filtered={filtered} />
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
          <th scope="col">Delivered, or due</th>
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

function NoDeliveries({ filtered }: { filtered: boolean }) {
  if (filtered) return <NoMatches />
  return (
    <EmptyState icon="deliveries" title="No deliveries yet">
      <p>
        The next call fills this log, if there is <a href={routeHref('webhooks')}>a webhook in the list</a>.
      </p>
    </EmptyState>
  )
}

function DeliveryRow({ item }: { item: Delivery }) {
  const href = routeHref('deliveries', item.id)
  const shortCallId = item.call_id?.slice(-8)
  return (
    <tr onClick={(event) => openUnlessLink(event, href)}>
      <td class="cell-state">
        <DeliveryBadge state={item.state} retrying={item.state === 'pending' && item.attempts_made > 0} />
      </td>
      <td class="cell-main">
        <a href={href}>
          <EventLabel name={item.event} />
        </a>
      </td>
      <td class="url-cell cell-second" title={shownUrl(item.url)}>
        <WebhookLabel url={item.url} />
      </td>
      <td class="id-cell cell-extra">
        {item.call_id === null ? null : (
          <a href={routeHref('calls', item.call_id)} title={item.call_id} aria-label={`${shortCallId}, the call`}>
            {shortCallId}
          </a>
        )}
      </td>
      <td class="cell-when">
        <Time at={item.created_at} day />
      </td>
      <td class="number cell-extra">{item.attempts_made}</td>
      <td class="cell-extra">
        {item.next_attempt_at === null ? <Time at={item.delivered_at} day /> : <DeliveryDue delivery={item} />}
      </td>
    </tr>
  )
}
