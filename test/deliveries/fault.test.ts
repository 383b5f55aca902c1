import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { enqueue } from '../../src/deliveries/outbox.ts'
import { newUuid } from '../../src/lib/id.ts'
import { nowUs } from '../../src/lib/time.ts'
import { buildOnce, emptyFolder, type RunningApp, run, startServe } from '../help/app.ts'
import { ask, newToken } from '../help/client.ts'
import { canMount, mountSmallDisk } from '../help/disk.ts'
import { type Receiver, startReceiver, until } from '../help/receiver.ts'
import { listed } from './rig.ts'

/**
 * The compiled service under load is killed, stopped, starved of disk and given a bad receiver. Events come in through a second
 * connection to its store, as everything does that works beside it; what was committed is what must arrive.
 */
const SERVE = ['--allow-net', 'loopback', '--retry-schedule', `${'500ms,'.repeat(40)}1s`]
const EVENTS_A_CALL = 6
const ACCOUNT = 1

/** Commits calls of six events each, one event of some calls at a time, until it is stopped: then it ends the calls that are up. */
function startLoad(db: Database) {
  const committed: { uuid: string; call: string; sequence: number }[] = []
  let running = true
  let refused = 0
  const done = (async () => {
    for (let round = 0; running; round += 1) {
      for (let sequence = 1; sequence <= EVENTS_A_CALL; sequence += 1) {
        const atUs = nowUs()
        const events = Array.from({ length: 8 }, (_, n) => {
          const uuid = newUuid(atUs)
          const call = `call ${round} ${n}`
          const body = JSON.stringify({ time: '', data: { call, sequence } })
          const name = sequence === EVENTS_A_CALL ? 'call_saved' : 'call_started'
          return { uuid, callId: call, name, sequence, atUs, body }
        })
        try {
          await db.commit(enqueue, { accountId: ACCOUNT, events, nowUs: atUs })
          committed.push(...events.map(({ uuid, callId }) => ({ uuid, call: callId, sequence })))
        } catch {
          // Refused, so nothing of it may count; the event is told again, as the tracker would.
          refused += 1
          sequence -= 1
        }
        await Bun.sleep(4)
      }
    }
  })()
  return {
    committed,
    refused: () => refused,
    async stop() {
      running = false
      await done
    },
  }
}

/** What became of what was committed, by what the receiver got. */
function judge(committed: readonly { uuid: string; call: string }[], receiver: Receiver) {
  const arrived = new Map<string, number>()
  const order = new Map<string, number[]>()
  for (const { id, body } of receiver.received) {
    arrived.set(id, (arrived.get(id) ?? 0) + 1)
    if (arrived.get(id) !== 1) continue
    const { call, sequence } = JSON.parse(body).data
    order.set(call, [...(order.get(call) ?? []), sequence])
  }
  const isOrdered = (sequences: number[]) => sequences.every((one, at) => at === 0 || one > (sequences[at - 1] ?? 0))
  return {
    stored: committed.length,
    lost: committed.filter(({ uuid }) => !arrived.has(uuid)).length,
    duplicated: [...arrived.values()].filter((times) => times > 1).length,
    reordered: [...order.values()].filter((sequences) => !isOrdered(sequences)).length,
  }
}

const allArrived = (committed: readonly { uuid: string }[], receiver: Receiver) => {
  const ids = new Set(receiver.received.map(({ id }) => id))
  return committed.every(({ uuid }) => ids.has(uuid))
}

function report(what: string, verdict: ReturnType<typeof judge>): void {
  console.log(
    `${what}: ${Object.entries(verdict)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ')}`,
  )
}

async function isWhole(cwd: string): Promise<string> {
  return (await run(['verify'], { cwd })).stdout.trim()
}

describe('a store under load', () => {
  const folder = emptyFolder()
  let receiver: Receiver
  let app: RunningApp
  let db: Database

  beforeAll(async () => {
    await buildOnce()
    receiver = startReceiver()
    app = await startServe({ cwd: folder.path, args: SERVE })
    const token = await newToken(app, 'load@example.com')
    await ask(app, 'PUT', '/integration/webhook', { token, body: [listed(receiver.url)] })
    db = openDatabase(join(folder.path, 'data/hookswitch.db'))
  }, 60_000)
  afterAll(async () => {
    await app.stop('SIGKILL')
    await db.stop()
    await receiver.stop()
    folder[Symbol.dispose]()
  })

  test('kill -9 at 20 random moments loses and reorders nothing', async () => {
    const load = startLoad(db)
    for (let kill = 0; kill < 20; kill += 1) {
      await Bun.sleep(50 + Math.random() * 350)
      await app.stop('SIGKILL')
      app = await startServe({ cwd: folder.path, args: SERVE })
    }
    await load.stop()
    await until('all have arrived', () => allArrived(load.committed, receiver), 30_000)
    const verdict = judge(load.committed, receiver)
    report('kill -9, 20 times', verdict)
    expect(verdict).toMatchObject({ lost: 0, reordered: 0 })
    await until('the store is whole', async () => (await isWhole(folder.path)) === 'The store is whole.')
  }, 120_000)

  test('SIGTERM under load ends with 0, and sends nothing twice', async () => {
    receiver.received.length = 0
    const load = startLoad(db)
    for (let stop = 0; stop < 3; stop += 1) {
      await Bun.sleep(200 + Math.random() * 300)
      expect(await app.stop('SIGTERM')).toBe(0)
      app = await startServe({ cwd: folder.path, args: SERVE })
    }
    await load.stop()
    await until('all have arrived', () => allArrived(load.committed, receiver), 30_000)
    const verdict = judge(load.committed, receiver)
    report('SIGTERM, 3 times', verdict)
    expect(verdict).toMatchObject({ lost: 0, reordered: 0, duplicated: 0 })
  }, 60_000)

  test('a receiver that fails in every way and comes back gets all', async () => {
    receiver.received.length = 0
    const load = startLoad(db)
    const taken: typeof receiver.received = []
    const take = (request: (typeof receiver.received)[number]) => {
      taken.push(request)
      return new Response('ok')
    }
    const bad = [
      () => new Response('', { status: 500 }),
      () => new Response('', { status: 429, headers: { 'retry-after': '1' } }),
      () => new Response('', { status: 404 }),
      () => Response.redirect('http://127.0.0.1:1/'),
    ]
    for (const answer of bad) {
      receiver.answerWith(answer)
      await Bun.sleep(700)
      receiver.answerWith(take)
      await Bun.sleep(500)
    }
    await load.stop()
    await until(
      'all were taken',
      () => {
        const ids = new Set(taken.map(({ id }) => id))
        return load.committed.every(({ uuid }) => ids.has(uuid))
      },
      60_000,
    )
    const verdict = judge(load.committed, receiver)
    // What was refused comes again: only what was taken may not.
    const duplicated = taken.length - new Set(taken.map(({ id }) => id)).size
    report('a bad receiver', { ...verdict, duplicated })
    expect({ ...verdict, duplicated }).toMatchObject({ lost: 0, reordered: 0, duplicated: 0 })
  }, 120_000)
})

describe('a full disk', () => {
  test.skipIf(!canMount)(
    'stops nothing for good, and loses nothing that was acknowledged',
    async () => {
      using folder = emptyFolder()
      using _disk = mountSmallDisk(folder.path, '24m')
      const receiver = startReceiver()
      const app = await startServe({ cwd: folder.path, args: SERVE })
      try {
        const token = await newToken(app, 'full@example.com')
        await ask(app, 'PUT', '/integration/webhook', { token, body: [listed(receiver.url)] })
        const db = openDatabase(join(folder.path, 'data/hookswitch.db'))
        const load = startLoad(db)
        await until('some have arrived', () => receiver.received.length > 50)
        const filler = join(folder.path, 'filler')
        try {
          for (;;) writeFileSync(filler, Buffer.alloc(65_536), { flag: 'a' })
        } catch {
          // Full.
        }
        await until('it says so', async () => (await ask(app, 'GET', '/health')).status === 503, 20_000)
        await until('writes are refused', () => load.refused() > 0)
        rmSync(filler)
        await until('it is well again', async () => (await ask(app, 'GET', '/health')).status === 200)
        await Bun.sleep(300)
        await load.stop()
        await until('all have arrived', () => allArrived(load.committed, receiver), 30_000)
        const verdict = judge(load.committed, receiver)
        report('a full disk', verdict)
        expect(verdict).toMatchObject({ lost: 0, reordered: 0, duplicated: 0 })
        expect(await isWhole(folder.path)).toBe('The store is whole.')
        await db.stop()
      } finally {
        await app.stop()
        await receiver.stop()
      }
    },
    120_000,
  )
})
