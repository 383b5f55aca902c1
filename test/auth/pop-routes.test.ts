import { afterAll, beforeAll, expect, test } from 'bun:test'
import { emptyFolder, type RunningApp, startServe } from '../help/app.ts'
import { ask, newToken } from '../help/client.ts'

/** Every request that the service documents, with a token for the pop page. */

const ALLOWED: readonly string[] = ['GET /stream', 'GET /call', 'GET /contact', 'POST /call', 'DELETE /call/{id}']
const VALUES: Readonly<Record<string, string>> = { id: crypto.randomUUID(), token: 'ab', name: 'office', number: '1' }

const folder = emptyFolder()
let app: RunningApp
let session: string
let operations: { readonly name: string; readonly method: string; readonly path: string }[] = []

type Operation = { readonly security: readonly object[]; readonly responses: Readonly<Record<string, unknown>> }

beforeAll(async () => {
  app = await startServe({ cwd: folder.path })
  session = await newToken(app, 'a@example.com')
  const { paths } = await (await fetch(`${app.url}/openapi.json`)).json()
  operations = Object.entries<Record<string, Operation>>(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { security }]) => security.length > 0)
      .map(([method]) => ({ name: `${method.toUpperCase()} ${path}`, method: method.toUpperCase(), path })),
  )
  // What needs a token may be refused for one of fewer rights, and says so.
  const documented = Object.entries<Record<string, Operation>>(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { security, responses }]) =>
      security.length > 0 && responses[403] === undefined ? [`${method} ${path}`] : [],
    ),
  )
  expect(documented.filter((one) => !/metrics/.test(one))).toEqual([])
})
afterAll(async () => {
  await app?.stop()
  folder[Symbol.dispose]()
})

const filled = (path: string) => path.replace(/\{(\w+)\}/g, (_, name: string) => VALUES[name] ?? 'x')

test.each([
  ['alone', {}],
  ['with an extension and the right to calls', { extension: '101', calls: true }],
])('each is refused but for the few that the page needs: %s', async (_, rights) => {
  const made = await ask(app, 'POST', '/auth/token', { token: session, body: { name: 'p', pop: true, ...rights } })
  const token = String(Object(made.body.result).access_token)
  expect(operations.length).toBeGreaterThan(50)
  const statuses = new Map<string, number>()
  for (const { name, method, path } of operations.filter((one) => !ALLOWED.includes(one.name)))
    statuses.set(name, (await ask(app, method, filled(path), { token })).status)
  const others = [...statuses].filter(([, status]) => status !== 403)
  // Prometheus has a token of its own, and there is none in this service.
  expect(others.filter(([name]) => !/metrics/.test(name))).toEqual([])
  expect(statuses.size).toBe(operations.length - ALLOWED.length)

  const read = async (path: string) => (await ask(app, 'GET', path, { token })).status
  expect([await read('/call?number=1'), await read('/call'), await read('/contact?number=1')]).toEqual([200, 403, 200])
  const stream = new AbortController()
  const headers = { authorization: `Bearer ${token}` }
  expect((await fetch(`${app.url}/stream`, { headers, signal: stream.signal })).status).toBe(200)
  stream.abort()
  // No PBX makes calls here; without the right the reason is another one.
  const call = await ask(app, 'POST', '/call', { token, body: { from: '101', to: '102' } })
  expect([call.status, call.body.message.includes('calls= in the URL')]).toEqual([403, 'calls' in rights])
})
