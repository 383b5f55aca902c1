import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { EXECUTABLE, emptyFolder, type RunningApp, run, startServe } from '../help/app.ts'

const folder = emptyFolder()
let app: RunningApp

beforeAll(async () => {
  app = await startServe({ cwd: folder.path })
})
afterAll(async () => {
  expect(await app.stop()).toBe(0)
  folder[Symbol.dispose]()
})

test('the compiled file serves in an empty folder with an empty environment', async () => {
  const response = await fetch(`${app.url}/health`)
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({
    status: 'success',
    code: 200,
    result: [],
    message: 'The service is healthy.',
  })
  expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
})

test('the compiled file has what its parts load later, under the path that they name', async () => {
  const bytes = Buffer.from(await Bun.file(EXECUTABLE).arrayBuffer())
  const paths: string[] = []
  for (let at = bytes.indexOf('import("/'); at >= 0; at = bytes.indexOf('import("/', at + 1))
    paths.push(bytes.toString('latin1', at + 8, bytes.indexOf('"', at + 8)))
  const ours = paths.filter((path) => path.endsWith('.js'))
  expect(ours.length).toBeGreaterThan(3)
  // The page's scripts load theirs from the service.
  const others = ours.filter((path) => !path.startsWith('/$bunfs/'))
  for (const path of others) expect([path, (await fetch(`${app.url}${path}`)).status]).toEqual([path, 200])
})

test('a start whose port is in use changes nothing: the PBXs that are no longer in the settings keep their calls', async () => {
  using other = emptyFolder()
  const cwd = other.path
  const first = await startServe({ cwd, args: ['--pbx', 'ami://u:s@127.0.0.1:1?name=office'] })
  await first.stop()
  const port = new URL(app.url).port
  const refused = await run(['serve', '--listen', `127.0.0.1:${port}`], { cwd })
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(`port ${port} on 127.0.0.1 is in use`)])
  expect(refused.stderr).not.toContain('no longer in the settings')
  expect((await run(['pbx', 'list'], { cwd })).stdout).toContain('office')
})

test('the log says that a store was migrated, from which version to which, and how long it took', async () => {
  using other = emptyFolder()
  mkdirSync(join(other.path, 'data'))
  const earlier = join(import.meta.dir, '../fixtures/stores/version-18.db.gz')
  writeFileSync(join(other.path, 'data/hookswitch.db'), Bun.gunzipSync(readFileSync(earlier)))
  const again = await startServe({ cwd: other.path })
  await again.stop()
  expect(again.output()).toMatch(/"from":18,"to":\d+,"seconds":\d+(\.\d+)?,"msg":"the store was migrated"/)
  expect(app.output()).not.toContain('the store was')
})
