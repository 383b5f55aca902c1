import { join } from 'node:path'
import type { Command } from 'commander'
import { Fault } from '../../lib/fault.ts'
import { harmless } from '../../lib/terminal-text.ts'
import { wrongUsage } from '../../lib/usage.ts'
import { callListWithNumber, type ErasedCounts } from '../../store/operations/maintenance.ts'
import { emptyWriteAheadLog } from '../../store/sqlite/engine/write-ahead-log.ts'
import type { Store } from '../../store/store.ts'
import { type StoreFlags, storePlaceOf, withExistingStore } from '../open-store.ts'
import { databaseOption, dataOption, jsonOption, list } from '../options.ts'
import { counted, print, printJson } from '../print.ts'
import { callMakeCommands } from './call-make.ts'

type Flags = StoreFlags & { json?: boolean; number: string[] }

/** Adds `hookswitch call`. */
export function callCommand(program: Command): void {
  const call = program.command('call').description('make calls, and manage stored ones')
  callMakeCommands(call)
  call
    .command('erase')
    .description('erase a phone number from call records, event bodies and live calls')
    .requiredOption('--number <number>', 'the number as in the records, with its + (repeatable)', list, [])
    .addOption(dataOption())
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action(eraseNumbers)
}

type Erased = ErasedCounts & {
  readonly live: number
  /** Copies of recordings, which the service deletes. */
  readonly copies: number
  /** The PBX's own files of recordings, which stay. */
  readonly files: readonly string[]
}

const NOTHING: Erased = { calls: 0, events: 0, pending: 0, live: 0, copies: 0, files: [] }

async function eraseNumbers({ data, databaseUrl, json = false, number: numbers }: Flags): Promise<void> {
  if (numbers.length === 0) throw wrongUsage('--number is missing: give the number as in the records')
  const erased = await withExistingStore({ data, databaseUrl }, async (store) => {
    let sum = NOTHING
    for (const number of numbers) sum = added(sum, await erase(store, number))
    return sum
  })
  if (json) printJson(erased)
  else printErased(erased)
  const left = [
    ...(storePlaceOf({ data, databaseUrl }).database !== undefined || emptyWriteAheadLog(join(data, 'hookswitch.db'))
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

/** Small steps, because a running service waits for each of them. */
const CALLS_A_STEP = 50

async function erase({ contacts, maintenance, recordings }: Store, number: string): Promise<Erased> {
  await contacts.contactsForget()
  let sum: Erased = { ...NOTHING, live: await maintenance.liveCallErase(number) }
  const ids = await callListWithNumber(maintenance, number)
  for (let at = 0; at < ids.length; at += CALLS_A_STEP) {
    const step = ids.slice(at, at + CALLS_A_STEP)
    const found = await recordings.recordingListOfCalls(step)
    // First: once the calls are gone, another run would not find them.
    await recordings.recordingErase(step)
    const counts = await maintenance.callErase(step)
    const copies = found.filter(({ copy }) => copy !== null).length
    sum = added(sum, { ...NOTHING, ...counts, copies, files: found.map(({ pbx, path }) => `${pbx}: ${path}`) })
  }
  return sum
}

const added = (one: Erased, other: Erased): Erased => ({
  calls: one.calls + other.calls,
  events: one.events + other.events,
  pending: one.pending + other.pending,
  live: one.live + other.live,
  copies: one.copies + other.copies,
  files: [...one.files, ...other.files],
})
