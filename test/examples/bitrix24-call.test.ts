import { afterAll, beforeAll, expect, test } from 'bun:test'
import { resolve } from 'node:path'

const RECEIVER = resolve(import.meta.dir, '../../src/examples/bitrix24-call.mjs')

const asked: unknown[] = []
let hookswitch: ReturnType<typeof Bun.serve>
let receiver: ReturnType<typeof Bun.spawn>
let url = ''

beforeAll(async () => {
  hookswitch = Bun.serve({
    port: 0,
    async fetch(request) {
      asked.push([
        request.method,
        new URL(request.url).pathname,
        request.headers.get('authorization'),
        await request.json(),
      ])
      return Response.json({ status: 'success', code: 200, result: {}, message: 'The phone rings.' })
    },
  })
  const env = {
    APPLICATION_TOKEN: 'a-token',
    HOOKSWITCH: `http://127.0.0.1:${hookswitch.port}`,
    TOKEN: 'hks_x',
    EXTENSIONS: '{"7":"101"}',
    PORT: '0',
  }
  const child = Bun.spawn([process.execPath, RECEIVER], { env, stdout: 'pipe', stderr: 'inherit' })
  receiver = child
  let printed = ''
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    printed += chunk
    const port = /listening on (\d+)/.exec(printed)?.[1]
    url = `http://127.0.0.1:${port}`
    if (port !== undefined) break
  }
})
afterAll(async () => {
  receiver.kill()
  await hookswitch.stop(true)
})

const click = (fields: Record<string, string>) =>
  fetch(url, {
    method: 'POST',
    body: new URLSearchParams({
      event: 'ONEXTERNALCALLSTART',
      'data[USER_ID]': '7',
      'data[PHONE_NUMBER]': '+4930123456',
      'auth[application_token]': 'a-token',
      ...fields,
    }),
  })

test('a click in Bitrix24 makes a call from the extension of the person who clicked', async () => {
  expect((await click({})).status).toBe(200)
  expect(asked).toEqual([['POST', '/call', 'Bearer hks_x', { from: '101', to: '+4930123456' }]])
})

test.each([
  ['with another token', { 'auth[application_token]': 'a-tokeN' }, 403],
  ['without a token', { 'auth[application_token]': '' }, 403],
  ['of another event', { event: 'ONCRMLEADADD' }, 200],
  ['of a user without an extension', { 'data[USER_ID]': '8' }, 200],
] as const)('a request %s makes no call', async (_, fields, status) => {
  asked.length = 0
  expect((await click({ ...fields })).status).toBe(status)
  expect(asked).toEqual([])
})
