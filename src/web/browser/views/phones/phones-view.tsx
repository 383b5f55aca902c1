import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { formatDuration } from '../../../../lib/time.ts'
import { EmptyState, Loading } from '../../components/empty-state.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { Time } from '../../components/time.tsx'
import { request } from '../../lib/api.ts'
import { humanize } from '../../lib/format.ts'
import type { Agent, Phone, Queue, Trunk } from '../../lib/resources.ts'
import { accessToken } from '../../lib/session.ts'

const EVERY_MS = 2_000
/** More rows would make each refresh slow: their number is shown. */
const MAX_ROWS = 500

/** Shows phones, trunks, queues and agents as they are now, read again every two seconds. */
export function PhonesView() {
  const { now, problem } = useStates()
  return (
    <div class="view">
      <header class="view-head">
        <h1>Phones and queues</h1>
        <p class="view-sub">As the PBXs report them now.</p>
      </header>
      {problem === null ? null : <ErrorMessage text={problem} />}
      {now === null ? <Loading what="phones" /> : <States {...now} />}
    </div>
  )
}

type Now = {
  readonly phones: readonly Phone[]
  readonly trunks: readonly Trunk[]
  readonly queues: readonly Queue[]
  readonly agents: readonly Agent[]
}

function useStates(): { now: Now | null; problem: string | null } {
  const [now, setNow] = useState<Now | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  useEffect(() => {
    let isOpen = true
    const load = async () => {
      const token = accessToken.get()
      const [phones, trunks, queues, agents] = await Promise.all([
        request<Phone[]>('GET', '/phone'),
        request<Trunk[]>('GET', '/trunk'),
        request<Queue[]>('GET', '/queue'),
        request<Agent[]>('GET', '/agent'),
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
  }, [])
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
        columns={['State', 'Trunk', 'Since', 'Reason']}
        rows={trunks.map(({ trunk, state, since, reason }) => ({
          key: trunk,
          cells: [<StateBadge key="state" state={state} />, trunk, <Time key="since" at={since} day />, reason],
        }))}
      />
      <Table
        title="Queues"
        columns={['Waiting', 'Queue', 'Longest wait', 'Agents: available, busy, paused']}
        rows={queues.map(({ queue, waiting, longest_wait, available, busy, paused }) => ({
          key: queue,
          cells: [
            waiting,
            queue,
            waiting === 0 ? null : formatDuration(longest_wait * 1_000),
            `${available}, ${busy}, ${paused}`,
          ],
        }))}
      />
      <Table
        title="Agents"
        columns={['State', 'Extension', 'Queue', 'Since', 'Reason']}
        rows={agents.map(({ extension, queue, state, since, reason }, at) => ({
          key: `${queue} ${extension} ${at}`,
          cells: [
            <StateBadge key="state" state={state} />,
            extension,
            queue,
            <Time key="since" at={since} day />,
            reason,
          ],
        }))}
      />
      <Table
        title="Phones"
        columns={['State', 'Extension', 'Name', 'Since', 'Devices']}
        rows={phones.map(({ extension, name, state, since, device, contacts }) => ({
          key: extension,
          cells: [
            <StateBadge key="state" state={state === 'registered' && device !== 'unknown' ? device : state} />,
            extension,
            name,
            <Time key="since" at={since} day />,
            contacts,
          ],
        }))}
      />
    </>
  )
}

type Cell = VNode | string | number | null
type TableProps = {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly { readonly key: string; readonly cells: readonly Cell[] }[]
}

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
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MAX_ROWS).map(({ key, cells }) => (
            <tr key={key}>
              {columns.map((column, at) => (
                <td key={column} class={at === 1 ? 'cell-main' : undefined}>
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
