import { CallBadge, DirectionIcon } from '../../components/badge.tsx'
import { EmptyState, Loading, NoMatches } from '../../components/empty-state.tsx'
import { MoreFilters, SegmentedFilter, TextFilter, TimeFilters } from '../../components/filters.tsx'
import { Icon } from '../../components/icon.tsx'
import { PagedSection } from '../../components/paged-section.tsx'
import { ContactLink, PartyName } from '../../components/party-name.tsx'
import { Time } from '../../components/time.tsx'
import { localToUtc, pickFilters } from '../../lib/filters.ts'
import { formatStopwatch, pluralize } from '../../lib/format.ts'
import { useObservable } from '../../lib/observable.ts'
import { usePagedList } from '../../lib/paged-list.ts'
import type { Call } from '../../lib/resources.ts'
import { currentRoute, openUnlessLink, replaceRoute, routeHref } from '../../lib/router.ts'

const FILTERS = ['direction', 'number', 'since', 'until'] as const
type Filters = Partial<Record<(typeof FILTERS)[number], string>>
const DIRECTIONS = [
  ['', 'All'],
  ['inbound', 'Inbound'],
  ['outbound', 'Outbound'],
  ['internal', 'Internal'],
] as const

/** Shows the records of ended calls, the newest first, with filters. */
export function CallList() {
  const filters: Filters = pickFilters(useObservable(currentRoute).query, FILTERS)
  const list = usePagedList<Call>('/call', {
    ...filters,
    since: localToUtc(filters.since),
    until: localToUtc(filters.until),
  })
  const setFilter = (name: keyof Filters, value: string) =>
    // A field calls this after a pause in the typing: by then another filter may have changed.
    replaceRoute(routeHref('calls', null, { ...pickFilters(currentRoute.get().query, FILTERS), [name]: value }))
  const filtered = Object.keys(filters).length > 0
  return (
    <div class="view">
      <header class="view-head">
        <h1>Calls</h1>
        <p class="view-sub">Calls that have ended, the newest first.</p>
        <button type="button" onClick={list.reload}>
          <Icon name="retry" /> Refresh
        </button>
      </header>
      <search class="filters" aria-label="Filter the calls">
        <SegmentedFilter
          label="Direction"
          value={filters.direction ?? ''}
          options={DIRECTIONS}
          onChange={(value) => setFilter('direction', value)}
        />
        <MoreFilters filtered={filtered} onClear={() => replaceRoute(routeHref('calls'))}>
          <TextFilter label="Number" value={filters.number ?? ''} onChange={(value) => setFilter('number', value)} />
          <TimeFilters range={filters} onChange={setFilter} />
        </MoreFilters>
      </search>
      <PagedSection label="Calls" list={list}>
        <CallTable items={list.items} filtered={filtered} />
      </PagedSection>
    </div>
  )
}

function CallTable({ items, filtered }: { items: readonly Call[] | null; filtered: boolean }) {
  if (items === null) return <Loading what="calls" />
  if (items.length === 0) return <NoCalls filtered={filtered} />
  return (
    <table class="rows stack">
      <thead>
        <tr>
          <th scope="col">
            <span class="visually-hidden">Direction</span>
          </th>
          <th scope="col">From</th>
          <th scope="col">To</th>
          <th scope="col">Result</th>
          <th scope="col">Handled by</th>
          <th scope="col">Started</th>
          <th scope="col" class="number">
            Waiting
          </th>
          <th scope="col" class="number">
            Talking
          </th>
        </tr>
      </thead>
      <tbody>
        {items.map((call) => (
          <CallRow key={call.id} call={call} />
        ))}
      </tbody>
    </table>
  )
}

function NoCalls({ filtered }: { filtered: boolean }) {
  if (filtered) return <NoMatches />
  return (
    <EmptyState icon="calls" title="No calls yet">
      <p>
        A call appears here a second after it has ended. Active calls are in the{' '}
        <a href={routeHref('live')}>live view</a>.
      </p>
    </EmptyState>
  )
}

function CallRow({ call }: { call: Call }) {
  const href = routeHref('calls', call.id)
  const owner = call.handled_by.at(-1)
  return (
    <tr onClick={(event) => openUnlessLink(event, href)}>
      <td class="direction-cell">
        <DirectionIcon direction={call.direction} />
      </td>
      <td class="cell-main">
        <a href={href}>
          <PartyName party={call.from} />
        </a>
        <ContactLink party={call.from} />
      </td>
      <td class="cell-second">
        <PartyName party={call.to} />
        <ContactLink party={call.to} />
      </td>
      <td class="cell-state">
        <CallBadge state={call.result ?? 'ended'} />
      </td>
      <td class="cell-extra">
        {owner === undefined ? <span class="muted">nobody</span> : <PartyName party={owner} />}
        {call.transfers > 0 ? <span class="muted"> · {pluralize(call.transfers, 'transfer')}</span> : null}
      </td>
      <td class="cell-when">
        <Time at={call.started_at} day />
      </td>
      <td class="number cell-extra">{formatStopwatch(call.wait_duration)}</td>
      <td class="number cell-extra">{formatStopwatch(call.talk_duration)}</td>
    </tr>
  )
}
