import type { Command } from 'commander'
import { Fault } from '../../lib/fault.ts'
import type { MadeCall } from '../../pbx/pbx.ts'
import { withStoreOptions } from '../options.ts'
import { pbxOption } from '../pbx-source.ts'
import { print, printJson } from '../print.ts'
import { type Service, type ServiceFlags, withService } from '../service.ts'

type Flags = ServiceFlags & {
  readonly json?: boolean
  readonly account?: string
  readonly from: string
  readonly to: string
  readonly pbx?: string
  readonly name?: string
}

/** Adds `hookswitch call make` and `hookswitch call hangup`. */
export function callMakeCommands(call: Command): void {
  withStoreOptions(
    call
      .command('make')
      .description('make a call: a phone rings, and when it is answered a number is dialled')
      .requiredOption('--from <extension>', 'the extension whose phone rings')
      .requiredOption('--to <number>', 'the number that is dialled')
      .addOption(pbxOption('the PBX, if several have the extension'))
      .option('--name <text>', 'what the phone shows beside the number')
      .option('--account <name>', 'the account of the phone; default: the first one'),
  ).action(makeCall)
  withStoreOptions(
    call
      .command('hangup')
      .description('hang up a call that is up')
      .argument('<id>', 'the id of the call')
      .option('--account <name>', 'the account of the call; default: the first one'),
  ).action(hangUp)
}

async function makeCall({ json = false, account, from, to, pbx, name, ...flags }: Flags): Promise<void> {
  const { result } = await withService(flags, (service) =>
    running(service).ask<MadeCall>('POST', '/call', { query: { account }, body: { from, to, pbx, name } }),
  )
  if (json) printJson(result)
  else print(`The phone ${from} rings. Call: ${result.call_id ?? 'not shown by the PBX yet'}`)
}

async function hangUp(id: string, { json = false, account, ...flags }: Flags): Promise<void> {
  const { result } = await withService(flags, (service) =>
    running(service).ask('DELETE', `/call/${encodeURIComponent(id)}`, { query: { account } }),
  )
  if (json) printJson(result)
  else print('The call was hung up.')
}

/** Returns the service. @throws Fault if none runs: only a running one is connected to the PBXs. */
function running(service: Service): Service {
  if (service.isService) return service
  if (service.isRunning)
    throw new Fault(
      'unavailable',
      'a node has to be asked: give the folder of its socket with --data, or the socket with --control',
    )
  throw new Fault('unavailable', 'no service runs on this store, so none is connected to the PBX: hookswitch serve')
}
