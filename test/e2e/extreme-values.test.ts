import { describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { emptyFolder, run, startServe } from '../help/app.ts'
import { ask, logIn, PASSWORD, webhook } from '../help/client.ts'
import { emptyDatabase, POSTGRES_MISSING } from '../help/postgres.ts'

// Every value that a client can send and that a column may refuse: text with NUL, which Postgres cannot store, and
// numbers beyond `int`, `bigint` and the whole numbers of JavaScript. None of them is an error of the service.

const TEXTS = ['\0', 'a\0b', '\u{10ffff}', 'x'.repeat(3_000), "'", '%', '\\']
const NUMBERS = ['2147483648', '-2147483649', '9007199254740993', '9223372036854775808', '1e400', '-1', '0.5', '']
const MOMENTS = [
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999999Z',
  '2026-01-01T00:00:00\0Z',
  '275761-01-01T00:00:00Z',
]
const cursor = (...parts: unknown[]) => Buffer.from(JSON.stringify(parts)).toString('base64url')
const CURSORS = [
  [2 ** 53 - 1],
  [-(2 ** 53)],
  [2 ** 53 - 1, 2 ** 53 - 1],
  [-1, -1],
  [1, 'a\0b'],
  ['a\0b'],
  [1, 1],
  ['\0', '\0'],
]
const VALUES = [...TEXTS, ...NUMBERS, ...MOMENTS, ...CURSORS.map((parts) => cursor(...parts))]

const HOOK = 'https://example.com/hook'
const NUL = 'a\0b'
const HUGE = [2 ** 31, -(2 ** 31) - 1, 2 ** 53, 1e300, -1, 0.5]
type Body = readonly [method: string, path: string, body: unknown]
const BODIES: readonly Body[] = [
  ['POST', '/auth/login', { email: `${NUL}@example.com`, password: PASSWORD }],
  ['POST', '/auth/login', { email: `\u00e9${NUL}@example.com`, password: PASSWORD }],
  ['POST', '/auth/login', { email: 'a@example.com', password: NUL }],
  ['POST', '/auth/change-password', { old_password: NUL, password: `${NUL}${NUL}` }],
  ['POST', '/auth/token', { name: NUL }],
  ['PUT', '/integration/webhook', [webhook(`${HOOK}/${NUL}`)]],
  ['PUT', '/integration/webhook', [webhook(`${HOOK}/%00`)]],
  ['PUT', '/integration/webhook', [webhook('mqtt://broker.example/a%00b')]],
  ['PUT', '/integration/webhook/options', { url: `${HOOK}/${NUL}` }],
  ['PUT', '/integration/webhook/options', { url: HOOK, name: NUL }],
  ['PUT', '/integration/webhook/options', { url: HOOK, filter: { queue: [NUL] } }],
  ['PUT', '/integration/webhook/options', { url: HOOK, headers: [{ name: 'X-A', value: NUL }] }],
  ['PUT', '/integration/webhook/options', { url: HOOK, body: { template: NUL } }],
  ['PUT', '/integration/webhook/options', { url: HOOK, body: { template: '{{ "\\u0000" }}' } }],
  ['POST', '/integration/webhook/secret/rotate', { url: `${HOOK}/${NUL}` }],
  ['POST', '/integration/webhook/test', { url: `${HOOK}/${NUL}` }],
  ['POST', '/integration/webhook/preview', { url: `${HOOK}/${NUL}` }],
  ['POST', '/integration/webhook/preview/call', { url: HOOK, call_id: NUL }],
  ['POST', '/integration/delivery/retry', { url: `${HOOK}/${NUL}` }],
  ['POST', '/integration/delivery/retry', { call_id: NUL }],
  ['POST', '/integration/delivery/retry', { number: NUL }],
  ['PUT', '/integration/contacts', { url: HOOK, preset: NUL }],
  ['POST', '/pbx', { url: `ami://u:s@pbx.example?name=a%00b` }],
  ['PUT', '/pbx/a%00b', { url: 'ami://u:s@pbx.example' }],
  ['POST', '/pbx/check', { url: 'ami://u:s@127.0.0.1:1?name=a%00b' }],
  ...HUGE.flatMap((number): Body[] => [
    ['PUT', '/integration/webhook/options', { url: HOOK, max_per_second: number }],
    ['PUT', '/integration/webhook/options', { url: HOOK, timeout: number, parallel: number }],
    ['PUT', '/integration/contacts', { url: HOOK, budget_ms: number, cache_minutes: number }],
    ['POST', '/integration/delivery/retry', { since: number }],
  ]),
]

type Operation = { readonly parameters?: readonly { readonly name: string; readonly in: string }[] }

/** Returns every request with a value in one parameter of a route, whatever its type. */
function requestsOf(paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>): Body[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters = [] }]) =>
      parameters.flatMap(({ name, in: place }) =>
        VALUES.map((value): Body => {
          const text = encodeURIComponent(value)
          const filled = (place === 'path' ? path.replace(`{${name}}`, text) : path).replaceAll(/\{\w+\}/g, '1')
          const url = name !== 'url' && parameters.some((one) => one.name === 'url') ? `&url=${HOOK}` : ''
          return [method.toUpperCase(), place === 'query' ? `${filled}?${name}=${text}${url}` : filled, undefined]
        }),
      ),
    ),
  )
}

/** Returns the requests that the service answered with an error of its own, with their status. */
async function ownErrors(env: Record<string, string>): Promise<string[]> {
  using folder = emptyFolder()
  const app = await startServe({ cwd: folder.path, env, args: ['--log-level', 'error'] })
  try {
    const add = ['user', 'add', '--admin', '--email', 'a@example.com', '--name', 'A']
    expect((await run(add, { cwd: folder.path, env, stdin: `${PASSWORD}\n` })).code).toBe(0)
    const token = await logIn(app, 'a@example.com')
    expect((await ask(app, 'PUT', '/integration/webhook', { token, body: [webhook(HOOK)] })).status).toBe(200)
    const document = await (await fetch(`${app.url}/openapi.json`)).json()
    const requests = [...requestsOf(document.paths), ...BODIES].filter(([, path]) => !path.startsWith('/auth/logout'))
    const wrong: string[] = []
    const send = async ([method, path, body]: Body) => {
      const options = body === undefined ? { token } : { token, body }
      const { status } = path.startsWith('/stream?')
        ? await askStream(`${app.url}${path}`, token)
        : await ask(app, method, path, options)
      if (status >= 500) wrong.push(`${status} ${method} ${path.slice(0, 200)} ${JSON.stringify(body) ?? ''}`)
    }
    const AT_ONCE = 8
    for (let at = 0; at < requests.length; at += AT_ONCE) await Promise.all(requests.slice(at, at + AT_ONCE).map(send))
    return wrong
  } finally {
    await app.stop()
  }
}

/** A stream of events does not end: its status is enough. */
async function askStream(url: string, token: string): Promise<Response> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
  await response.body?.cancel()
  return response
}

describe('no value that a client sends is an error of the service', () => {
  test('on SQLite', async () => expect(await ownErrors({})).toEqual([]))

  test.skipIf(POSTGRES_MISSING !== undefined)('on Postgres', async () => {
    using folder = emptyFolder()
    await using database = await emptyDatabase()
    const file = join(folder.path, 'database-url')
    writeFileSync(file, `${database.url}\n`)
    expect(await ownErrors({ HOOKSWITCH_DATABASE_URL_FILE: file })).toEqual([])
  })
})
