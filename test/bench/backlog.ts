import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { OWNS_EVERYTHING } from '../../src/cluster/ownership.ts'
import { startDispatcher } from '../../src/deliveries/run/dispatcher.ts'
import { newEmitter } from '../../src/deliveries/run/emitter.ts'
import { newAttempt } from '../../src/deliveries/sending/attempt.ts'
import { nowUs, SECOND } from '../../src/lib/time.ts'
import { newSecret } from '../../src/outbound/signature.ts'
import { openClock } from '../../src/store/clock.ts'
import { openDatabase } from '../../src/store/sqlite/engine/database.ts'
import { connect } from '../../src/store/sqlite/engine/open.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { allowing, LOG } from '../deliveries/run/rig.ts'
import { buildOnce, emptyFolder, startServe } from '../help/app.ts'
import { NO_FLOWS } from '../help/deliveries.ts'
import { TEMPLATES } from '../help/templates.ts'
import { bodyOf } from './delivery.ts'
import { startReceiverProcess } from './receiver-process.ts'
import { atMost, figure, perSecond, type Row } from './table.ts'

const CLOSED = 'http://127.0.0.1:9/hook'

/** Makes a store with `events` events that are an hour old, each with a pending delivery to some of the webhooks. */
export function makeBacklog(path: string, events: number, urls: readonly string[], body: string): void {
  const sqlite = prepare(path)
  sqlite.run('PRAGMA synchronous = OFF')
  const webhook = sqlite.query('INSERT INTO webhooks VALUES (?, 1, ?, ?, ?, 1, 1, 1, 1, 1, 1, 1, 0, 0)')
  const secret = sqlite.query('INSERT OR IGNORE INTO secrets (account_id, url, secret) VALUES (1, ?, ?)')
  urls.forEach((url, index) => {
    webhook.run(index + 1, url, index, index)
    secret.run(url, newSecret())
  })
  const atUs = nowUs() - 3_600 * SECOND
  sqlite
    .query(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
       INSERT INTO events SELECT i, printf('%036d', i), 1, printf('%036d', i / 8), 'call_started', i % 8 + 1, ?2 + i, ?3 FROM n`,
    )
    .run(events, atUs, body)
  sqlite
    .query(
      `INSERT INTO deliveries (id, webhook_id, state, since, created_at)
       SELECT e.id * 128 + w.id - 1, w.id, 0, e.at, e.at FROM events e CROSS JOIN webhooks w ORDER BY e.id, w.id`,
    )
    .run()
  sqlite.run('PRAGMA wal_checkpoint(TRUNCATE)')
  sqlite.close()
}

function prepare(path: string) {
  const db = openDatabase(path)
  void db.stop()
  return connect(path, 'writer')
}

/** Milliseconds of a claim in the middle, of 200 over all webhooks. */
async function claimMs(path: string, webhooks: number): Promise<number> {
  const store = openSqliteStore(path)
  const times: number[] = []
  for (let n = 0; n < 200; n += 1) {
    const startedMs = performance.now()
    await store.queue.deliveryGetUntried({ webhookId: (n % webhooks) + 1, afterId: 0, limit: 128 })
    times.push(performance.now() - startedMs)
  }
  await store.stop()
  return times.toSorted((x, y) => x - y)[100] ?? 0
}

export async function benchClaims(): Promise<Row[]> {
  using folder = emptyFolder()
  const urls = Array.from({ length: 100 }, () => CLOSED)
  const body = bodyOf(1_024)
  const [few, many] = [`${folder.path}/few.db`, `${folder.path}/many.db`]
  makeBacklog(few, 128, urls.slice(0, 39), body)
  makeBacklog(many, 50_000, urls, body)
  await claimMs(few, 39)
  const fewMs = await claimMs(few, 39)
  const manyMs = await claimMs(many, 100)
  const detail = `${manyMs.toFixed(2)} ms, with 5,000 ${fewMs.toFixed(2)} ms`
  return [
    atMost('claim time with 5,000,000 waiting ÷ with 5,000', 2, manyMs / fewMs, '', detail),
    ...(await benchMemory(many)),
  ]
}

/** A service whose receivers refuse, over that store: its resident memory once it has read its queues. */
async function benchMemory(store: string): Promise<Row[]> {
  using folder = emptyFolder()
  Bun.spawnSync(['mkdir', '-p', `${folder.path}/data`])
  Bun.spawnSync(['mv', store, `${folder.path}/data/hookswitch.db`])
  const app = await startServe({ cwd: folder.path, args: ['--allow-net', 'loopback'] })
  await Bun.sleep(8_000)
  const megabytes = residentMb(app.pid)
  await app.stop('SIGKILL')
  return [atMost('memory with 5,000,000 waiting', 300, megabytes, ' MB')]
}

const residentMb = (pid: number) => {
  const status = Bun.spawnSync(['cat', `/proc/${pid}/status`]).stdout.toString()
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024
}

export async function benchDrain(): Promise<Row[]> {
  using folder = emptyFolder()
  using receivers = await startReceiverProcess(1)
  const path = `${folder.path}/hookswitch.db`
  const DELIVERIES = 100_000
  makeBacklog(path, DELIVERIES, receivers.urls, bodyOf(1_024))
  const thread = () => new Worker(new URL('../../src/app/writer.ts', import.meta.url).href)
  const store = openSqliteStore(path, { thread })
  const clock = await openClock({ maintenance: store.maintenance, log: LOG })
  let delivered = 0
  const observer = {
    started: () => {},
    ended: () => {
      delivered += 1
    },
    endedUnsent: () => {},
    webhookRemoved: () => {},
  }
  const startedMs = performance.now()
  const attempt = newAttempt({ allow: allowing('loopback') })
  const dispatcher = startDispatcher({
    templates: TEMPLATES,
    ownership: OWNS_EVERYTHING,
    store,
    clock,
    emitter: newEmitter(),
    makeTurn: NO_FLOWS,
    attempt,
    log: LOG,
    observer,
  })
  while (delivered < DELIVERIES) await Bun.sleep(5)
  const seconds = (performance.now() - startedMs) / 1_000
  await dispatcher.stop()
  await store.stop()
  return [figure('drain of 100,000 for one webhook, an hour old', seconds, ' s', perSecond(DELIVERIES / seconds))]
}

export async function benchStart(): Promise<Row[]> {
  await buildOnce()
  using empty = emptyFolder()
  using full = emptyFolder()
  Bun.spawnSync(['mkdir', '-p', `${full.path}/data`])
  makeBacklog(
    `${full.path}/data/hookswitch.db`,
    10_000,
    Array.from({ length: 100 }, () => CLOSED),
    bodyOf(1_024),
  )
  const first = await startMs(empty.path)
  const emptyMs = await startMs(empty.path)
  const fullMs = await startMs(full.path)
  const app = await startServe({ cwd: empty.path })
  await Bun.sleep(3_000)
  const idleMb = residentMb(app.pid)
  await app.stop()
  return [
    atMost('start to ready, empty store', 150, emptyMs, ' ms', `the very first start ${first.toFixed(0)} ms`),
    atMost('start to ready, 1,000,000 waiting', 500, fullMs, ' ms'),
    figure('memory when idle', idleMb, ' MB'),
    figure(
      'size of the executable',
      statSync(resolve(import.meta.dir, '../../dist/hookswitch')).size / 1_048_576,
      ' MB',
    ),
  ]
}

async function startMs(cwd: string): Promise<number> {
  const startedMs = performance.now()
  const app = await startServe({ cwd, args: ['--allow-net', 'loopback'] })
  const ms = performance.now() - startedMs
  await app.stop('SIGKILL')
  return ms
}
