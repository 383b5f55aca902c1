import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Database, openDatabase } from '../../src/store/sqlite/engine/database.ts'
import { storeOver } from '../../src/store/sqlite/store-over.ts'
import { buildOnce, emptyFolder, type RunningApp, startServe } from '../help/app.ts'
import { ask, newToken, webhook } from '../help/client.ts'
import { canMount, mountSmallDisk } from '../help/disk.ts'
import { allArrived, idsOf, judge, report, SERVE, startLoad, verified } from '../help/load.ts'
import { type Receiver, startReceiver, until } from '../help/receiver.ts'
import { scaled, seededRandom } from '../help/seed.ts'

const random = seededRandom(20_261_123)
const KILLS = scaled(10)

/** The executable is killed, stopped and starved of disk space under load: every committed event must arrive. */

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
    await ask(app, 'PUT', '/integration/webhook', { token, body: [webhook(receiver.url)] })
    db = openDatabase(join(folder.path, 'data/hookswitch.db'))
  })
  afterAll(async () => {
    await app.stop('SIGKILL')
    await db.stop()
    await receiver.stop()
    folder[Symbol.dispose]()
  })

  test(`kill -9 at ${KILLS} random moments loses and reorders nothing`, async () => {
    const load = startLoad(storeOver(db))
    for (let kill = 0; kill < KILLS; kill += 1) {
      await Bun.sleep(50 + random.int(350))
      await app.stop('SIGKILL')
      app = await startServe({ cwd: folder.path, args: SERVE })
    }
    await load.stop()
    await until('all have arrived', () => allArrived(load.committed, idsOf(receiver.received)))
    const verdict = judge(load.committed, idsOf(receiver.received))
    report(`kill -9, ${KILLS} times`, verdict)
    expect(verdict).toMatchObject({ lost: 0, reordered: 0 })
    await until(
      'the store is whole',
      async () => (await verified(folder.path)) === 'The store is complete and consistent.',
    )
  })

  test('SIGTERM under load ends with 0, and sends nothing twice', async () => {
    receiver.received.length = 0
    const load = startLoad(storeOver(db))
    for (let stop = 0; stop < 3; stop += 1) {
      await Bun.sleep(200 + random.int(300))
      expect(await app.stop('SIGTERM')).toBe(0)
      app = await startServe({ cwd: folder.path, args: SERVE })
    }
    await load.stop()
    await until('all have arrived', () => allArrived(load.committed, idsOf(receiver.received)))
    const verdict = judge(load.committed, idsOf(receiver.received))
    report('SIGTERM, 3 times', verdict)
    expect(verdict).toMatchObject({ lost: 0, reordered: 0, duplicated: 0 })
  })
})

describe('a full disk', () => {
  test.skipIf(!canMount)(
    'stops nothing for good, and loses nothing that was acknowledged (needs the right to mount)',
    async () => {
      using folder = emptyFolder()
      using _disk = mountSmallDisk(folder.path, '24m')
      const receiver = startReceiver()
      const app = await startServe({ cwd: folder.path, args: SERVE })
      try {
        const token = await newToken(app, 'full@example.com')
        await ask(app, 'PUT', '/integration/webhook', { token, body: [webhook(receiver.url)] })
        const db = openDatabase(join(folder.path, 'data/hookswitch.db'))
        const load = startLoad(storeOver(db))
        await until('some have arrived', () => receiver.received.length > 50)
        const filler = join(folder.path, 'filler')
        try {
          for (;;) writeFileSync(filler, Buffer.alloc(65_536), { flag: 'a' })
        } catch {
          // Full.
        }
        await until('it reports that', async () => (await ask(app, 'GET', '/health')).status === 503)
        await until('writes are refused', () => load.refused() > 0)
        rmSync(filler)
        await until('it is well again', async () => (await ask(app, 'GET', '/health')).status === 200)
        const { length } = load.committed
        await until('more is stored', () => load.committed.length > length)
        await load.stop()
        await until('all have arrived', () => allArrived(load.committed, idsOf(receiver.received)))
        const verdict = judge(load.committed, idsOf(receiver.received))
        report('a full disk', verdict)
        expect(verdict).toMatchObject({ lost: 0, reordered: 0, duplicated: 0 })
        expect(await verified(folder.path)).toBe('The store is complete and consistent.')
        await db.stop()
      } finally {
        await app.stop()
        await receiver.stop()
      }
    },
  )
})
