import { expect, test } from 'bun:test'
import { type LookUp, lookUpNumber } from '../../src/contacts/look-up-request.ts'
import type { Authorized, Authorizer } from '../../src/flows/authorizer.ts'
import { STEP_DEFAULTS } from '../../src/flows/model.ts'
import { createStepRenderer } from '../../src/flows/step-renderer.ts'
import type { Exchange, ExchangeRequest } from '../../src/outbound/exchange.ts'
import { TEMPLATES } from '../help/templates.ts'

const steps = createStepRenderer(TEMPLATES, { accountId: 1, purpose: 'sending' })
const PHONE = { number: '030 123456', e164: '+4930123456' }
const lookUp = (more: Partial<LookUp> = {}): LookUp => ({
  accountId: 1,
  url: 'https://crm.example/?key=1',
  origins: [],
  parameters: {},
  authorization: null,
  request: {
    ...STEP_DEFAULTS,
    method: 'POST',
    url: '/find?n={{ number }}',
    body: '{"n":{{ number }}}',
    headers: { 'X-N': '{{ number }}' },
  },
  item: '',
  fields: { name: '/name' },
  spellings: ['e164', 'digits', 'national', 'last_10'],
  isOfWebhook: false,
  ...more,
})

/** A system that answers with these statuses and bodies, in this order. */
function rig(answers: readonly (readonly [number, unknown])[], tokens: readonly Authorized[] = []) {
  const asked: ExchangeRequest[] = []
  const exchange: Exchange = async (request) => {
    const [status, json] = answers[asked.push(request) - 1] ?? [500, null]
    return { status, failure: null, text: JSON.stringify(json), retryAfterMs: null, durationMs: 1 }
  }
  let given = 0
  const next = async () => tokens[given++] ?? { reason: 'no token', retryAfterMs: 1 }
  const authorizer: Authorizer = { authorize: next, renew: next }
  return { asked, find: (one = lookUp()) => lookUpNumber(one, PHONE, { steps, exchange, authorizer }) }
}
const NONE = [404, {}] as const

test('each spelling is tried until one is found, escaped for its place', async () => {
  const { asked, find } = rig([NONE, NONE, [200, { name: 'Maria' }]])
  expect(await find()).toMatchObject({ kind: 'found', contact: { name: 'Maria' } })
  expect(asked.map(({ url, body, headers }) => [url, body, headers['X-N']])).toEqual([
    ['https://crm.example/find?key=1&n=%2B4930123456', '{"n":"+4930123456"}', '+4930123456'],
    ['https://crm.example/find?key=1&n=4930123456', '{"n":"4930123456"}', '4930123456'],
    ['https://crm.example/find?key=1&n=030123456', '{"n":"030123456"}', '030123456'],
  ])
  expect(asked[0]?.headers['content-type']).toBe('application/json')
})

test('a number without a match in any spelling is not found, and a failure ends the look-up', async () => {
  expect(await rig([NONE, NONE, NONE, NONE]).find()).toEqual({ kind: 'not found' })
  const { asked, find } = rig([NONE, [503, {}]])
  expect(await find()).toEqual({ kind: 'failed', reason: 'status 503' })
  expect(asked).toHaveLength(2)
})

test('a token is renewed once after a 401', async () => {
  const authorization = {
    kind: 'oauth2',
    tokenUrl: '',
    clientId: '',
    clientSecret: '',
    refreshToken: null,
    scope: null,
  } as const
  const one = lookUp({ authorization, spellings: ['e164'] })
  const tokens = [{ header: 'Bearer 1' }, { header: 'Bearer 2' }]
  const { asked, find } = rig(
    [
      [401, {}],
      [200, { name: 'Maria' }],
    ],
    tokens,
  )
  expect(await find(one)).toMatchObject({ kind: 'found' })
  expect(asked.map(({ headers }) => headers.authorization)).toEqual(['Bearer 1', 'Bearer 2'])
  expect(
    await rig(
      [
        [401, {}],
        [401, {}],
      ],
      tokens,
    ).find(one),
  ).toEqual({ kind: 'failed', reason: 'status 401' })
  expect(await rig([]).find(one)).toEqual({ kind: 'failed', reason: 'no token' })
})

test('a template that fails is a failure', async () => {
  const { asked, find } = rig([])
  const request = { ...lookUp().request, body: '{"n": {{ number }' }
  expect(await find(lookUp({ request }))).toMatchObject({ kind: 'failed' })
  expect(asked).toEqual([])
})

test('a look-up with the preset of a webhook shares its tokens, every other has its own', async () => {
  const owners: (boolean | undefined)[] = []
  const authorize: Authorizer['authorize'] = async ({ isLookUp }) => {
    owners.push(isLookUp)
    return { reason: 'no token', retryAfterMs: 1 }
  }
  const authorization = {
    kind: 'oauth2',
    tokenUrl: '',
    clientId: '',
    clientSecret: '',
    refreshToken: 'r',
    scope: null,
  } as const
  const parts = {
    steps,
    exchange: async () => Promise.reject(new Error()),
    authorizer: { authorize, renew: authorize },
  }
  for (const isOfWebhook of [true, false]) await lookUpNumber(lookUp({ authorization, isOfWebhook }), PHONE, parts)
  expect(owners).toEqual([false, true])
})
