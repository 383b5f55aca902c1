import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { formatDuration } from '../../../../lib/time.ts'
import { EmptyState, Loading } from '../../components/empty-state.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { SelectFilter } from '../../components/filters.tsx'
import { Time } from '../../components/time.tsx'
import { request } from '../../lib/api.ts'
import { humanize } from '../../lib/format.ts'
import { useObservable } from '../../lib/observable.ts'
import { usePbxs } from '../../lib/pbx-store.ts'
import type { Agent, Phone, Queue, Trunk } from '../../lib/resources.ts'
import { currentRoute, replaceRoute, routeHref } from '../../lib/router.ts'
import { accessToken } from '../../lib/session.ts'

const EVERY_MS = 2_000
/** More rows would make each refresh slow: their number is shown. */
const MAX_ROWS = 500

/** Shows phones, trunks, queues and agents of all PBXs or of one as they are now, read again every two seconds. */
export function PhonesView() {
  const pbx = useObservable(currentRoute).query.pbx ?? ''
  const { now, problem } = useStates(pbx)
  return (
    <div class="view">
      <header class="view-head">
        <h1>Phones and queues</h1>
        <p class="view-sub">Their present states, as the PBXs report them.</p>
      </header>
      <PbxFilter pbx={pbx} />
      {problem === null ? null : <ErrorMessage text={problem} />}
      {now === null ? <Loading what="phones" /> : <States {...now} />}
    </div>
  )
}

/** Two PBXs may have an extension or a queue of the same name: so one PBX can be chosen. */
function PbxFilter({ pbx }: { pbx: string }) {
  const names = usePbxs().pbxs?.map(({ name }) => name) ?? []
  if (names.length < 2 && pbx === '') return null
  const options = [
    ['', 'All PBXs'],
    ...[...new Set([...names, pbx])].filter(Boolean).map((name) => [name, name] as const),
  ] as const
  return (
    <search class="filters" aria-label="Filter the phones and queues">
      <SelectFilter
        label="PBX"
        value={pbx}
        options={options}
        onChange={(name) => replaceRoute(routeHref('phones', null, { pbx: name }))}
      />
    </search>
  )
}

type Now = {
  readonly phones: readonly Phone[]
  readonly trunks: readonly Trunk[]
  readonly queues: readonly Queue[]
  readonly agents: readonly Agent[]
}

function useStates(pbx: string): { now: Now | null; problem: string | null } {
  const [now, setNow] = useState<Now | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  useEffect(() => {
    let isOpen = true
    setNow(null)
    const load = async () => {
      const token = accessToken.get()
      const query = pbx === '' ? '' : `?${new URLSearchParams({ pbx })}`
      const [phones, trunks, queues, agents] = await Promise.all([
        request<Phone[]>('GET', `/phone${query}`),
        request<Trunk[]>('GET', `/trunk${query}`),
        request<Queue[]>('GET', `/queue${query}`),
        request<Agent[]>('GET', `/agent${query}`),
      ])
      // Another user may have logged in meanwhile, who must not see this account.
      if (!isOpen || accessToken.get() !== token) return
      const failed = [phones, trunks, queues, agents].find((one) => !one.ok)
      setProblem(failed === undefined || failed.ok ? null : failed.message)
      if (phones.ok && trunks.ok && queues.ok && agents.ok)
        setNow({ phones: phones.result, trunks: trunks.result, queues: queues.result, agents: agents.result })
    }
    void load()
    const timer = setInterval(() => {
      if (!document.hidden) void load()
    }, EVERY_MS)
    return () => {
      isOpen = false
      clearInterval(timer)
    }
  }, [pbx])
  return { now, problem }
}

function States({ phones, trunks, queues, agents }: Now) {
  if (phones.length + trunks.length + queues.length === 0)
    return (
      <EmptyState icon="phone" title="Nothing is known yet">
        <p>Phones, trunks and queues appear once a PBX is connected and its user may read them.</p>
      </EmptyState>
    )
  return (
    <>
      <Table
        title="Trunks"
        columns={[state, main('Trunk'), since, more('Reason')]}
        rows={trunks.map((one) => [
          <StateBadge key="state" state={one.state} />,
          one.trunk,
          <Time key="since" at={one.since} day />,
          one.reason,
        ])}
      />
      <Table
        title="Queues"
        columns={[
          { name: 'Callers', place: 'cell-state' },
          main('Queue'),
          { name: 'Longest wait', place: 'cell-when' },
          second('Agents'),
        ]}
        rows={queues.map(({ queue, waiting, longest_wait, available, busy, paused }) => [
          `${waiting} waiting`,
          queue,
          waiting === 0 ? null : formatDuration(longest_wait * 1_000),
          `${available} available, ${busy} busy, ${paused} paused`,
        ])}
      />
      <Table
        title="Agents"
        columns={[state, main('Extension'), second('Queue'), since, more('Reason')]}
        rows={agents.map((one) => [
          <StateBadge key="state" state={one.state} />,
          one.extension,
          one.queue,
          <Time key="since" at={one.since} day />,
          one.reason,
        ])}
      />
      <Table
        title="Phones"
        columns={[state, main('Extension'), second('Name'), since, { name: 'Devices', place: 'cell-extra' }]}
        rows={phones.map((one) => [
          <StateBadge
            key="state"
            state={one.state === 'registered' && one.device !== 'unknown' ? one.device : one.state}
          />,
          one.extension,
          one.name,
          <Time key="since" at={one.since} day />,
          one.contacts,
        ])}
      />
    </>
  )
}

type Cell = VNode | string | number | null
/** `place`: where a phone's screen shows the cell, as a class. */
type Column = { readonly name: string; readonly place: string }
type TableProps = {
  readonly title: string
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly Cell[])[]
}

const main = (name: string): Column => ({ name, place: 'cell-main' })
const second = (name: string): Column => ({ name, place: 'cell-second' })
const more = (name: string): Column => ({ name, place: 'cell-more' })
const state: Column = { name: 'State', place: 'cell-state' }
const since: Column = { name: 'Since', place: 'cell-when' }

function Table({ title, columns, rows }: TableProps) {
  if (rows.length === 0) return null
  return (
    <section class="card" aria-label={title}>
      <header class="card-head">
        <h2>{title}</h2>
      </header>
      <table class="rows stack">
        <thead>
          <tr>
            {columns.map(({ name }) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MAX_ROWS).map((cells, row) => (
            <tr key={row}>
              {columns.map(({ name, place }, at) => (
                <td key={name} class={place}>
                  {cells[at] ?? <span class="muted">–</span>}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > MAX_ROWS ? <p class="hint pad">and {(rows.length - MAX_ROWS).toLocaleString()} more</p> : null}
    </section>
  )
}

/** The colour of each state; any other is neutral. */
const TONE: Readonly<Record<string, string>> = {
  registered: 'good',
  reachable: 'good',
  available: 'good',
  idle: 'good',
  in_use: 'pending',
  busy: 'pending',
  ringing: 'ring',
  paused: 'ring',
  rejected: 'bad',
  unreachable: 'bad',
}

const StateBadge = ({ state }: { state: string }) => (
  <span class={`badge ${TONE[state] ?? 'neutral'}`}>{humanize(state)}</span>
)
