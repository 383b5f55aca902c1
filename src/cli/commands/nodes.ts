import type { Command } from 'commander'
import { ownedBy, stateOfNode } from '../../cluster/node-state.ts'
import type { DatabaseSource } from '../../lib/database-url.ts'
import { MILLISECOND, rfc3339 } from '../../lib/time.ts'
import { wrongUsage } from '../../lib/usage.ts'
import { type PbxState, readPbxStates } from '../../pbx/watch/pbx-states.ts'
import type { NodeRecord } from '../../store/operations/cluster.ts'
import { openClusterStore } from '../../store/postgres/cluster.ts'
import { storePlaceOf, withStore } from '../open-store.ts'
import { databaseOption, jsonOption } from '../options.ts'
import { print, printJson } from '../print.ts'

/** Adds `hookswitch nodes`, which lists the nodes of a database with their accounts and the states of their PBXs. */
export function nodesCommand(program: Command): void {
  program
    .command('nodes')
    .description('list the nodes that share a database, with their accounts and PBXs')
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action(async ({ databaseUrl, json }: { databaseUrl?: string; json?: boolean }) => {
      const { database } = storePlaceOf({ data: '', databaseUrl })
      if (database === undefined)
        throw wrongUsage('give --database-url (HOOKSWITCH_DATABASE_URL): a service with --data is always a single node')
      const pbxStates = await withStore({ data: '', databaseUrl }, ({ pbxs }) => pbxs.pbxStateList())
      const { nodes, nowUs } = await readNodes(database)
      const states = readPbxStates(pbxStates, nowUs)
      const shown = nodes.map((node) => describeNode(node, { nowUs, states }))
      if (json) printJson(shown)
      else if (shown.length === 0)
        print('No node runs on this database: start one with hookswitch serve --database-url …')
      else for (const node of shown) print(nodeLine(node, widthOfTerminal()))
    })
}

async function readNodes(database: DatabaseSource) {
  const cluster = openClusterStore(database)
  try {
    return { nodes: await cluster.nodeList(), nowUs: await cluster.clockGet() }
  } finally {
    await cluster.stop()
  }
}

export type ShownNode = ReturnType<typeof describeNode>

type Known = { readonly nowUs: number; readonly states: ReadonlyMap<string, PbxState> }

/** Returns a node as it is printed: times by the database's clock. */
function describeNode(node: NodeRecord, { nowUs, states }: Known) {
  const { id, address, version, startedUs, beatUs, clockAheadUs } = node
  const state = stateOfNode(node, nowUs)
  const owned = ownedBy(node)
  // A node that has just taken over a PBX has not stored how it is.
  const pbxStates = owned.pbxs.map((name) => {
    const { state = 'connecting', sinceUs, error = null } = states.get(name) ?? {}
    return { name, state, since: sinceUs === undefined ? null : rfc3339(sinceUs), error }
  })
  const times = { since: rfc3339(startedUs), last_heard_of: rfc3339(beatUs) }
  const clockAheadMs = clockAheadUs === null ? null : Math.round(clockAheadUs / MILLISECOND)
  return { id, address, version, state, ...times, clock_ahead_ms: clockAheadMs, ...owned, pbx_states: pbxStates }
}

const PBX_CONDITIONS = { up: 'connected', connecting: 'connecting', down: 'not connected', refused: 'refused' } as const

/** Wider lines are wrapped by a terminal; elsewhere this is the width. */
const WIDTH = 200
const widthOfTerminal = (): number => process.stdout.columns ?? WIDTH
/** A smaller difference between clocks is normal. */
const CLOCK_TOLERATED_MS = 1_000

/** Returns a node as a line that is no wider than this, with as many of its PBXs as have room; at least one. */
export function nodeLine(node: ShownNode, width: number): string {
  const all = lineWith(node, node.pbx_states.length)
  if (all.length <= width) return all
  let count = 0
  while (count + 1 < node.pbx_states.length && lineWith(node, count + 1).length <= width) count += 1
  const line = lineWith(node, Math.max(1, count))
  return line.length <= width ? line : `${line.slice(0, width - 1)}…`
}

function lineWith(
  {
    address,
    version,
    state,
    since,
    last_heard_of: heard,
    clock_ahead_ms: aheadMs,
    accounts,
    pbx_states: pbxs,
    maintenance,
  }: ShownNode,
  count: number,
): string {
  const of = (count: number, one: string) => `${count} ${one}${count === 1 ? '' : 's'}`
  const more = pbxs.length > count ? ` and ${pbxs.length - count} more (--json lists them)` : ''
  const isClockWrong = aheadMs !== null && Math.abs(aheadMs) > CLOCK_TOLERATED_MS
  const clock = isClockWrong
    ? `  clock ${(Math.abs(aheadMs) / 1_000).toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the database`
    : ''
  const owned = [
    of(accounts.length, 'account'),
    pbxs.length === 0 ? 'no PBX' : `PBX ${pbxs.slice(0, count).map(pbxText).join(', ')}${more}`,
    ...(maintenance ? ['maintenance'] : []),
  ]
  const condition = state === 'up' ? `up since ${since}` : `${state}, last heartbeat ${heard}`
  return `${address}  ${version}  ${condition}${clock}  ${state === 'dead' ? 'owns nothing' : `owns ${owned.join(', ')}`}`
}

/** Returns a PBX as it is listed: `office (connected)`, `lab (not connected: connection refused)`. */
function pbxText({ name, state, error }: ShownNode['pbx_states'][number]): string {
  return `${name} (${PBX_CONDITIONS[state]}${error === null || state === 'up' ? '' : `: ${error}`})`
}
