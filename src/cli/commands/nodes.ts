import type { Command } from 'commander'
import { ownedBy, stateOfNode } from '../../cluster/node-state.ts'
import { rfc3339 } from '../../lib/time.ts'
import { wrongUsage } from '../../lib/usage.ts'
import type { NodeRecord } from '../../store/operations/cluster.ts'
import { openClusterStore } from '../../store/postgres/cluster.ts'
import { prepareDatabase } from '../../store/postgres/engine/open.ts'
import { placeOf } from '../open-store.ts'
import { databaseOption, jsonOption } from '../options.ts'
import { print, printJson } from '../print.ts'

/** Adds `hookswitch nodes`, which lists the nodes of a database with what each of them owns. */
export function nodesCommand(program: Command): void {
  program
    .command('nodes')
    .description('list the nodes that share a database, and what each of them owns')
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action(async ({ databaseUrl, json }: { databaseUrl?: string; json?: boolean }) => {
      const { database } = placeOf({ data: '', databaseUrl })
      if (database === undefined)
        throw wrongUsage(
          'give --database-url (HOOKSWITCH_DATABASE_URL): a service with --data is the only node there is',
        )
      await prepareDatabase(database)
      const cluster = openClusterStore(database)
      try {
        const nodes = await cluster.nodeList()
        const nowUs = await cluster.clockGet()
        const shown = nodes.map((node) => describeNode(node, nowUs))
        if (json) printJson(shown)
        else if (shown.length === 0) print('No node runs on this database: hookswitch serve --database-url … is one.')
        else for (const node of shown) print(lineOf(node))
      } finally {
        await cluster.stop()
      }
    })
}

type ShownNode = ReturnType<typeof describeNode>

/** Returns a node as it is printed: times by the database's clock. */
function describeNode(node: NodeRecord, nowUs: number) {
  const { id, address, version, startedUs, beatUs } = node
  const state = stateOfNode(node, nowUs)
  return { id, address, version, state, since: rfc3339(startedUs), last_heard_of: rfc3339(beatUs), ...ownedBy(node) }
}

function lineOf({
  address,
  version,
  state,
  since,
  last_heard_of: heard,
  accounts,
  pbxs,
  maintenance,
}: ShownNode): string {
  const of = (count: number, one: string) => `${count} ${one}${count === 1 ? '' : 's'}`
  const owned = [
    of(accounts.length, 'account'),
    pbxs.length === 0 ? 'no PBX' : `PBX ${pbxs.join(', ')}`,
    ...(maintenance ? ['maintenance'] : []),
  ]
  const condition = state === 'up' ? `up since ${since}` : `${state}, last heard of ${heard}`
  return `${address}  ${version}  ${condition}  ${state === 'dead' ? 'owns nothing' : `owns ${owned.join(', ')}`}`
}
