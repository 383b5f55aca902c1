import { SWITCH_NAMES } from '../../src/events/kinds.ts'
import { newSecret } from '../../src/outbound/signature.ts'
import { buildOnce, emptyFolder, type RunningApp, startServe } from '../help/app.ts'
import { lastingSql, type Sql } from '../help/cluster-parts.ts'
import { migratedDatabase, POSTGRES_MISSING, startPostgres } from '../help/postgres.ts'
import { processorUs } from './postgres.ts'
import { atMost, figure, type Row } from './table.ts'

/** Many accounts with many webhooks and nothing to send: how long nodes take to share them, and what that costs. */

const [ACCOUNTS, WEBHOOKS] = [200, 50]
const NODES = 3
const WITHIN_MS = 120_000
const QUIET_AFTER_MS = 5_000
const MEASURED_MS = 5_000
const ARGS = ['--allow-net', 'loopback', '--log-level', 'error']

/** Puts the accounts and their webhooks into the database. */
async function fill({ ask }: Sql): Promise<void> {
  await ask(`INSERT INTO accounts (name) SELECT 'account ' || n FROM generate_series(1, ${ACCOUNTS}) AS n`)
  const switches = SWITCH_NAMES.join(', ')
  await ask(`INSERT INTO webhooks (account_id, url, occurrence, position, ${switches})
    SELECT a.id, 'http://127.0.0.1:9/' || a.id || '/' || n, 0, n, ${SWITCH_NAMES.map(() => 'TRUE').join(', ')}
    FROM accounts a CROSS JOIN generate_series(1, ${WEBHOOKS}) AS n`)
  await ask(`INSERT INTO secrets (account_id, url, secret) SELECT account_id, url, '${newSecret()}' FROM webhooks`)
}

/** Waits until every account has a living owner and each node about its share. Returns after how many seconds. */
async function untilBalanced({ ask }: Sql, nodes: number): Promise<number> {
  const startedMs = performance.now()
  const fair = ACCOUNTS / nodes
  for (;;) {
    const rows = await ask<{ count: number }>(`SELECT count(*)::int AS count FROM leases l
      JOIN nodes n ON n.id = l.node AND n.dead_us IS NULL WHERE l.name LIKE 'account:%' GROUP BY l.node`)
    const owned = rows.reduce((sum, { count }) => sum + count, 0)
    const isFair = rows.length === nodes && rows.every(({ count }) => Math.abs(count - fair) <= fair / 10 + 1)
    if (owned >= ACCOUNTS && isFair) return (performance.now() - startedMs) / 1_000
    if (performance.now() - startedMs > WITHIN_MS)
      throw new Error(`not balanced: ${rows.map(({ count }) => count).join(', ')} of ${ACCOUNTS}`)
    await Bun.sleep(50)
  }
}

/** Measures three nodes that start, and two after one was killed. */
export async function benchBalance(): Promise<Row[]> {
  if (POSTGRES_MISSING !== undefined) return []
  await buildOnce()
  using folder = emptyFolder()
  const server = await startPostgres({ fsync: 'on', full_page_writes: 'on' })
  const database = await migratedDatabase(server)
  const sql = lastingSql(database.url)
  await fill(sql)
  const postgresMs = () => processorUs(server.pid() ?? 0) / 1_000
  /** Milliseconds of Postgres' processor for each second. */
  const restOf = async (): Promise<number> => {
    const before = postgresMs()
    await Bun.sleep(MEASURED_MS)
    return ((postgresMs() - before) / MEASURED_MS) * 1_000
  }
  const nodes: RunningApp[] = []
  const start = async () => {
    nodes.push(await startServe({ cwd: folder.path, args: [...ARGS, '--database-url', database.url] }))
  }
  await start()
  await untilBalanced(sql, 1)
  await Bun.sleep(QUIET_AFTER_MS)
  const beforeMs = postgresMs()
  for (let node = 1; node < NODES; node += 1) await start()
  const balancedS = await untilBalanced(sql, NODES)
  const balanceMs = postgresMs() - beforeMs
  await Bun.sleep(2 * QUIET_AFTER_MS)
  const idle = await restOf()
  const killedMs = postgresMs()
  await nodes.pop()?.stop('SIGKILL')
  const takenS = await untilBalanced(sql, NODES - 1)
  const takeoverMs = postgresMs() - killedMs
  await Bun.sleep(QUIET_AFTER_MS)
  const after = await restOf()
  for (const node of nodes) await node.stop('SIGKILL')
  await sql.stop()
  await server.stop()
  const what = `${ACCOUNTS} accounts × ${WEBHOOKS} webhooks`
  return [
    atMost(`${what}: balanced over ${NODES} nodes`, 20, balancedS, ' s', `from the start of the last two`),
    figure('the same: Postgres meanwhile', balanceMs, ' ms', 'of processor time'),
    figure('taken over after kill -9 of one', takenS, ' s', 'the time without a heartbeat included'),
    figure('the same: Postgres meanwhile', takeoverMs, ' ms', 'of processor time'),
    atMost(
      'Postgres from 5 s after the takeover on ÷ before the kill',
      1.2,
      after / idle,
      '',
      `${after.toFixed(0)} and ${idle.toFixed(0)} ms of processor time for each second`,
    ),
  ]
}
