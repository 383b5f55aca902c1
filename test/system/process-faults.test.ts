import { beforeAll, describe, expect, test } from 'bun:test'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildOnce, emptyFolder, startServe } from '../help/app.ts'
import { ask, newToken, webhook } from '../help/client.ts'
import { canMount, mountSmallDisk } from '../help/disk.ts'
import { allTaken, idsOf, judge, report, SERVE, startLoad, storedIn, verified } from '../help/load.ts'
import { startReceiver, until } from '../help/receiver.ts'
import { scaled, seededRandom } from '../help/seed.ts'

const random = seededRandom(20_261_123)
const KILLS = scaled(10)

/** The executable is killed, stopped and starved of disk space under load: every committed event must arrive. */

/** Starts the service with a PBX that has calls all the time, and with a receiver of their events. */
async function startUnderLoad(folder: string) {
  const load = startLoad()
  const receiver = startReceiver()
  const start = () => startServe({ cwd: folder, args: [...SERVE, ...load.pbx] })
  let app = await start()
  const token = await newToken(app, 'load@example.com')
  await ask(app, 'PUT', '/integration/webhook', { token, body: [webhook(receiver.url)] })
  load.begin()
  return {
    receiver,
    app: () => app,
    /** Ends the service, and starts it again. Returns the code with which it ended. */
    async restart(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | string> {
      const code = await app.stop(signal)
      app = await start()
      return code
    },
    /** Ends the calls, waits until all stored events have arrived, and compares. */
    async verdict(what: string) {
      await load.stop()
      const taken = () => idsOf(receiver.received)
      const verdict = judge(await allTaken(folder, taken), taken())
      report(what, verdict)
      return verdict
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await app.stop('SIGKILL')
      await Promise.all([load.stop(), receiver.stop()])
    },
  }
}

describe('a store under load', () => {
  beforeAll(buildOnce)

  test(`kill -9 at ${KILLS} random moments loses and reorders nothing`, async () => {
    using folder = emptyFolder()
    await using service = await startUnderLoad(folder.path)
    for (let kill = 0; kill < KILLS; kill += 1) {
      await Bun.sleep(50 + random.int(350))
      await service.restart('SIGKILL')
    }
    expect(await service.verdict(`kill -9, ${KILLS} times`)).toMatchObject({ lost: 0, reordered: 0 })
    await until(
      'the store is whole',
      async () => (await verified(folder.path)) === 'The store is complete and consistent.',
    )
  })

  test('SIGTERM under load ends with 0, and sends nothing twice', async () => {
    using folder = emptyFolder()
    await using service = await startUnderLoad(folder.path)
    for (let stop = 0; stop < 3; stop += 1) {
      await Bun.sleep(200 + random.int(300))
      expect(await service.restart('SIGTERM')).toBe(0)
    }
    expect(await service.verdict('SIGTERM, 3 times')).toMatchObject({ lost: 0, reordered: 0, duplicated: 0 })
  })
})

describe('a full disk', () => {
  test.skipIf(!canMount)(
    'stops nothing for good, and loses nothing that was acknowledged (needs the right to mount)',
    async () => {
      using folder = emptyFolder()
      using _disk = mountSmallDisk(folder.path, '24m')
      await using service = await startUnderLoad(folder.path)
      const health = async () => (await ask(service.app(), 'GET', '/health')).status
      await until('some have arrived', () => service.receiver.received.length > 50)
      const filler = join(folder.path, 'filler')
      try {
        for (;;) writeFileSync(filler, Buffer.alloc(65_536), { flag: 'a' })
      } catch {
        // Full.
      }
      await until('it reports that', async () => (await health()) === 503)
      const { length } = storedIn(folder.path)
      rmSync(filler)
      await until('it is well again', async () => (await health()) === 200)
      await until('more is stored', () => storedIn(folder.path).length > length)
      expect(await service.verdict('a full disk')).toMatchObject({ lost: 0, reordered: 0, duplicated: 0 })
      expect(await verified(folder.path)).toBe('The store is complete and consistent.')
    },
  )
})
