import { State } from '../../components/state.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { request } from '../../lib/api.ts'
import { usePolled } from '../../lib/polling.ts'
import type { Node } from '../../lib/resources.ts'

const EVERY_MS = 5_000
/** More names would make a row too long: their number is shown too. */
const MAX_NAMES = 8

/** Shows an administrator the nodes with their accounts and PBXs; shows nothing without nodes. */
export function NodeList() {
  const nodes = usePolled<readonly Node[]>(() => request('GET', '/node'), EVERY_MS)
  if (nodes === null || nodes.length === 0) return null
  return (
    <section aria-labelledby="nodes">
      <header class="section-head gap">
        <h2 id="nodes">Nodes</h2>
      </header>
      <Table label="Nodes" items={nodes} columns={COLUMNS} keyOf={(node) => `${node.address} ${node.since}`} />
    </section>
  )
}

const TONE = { up: 'good', silent: 'warn', dead: 'none' } as const

const COLUMNS: readonly Column<Node>[] = [
  { name: 'State', width: 100, place: 'b2', cell: ({ state }) => <State tone={TONE[state]}>{state}</State> },
  {
    name: 'Address',
    width: '24%',
    place: 'a1',
    cell: ({ address, answers }) => (
      <span class="cut" title={address}>
        <span class="key">{address}</span>
        {answers ? <span class="dim"> · this one</span> : null}
      </span>
    ),
  },
  {
    name: 'Watches and sends for',
    place: 'b1',
    cell: (node) => (
      <span class="cut" title={dutiesOf(node)}>
        {dutiesOf(node)}
      </span>
    ),
  },
  { name: 'Version', width: 80, cell: ({ version }) => version },
  {
    name: 'Since, or last heard of',
    width: 160,
    place: 'a2',
    isEnd: true,
    cell: ({ state, since, last_heard_of: heard }) => <Time at={state === 'up' ? since : heard} />,
  },
]

function dutiesOf({ pbxs, accounts, account_count: count, maintenance, lacking_presets: lacking }: Node): string {
  const parts = [namesOf(pbxs, pbxs.length, 'PBX', 'PBXs'), namesOf(accounts, count, 'account', 'accounts')]
  const lacks = lacking.length === 0 ? [] : [`lacks ${namesOf(lacking, lacking.length, 'the preset', 'the presets')}`]
  return [...lacks, ...parts, ...(maintenance ? ['maintenance'] : [])].join(' · ')
}

function namesOf(names: readonly string[], count: number, one: string, many: string): string {
  if (count === 0) return `no ${one}`
  const shown = names.slice(0, MAX_NAMES)
  const others = count - shown.length
  return `${count === 1 ? one : many} ${shown.join(', ')}${others > 0 ? ` and ${others.toLocaleString('en')} more` : ''}`
}
