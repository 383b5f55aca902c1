import type { Command } from 'commander'
import type { StateSubject } from '../../events/kinds.ts'
import { SUBJECTS } from '../../events/states.ts'
import { nowUs } from '../../lib/time.ts'
import { listOf, ownedRows } from '../../states/states.ts'
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

const NOT_CONNECTED = 'a service has to be connected to a PBX, see hookswitch pbx list'
/** The reasons for an empty list, for people. */
const WHY_EMPTY: Readonly<Record<StateSubject, string>> = {
  phone: NOT_CONNECTED,
  trunk: `${NOT_CONNECTED}; where a PBX serves several customers, its URL needs account=NAME, the account that sees the trunks`,
  agent: NOT_CONNECTED,
  queue: NOT_CONNECTED,
}

/** Adds `hookswitch phone list`, and the same for trunks, agents and queues. */
export function stateCommands(program: Command): void {
  // Object.keys loses the type of the names.
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
  // Customers of one PBX may have the same extensions.
  const columns = ['account', 'pbx', ...Object.keys(SUBJECTS[kind].properties)]
  const rows = await withExistingStore(place, async ({ pbxs, calls }) => {
    const names = (await pbxs.pbxList()).map(({ name }) => name).filter((name) => pbx === undefined || name === pbx)
    const all = await Promise.all(
      names.map(async (name) => {
        const owned = [...ownedRows(await calls.subjectStateList(name), nowUs())]
        const byAccount = Map.groupBy(owned, (one) => one.account)
        return [...byAccount]
          .filter(([owner]) => account === undefined || owner === account)
          .toSorted(([one], [other]) => (one < other ? -1 : 1))
          .flatMap(([owner, rows]) =>
            listOf(
              kind,
              rows.map(({ present }) => present),
            ).map((state) => ({ account: owner, pbx: name, ...state })),
          )
      }),
    )
    return all.flat()
  })
  if (json) printJson(rows)
  else
    printTable(
      columns,
      rows.map((row) => columns.map((column) => new Map(Object.entries(row)).get(column))),
      { whenEmpty: `No ${COMMANDS[kind]} are known: ${WHY_EMPTY[kind]}.` },
    )
}
