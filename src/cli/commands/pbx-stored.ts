import type { Command } from 'commander'
import { Fault } from '../../lib/fault.ts'
import type { PbxInfo } from '../../pbx/pbx.ts'
import { withStoreOptions } from '../options.ts'
import { nameOption, PBX_URL, type PbxGiven, pbxSource } from '../pbx-source.ts'
import { print, printJson } from '../print.ts'
import { type ServiceFlags, withService } from '../service.ts'
import { printTable } from '../table.ts'

type Flags = ServiceFlags & { json?: boolean }
type AddFlags = Flags & { name?: string; replace?: boolean }

/** Adds `hookswitch pbx add`, `list` and `remove`, for the PBXs in the store. */
export function storedPbxCommands(pbx: Command, readInput: PbxGiven['readInput']): void {
  const add = pbx
    .command('add')
    .argument('[url]', `${PBX_URL}; - for a line of standard input; default: HOOKSWITCH_PBX`)
    .description('add a PBX to the store; a running service connects to it at once')
    .option('--replace', 'replace the PBX of this name; *** in the URL keeps its secret')
    .addOption(nameOption())
  withStoreOptions(add).action(
    async (given: string | undefined, { json, name: wanted, replace = false, ...flags }: AddFlags) => {
      const { url, name } = await pbxSource({ url: given, name: wanted, env: process.env, readInput })
      const { result, isNew } = await withService(
        flags,
        async (service) => {
          const before = await service.ask<PbxInfo[]>('GET', '/pbx')
          const headers = replace ? {} : { 'if-none-match': '*' }
          const set = await service
            .ask<PbxInfo>('PUT', `/pbx/${encodeURIComponent(name)}`, { body: { url }, headers })
            .catch((cause) => {
              throw cause instanceof Fault && cause.code === 'precondition_failed' ? isThere(name) : cause
            })
          return { result: set.result, isNew: !before.result.some((one) => one.name === set.result.name) }
        },
        { mayCreate: true },
      )
      if (json) printJson(result)
      else
        print(
          `The PBX ${result.name} was ${isNew ? 'added' : 'replaced'}. A running service connects to it within 2 s.`,
        )
    },
  )
  const list = pbx.command('list').description('list the PBXs of the store; secrets are shown as ***')
  withStoreOptions(list).action(async ({ json, ...flags }: Flags) => {
    const { result } = await withService(flags, (service) => service.ask<PbxInfo[]>('GET', '/pbx'))
    if (json) return printJson(result)
    const columns = ['name', 'kind', 'address', 'account', 'source', 'url'] as const
    printTable(
      columns,
      result.map((one) => columns.map((column) => one[column])),
      { whenEmpty: NO_PBX },
    )
  })
  const remove = pbx
    .command('remove')
    .argument('<name>', 'the name of the PBX, see pbx list')
    .description('remove a PBX from the store; a running service disconnects, and ends its open calls as unknown')
  withStoreOptions(remove).action(async (name: string, { json, ...flags }: Flags) => {
    const { result } = await withService(flags, (service) =>
      service.ask('DELETE', `/pbx/${encodeURIComponent(name)}`),
    ).catch((cause) => {
      if (!(cause instanceof Fault && cause.code === 'not_found') || /no store at/.test(cause.message)) throw cause
      throw new Fault('not_found', `there is no PBX ${name} in the store: list the PBXs with hookswitch pbx list`)
    })
    if (json) printJson(result)
    else print(`The PBX ${name} was removed. A running service disconnects from it within 2 s.`)
  })
}

const isThere = (name: string) =>
  new Fault('conflict', `there is a PBX ${name} already: change it with --replace, or give another name with ?name=…`)

const NO_PBX =
  'The store has no PBX: hookswitch pbx add adds one. PBXs of --pbx are listed once a service has run with them.'
