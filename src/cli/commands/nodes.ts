import type { Command } from 'commander'
import { wrongUsage } from '../../lib/usage.ts'
import { readPbxStates } from '../../pbx/pbx.ts'
import type { DatabaseSource } from '../../store/database-url.ts'
import { openClusterStore } from '../../store/postgres/store.ts'
import { describeNode, nodeLine } from '../node-line.ts'
import { storePlaceOf, withStore } from '../open-store.ts'
import { databaseOption, jsonOption } from '../options.ts'
import { print, printJson } from '../print.ts'

/** Wider lines are wrapped by a terminal; elsewhere this is the width. */
const WIDTH = 200
const widthOfTerminal = (): number => process.stdout.columns ?? WIDTH

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
