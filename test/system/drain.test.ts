import { describe, expect, test } from 'bun:test'
import { statfsSync } from 'node:fs'
import { emptyFolder, startServe } from '../help/app.ts'
import { ask, logIn, newToken, PASSWORD, webhook } from '../help/client.ts'
import { canMount, mountSmallDisk } from '../help/disk.ts'

describe('stopping', () => {
  test('answers the request in flight, and exits with 0', async () => {
    using folder = emptyFolder()
    const app = await startServe({ cwd: folder.path })
    await newToken(app, 'late@example.com')
    const answers = Array.from({ length: 8 }, () => logIn(app, 'late@example.com', PASSWORD))
    await Promise.race(answers)
    const stopped = app.stop()
    const ended = await Promise.allSettled(answers)
    expect(await stopped).toBe(0)
    expect(ended.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0)
  })
})

test.skipIf(!canMount)(
  'a full disk is 503, with nothing half-written; space again is 200 (needs the right to mount)',
  async () => {
    using folder = emptyFolder()
    using _disk = mountSmallDisk(folder.path, '2m')
    const app = await startServe({ cwd: folder.path, args: ['--log-level', 'silent'] })
    const token = await newToken(app, 'full@example.com')
    const list = [webhook('https://example.com/before')]
    const put = (body: unknown) => ask(app, 'PUT', '/integration/webhook', { token, body })
    expect((await put(list)).status).toBe(200)
    const { bsize, bavail } = statfsSync(folder.path)
    await Bun.write(`${folder.path}/ballast`, new Uint8Array(bsize * bavail))
    const many = (n: number) =>
      Array.from({ length: 100 }, (_, index) => webhook(`https://example.com/${n}/${index}/${'x'.repeat(1_900)}`))
    // The log still has some space that it was given before.
    let refused = await put(many(0))
    for (let n = 1; refused.status === 200 && n < 50; n += 1) refused = await put(many(n))
    expect(refused.status).toBe(503)
    expect(refused.body.result).toEqual([])
    const kept = (await ask(app, 'GET', '/integration/webhook', { token })).body.result as { url: string }[]
    expect(kept.length === 1 || kept.length === 100).toBe(true)
    await Bun.file(`${folder.path}/ballast`).delete()
    expect((await put(list)).status).toBe(200)
    expect(await app.stop()).toBe(0)
  },
)
