import { expect, test } from 'bun:test'
import { emptyFolder, startServe } from '../help/app.ts'
import { ask, newToken } from '../help/client.ts'
import { SERVE, startLoad, storedIn } from '../help/load.ts'
import { until } from '../help/receiver.ts'
import { seededRandom } from '../help/seed.ts'

const random = seededRandom(20_261_123)

/** A client that reads events from a service that is killed again and again, while events are stored all the time, misses none. */

test('kill -9 at 8 random moments: a reader that goes on from its cursor gets each event once, in its order', async () => {
  using folder = emptyFolder()
  const load = startLoad()
  const start = () => startServe({ cwd: folder.path, args: [...SERVE, ...load.pbx] })
  let app = await start()
  const token = await newToken(app, 'reader@example.com')
  load.begin()
  const read: string[] = []
  let cursor = 'now'
  let isReading = true
  const reading = (async () => {
    while (isReading)
      try {
        const { status, body } = await ask(app, 'GET', `/event?after=${cursor}&limit=100&wait=1`, { token })
        if (status !== 200) continue
        const { items, next_cursor } = body.result as { items: { id: string }[]; next_cursor: string }
        // A receiver keeps the cursor together with the events that it has handled.
        read.push(...items.map(({ id }) => id))
        cursor = next_cursor
      } catch {
        await Bun.sleep(5)
      }
  })()
  try {
    await until('some were read', () => read.length > 100)
    for (let kill = 0; kill < 8; kill += 1) {
      await Bun.sleep(50 + random.int(300))
      await app.stop('SIGKILL')
      app = await start()
    }
    await load.stop()
    const ids = () => storedIn(folder.path).map(({ uuid }) => uuid)
    await until('all were read', () => read.at(-1) === ids().at(-1))
    const expected = ids().slice(ids().indexOf(read[0] ?? ''))
    console.log(`read back over 8 kills: ${read.length} events`)
    expect(read).toEqual(expected)
  } finally {
    isReading = false
    await reading
    await load.stop()
    await app.stop('SIGKILL')
  }
})
