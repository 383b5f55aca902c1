import type { Command } from 'commander'
import type { StateSubject } from '../../events/kinds.ts'
import { SUBJECTS } from '../../events/states.ts'
import { withStoreOptions } from '../options.ts'
import { pbxOption } from '../pbx-source.ts'
import { printJson } from '../print.ts'
import { type ServiceFlags, withService } from '../service.ts'
import { printTable } from '../table.ts'

/** A state of any kind with its account and PBX. */
type Row = Readonly<Record<string, string | number | null>>

type Flags = ServiceFlags & { json?: boolean; account?: string; pbx?: string }

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
    const listing = program
      .command(kind)
      .description(`show ${what}`)
      .command('list')
      .description(`list the present states of ${what}, at most a second old`)
      .option('--account <name>', 'only this account')
      .addOption(pbxOption('only this PBX'))
    withStoreOptions(listing).action((flags: Flags) => printStates(kind, flags))
  }
}

async function printStates(kind: StateSubject, { json, account, pbx, ...flags }: Flags): Promise<void> {
  // Customers of one PBX may have the same extensions.
  const columns = ['account', 'pbx', ...Object.keys(SUBJECTS[kind].properties)]
  const { result } = await withService(flags, (service) =>
    service.ask<Row[]>('GET', `/${kind}`, { query: { account: account ?? '*', pbx } }),
  )
  const rows: readonly Row[] = account === undefined ? result : result.map((row) => ({ account, ...row }))
  if (json) printJson(rows)
  else
    printTable(
      columns,
      rows.map((row) => columns.map((column) => row[column])),
      {
        whenEmpty: `No ${COMMANDS[kind]}${pbx === undefined ? '' : ` of the PBX ${pbx}`} are known: ${WHY_EMPTY[kind]}.`,
      },
    )
}
