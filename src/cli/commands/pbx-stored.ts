import type { Command } from 'commander'
import { hasCertificates } from '../../lib/certificate-file.ts'
import { Fault } from '../../lib/fault.ts'
import { kindOfUrl } from '../../lib/pbx-kinds.ts'
import { hostAndPort, parsePbxUrl } from '../../lib/pbx-url.ts'
import { comparedText } from '../../lib/text.ts'
import { createPbxChanges, maskPbxUrl } from '../../pbx/pbx.ts'
import type { PbxRecord } from '../../store/operations/pbxs.ts'
import { noteAct } from '../note-act.ts'
import { type StoreFlags, withExistingStore, withStore } from '../open-store.ts'
import { databaseOption, dataOption, jsonOption } from '../options.ts'
import { nameOption, PBX_URL, type PbxGiven, pbxSource } from '../pbx-source.ts'
import { print, printJson } from '../print.ts'
import { printTable } from '../table.ts'

type Flags = StoreFlags & { json?: boolean }
type AddFlags = Flags & { name?: string; replace?: boolean }

/** Adds `hookswitch pbx add`, `list` and `remove`, for the PBXs in the store. */
export function storedPbxCommands(pbx: Command, readInput: PbxGiven['readInput']): void {
  pbx
    .command('add')
    .argument('[url]', `${PBX_URL}; - for a line of standard input; default: HOOKSWITCH_PBX`)
    .description('add a PBX to the store; a running service connects to it within 2 s')
    .option('--replace', 'replace the PBX of this name; *** in the URL keeps its secret')
    .addOption(nameOption())
    .addOption(dataOption())
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action(async (given: string | undefined, { data, databaseUrl, json, name, replace = false }: AddFlags) => {
      const { url, ...source } = await pbxSource({ url: given, name, env: process.env, readInput })
      const added = await withStore({ data, databaseUrl }, async (store) => {
        const changes = createPbxChanges({ store, canRead: hasCertificates })
        const set = await changes.set({ url, origin: 'store', mayReplace: replace })
        const facts = { pbx: set.name, to: hostAndPort(source) }
        await noteAct(store, { event: 'pbx_set', email: null, account: null, facts })
        return set
      })
      if (json) printJson({ name: added.name })
      else
        print(
          `The PBX ${added.name} was ${added.isNew ? 'added' : 'replaced'}. A running service connects to it within 2 s.`,
        )
    })
  pbx
    .command('list')
    .description('list the PBXs of the store; secrets are shown as ***')
    .addOption(dataOption())
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action(async ({ data, databaseUrl, json }: Flags) => {
      const records = await withExistingStore({ data, databaseUrl }, ({ pbxs }) => pbxs.pbxList())
      const rows = records.flatMap(rowOf)
      if (json) printJson(rows)
      else printTable(Object.keys(rows[0] ?? {}), rows.map(Object.values), { whenEmpty: NO_PBX })
    })
  pbx
    .command('remove')
    .argument('<name>', 'the name of the PBX, see pbx list')
    .description('remove a PBX from the store; a running service disconnects, and ends its open calls as unknown')
    .addOption(dataOption())
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action(async (name: string, { data, databaseUrl, json }: Flags) => {
      await withExistingStore({ data, databaseUrl }, async (store) => {
        await createPbxChanges({ store, canRead: hasCertificates }).remove(comparedText(name))
        await noteAct(store, { event: 'pbx_removed', email: null, account: null, facts: { pbx: name } })
      }).catch((cause) => {
        if (!(cause instanceof Fault && cause.code === 'not_found')) throw cause
        throw new Fault('not_found', `there is no PBX ${name} in the store: list the PBXs with hookswitch pbx list`)
      })
      if (json) printJson({})
      else print(`The PBX ${name} was removed. A running service disconnects from it within 2 s.`)
    })
}

const NO_PBX =
  'The store has no PBX: hookswitch pbx add adds one. PBXs of --pbx are listed once a service has run with them.'

/** Returns the line of a PBX; none for a removed PBX. */
function rowOf({ name, url, origin }: PbxRecord) {
  if (url === null) return []
  const parsed = parsePbxUrl(url)
  const { account = '', ...address } = 'wrong' in parsed ? { host: '', port: 0 } : parsed.pbx
  return {
    name,
    kind: kindOfUrl(url),
    address: hostAndPort(address),
    account,
    source: origin === 'settings' ? origin : 'store',
    url: maskPbxUrl(url),
  }
}
