import { readdirSync, readFileSync } from 'node:fs'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { databaseSource, emptyDatabase, POSTGRES_MISSING, startPostgres } from '../help/postgres.ts'
import { bodyOf, deliveredRate } from './delivery.ts'
import { startReceiverProcess } from './receiver-process.ts'
import { atLeast, figure, perSecond, type Row } from './table.ts'

const DELIVERIES = 40_000
const TICK_US = 10_000

/** The processor time of a process and its children so far, in microseconds. */
export function processorUs(pid: number): number {
  let ticks = 0
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const text = readFileSync(`/proc/${name}/stat`, 'utf8')
      const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
      if (Number(name) === pid || Number(fields[1]) === pid) ticks += Number(fields[11]) + Number(fields[12])
    } catch {
      // It has ended meanwhile.
    }
  }
  return ticks * TICK_US
}

/**
 * One node whose store is a Postgres server on the same machine beside the same with a SQLite file, in turns so that both see the
 * same machine; and the processor time that a delivery takes in either.
 */
export async function benchPostgres(): Promise<Row[]> {
  if (POSTGRES_MISSING !== undefined) return []
  using receiver = await startReceiverProcess(1)
  const [url = ''] = receiver.urls
  const accounts = [[url]]
  const body = bodyOf(1_024)
  const server = await startPostgres({ fsync: 'on', full_page_writes: 'on' })
  const onPostgres = async () => {
    await using database = await emptyDatabase(server)
    const ownUs = process.cpuUsage()
    const serverUs = processorUs(server.pid() ?? 0)
    const rate = await deliveredRate(accounts, body, DELIVERIES, () => openPostgresStore(databaseSource(database.url)))
    const { user, system } = process.cpuUsage(ownUs)
    // The warm-up adds half of the measured deliveries.
    const count = DELIVERIES * 1.5
    return { rate, ownUs: (user + system) / count, serverUs: (processorUs(server.pid() ?? 0) - serverUs) / count }
  }
  const before = await deliveredRate(accounts, body, DELIVERIES)
  const first = await onPostgres()
  const between = await deliveredRate(accounts, body, DELIVERIES)
  const second = await onPostgres()
  const after = await deliveredRate(accounts, body, DELIVERIES)
  await server.stop()
  const sqlite = (before + 2 * between + after) / 4
  const postgres = (first.rate + second.rate) / 2
  const detail = `${perSecond(postgres)} of ${perSecond(sqlite)}`
  const mean = (pick: (one: typeof first) => number) => (pick(first) + pick(second)) / 2
  return [
    atLeast('one node on Postgres ÷ on SQLite, delivered', 0.5, postgres / sqlite, detail),
    figure(
      'processor time of Postgres for a delivery',
      mean(({ serverUs }) => serverUs),
      ' µs',
      'stored, sent, recorded',
    ),
    figure(
      'processor time of the node for a delivery',
      mean(({ ownUs }) => ownUs),
      ' µs',
      'the sending and the signature too',
    ),
  ]
}
