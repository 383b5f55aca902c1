import { join } from 'node:path'
import type { Command } from 'commander'

import { Fault } from '../../../lib/fault.ts'
import { wrongUsage } from '../../../lib/usage.ts'
import type { ErasedCounts } from '../../../store/records.ts'
import { emptyWriteAheadLog } from '../../../store/sqlite/maintenance/erase.ts'
import type { Store } from '../../../store/store.ts'
import { placeOf, type StoreFlags, withExistingStore } from '../../open-store.ts'
import { databaseOption, dataOption, jsonOption, list } from '../../options.ts'
import { print, printJson } from '../../print.ts'

type Flags = StoreFlags & { json?: boolean; number: string[] }

/** Adds `hookswitch call`. */
export function callCommand(program: Command): void {
  const call = program.command('call').description('manage stored calls')
  call
    .command('erase')
    .description('erase a phone number from call records, event bodies and live calls')
    .requiredOption('--number <number>', 'the number as the records have it, with its + (repeatable)', list, [])
    .addOption(dataOption())
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action(eraseNumbers)
}

type Erased = ErasedCounts & { readonly live: number }

async function eraseNumbers({ data, databaseUrl, json = false, number: numbers }: Flags): Promise<void> {
  if (numbers.length === 0) throw wrongUsage('--number is missing: give the number as the records have it')
  const erased = await withExistingStore({ data, databaseUrl }, async ({ maintenance }) => {
    let sum: Erased = { calls: 0, events: 0, pending: 0, live: 0 }
    for (const number of numbers) sum = added(sum, await erase(maintenance, number))
    return sum
  })
  if (json) printJson(erased)
  else print(`Erased ${erased.calls} call records and the bodies of ${erased.events} events.`)
  const left = [
    ...(placeOf({ data, databaseUrl }).database !== undefined || emptyWriteAheadLog(join(data, 'hookswitch.db'))
      ? []
      : ['the write-ahead log of the store was in use and may still contain it']),
    ...(erased.pending > 0 ? [`${erased.pending} events are still pending`] : []),
    ...(erased.live > 0 ? [`${erased.live} calls with it were live`] : []),
  ]
  if (left.length > 0)
    throw new Fault('unavailable', `${left.join(', and ')}: run the command again when that has ended`)
}

/** Small steps, because a running service waits for each of them. */
const CALLS_A_STEP = 50

async function erase(maintenance: Store['maintenance'], number: string): Promise<Erased> {
  let sum: Erased = { calls: 0, events: 0, pending: 0, live: await maintenance.liveCallErase(number) }
  const ids = await maintenance.callListWithNumber(number)
  for (let at = 0; at < ids.length; at += CALLS_A_STEP)
    sum = added(sum, { ...(await maintenance.callErase(ids.slice(at, at + CALLS_A_STEP))), live: 0 })
  return sum
}

const added = (one: Erased, other: Erased): Erased => ({
  calls: one.calls + other.calls,
  events: one.events + other.events,
  pending: one.pending + other.pending,
  live: one.live + other.live,
})
