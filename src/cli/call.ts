import { join } from 'node:path'
import type { Command } from 'commander'
import { type ErasedCalls, eraseCalls, eraseLive, findCallsOf } from '../calls/erase-store.ts'
import { wrongUsage } from '../config.ts'
import { emptyLog } from '../db/checkpoint.ts'
import type { Database } from '../db/database.ts'
import { Fault } from '../lib/fault.ts'
import { dataOption, jsonOption, list } from './options.ts'
import { withExistingStore } from './store.ts'

type Flags = { data: string; json?: boolean; number: string[] }

export function callCommand(program: Command): void {
  const call = program.command('call').description('what is kept of calls')
  call
    .command('erase')
    .description('take a number out of all that is kept: call records, bodies of events, calls that are up')
    .requiredOption('--number <number>', 'as the records show it, + and all (repeatable)', list, [])
    .addOption(dataOption())
    .addOption(jsonOption())
    .action(eraseNumbers)
}

type Erased = ErasedCalls & { readonly live: number }

async function eraseNumbers({ data, json = false, number: numbers }: Flags): Promise<void> {
  if (numbers.length === 0) throw wrongUsage('--number is missing: give it as the records show it')
  const erased = await withExistingStore(data, async (db) => {
    let sum: Erased = { calls: 0, events: 0, waiting: 0, live: 0 }
    for (const number of numbers) sum = added(sum, await erase(db, number))
    return sum
  })
  if (json) console.log(JSON.stringify(erased))
  else console.log(`${erased.calls} call records and the bodies of ${erased.events} events were erased.`)
  const left = [
    ...(emptyLog(join(data, 'hookswitch.db')) ? [] : ['the log of the store was in use, and may hold it']),
    ...(erased.waiting > 0 ? [`${erased.waiting} events still wait for a receiver`] : []),
    ...(erased.live > 0 ? [`${erased.live} calls with it were up`] : []),
  ]
  if (left.length > 0) throw new Fault('unavailable', `${left.join(', and ')}: erase again when that is over`)
}

/** So few at a time: a service that runs beside waits for each step. */
const CALLS_A_STEP = 50

async function erase(db: Database, number: string): Promise<Erased> {
  let sum: Erased = { calls: 0, events: 0, waiting: 0, live: await db.commit(eraseLive, { number }) }
  const ids = findCallsOf(db.read, number)
  for (let at = 0; at < ids.length; at += CALLS_A_STEP)
    sum = added(sum, { ...(await db.commit(eraseCalls, { ids: ids.slice(at, at + CALLS_A_STEP) })), live: 0 })
  return sum
}

const added = (one: Erased, other: Erased): Erased => ({
  calls: one.calls + other.calls,
  events: one.events + other.events,
  waiting: one.waiting + other.waiting,
  live: one.live + other.live,
})
