import { picked, toUtc } from '../lib/filters.ts'
import { plural, stopwatch } from '../lib/format.ts'
import { usePages } from '../lib/pages.ts'
import type { Call } from '../lib/resources.ts'
import { go, place, placeHref, settle } from '../lib/router.ts'
import { useCell } from '../lib/state.ts'
import { Icon } from '../parts/icon.tsx'
import { Badge, Empty, Waiting, When } from '../parts/shown.tsx'
import { PartyName } from './call-board.tsx'
import { MoreFilters, Search, Segments, TimeFilters } from './filter-bar.tsx'
import { Paged } from './paged.tsx'

const FILTERS = ['direction', 'number', 'since', 'until'] as const
type Filters = Partial<Record<(typeof FILTERS)[number], string>>
const DIRECTIONS = [
  ['', 'All'],
  ['inbound', 'Inbound'],
  ['outbound', 'Outbound'],
  ['internal', 'Internal'],
] as const

export function CallList() {
  const filters: Filters = picked(useCell(place).query, FILTERS)
  const pages = usePages<Call>('/call', { ...filters, since: toUtc(filters.since), until: toUtc(filters.until) })
  const pick = (name: keyof Filters, value: string) => settle(placeHref('calls', null, { ...filters, [name]: value }))
  const filtered = Object.keys(filters).length > 0
  return (
    <div class="view">
      <header class="view-head">
        <h1>Calls</h1>
        <p class="view-sub">The records of the calls that are over, the newest first.</p>
        <button type="button" onClick={pages.again}>
          <Icon name="retry" /> Refresh
        </button>
      </header>
      <search class="filters" aria-label="Filter the calls">
        <Segments
          label="Direction"
          value={filters.direction ?? ''}
          options={DIRECTIONS}
          onPick={(value) => pick('direction', value)}
        />
        <MoreFilters filtered={filtered} onClear={() => settle(placeHref('calls'))}>
          <Search label="Number" value={filters.number ?? ''} onPick={(value) => pick('number', value)} />
          <TimeFilters times={filters} onPick={pick} />
        </MoreFilters>
      </search>
      <Paged label="Calls" pages={pages}>
        <Rows items={pages.items} filtered={filtered} />
      </Paged>
    </div>
  )
}

function Rows({ items, filtered }: { items: readonly Call[] | null; filtered: boolean }) {
  if (items === null) return <Waiting what="calls" />
  if (items.length === 0)
    return (
      <Empty icon={filtered ? 'filter' : 'calls'} title={filtered ? 'Nothing matches' : 'No call is over yet'}>
        <p>
          {filtered ? (
            'Take a filter away, or look at a longer time.'
          ) : (
            <>
              A call is recorded here a second after it ended. Calls that are up are in the{' '}
              <a href={placeHref('live')}>live view</a>.
            </>
          )}
        </p>
      </Empty>
    )
  return (
    <table class="rows stack">
      <thead>
        <tr>
          <th scope="col">
            <span class="hidden">Direction</span>
          </th>
          <th scope="col">From</th>
          <th scope="col">To</th>
          <th scope="col">Result</th>
          <th scope="col">Handled by</th>
          <th scope="col">Started</th>
          <th scope="col" class="number">
            Waited
          </th>
          <th scope="col" class="number">
            Talked
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

function CallRow({ call }: { call: Call }) {
  const href = placeHref('calls', call.id)
  const owner = call.handled_by.at(-1)
  return (
    <tr onClick={(event) => (event.target instanceof Element && event.target.closest('a')) || go(href)}>
      <td class="direction-cell">
        <span class={`direction ${call.direction}`} title={call.direction}>
          <Icon name={call.direction} />
          <span class="hidden">{call.direction}</span>
        </span>
      </td>
      <td class="cell-main">
        <a href={href}>
          <PartyName party={call.from} />
        </a>
      </td>
      <td class="cell-second">
        <PartyName party={call.to} />
      </td>
      <td class="cell-state">
        <Badge word={call.result ?? 'ended'} />
      </td>
      <td class="cell-extra">
        {owner === undefined ? <span class="soft">nobody</span> : <PartyName party={owner} />}
        {call.transfers > 0 ? <span class="soft"> · {plural(call.transfers, 'transfer')}</span> : null}
      </td>
      <td class="cell-when">
        <When at={call.started_at} day />
      </td>
      <td class="number cell-extra">{call.wait_duration === null ? '–' : stopwatch(call.wait_duration)}</td>
      <td class="number cell-extra">{call.talk_duration === null ? '–' : stopwatch(call.talk_duration)}</td>
    </tr>
  )
}
