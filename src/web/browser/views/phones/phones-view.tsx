import { nameHas } from '../../../../events/party-name.ts'
import { CallButton } from '../../components/call-button.tsx'
import { Menulist, Search, Tabs } from '../../components/choice.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { State } from '../../components/state.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { overview } from '../../lib/connection.ts'
import { pickFilters } from '../../lib/filters.ts'
import { formatSentence, formatStopwatch, humanize } from '../../lib/format.ts'
import { useObservable } from '../../lib/observable.ts'
import { usePresent } from '../../lib/present-states.ts'
import type { Agent, Phone, Queue, Trunk } from '../../lib/resources.ts'
import { currentRoute, replaceRoute, routeHref } from '../../lib/router.ts'
import type { Tone } from '../../lib/tone.ts'

/** More rows would make each refresh slow: their number is shown. */
const MAX_ROWS = 500

const FILTERS = ['q', 'pbx'] as const
type Filters = Partial<Record<(typeof FILTERS)[number], string>>
const TABS = ['', 'queues', 'phones', 'trunks', 'agents', 'trouble'] as const
type Tab = (typeof TABS)[number]
const TAB_TEXTS = {
  '': 'All',
  queues: 'Queues',
  agents: 'Agents',
  phones: 'Phones',
  trunks: 'Trunks',
  trouble: 'Trouble',
} as const

/** Shows queues, agents, phones and trunks as they are now. `tab`: which of them. */
export function PhonesView({ tab }: { tab: string | null }) {
  const filters: Filters = pickFilters(useObservable(currentRoute).query, FILTERS)
  const pbxs = useObservable(overview)?.pbxs.map(({ name }) => name) ?? []
  const chosen: Tab = TABS.find((one) => one === tab) ?? ''
  const { now, problem } = usePresent(filters.pbx ?? '')
  const set = (changes: Filters) =>
    replaceRoute(routeHref('phones', tab, { ...pickFilters(currentRoute.get().query, FILTERS), ...changes }))
  const matches = (...texts: (string | null)[]) =>
    texts
      .join(' ')
      .toLowerCase()
      .includes((filters.q ?? '').toLowerCase())
  const found = {
    queues: now?.queues.filter((one) => matches(one.queue)) ?? null,
    agents: now?.agents.filter((one) => matches(one.extension, one.queue)) ?? null,
    phones: now?.phones.filter((one) => matches(one.extension, one.name)) ?? null,
    trunks: now?.trunks.filter((one) => matches(one.trunk)) ?? null,
  }
  const troubled = {
    phones: found.phones?.filter(hasPhoneTrouble) ?? null,
    trunks: found.trunks?.filter(hasTrunkTrouble) ?? null,
  }
  const trouble = (troubled.phones?.length ?? 0) + (troubled.trunks?.length ?? 0)
  const all = Object.values(found).reduce((sum, list) => sum + (list?.length ?? 0), 0)
  const counts: Readonly<Record<Tab, number>> = {
    '': all,
    queues: found.queues?.length ?? 0,
    agents: found.agents?.length ?? 0,
    phones: found.phones?.length ?? 0,
    trunks: found.trunks?.length ?? 0,
    trouble,
  }
  const hasPbxs = pbxs.length > 1
  const isShown = (name: Tab) => chosen === '' || chosen === name
  const isTrouble = chosen === 'trouble'
  const isAlone = chosen !== '' && !isTrouble
  return (
    <div class="view list">
      <header class="head">
        <h1>Phones & queues</h1>
      </header>
      <search class="bar" aria-label="Filter the phones and queues">
        <Search label="Extension or name" value={filters.q ?? ''} onChange={(q) => set({ q })} />
        {hasPbxs || filters.pbx !== undefined ? (
          <div class="bar-more">
            <Menulist
              label="PBX"
              value={filters.pbx ?? ''}
              options={[['', 'Any PBX'], ...pbxs.map((name) => [name, name] as const)]}
              onChange={(pbx) => set({ pbx })}
            />
          </div>
        ) : null}
      </search>
      <Tabs
        label="What is shown"
        value={chosen}
        tabs={TABS.map((value) => ({
          value,
          text: TAB_TEXTS[value],
          count: now === null ? null : counts[value],
          isBad: value === 'trouble',
        }))}
        onChange={(value) => replaceRoute(routeHref('phones', value === '' ? null : value, filters))}
      />
      {problem === null ? null : <ErrorMessage text={formatSentence(problem)} />}
      {now === null && problem !== null ? null : now !== null && counts[chosen] === 0 ? (
        <Nothing isFiltered={filters.q !== undefined || chosen !== ''} />
      ) : (
        <>
          {isShown('queues') ? (
            <Part
              title="Queues"
              isFirst
              isAlone={isAlone}
              items={found.queues}
              columns={queueColumns(hasPbxs)}
              keyOf={(one) => one.queue}
            />
          ) : null}
          {isShown('phones') || isTrouble ? (
            <Part
              title="Phones"
              isAlone={isAlone}
              items={isTrouble ? troubled.phones : found.phones}
              columns={phoneColumns(hasPbxs)}
              keyOf={(one) => one.extension}
            />
          ) : null}
          {isShown('trunks') || isTrouble ? (
            <Part
              title="Trunks"
              isAlone={isAlone}
              items={isTrouble ? troubled.trunks : found.trunks}
              columns={trunkColumns(hasPbxs)}
              keyOf={(one) => one.trunk}
            />
          ) : null}
          {isShown('agents') ? (
            <Part
              title="Agents"
              isAlone={isAlone}
              items={found.agents}
              columns={agentColumns(hasPbxs)}
              keyOf={(one) => `${one.queue} ${one.extension}`}
            />
          ) : null}
        </>
      )}
    </div>
  )
}

const hasPhoneTrouble = ({ state }: Phone): boolean => state === 'unreachable'
const hasTrunkTrouble = ({ state }: Trunk): boolean => state === 'rejected' || state === 'unreachable'

function Nothing({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered)
    return (
      <EmptyState icon="filter" title="Nothing is like that">
        <p class="actions">
          <a class="button" href={routeHref('phones')}>
            Show all
          </a>
        </p>
      </EmptyState>
    )
  return (
    <EmptyState icon="phone" title="Nothing is known yet">
      <p>Phones, trunks and queues appear once a PBX is connected and its user may read them.</p>
    </EmptyState>
  )
}

type PartProps<T> = {
  title: string
  /** Shown while the lists are being read. */
  isFirst?: boolean
  /** Whether this list is the only one: the tab is its heading then. */
  isAlone: boolean
  items: readonly T[] | null
  columns: readonly Column<T>[]
  keyOf: (item: T) => string
}

function Part<T extends { readonly pbx: string }>(props: PartProps<T>) {
  const { title, isFirst = false, isAlone, items, columns, keyOf } = props
  if (items?.length === 0 || (items === null && !isFirst)) return null
  return (
    <section aria-label={title} class="list-part">
      {isAlone ? null : (
        <header class="section-head">
          <h2>{title}</h2>
        </header>
      )}
      <Table
        label={title}
        items={items?.slice(0, MAX_ROWS) ?? null}
        columns={columns}
        keyOf={(one) => `${one.pbx} ${keyOf(one)}`}
      />
      {(items?.length ?? 0) > MAX_ROWS ? (
        <p class="more">and {((items?.length ?? 0) - MAX_ROWS).toLocaleString('en')} more: search for one</p>
      ) : null}
    </section>
  )
}

const pbxColumn = <T extends { readonly pbx: string }>(isShown: boolean): Column<T>[] =>
  isShown
    ? [
        {
          name: 'PBX',
          width: '18%',
          cell: ({ pbx }) => (
            <span class="cut" title={pbx}>
              {pbx}
            </span>
          ),
        },
      ]
    : []

/** Shows the PBX on the second line of a narrow list, which has no column for it. */
function InRowPbx({ of, isShown }: { of: { readonly pbx: string }; isShown: boolean }) {
  return isShown ? <span class="in-row"> · {of.pbx}</span> : null
}

const sinceColumn = <T extends { readonly since: string | null }>(name = 'Since'): Column<T> => ({
  name,
  width: 148,
  place: 'a2',
  isEnd: true,
  cell: ({ since }) => <Time at={since} />,
})

const queueColumns = (hasPbxs: boolean): Column<Queue>[] => [
  { name: 'State', width: 132, place: 'b2', cell: (queue) => <QueueState queue={queue} /> },
  {
    name: 'Queue',
    width: '22%',
    place: 'a1',
    cell: ({ queue }) => (
      <span class="cut key">
        <bdi>{queue}</bdi>
      </span>
    ),
  },
  {
    name: 'Agents',
    place: 'b1',
    cell: (queue) => (
      <span class="cut">
        {agentsText(queue)}
        <InRowPbx of={queue} isShown={hasPbxs} />
      </span>
    ),
  },
  ...pbxColumn<Queue>(hasPbxs),
  {
    name: 'Longest wait',
    width: 100,
    place: 'a2',
    isEnd: true,
    cell: ({ waiting, longest_wait: wait }) => (waiting === 0 ? '' : formatStopwatch(wait)),
  },
]

const agentsText = ({ available, busy, paused }: Queue): string =>
  available + busy + paused === 0 ? 'nobody is logged in' : `${available} free, ${busy} busy, ${paused} paused`

function QueueState({ queue: { waiting, available, busy, paused } }: { queue: Queue }) {
  if (waiting > 0) return <State tone="warn">{waiting === 1 ? '1 waits' : `${waiting} wait`}</State>
  return available + busy + paused === 0 ? <State tone="none">no agent</State> : <State tone="good">none wait</State>
}

const AGENT_STATES: Readonly<Record<Agent['state'], readonly [Tone, string]>> = {
  available: ['good', 'free'],
  busy: ['ring', 'busy'],
  paused: ['wait', 'paused'],
  logged_out: ['none', 'logged out'],
  unreachable: ['bad', 'unreachable'],
}

const agentColumns = (hasPbxs: boolean): Column<Agent>[] => [
  {
    name: 'State',
    width: 132,
    place: 'b2',
    cell: ({ state }) => <State tone={AGENT_STATES[state][0]}>{AGENT_STATES[state][1]}</State>,
  },
  { name: 'Agent', width: '22%', place: 'a1', cell: ({ extension }) => <span class="cut key">{extension}</span> },
  {
    name: 'Queue',
    place: 'b1',
    cell: (agent) => (
      <span class="cut">
        <bdi>{agent.queue}</bdi>
        {agent.reason === null ? null : <span class="dim"> · {agent.reason}</span>}
        <InRowPbx of={agent} isShown={hasPbxs} />
      </span>
    ),
  },
  ...pbxColumn<Agent>(hasPbxs),
  sinceColumn<Agent>(),
]

const PHONE_STATES: Readonly<Record<Phone['state'], readonly [Tone, string]>> = {
  registered: ['good', 'registered'],
  unregistered: ['none', 'not there'],
  unreachable: ['bad', 'unreachable'],
}
const DEVICES: Readonly<Record<Phone['device'], readonly [Tone, string]>> = {
  idle: ['none', 'idle'],
  ringing: ['ring', 'rings'],
  in_use: ['good', 'in use'],
  unknown: ['none', 'unknown'],
}

const phoneColumns = (hasPbxs: boolean): Column<Phone>[] => [
  {
    name: 'State',
    width: 132,
    place: 'b2',
    cell: ({ state }) => <State tone={PHONE_STATES[state][0]}>{PHONE_STATES[state][1]}</State>,
  },
  {
    name: 'Phone',
    place: 'a1',
    cell: ({ extension, name }) => (
      <span class="cut">
        <span class="key">
          <bdi>{name ?? extension}</bdi>
        </span>
        {name === null || nameHas(name, extension) ? null : <span class="dim"> {extension}</span>}
      </span>
    ),
  },
  {
    name: 'Now',
    width: '18%',
    place: 'b1',
    cell: (phone) => (
      <>
        <State tone={DEVICES[phone.device][0]}>{DEVICES[phone.device][1]}</State>
        <InRowPbx of={phone} isShown={hasPbxs} />
      </>
    ),
  },
  { name: 'Devices', width: 80, isEnd: true, cell: ({ contacts }) => contacts },
  ...pbxColumn<Phone>(hasPbxs),
  // The present activity of a phone, such as a conversation, has no time of its own.
  sinceColumn<Phone>('State since'),
  {
    name: 'Call',
    isNameHidden: true,
    width: 40,
    place: 'menu',
    cell: ({ extension, name }) => (
      <CallButton party={{ extension, name, number: extension, e164: null, contact: null }} />
    ),
  },
]

const TRUNK_TONES: Readonly<Record<Trunk['state'], Tone>> = {
  registered: 'good',
  reachable: 'good',
  rejected: 'bad',
  unreachable: 'bad',
  unknown: 'none',
}

const trunkColumns = (hasPbxs: boolean): Column<Trunk>[] => [
  {
    name: 'State',
    width: 132,
    place: 'b2',
    cell: ({ state }) => <State tone={TRUNK_TONES[state]}>{humanize(state)}</State>,
  },
  {
    name: 'Trunk',
    width: '22%',
    place: 'a1',
    cell: ({ trunk }) => (
      <span class="cut key">
        <bdi>{trunk}</bdi>
      </span>
    ),
  },
  {
    name: 'Reason',
    place: 'b1',
    cell: (trunk) => (
      <span class="cut" title={trunk.reason ?? ''}>
        {trunk.reason ?? ''}
        <InRowPbx of={trunk} isShown={hasPbxs} />
      </span>
    ),
  },
  ...pbxColumn<Trunk>(hasPbxs),
  sinceColumn<Trunk>(),
]
