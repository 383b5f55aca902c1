import { join } from 'node:path'
import type { Command } from 'commander'
import type { Erased } from '../../calls/calls.ts'
import { Fault } from '../../lib/fault.ts'
import { harmless } from '../../lib/terminal-text.ts'
import { wrongUsage } from '../../lib/usage.ts'
import { emptyWriteAheadLog } from '../../store/sqlite/engine/write-ahead-log.ts'
import { storePlaceOf } from '../open-store.ts'
import { list, withStoreOptions } from '../options.ts'
import { counted, print, printJson } from '../print.ts'
import { type ServiceFlags, withService } from '../service.ts'
import { callMakeCommands } from './call-make.ts'

type Flags = ServiceFlags & { json?: boolean; number: string[] }

/** Adds `hookswitch call`. */
export function callCommand(program: Command): void {
  const call = program.command('call').description('make calls, and manage stored ones')
  callMakeCommands(call)
  const erase = call
    .command('erase')
    .description('erase a phone number from call records, event bodies and live calls')
    .requiredOption('--number <number>', 'the number as in the records, with its + (repeatable)', list, [])
  withStoreOptions(erase).action(eraseNumbers)
}

async function eraseNumbers({ json = false, number: numbers, ...flags }: Flags): Promise<void> {
  if (numbers.length === 0) throw wrongUsage('--number is missing: give the number as in the records')
  const { result: erased } = await withService(flags, (service) =>
    service.ask<Erased>('POST', '/erase', { body: { numbers } }),
  )
  if (json) printJson(erased)
  else printErased(erased)
  const { dataPath, database } = storePlaceOf(flags)
  const left = [
    ...(database !== undefined || emptyWriteAheadLog(join(dataPath, 'hookswitch.db'))
      ? []
      : ['the write-ahead log of the store was in use and may still contain it']),
    ...(erased.pending > 0 ? [counted(erased.pending, 'event is still pending', 'events are still pending')] : []),
    ...(erased.live > 0 ? [counted(erased.live, 'call with it is active', 'calls with it are active')] : []),
  ]
  if (left.length > 0)
    throw new Fault('unavailable', `${left.join(', and ')}: run the command again when that has ended`)
}

function printErased({ calls, events, copies, files }: Erased): void {
  print(`Erased ${calls} call records and the bodies of ${events} events.`)
  if (copies > 0)
    print(`The service deletes ${counted(copies, 'copy', 'copies')} of recordings within a minute while it runs.`)
  for (const file of files) print(`Left on the PBX: ${harmless(file)}`)
}
