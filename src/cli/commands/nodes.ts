import type { Command } from 'commander'
import { wrongUsage } from '../../lib/usage.ts'
import type { Node } from '../../web/web.ts'
import { lackingPresetsLine, nodeLine } from '../node-line.ts'
import { storePlaceOf } from '../open-store.ts'
import { withStoreOptions } from '../options.ts'
import { print, printJson } from '../print.ts'
import { type ServiceFlags, withService } from '../service.ts'

/** Wider lines are wrapped by a terminal; elsewhere this is the width. */
const WIDTH = 200
const widthOfTerminal = (): number => process.stdout.columns ?? WIDTH

type Flags = ServiceFlags & { json?: boolean }

/** Adds `hookswitch nodes`, which lists the nodes of a database with their accounts and the states of their PBXs. */
export function nodesCommand(program: Command): void {
  const nodes = program
    .command('nodes')
    .description('list the nodes that share a database, with their accounts and PBXs')
  withStoreOptions(nodes).action(printNodes)
}

async function printNodes({ json = false, ...flags }: Flags): Promise<void> {
  if (storePlaceOf(flags).database === undefined && flags.control === undefined)
    throw wrongUsage('give --database-url (HOOKSWITCH_DATABASE_URL): a service with --data is always a single node')
  const { nodes, isRunning } = await withService(flags, async (service) => {
    const { result } = await service.ask<Node[]>('GET', '/node')
    return { nodes: result, isRunning: service.isRunning }
  })
  if (json) printJson(nodes)
  else if (nodes.length > 0) printLines(nodes)
  else if (isRunning) print('The service has a folder of its own: it is a single node.')
  else print('No node runs on this database: start one with hookswitch serve --database-url …')
}

function printLines(nodes: readonly Node[]): void {
  for (const node of nodes) print(nodeLine(node, widthOfTerminal()))
  for (const line of nodes.map(lackingPresetsLine)) if (line !== undefined) print(line)
}
