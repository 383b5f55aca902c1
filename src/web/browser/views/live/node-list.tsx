import { useState } from 'preact/hooks'
import { Time } from '../../components/time.tsx'
import { request } from '../../lib/api.ts'
import { usePolling } from '../../lib/polling.ts'
import type { Node } from '../../lib/resources.ts'
import { useIsAdmin } from '../../lib/user.ts'

const EVERY_MS = 5_000
/** More names would make a row too high: their number is shown too. */
const MAX_NAMES = 8

/** Shows an administrator the nodes with their accounts and PBXs; shows nothing to others, or without nodes. */
export function NodeList() {
  const nodes = useNodes()
  if (nodes.length === 0) return null
  return (
    <section class="card nodes" aria-labelledby="nodes">
      <header class="card-head">
        <h2 id="nodes">Nodes</h2>
      </header>
      <table class="rows stack">
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col">Address</th>
            <th scope="col">Watches and sends for</th>
            <th scope="col">Version</th>
            <th scope="col">Since, or last heard of</th>
          </tr>
        </thead>
        <tbody>
          {nodes.map((node) => (
            <NodeRow key={`${node.address} ${node.since}`} node={node} />
          ))}
        </tbody>
      </table>
    </section>
  )
}

function useNodes(): readonly Node[] {
  const isAdmin = useIsAdmin()
  const [nodes, setNodes] = useState<readonly Node[]>([])
  const load = async () => {
    if (isAdmin !== true) return
    const response = await request<Node[]>('GET', '/node')
    if (response.ok) setNodes(response.result)
  }
  usePolling(load, EVERY_MS, [isAdmin])
  return nodes
}

const TONE = { up: 'good', silent: 'ring', dead: 'neutral' } as const

function NodeRow({ node }: { node: Node }) {
  const { address, version, state, since, last_heard_of: heard, pbxs, accounts, account_count: count } = node
  return (
    <tr>
      <td class="cell-state">
        <span class={`badge ${TONE[state]}`}>{state}</span>
      </td>
      <td class="cell-main break">
        {address}
        {node.answers ? <span class="muted"> · this one</span> : null}
      </td>
      <td class="cell-second">
        <Names names={pbxs} count={pbxs.length} one="PBX" many="PBXs" />
        <span class="muted"> · </span>
        <Names names={accounts} count={count} one="account" many="accounts" />
        {node.maintenance ? <span class="muted"> · maintenance</span> : null}
      </td>
      <td class="cell-extra muted">{version}</td>
      <td class="cell-when">
        <Time at={state === 'up' ? since : heard} day />
      </td>
    </tr>
  )
}

type NamesProps = { names: readonly string[]; count: number; one: string; many: string }

function Names({ names, count, one, many }: NamesProps) {
  if (count === 0) return <span class="muted">no {one}</span>
  const shown = names.slice(0, MAX_NAMES)
  return (
    <>
      <span class="muted">{count === 1 ? one : many}</span> {shown.join(', ')}
      {count > shown.length ? <span class="muted"> and {(count - shown.length).toLocaleString()} more</span> : null}
    </>
  )
}
