import { statSync } from 'node:fs'
import { nowUs } from '../../src/lib/time.ts'
import { newClient } from '../../src/store/postgres/engine/client.ts'
import { makeCallsByE164 } from '../../src/store/postgres/engine/early-e164.ts'
import { workBeforeMigrations } from '../../src/store/postgres/engine/early-indexes.ts'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { buildOnce, emptyFolder, type RunningApp, startServe } from '../help/app.ts'
import { ask, newToken, webhook } from '../help/client.ts'
import { databaseSource, migratedDatabase, POSTGRES_MISSING, startPostgres } from '../help/postgres.ts'
import { openStore } from '../help/store.ts'
import { multiplyCalls, postgresStatements, type Statements, sqliteStatements } from './large-store.ts'
import { residentMb } from './pbx-to-receiver.ts'
import { type Filled, fillStore, OWN_NUMBER } from './stalls-store.ts'
import { figure, type Row } from './table.ts'

/**
 * A store with a long history: how long the service takes to start, its memory, how long lists take, and the latest
 * migrations. The history is made by copies of 2,000 calls, which the database makes by itself.
 */
type GrowthOptions = { readonly calls: number; readonly engines: readonly ('sqlite' | 'postgres')[] }

const BASE_CALLS = 2_000
const ARGS = ['--allow-net', 'loopback', '--log-level', 'error']
const MEBIBYTE = 1_048_576
const TIMES = 3

export async function benchGrowth({ calls, engines }: GrowthOptions): Promise<Row[]> {
  await buildOnce()
  const rows: Row[] = []
  for (const engine of engines) {
    if (engine === 'postgres' && POSTGRES_MISSING !== undefined) continue
    rows.push(...(await growthOf(engine, calls)))
  }
  return rows
}

async function growthOf(engine: 'sqlite' | 'postgres', calls: number): Promise<Row[]> {
  await using cleaning = new AsyncDisposableStack()
  const folder = cleaning.use(emptyFolder())
  const path = `${folder.path}/data/hookswitch.db`
  const store: string[] = []
  if (engine === 'postgres') {
    const server = await startPostgres({ shared_buffers: '512MB', max_wal_size: '4GB' })
    cleaning.defer(() => server.stop())
    store.push('--database-url', (await migratedDatabase(server)).url)
  }
  const [, url] = store
  const start = () => startServe({ cwd: folder.path, args: [...ARGS, ...store] })
  const first = await start()
  const token = await newToken(first, 'bench@example.com', { store })
  await ask(first, 'PUT', '/integration/webhook', { token, body: [webhook('http://127.0.0.1:9/')] })
  await first.stop()
  const open = url === undefined ? openStore(path) : await openPostgresStore(databaseSource(url))
  const filled = await fillStore(open, BASE_CALLS, nowUs())
  await open.stop()
  const statements = url === undefined ? sqliteStatements(path) : postgresStatements(url)
  const [indexes, filledMs] = await timed(() => multiplyCalls(statements, Math.ceil(calls / BASE_CALLS)))
  const count = await statements.number('SELECT count(*) AS n FROM calls')
  const bytes = url === undefined ? statSync(path).size : await statements.number(SIZE)
  const rows = [
    figure('size', bytes / MEBIBYTE, ' MiB', `${count} calls, filled in ${Math.round(filledMs / 1_000)} s`),
    ...indexes.map(({ name, ms }) => figure(`index ${name} is made`, ms / 1_000, ' s')),
  ]
  console.error(`  ${engine}: ${count} calls, ${Math.round(bytes / MEBIBYTE)} MiB, ${Math.round(filledMs / 1_000)} s`)
  if (url !== undefined) rows.push(await migrationOfE164(statements, url))
  if (url !== undefined) await statements.run('ANALYZE')
  await statements.stop()
  const [app, startMs] = await timed(start)
  cleaning.defer(async () => void (await app.stop('SIGKILL')))
  rows.push(figure('start to ready', startMs, ' ms'), figure('memory after it', residentMb(app.pid), ' MiB'))
  for (const [name, path] of pathsOf(filled)) {
    const ms = await listMs(app, token, path)
    // A later list may take long, or fail.
    console.error(`  GET ${name}: ${ms.toFixed(1)} ms`)
    rows.push(figure(`GET ${name}`, ms, ' ms'))
  }
  const headers = { accept: 'text/csv', authorization: `Bearer ${token}` }
  const [csv, csvMs] = await timed(async () => (await fetch(`${app.url}/call`, { headers })).bytes())
  rows.push(figure('GET /call as CSV', csvMs / 1_000, ' s', `${(csv.length / MEBIBYTE).toFixed(1)} MiB`))
  rows.push(figure('memory after the lists', residentMb(app.pid), ' MiB'))
  return rows.map((row) => ({ ...row, what: `${engine}: ${row.what}` }))
}

const SIZE = 'SELECT pg_database_size(current_database()) AS n'

/** Does the work before the migration that gave calls the columns of their numbers in E.164. */
async function migrationOfE164({ run }: Statements, url: string): Promise<Row> {
  await run('ALTER TABLE calls DROP COLUMN from_e164, DROP COLUMN to_e164')
  const client = newClient(databaseSource(url), { role: 'start', connections: 1, statementMs: 600_000 })
  const [, ms] = await timed(() => workBeforeMigrations(client, [makeCallsByE164]))
  await client.stop()
  return figure('migration: numbers of all calls in E.164', ms / 1_000, ' s')
}

const LISTS = `
/call?limit=200 /call?number=OWN /call?until=MIDDLE /call?counts=true&limit=1 /call?pbx=nowhere /call?missed=true
/call?result=busy /call?not_reached=true /call?to_call_back=true /call?extension=9999 /call?q=nobody&counts=true /call/ID /call/ID/event /event?limit=1000 /event?event=call_missed
/integration/delivery?limit=200 /integration/delivery?state=pending /integration/delivery?state=cancelled
/integration/delivery?event=call_missed /integration/delivery?until=MIDDLE /integration/delivery?call_id=SHORT
/integration/delivery?number=OWN /overview`

function pathsOf({ lastCallId, middle }: Filled): [name: string, path: string][] {
  const values: Readonly<Record<string, string>> = {
    OWN: OWN_NUMBER.e164,
    ID: lastCallId,
    SHORT: lastCallId.slice(-8),
    MIDDLE: middle,
  }
  return LISTS.trim()
    .split(/\s+/)
    .map((name) => [name, name.replace(/[A-Z]{2,}/g, (word) => encodeURIComponent(values[word] ?? word))])
}

/** Returns the shortest time of a few. */
async function listMs(app: RunningApp, token: string, path: string): Promise<number> {
  const found: number[] = []
  for (let time = 0; time < TIMES; time += 1) {
    const [{ status }, ms] = await timed(() => ask(app, 'GET', path, { token }))
    if (status !== 200) throw new Error(`${path}: ${status}`)
    found.push(ms)
  }
  return Math.min(...found)
}

async function timed<Result>(work: () => Promise<Result>): Promise<[Result, number]> {
  const beginMs = performance.now()
  const result = await work()
  return [result, performance.now() - beginMs]
}
