import { useEffect, useRef, useState } from 'preact/hooks'
import { CallButton } from '../../components/call-button.tsx'
import { Menulist, Search, Tabs } from '../../components/choice.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Icon } from '../../components/icon.tsx'
import { ListFoot, ListProblem } from '../../components/list-foot.tsx'
import { PartyName } from '../../components/party-name.tsx'
import { Range } from '../../components/range.tsx'
import { DirectionIcon, State } from '../../components/state.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { showToast } from '../../components/toast.tsx'
import { downloadFile, request, withQuery } from '../../lib/api.ts'
import { rememberCalls } from '../../lib/call-neighbours.ts'
import { describeOutcome } from '../../lib/call-words.ts'
import { overview } from '../../lib/connection.ts'
import { pickFilters } from '../../lib/filters.ts'
import { dayHeading, formatStopwatch, pluralize } from '../../lib/format.ts'
import { useObservable } from '../../lib/observable.ts'
import { usePagedList } from '../../lib/paged-list.ts'
import { usePolled } from '../../lib/polling.ts'
import { timesOf, widerRange } from '../../lib/range.ts'
import type { CallItem, CallPage } from '../../lib/resources.ts'
import { currentRoute, replaceRoute, routeHref } from '../../lib/router.ts'
import { serverNowMs } from '../../lib/server-clock.ts'
import { RowPlayer } from './row-player.tsx'

const FILTERS = ['q', 'range', 'from', 'to', 'direction', 'pbx', 'outcome'] as const
type Filters = Partial<Record<(typeof FILTERS)[number], string>>

const DIRECTIONS = [
  ['', 'Any direction'],
  ['inbound', 'Inbound'],
  ['outbound', 'Outbound'],
  ['internal', 'Internal'],
] as const

/** The tabs, each with the parameters of the API that it stands for. */
const OUTCOMES = {
  '': { text: 'All', count: 'all', query: {} },
  missed: { text: 'Missed', count: 'missed', query: { missed: 'true' } },
  call_back: { text: 'To call back', count: 'to_call_back', query: { to_call_back: 'true' } },
  answered: { text: 'Answered', count: 'answered', query: { result: 'answered' } },
  voicemail: { text: 'Voicemail', count: 'voicemail', query: { result: 'voicemail' } },
  not_reached: { text: 'Not reached', count: 'not_reached', query: { not_reached: 'true' } },
} as const
type Outcome = keyof typeof OUTCOMES

const outcomeOf = (name: string | undefined): Outcome =>
  // Object.keys loses the type of the keys.
  (Object.keys(OUTCOMES) as readonly Outcome[]).find((one) => one === name) ?? ''

const COUNTS_EVERY_MS = 30_000

/** Shows the calls that have ended, the newest first, with filters and the counts of their outcomes. */
export function CallList() {
  const filters: Filters = pickFilters(useObservable(currentRoute).query, FILTERS)
  const pbxs = useObservable(overview)?.pbxs.map(({ name }) => name) ?? []
  const outcome = outcomeOf(filters.outcome)
  const common = queryOf(filters)
  const query = { ...common, ...OUTCOMES[outcome].query }
  const list = usePagedList<CallItem>('/call', query)
  const counts = useCounts(common, list.version)
  useEffect(() => rememberCalls(list.items?.map(({ id }) => id) ?? []), [list.items])
  const set = (changes: Partial<Record<keyof Filters, string>>) =>
    // A field calls this after a pause in the typing: by then another filter may have changed.
    replaceRoute(routeHref('calls', null, { ...pickFilters(currentRoute.get().query, FILTERS), ...changes }))
  const [playing, setPlaying] = useState<CallItem | null>(null)
  return (
    <div class="view list">
      <header class="head">
        <h1>Calls</h1>
      </header>
      <search class="bar" aria-label="Filter the calls">
        <Search label="Number, name or extension" value={filters.q ?? ''} onChange={(q) => set({ q })} />
        <div class="bar-more">
          <Range query={filters} onChange={set} />
          <Menulist
            label="Direction"
            value={filters.direction ?? ''}
            options={DIRECTIONS}
            onChange={(direction) => set({ direction })}
          />
          {pbxs.length < 2 && filters.pbx === undefined ? null : (
            <Menulist
              label="PBX"
              value={filters.pbx ?? ''}
              options={[['', 'Any PBX'], ...pbxs.map((name) => [name, name] as const)]}
              onChange={(pbx) => set({ pbx })}
            />
          )}
          <DownloadButton query={query} />
        </div>
      </search>
      <Tabs
        label="Outcome"
        value={outcome}
        tabs={Object.entries(OUTCOMES).map(([value, { text, count }]) => ({
          value,
          text,
          count: counts?.[count] ?? null,
          isBad: count === 'to_call_back',
        }))}
        onChange={(value) => set({ outcome: value })}
      />
      <ListProblem list={list} />
      {list.items?.length === 0 && !list.hasMore ? (
        <NoCalls filters={filters} />
      ) : list.items === null && list.error !== null ? null : (
        <Table
          label="Calls"
          items={list.items}
          columns={columnsOf(pbxs.length > 1, outcome === 'missed' || outcome === 'call_back', setPlaying)}
          keyOf={({ id }) => id}
          hrefOf={({ id }) => routeHref('calls', id)}
          groupOf={({ started_at: at }) => (at === null ? ['Unknown', ''] : dayHeading(at, serverNowMs()))}
        />
      )}
      <ListFoot list={list} total={counts?.[OUTCOMES[outcome].count] ?? null} />
      {playing === null ? null : <RowPlayer key={playing.id} call={playing} onClose={() => setPlaying(null)} />}
    </div>
  )
}

/** Returns the parameters of the API for all filters but the outcome. */
function queryOf(filters: Filters): Record<string, string | undefined> {
  // Shorter searches find nearly everything.
  const q = filters.q !== undefined && filters.q.length >= 2 ? filters.q : undefined
  return { ...timesOf(filters, serverNowMs()), q, direction: filters.direction, pbx: filters.pbx }
}

/** Returns how many calls have each outcome under the other filters, again whenever the list is read. */
function useCounts(query: Record<string, string | undefined>, version: number): CallPage['counts'] | null {
  const path = withQuery('/call', { ...query, counts: 'true', limit: '1' })
  return usePolled<CallPage>(() => request('GET', path), COUNTS_EVERY_MS, [path, version])?.counts ?? null
}

function DownloadButton({ query }: { query: Record<string, string | undefined> }) {
  const [isBusy, setBusy] = useState(false)
  const busy = useRef(false)
  const download = async () => {
    if (busy.current) return
    busy.current = true
    setBusy(true)
    const error = await downloadFile(withQuery('/call', query), 'text/csv', 'calls.csv')
    busy.current = false
    setBusy(false)
    if (error !== null) showToast('bad', error)
  }
  return (
    <button type="button" class="button push" onClick={() => void download()} disabled={isBusy}>
      <Icon name="download" />
      {isBusy ? 'Reading…' : 'CSV'}
    </button>
  )
}

function NoCalls({ filters }: { filters: Filters }) {
  const wider = widerRange(filters)
  const { range: _range, from: _from, to: _to, ...others } = filters
  const isFiltered = Object.keys(others).length > 0
  return (
    <EmptyState icon="calls" title={isFiltered ? 'No call is like that' : 'No calls in this time'}>
      <p>
        {isFiltered
          ? 'No call of this time matches what is chosen above.'
          : 'A call appears here a second after it has ended; those that are up are in the live view.'}
      </p>
      <p class="actions">
        {isFiltered ? (
          <a class="button" href={routeHref('calls')}>
            Show all
          </a>
        ) : null}
        {wider === null ? null : (
          <a class="button" href={routeHref('calls', null, { ...filters, range: wider })}>
            {wider === 'week' ? 'Last 7 days' : 'Last 30 days'}
          </a>
        )}
      </p>
    </EmptyState>
  )
}

const columnsOf = (hasPbxs: boolean, isMissed: boolean, onPlay: (call: CallItem) => void): Column<CallItem>[] => [
  { name: 'Direction', isNameHidden: true, width: 32, place: 'lead', cell: (call) => <DirectionIcon {...call} /> },
  {
    name: 'From',
    place: 'a1',
    cell: (call) => (
      <a class="cut" href={routeHref('calls', call.id)}>
        <PartyName party={call.from} />
      </a>
    ),
  },
  {
    name: 'To',
    width: '17%',
    place: 'b1',
    cell: (call) => (
      <span class="cut">
        <PartyName party={call.to} />
        {hasPbxs && call.pbx !== null ? <span class="in-row"> · {call.pbx}</span> : null}
      </span>
    ),
  },
  {
    name: 'Outcome',
    width: '22%',
    place: 'b2',
    cell: (call) => {
      const { tone, text } = describeOutcome(call)
      return (
        <span class="cut" title={text}>
          <State tone={tone}>
            <bdi>{text}</bdi>
            {call.transfers > 0 ? <span class="dim"> · {pluralize(call.transfers, 'transfer')}</span> : null}
          </State>
        </span>
      )
    },
  },
  ...(hasPbxs
    ? [
        {
          name: 'PBX',
          width: '13%',
          cell: ({ pbx }: CallItem) => (
            <span class="cut" title={pbx ?? ''}>
              {pbx ?? '–'}
            </span>
          ),
        },
      ]
    : []),
  { name: 'Began', width: 62, place: 'a2', isEnd: true, cell: (call) => <Time at={call.started_at} as="clock" /> },
  { name: 'Waited', width: 66, isEnd: true, cell: (call) => formatStopwatch(call.wait_duration) },
  { name: 'Talked', width: 78, isEnd: true, cell: (call) => formatStopwatch(call.talk_duration) },
  {
    name: 'Recording',
    isNameHidden: true,
    width: 36,
    place: 'play',
    cell: (call) =>
      call.recorded ? (
        <button
          type="button"
          class="button quiet small only"
          aria-label={`Play the recording of ${call.from.name ?? call.from.number ?? 'the call'}`}
          onClick={() => onPlay(call)}
        >
          <Icon name="play" />
        </button>
      ) : isMissed ? (
        <CallButton party={call.from} />
      ) : null,
  },
]
