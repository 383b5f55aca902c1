import { expect, test } from 'bun:test'
import { newAttempt } from '../../../src/deliveries/sending/attempt.ts'
import { newAuthorizedAttempt } from '../../../src/deliveries/sending/authorized-attempt.ts'
import { nowUs } from '../../../src/lib/time.ts'
import { newExchange } from '../../../src/outbound/exchange.ts'
import { newGuardedRequests } from '../../../src/outbound/guarded-request.ts'
import { DEFAULT_OPTIONS } from '../../../src/store/webhook-options.ts'
import type { NewWebhookOptions } from '../../../src/webhooks/options/model.ts'
import { separateOptionSecrets } from '../../../src/webhooks/options/option-secrets.ts'
import { newAuthorizer } from '../../help/authorizer.ts'
import { startReceiver, until } from '../../help/receiver.ts'
import { ACCOUNT, allowing, newRig } from '../run/rig.ts'

/** Plain webhooks whose receivers ask for a token of OAuth 2.0. */

const SECRET = 'our-client-secret'
type Answer = { readonly status: number; readonly json: unknown }

/** A server of tokens over HTTP: it counts its requests, and answers as the test says. */
function startTokenServer() {
  const state = { requests: [] as URLSearchParams[], lifetimeS: 3_600, refusal: undefined as Answer | undefined }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      state.requests.push(new URLSearchParams(await request.text()))
      const { status, json } = state.refusal ?? {
        status: 200,
        json: { access_token: `token-${state.requests.length}`, expires_in: state.lifetimeS, token_type: 'bearer' },
      }
      return Response.json(json, { status })
    },
  })
  return Object.assign(state, {
    url: `http://127.0.0.1:${server.port}/token`,
    [Symbol.dispose]: () => void server.stop(true),
  })
}

/** A rig whose one webhook asks for a token. */
async function newAuthorizedRig(url: string, authorization: NonNullable<NewWebhookOptions['authorization']>) {
  const ready = Promise.withResolvers<ReturnType<typeof newAuthorizedAttempt>>()
  const problems: (string | null)[] = []
  const rig = await newRig({
    asleep: true,
    attempt: async (request) => await (await ready.promise)(request),
  })
  const allow = allowing('loopback')
  const exchange = newExchange(newGuardedRequests({ allow, timeoutMs: 3_600_000 }))
  const authorizer = newAuthorizer(rig.store, exchange, (_, problem) => void problems.push(problem))
  ready.resolve(newAuthorizedAttempt(newAttempt({ allow, timeoutMs: 3_600_000 }), authorizer))
  await rig.setUrls(url)
  const separated = separateOptionSecrets({ url, authorization })
  const options = { ...DEFAULT_OPTIONS, authorization: separated.authorization, flowSecrets: separated.secrets }
  await rig.store.webhooks.optionsReplace({ accountId: ACCOUNT, url, options, nowUs: nowUs() })
  rig.wake()
  return {
    ...rig,
    problems,
    delivered: async () => (await rig.deliveries.list(ACCOUNT, { state: 'delivered' }, 200)).items.length,
    log: async () => {
      const { items } = await rig.deliveries.list(ACCOUNT, {}, 200)
      return await Promise.all(items.map(({ id }) => rig.deliveries.show(ACCOUNT, id)))
    },
    async [Symbol.asyncDispose]() {
      await rig[Symbol.asyncDispose]()
      await authorizer.stop()
    },
  }
}

const oauth2 = (token_url: string) => ({ kind: 'oauth2', token_url, client_id: 'us', client_secret: SECRET }) as const
const calls = (count: number) => Array.from({ length: count }, (_, at) => `call-${at}`)

test('one token is fetched for many deliveries, and no log has it', async () => {
  using tokens = startTokenServer()
  const receiver = startReceiver(({ headers }) => new Response(headers.authorization, { status: 200 }))
  await using rig = await newAuthorizedRig(receiver.url, oauth2(tokens.url))
  await rig.emit(...calls(40))
  await until('all requests came', () => receiver.received.length === 40)
  expect(new Set(receiver.received.map(({ headers }) => headers.authorization))).toEqual(new Set(['Bearer token-1']))
  expect(tokens.requests.map((form) => Object.fromEntries(form))).toEqual([
    { grant_type: 'client_credentials', client_id: 'us', client_secret: SECRET },
  ])
  await until('all are delivered', async () => (await rig.delivered()) === 40)
  const log = JSON.stringify(await rig.log())
  expect(log).toContain('"response":"***"')
  expect(log).not.toContain('token-1')
  expect(log).not.toContain(SECRET)
})

test('a token that the receiver refuses is fetched again, once, and the request is repeated in the same attempt', async () => {
  using tokens = startTokenServer()
  const isOld = (token: string | undefined) => token === 'Bearer token-1'
  const receiver = startReceiver(
    ({ headers }) => new Response('', { status: isOld(headers.authorization) ? 401 : 200 }),
  )
  await using rig = await newAuthorizedRig(receiver.url, oauth2(tokens.url))
  await rig.emit(...calls(10))
  await until('all are delivered', async () => (await rig.delivered()) === 10)
  expect(tokens.requests).toHaveLength(2)
  expect((await rig.log()).flatMap(({ attempts }) => attempts.map(({ status }) => status))).toEqual(Array(10).fill(200))
})

test('without a token nothing is sent and nothing fails: the deliveries wait, and the problem has the reason', async () => {
  using tokens = startTokenServer()
  const receiver = startReceiver()
  tokens.refusal = { status: 400, json: { error: 'invalid_scope', error_description: `not for ${SECRET}` } }
  await using rig = await newAuthorizedRig(receiver.url, oauth2(tokens.url))
  await rig.emit('call-1', 'call-2')
  await until('the token is refused', () => rig.problems.length === 1)
  expect(rig.problems).toEqual(['status 400: invalid_scope: not for ***'])
  const listed = await rig.store.authorizations.authorizationProblemList(ACCOUNT)
  expect(listed).toMatchObject([{ url: receiver.url, message: 'status 400: invalid_scope: not for ***' }])
  expect((await rig.log()).map(({ state, attempts }) => [state, attempts.length])).toEqual([
    ['pending', 0],
    ['pending', 0],
  ])
  tokens.refusal = undefined
  await until('both are sent', () => receiver.received.length === 2)
  expect(rig.problems).toEqual(['status 400: invalid_scope: not for ***', null])
})

test('a log-in at the host of the webhook gives the token too', async () => {
  const receiver = startReceiver(({ path, headers }) => {
    if (path.endsWith('/session')) return Response.json({ key: 'of-the-session', ttl: 60 })
    return new Response('', { status: headers.authorization === 'Session of-the-session' ? 200 : 403 })
  })
  await using rig = await newAuthorizedRig(receiver.url, {
    kind: 'login',
    request: { url: 'session', body: '{"user":"us"}' },
    token: '/key',
    expires_in: '/ttl',
    header: 'Session {{ token }}',
  })
  await rig.emit('call-1')
  await until('all are delivered', async () => (await rig.delivered()) === 1)
  expect(receiver.received).toHaveLength(2)
})
