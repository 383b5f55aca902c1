import { useEffect, useState } from 'preact/hooks'
import { isOfCall } from '../../../../events/event-subject.ts'
import { EVENT_NAMES } from '../../../../events/kinds.ts'
import { Menulist, Search, Tabs } from '../../components/choice.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Icon } from '../../components/icon.tsx'
import { ListFoot, ListProblem } from '../../components/list-foot.tsx'
import { Range } from '../../components/range.tsx'
import { State } from '../../components/state.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { showToast } from '../../components/toast.tsx'
import { WebhookLabel } from '../../components/webhook-label.tsx'
import { errorText, request } from '../../lib/api.ts'
import { liveState, overview, subscribeDeliveries } from '../../lib/connection.ts'
import {
  bodySearchOf,
  type DeliveryFilters,
  matchesFilters,
  newDeliveries,
  updateDeliveries,
} from '../../lib/delivery-updates.ts'
import { deliveryState, describeProgress } from '../../lib/delivery-words.ts'
import { pickFilters } from '../../lib/filters.ts'
import { dayHeading, humanize, pluralize } from '../../lib/format.ts'
import { useObservable } from '../../lib/observable.ts'
import { type PagedList, usePagedList } from '../../lib/paged-list.ts'
import { timesOf, widerRange } from '../../lib/range.ts'
import type { Delivery, WebhookHealth } from '../../lib/resources.ts'
import { currentRoute, replaceRoute, routeHref } from '../../lib/router.ts'
import { serverNowMs } from '../../lib/server-clock.ts'
import type { Tone } from '../../lib/tone.ts'
import { webhookKey, webhookName } from '../../lib/webhook-state.ts'

const FILTERS = ['q', 'state', 'event', 'webhook', 'call_id', 'range', 'from', 'to'] as const
type Filters = Partial<Record<(typeof FILTERS)[number], string>>

const STATES = [
  { value: '', text: 'All' },
  { value: 'pending', text: 'Pending' },
  { value: 'delivered', text: 'Delivered' },
  { value: 'failed', text: 'Failed' },
  { value: 'cancelled', text: 'Cancelled' },
] as const

/** Shows the deliveries, the newest first, with filters, and retries the matching ones. */
export function DeliveryList() {
  const filters: Filters = pickFilters(useObservable(currentRoute).query, FILTERS)
  const webhooks = useObservable(overview)?.webhooks ?? []
  const query = queryOf(filters, webhooks)
  const inBody = bodySearchOf(filters.q)
  const list = usePagedList<Delivery>('/integration/delivery', { ...query, ...inBody })
  const newCount = useNewDeliveries(list, query, inBody === null)
  const [confirming, setConfirming] = useState(false)
  const set = (changes: Partial<Record<keyof Filters, string>>) =>
    // A field calls this after a pause in the typing: by then another filter may have changed.
    replaceRoute(routeHref('deliveries', null, { ...pickFilters(currentRoute.get().query, FILTERS), ...changes }))
  const state = filters.state ?? 'failed'
  const isEmpty = list.items?.length === 0 && !list.hasMore
  return (
    <div class="view list">
      <header class="head">
        <h1>Deliveries</h1>
        {/* What is found by its body cannot be sent again all at once. */}
        {inBody === null && !isEmpty ? (
          <div class="actions push">
            <button type="button" class="button" onClick={() => setConfirming(true)}>
              <Icon name="retry" />
              <span>
                Send all {state}
                <span class="wide-only"> again</span>
              </span>
            </button>
          </div>
        ) : null}
      </header>
      <search class="bar" aria-label="Filter the deliveries">
        <Search
          label="Number, id or path=value"
          title="A number, the end of a call's id, or a value of the body by its path, such as call.result=busy"
          value={filters.q ?? ''}
          onChange={(q) => set({ q })}
        />
        <div class="bar-more">
          <Range query={filters} onChange={set} />
          <Menulist
            label="Event"
            value={filters.event ?? ''}
            options={[['', 'Any event'], ...EVENT_NAMES.map((name) => [name, humanize(name)] as const)]}
            onChange={(event) => set({ event })}
          />
          <Menulist
            label="Webhook"
            value={filters.webhook ?? ''}
            options={webhookOptions(webhooks, filters.webhook)}
            onChange={(webhook) => set({ webhook })}
          />
        </div>
      </search>
      <Tabs label="State" value={filters.state ?? ''} tabs={STATES} onChange={(value) => set({ state: value })} />
      <p class={newCount > 0 ? 'more newer' : 'hidden'} role="status">
        {newCount > 0 ? (
          <button type="button" class="button small" onClick={list.reload} disabled={list.isLoading}>
            <Icon name="up" /> {newCount.toLocaleString('en')} new
          </button>
        ) : null}
      </p>
      <ListProblem list={list} />
      {isEmpty ? (
        <NoDeliveries filters={filters} />
      ) : list.items === null && list.error !== null ? null : (
        <Table
          label="Deliveries"
          items={list.items}
          columns={columnsOf(webhooks)}
          keyOf={({ id }) => id}
          hrefOf={({ id }) => routeHref('deliveries', id)}
          groupOf={({ created_at: at }) => dayHeading(at, serverNowMs())}
        />
      )}
      <ListFoot list={list} />
      {confirming ? (
        <ConfirmRetry state={state} query={query} onDone={list.reload} onClose={() => setConfirming(false)} />
      ) : null}
    </div>
  )
}

/** Returns the parameters of the API. A search is for a number, or for the end of a call's id. */
function queryOf(filters: Filters, webhooks: readonly WebhookHealth[]): DeliveryFilters {
  const { q, state, event, webhook, call_id: callId } = filters
  const isId = q !== undefined && /[a-f-]/i.test(q) && /^[0-9a-f-]{8,}$/i.test(q)
  return {
    ...timesOf(filters, serverNowMs()),
    state,
    event,
    // An unknown one is asked for as it is: nothing matches it.
    url: webhook === undefined ? undefined : (webhooks.find((one) => webhookKey(one) === webhook)?.url ?? webhook),
    call_id: callId ?? (isId ? q : undefined),
    number: isId || bodySearchOf(q) !== null ? undefined : q,
  }
}

function webhookOptions(webhooks: readonly WebhookHealth[], chosen: string | undefined): (readonly [string, string])[] {
  const known = webhooks.map((one) => [webhookKey(one), webhookName(one)] as const)
  const isUnknown = chosen !== undefined && !known.some(([key]) => key === chosen)
  return [['', 'Any webhook'], ...known, ...(isUnknown ? ([[chosen, chosen]] as const) : [])]
}

type ConfirmRetryProps = { state: string; query: DeliveryFilters; onDone: () => void; onClose: () => void }

function ConfirmRetry({ state, query, onDone, onClose }: ConfirmRetryProps) {
  const retryAll = async () => {
    onClose()
    const body = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined))
    const response = await request<{ queued: number }>('POST', '/integration/delivery/retry', body)
    if (!response.ok) return showToast('bad', errorText(response))
    showToast('good', `${pluralize(response.result.queued, 'delivery is', 'deliveries are')} being sent again.`)
    onDone()
  }
  return (
    <ConfirmDialog
      title={`Send all ${state} deliveries again?`}
      text={`Every ${state} delivery that matches the filters and the time is sent again, with a new retry schedule. Receivers get the same webhook-id as before, so they can recognise repeats.`}
      action="Send again"
      onConfirm={() => void retryAll()}
      onClose={onClose}
    />
  )
}

/** A larger count is not shown. */
const MAX_NEW = 1_000

/** Follows the stream: changes listed deliveries in place, and returns how many new ones match the filters. */
/** `isKnown`: whether a change says all that the filters compare; without it none is counted. */
function useNewDeliveries(list: PagedList<Delivery>, filters: DeliveryFilters, isKnown: boolean): number {
  const [newIds, setNewIds] = useState<ReadonlySet<string>>(new Set())
  const { items } = list
  useEffect(() => {
    setNewIds(new Set())
    if (items === null) return
    const matches = (delivery: Delivery) => {
      if (!isKnown) return false
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

function NoDeliveries({ filters }: { filters: Filters }) {
  const wider = widerRange(filters)
  const { range: _range, from: _from, to: _to, ...others } = filters
  const isFiltered = Object.keys(others).length > 0
  return (
    <EmptyState icon="deliveries" title={isFiltered ? 'No delivery is like that' : 'No deliveries in this time'}>
      <p>
        {isFiltered
          ? 'No delivery of this time matches what is chosen above.'
          : 'Each event is delivered to each webhook that asks for it, and appears here.'}
      </p>
      <p class="actions">
        {isFiltered ? (
          <a class="button" href={routeHref('deliveries')}>
            Show all
          </a>
        ) : null}
        {wider === null ? null : (
          <a class="button" href={routeHref('deliveries', null, { ...filters, range: wider })}>
            {wider === 'week' ? 'Last 7 days' : 'Last 30 days'}
          </a>
        )}
      </p>
    </EmptyState>
  )
}

const columnsOf = (webhooks: readonly WebhookHealth[]): Column<Delivery>[] => {
  const stateOf = (delivery: Delivery): { tone: Tone; text: string } => deliveryState(delivery, webhooks)
  return [
    {
      name: 'State',
      width: 120,
      place: 'b2',
      cell: (delivery) => <State tone={stateOf(delivery).tone}>{stateOf(delivery).text}</State>,
    },
    {
      name: 'Event',
      width: 150,
      place: 'a1',
      cell: ({ id, event }) => (
        <a class="cut" href={routeHref('deliveries', id)}>
          {humanize(event)}
        </a>
      ),
    },
    {
      name: 'Call',
      place: 'b1',
      cell: ({ call_id: callId, subject }) =>
        callId === null ? (
          <span class="cut" title={subject}>
            <bdi>{subject}</bdi>
          </span>
        ) : (
          <a class="cut plain" href={routeHref('calls', callId)} title={`${subject} (${callId})`}>
            <bdi>{subject}</bdi>
          </a>
        ),
    },
    {
      name: 'Webhook',
      width: '17%',
      cell: ({ url }) => (
        <span class="cut">
          <WebhookLabel url={url} />
        </span>
      ),
    },
    {
      name: 'Took, or why not',
      width: '22%',
      cell: (delivery) => {
        const text = describeProgress(delivery, webhooks, serverNowMs())
        return (
          <span class="cut" title={text}>
            {text}
          </span>
        )
      },
    },
    {
      name: 'Created',
      width: 76,
      place: 'a2',
      isEnd: true,
      cell: ({ created_at: at }) => <Time at={at} as="seconds" />,
    },
  ]
}
