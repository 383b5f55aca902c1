import type { Command } from 'commander'
import type { StateSubject } from '../../lib/event-kinds.ts'
import { nowUs } from '../../lib/time.ts'
import { listOf, presentOfRows } from '../../states/api/present-list.ts'
import { SUBJECTS } from '../../states/model.ts'
import { type StoreFlags, withExistingStore } from '../open-store.ts'
import { databaseOption, dataOption, jsonOption } from '../options.ts'
import { printJson } from '../print.ts'
import { printTable } from '../table.ts'

type Flags = StoreFlags & { json?: boolean; account?: string; pbx?: string }

/** The commands that list present states, each with its subject. */
const COMMANDS = { phone: 'phones', trunk: 'trunks', agent: 'agents', queue: 'queues' } as const satisfies Record<
  StateSubject,
  string
>

/** Adds `hookswitch phone list`, and the same for trunks, agents and queues. */
export function stateCommands(program: Command): void {
  for (const kind of Object.keys(COMMANDS) as StateSubject[]) {
    const what = COMMANDS[kind]
    program
      .command(kind)
      .description(`show ${what}`)
      .command('list')
      .description(`list the present states of ${what}, at most a second old`)
      .option('--account <name>', 'only this account')
      .option('--pbx <name>', 'only this PBX')
      .addOption(dataOption())
      .addOption(databaseOption())
      .addOption(jsonOption())
      .action((flags: Flags) => printStates(kind, flags))
  }
}

async function printStates(kind: StateSubject, { json, account, pbx, ...place }: Flags): Promise<void> {
  const columns = Object.keys(SUBJECTS[kind].properties)
  const rows = await withExistingStore(place, async ({ pbxs, calls }) => {
    const isOwner = (one: string) => account === undefined || one === account
    const names = (await pbxs.pbxList()).map(({ name }) => name).filter((name) => pbx === undefined || name === pbx)
    const all = await Promise.all(
      names.map(async (name) => {
        const present = presentOfRows(await calls.subjectStateList(name), isOwner, nowUs())
        return listOf(kind, present).map((state) => ({ pbx: name, ...state }))
      }),
    )
    return all.flat()
  })
  if (json) printJson(rows)
  else
    printTable(
      ['pbx', ...columns],
      rows.map((row) => ['pbx', ...columns].map((column) => new Map(Object.entries(row)).get(column))),
      { whenEmpty: `No ${COMMANDS[kind]} are known: a service has to be connected to a PBX, see hookswitch pbx list.` },
    )
}
