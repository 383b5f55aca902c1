import type { Command } from 'commander'
import { ownedBy, stateOfNode } from '../../cluster/node-state.ts'
import type { DatabaseSource } from '../../lib/database-url.ts'
import { rfc3339 } from '../../lib/time.ts'
import { wrongUsage } from '../../lib/usage.ts'
import { type PbxState, readPbxStates } from '../../pbx/stored/pbx-states.ts'
import type { NodeRecord } from '../../store/operations/cluster.ts'
import { openClusterStore } from '../../store/postgres/cluster.ts'
import { placeOf, withStore } from '../open-store.ts'
import { databaseOption, jsonOption } from '../options.ts'
import { print, printJson } from '../print.ts'

/** Adds `hookswitch nodes`, which lists the nodes of a database with what each owns, and how its PBXs are. */
export function nodesCommand(program: Command): void {
  program
    .command('nodes')
    .description('list the nodes that share a database, what each of them owns, and how its PBXs are')
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action(async ({ databaseUrl, json }: { databaseUrl?: string; json?: boolean }) => {
      const { database } = placeOf({ data: '', databaseUrl })
      if (database === undefined)
        throw wrongUsage(
          'give --database-url (HOOKSWITCH_DATABASE_URL): a service with --data is the only node there is',
        )
      const pbxStates = await withStore({ data: '', databaseUrl }, ({ pbxs }) => pbxs.pbxStateList())
      const { nodes, nowUs } = await readNodes(database)
      const states = readPbxStates(pbxStates, nowUs)
      const shown = nodes.map((node) => describeNode(node, { nowUs, states }))
      if (json) printJson(shown)
      else if (shown.length === 0) print('No node runs on this database: hookswitch serve --database-url … is one.')
      else for (const node of shown) print(lineOf(node))
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

type ShownNode = ReturnType<typeof describeNode>

type Known = { readonly nowUs: number; readonly states: ReadonlyMap<string, PbxState> }

/** Returns a node as it is printed: times by the database's clock. */
function describeNode(node: NodeRecord, { nowUs, states }: Known) {
  const { id, address, version, startedUs, beatUs } = node
  const state = stateOfNode(node, nowUs)
  const owned = ownedBy(node)
  // A node that has just taken over a PBX has not stored how it is.
  const pbxStates = owned.pbxs.map((name) => {
    const { state = 'connecting', sinceUs, error = null } = states.get(name) ?? {}
    return { name, state, since: sinceUs === undefined ? null : rfc3339(sinceUs), error }
  })
  const times = { since: rfc3339(startedUs), last_heard_of: rfc3339(beatUs) }
  return { id, address, version, state, ...times, ...owned, pbx_states: pbxStates }
}

const PBX_CONDITIONS = { up: 'connected', connecting: 'connecting', down: 'not connected', refused: 'refused' } as const

function lineOf({
  address,
  version,
  state,
  since,
  last_heard_of: heard,
  accounts,
  pbx_states: pbxs,
  maintenance,
}: ShownNode): string {
  const of = (count: number, one: string) => `${count} ${one}${count === 1 ? '' : 's'}`
  const owned = [
    of(accounts.length, 'account'),
    pbxs.length === 0 ? 'no PBX' : `PBX ${pbxs.map(pbxText).join(', ')}`,
    ...(maintenance ? ['maintenance'] : []),
  ]
  const condition = state === 'up' ? `up since ${since}` : `${state}, last heard of ${heard}`
  return `${address}  ${version}  ${condition}  ${state === 'dead' ? 'owns nothing' : `owns ${owned.join(', ')}`}`
}

/** Returns a PBX as it is listed: `office (connected)`, `lab (not connected: connection refused)`. */
function pbxText({ name, state, error }: ShownNode['pbx_states'][number]): string {
  return `${name} (${PBX_CONDITIONS[state]}${error === null || state === 'up' ? '' : `: ${error}`})`
}
