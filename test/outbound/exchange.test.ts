import { afterAll, describe, expect, test } from 'bun:test'
import { parseAllowList } from '../../src/outbound/address-guard.ts'
import { newExchange } from '../../src/outbound/exchange.ts'
import { newGuardedRequests } from '../../src/outbound/guarded-request.ts'
import { startReceiver } from '../help/receiver.ts'

const NOW_US = 1_795_213_000_000_000
const parsed = parseAllowList(['loopback'])
if ('wrong' in parsed) throw new Error(parsed.wrong)
const exchange = newExchange(newGuardedRequests({ allow: parsed.allow }), () => NOW_US)
const guarded = newExchange(newGuardedRequests({ allow: [] }))
const server = startReceiver()
afterAll(server.stop)

const request = (path = '/', more: object = {}) => ({
  url: `${server.url}${path}`,
  method: 'GET',
  headers: {},
  body: null,
  maxAnswerBytes: 1_000,
  ...more,
})

test('a request has the given method, headers and body, and the user of the URL', async () => {
  server.answerWith(() => Response.json({ token: 'ü' }, { status: 201 }))
  const url = `${server.url.replace('//', '//me:secret@')}/token?a=b`
  const headers = { 'X-Key': 'k', 'Content-Type': 'text/plain', 'User-Agent': 'other' }
  const answer = await exchange({ ...request(), url, method: 'PUT', headers, body: 'hello' })
  expect(answer).toEqual({
    status: 201,
    failure: null,
    text: '{"token":"ü"}',
    retryAfterMs: null,
    durationMs: answer.durationMs,
  })
  expect(server.received.at(-1)).toMatchObject({
    path: '/token',
    body: 'hello',
    headers: {
      'x-key': 'k',
      'content-type': 'text/plain',
      'user-agent': 'HookswitchHttpAgent/1.0',
      authorization: `Basic ${Buffer.from('me:secret').toString('base64')}`,
    },
  })
})

describe('an answer', () => {
  test('has no text if it is too long', async () => {
    server.answerWith(() => new Response('x'.repeat(1_000)))
    expect((await exchange(request())).text).toHaveLength(1_000)
    server.answerWith(() => new Response('x'.repeat(1_001)))
    expect(await exchange(request())).toMatchObject({ status: 200, text: null })
  })

  test('is given up after its time if it never ends', async () => {
    const endless = () =>
      new Response(
        new ReadableStream({
          start(controller) {
            controller.enqueue(new TextEncoder().encode('{'))
          },
        }),
      )
    server.answerWith(endless)
    expect(await exchange(request('/', { timeoutMs: 100 }))).toMatchObject({ text: null })
  })

  test('does not count if it comes too late', async () => {
    const never = Promise.withResolvers<Response>()
    server.answerWith(() => never.promise)
    const answer = await exchange(request('/', { timeoutMs: 50 }))
    expect(answer).toMatchObject({ status: null, failure: 'no answer within 0.05 s', text: null })
    never.resolve(new Response())
  })

  test('is not followed to another address', async () => {
    server.answerWith(() => Response.redirect('http://127.0.0.1:1/'))
    expect(await exchange(request())).toMatchObject({ status: 302 })
  })

  test('says when to ask again', async () => {
    server.answerWith(() => new Response('', { status: 429, headers: { 'retry-after': '7' } }))
    expect(await exchange(request())).toMatchObject({ status: 429, retryAfterMs: 7_000 })
  })
})

test('a refused address and an invalid URL are failures with a reason', async () => {
  expect(await guarded(request())).toMatchObject({
    status: null,
    failure: '127.0.0.1 is a loopback address: --allow-net loopback allows it',
  })
  for (const url of ['', 'file:///etc/passwd', 'crm.example/x'])
    expect(await exchange(request('', { url }))).toMatchObject({
      status: null,
      failure: 'the URL is not an absolute http: or https: URL',
    })
})
