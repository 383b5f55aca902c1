import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { EXAMPLES } from '../../../src/events/samples.ts'
import type { NewStep } from '../../../src/flows/model.ts'
import { flowOf } from '../../../src/flows/setup/flow-option.ts'
import { type AllowList, parseAllowList } from '../../../src/outbound/address-guard.ts'
import { retainWarning } from '../../../src/outbound/mqtt-url.ts'
import { optionsRoutes } from '../../../src/webhooks/options/routes.ts'
import { createOptionsService } from '../../../src/webhooks/options/service.ts'
import { SILENT_AUDIT, startApi } from '../../help/api.ts'
import { emptyFolder } from '../../help/app.ts'
import { type Answer, ask, webhook } from '../../help/client.ts'
import { type OpenStore, openStore } from '../../help/store.ts'
import { TEMPLATES } from '../../help/templates.ts'

const [ONE, SIGNED_IN] = ['https://one.example/rest', 'https://user:pass@three.example/']
const SAMPLES = new Map(EXAMPLES.map((body) => [body.data.name, JSON.stringify(body)]))
const PATH = '/integration/webhook/options'

const folder = emptyFolder()
let store: OpenStore
let api: Awaited<ReturnType<typeof startApi>>
let token: string
/** A clock of our own, so that the rate limits hold nothing up. */
let nowUs = 0
/** The networks that flows may reach besides the internet. */
let allowed: AllowList = []

beforeAll(async () => {
  store = openStore(join(folder.path, 'hookswitch.db'))
  api = await startApi(store, (auth) => {
    const { webhooks, authorizations } = store
    const allow = () => allowed
    const options = createOptionsService({ webhooks, authorizations, samples: SAMPLES, templates: TEMPLATES, allow })
    return optionsRoutes({ auth, options, audit: SILENT_AUDIT, warningOf: retainWarning, now: () => nowUs })
  })
  token = await api.logIn('default')
  await store.webhooks.listReplace({
    accountId: 1,
    list: [ONE, SIGNED_IN].map((url) => webhook(url)),
    ifMatch: null,
    secrets: ['whsec_1', 'whsec_2'],
    nowUs: 1,
  })
})
beforeEach(() => {
  nowUs += 60_000_000
})
afterAll(async () => {
  await api.stop()
  await store.stop()
  folder[Symbol.dispose]()
})

type Shown = { steps: Record<string, unknown>[]; authorization: Record<string, unknown> | null } & Record<
  string,
  unknown
>
const put = (flow: unknown, more: object = {}): Promise<Answer> =>
  ask(api, 'PUT', PATH, { token, body: { url: ONE, flow, ...more } })
const listed = async () => {
  // The tests check the content.
  const result = (await ask(api, 'GET', PATH, { token })).body.result as { flow: Shown }[]
  return result[0]?.flow ?? null
}
const stored = async () => {
  const record = await store.webhooks.webhookGetByUrl(1, ONE)
  const flow = record?.options == null ? null : flowOf(record.options)
  if (flow === null || 'problem' in flow) throw new Error('there is no flow')
  return flow
}
const step = (more: Partial<NewStep> = {}): NewStep => ({ name: 'add', on: ['call_ended'], ...more })
const DEFAULT_STEP = {
  method: 'POST',
  url: '',
  headers: {},
  content_type: 'application/json',
  body: null,
  if: null,
  each: null,
  upload: null,
  again: null,
  keep: {},
  needs: [],
  when: [],
}

describe('a refused address', () => {
  const REFUSED = [
    'https://127.0.0.1',
    'https://127.1:8443',
    'https://0x7f000001',
    'https://[::1]',
    'https://[::ffff:10.0.0.1]',
    'https://192.168.1.1',
    'https://169.254.169.254',
    'https://100.64.0.1',
    'https://localhost',
    'https://crm.localhost',
  ]
  const oauth2 = (url: string) => ({ kind: 'oauth2', token_url: url, client_id: 'x', client_secret: 'y' })
  const login = { kind: 'login', request: { url: 'https://10.0.0.1/token' }, token: '/token', expires_in: 60 }
  const errors = ({ status, body }: Answer): unknown => [
    status,
    (body.result as { errors: { path: string; message: string }[] }).errors,
  ]

  test.each(REFUSED)('%s is refused where a flow names it, and says which setting allows it', async (origin) => {
    const message = expect.stringContaining('--allow-net')
    const authorization = oauth2(`${origin}/token`)
    expect(errors(await put({ steps: [step()], authorization }))).toEqual([
      422,
      [{ path: '/flow/authorization/token_url', message }],
    ])
    const ownOrigin = new URL(origin).origin
    const steps = [step({ url: `${ownOrigin}/x` })]
    expect(errors(await put({ steps, origins: ['https://api.example.com', ownOrigin] }))).toEqual([
      422,
      [{ path: '/flow/origins/1', message }],
    ])
    expect(await listed()).toBeNull()
  })

  test('of a log-in is refused', async () => {
    const flow = { steps: [step()], origins: ['https://10.0.0.1'], authorization: login }
    expect(errors(await put(flow))).toMatchObject([422, [{ path: '/flow/origins/0' }]])
  })

  test('is accepted in a network that the operator allows', async () => {
    const parsed = parseAllowList(['private'])
    allowed = 'allow' in parsed ? parsed.allow : []
    const flow = { steps: [step()], origins: ['https://10.0.0.1'], authorization: oauth2('http://192.168.1.1/token') }
    expect((await put(flow)).status).toBe(200)
    allowed = []
    expect((await put(flow)).status).toBe(422)
    await put(null)
  })
})

describe('a flow', () => {
  test('is read back with its defaults', async () => {
    expect(await put({ steps: [step()] })).toMatchObject({ status: 200 })
    expect(await listed()).toEqual({
      steps: [{ ...DEFAULT_STEP, name: 'add', on: ['call_ended'] }],
      origins: [],
      authorization: null,
      parallel: 4,
      parameters: {},
    })
    await put(null)
    expect(await listed()).toBeNull()
  })

  test('is accepted in the form in which it is read, and does not change', async () => {
    const whole = {
      steps: [
        step({
          name: 'find',
          method: 'GET',
          url: 'contacts?phone={{ data.call.from.number }}',
          keep: { id: '/items/0/id' },
          when: [{ status: [404], then: 'done' }],
        }),
        step({
          name: 'note',
          url: 'https://api.example.com/contacts/{{ kept.id }}/notes',
          headers: { 'X-Key': 'abc', 'x-zone': '{{ parameters.zone }}' },
          body: '{"text": "{{ data.call.from.name }}", "id": {{ kept.id | json }}}',
          needs: ['id'],
          each: '{{ data.stages | json }}',
          if: '{{ item.result }}',
        }),
      ],
      origins: ['https://api.example.com'],
      parallel: 2,
      parameters: { zone: 'Asia/Tashkent' },
    }
    expect(await put(whole)).toMatchObject({ status: 200 })
    const shown = await listed()
    const before = await stored()
    expect(await put(shown)).toMatchObject({ status: 200 })
    expect(await listed()).toEqual(shown)
    expect(await stored()).toEqual(before)
    expect(before.steps[1]?.headers).toEqual({ 'X-Key': 'abc', 'x-zone': '{{ parameters.zone }}' })
  })
})

test('the flow of the guide is accepted', async () => {
  const guide = readFileSync(join(import.meta.dir, '../../../src/docs/flows.md'), 'utf8')
  const [, text = ''] = /^```jsonc\n([\s\S]*?)^```$/m.exec(guide) ?? []
  expect(await put(JSON.parse(text))).toMatchObject({ status: 200 })
})

describe('secrets', () => {
  const oauth2 = {
    kind: 'oauth2',
    token_url: 'https://auth.example.com/token',
    client_id: 'me',
    client_secret: 'client-secret',
    refresh_token: 'refresh-token',
    scope: 'calls',
  }
  const flow = (authorization: object) => ({ steps: [step({ headers: { 'X-Key': 'header-secret' } })], authorization })

  test('are never read back, and null keeps them', async () => {
    const answer = await put(flow(oauth2))
    expect(answer.status).toBe(200)
    expect(JSON.stringify(answer.body)).not.toMatch(/client-secret|refresh-token|header-secret/)
    const shown = await listed()
    expect(shown?.authorization).toEqual({ ...oauth2, client_secret: null, refresh_token: null })
    expect(shown?.steps[0]?.headers).toEqual({ 'X-Key': null })
    expect(await put(shown)).toMatchObject({ status: 200 })
    const { authorization, steps } = await stored()
    expect(authorization).toMatchObject({ clientSecret: 'client-secret', refreshToken: 'refresh-token' })
    expect(steps[0]?.headers).toEqual({ 'X-Key': 'header-secret' })
  })

  test('are not kept for another token URL, step or header', async () => {
    await put(flow(oauth2))
    const shown = await listed()
    const other = await put({
      ...shown,
      authorization: { ...shown?.authorization, token_url: 'https://evil.example/' },
    })
    expect(paths(other)).toEqual(['/flow/authorization/client_secret'])
    const renamed = await put({ ...shown, steps: [{ ...shown?.steps[0], name: 'another' }] })
    expect(paths(renamed)).toEqual(['/flow/steps/0/headers/X-Key'])
    const header = await put({ ...shown, steps: [{ ...shown?.steps[0], headers: { 'x-other': null } }] })
    expect(paths(header)).toEqual(['/flow/steps/0/headers/x-other'])
  })

  test('are not kept when steps may go to a further origin', async () => {
    const headers = { 'X-Own': 'own-secret' }
    const origins = ['https://api.example.com']
    await put({ ...flow(oauth2), origins }, { headers })
    const shown = await listed()
    const kept = { headers: { 'X-Own': null } }
    expect(await put({ ...shown, origins: [] }, kept)).toMatchObject({ status: 200 })
    const elsewhere = { ...shown, origins: ['https://evil.example'] }
    expect(paths(await put(elsewhere, kept)).toSorted()).toEqual([
      '/flow/authorization/client_secret',
      '/flow/steps/0/headers/X-Key',
      '/headers/X-Own',
    ])
    await put(null, { headers })
    const added = { steps: [step({ url: 'https://evil.example/' })], origins: ['https://evil.example'] }
    expect(paths(await put(added, kept))).toEqual(['/headers/X-Own'])
    await put({ ...flow(oauth2), origins }, { headers })
    expect(await put({ ...shown, origins }, kept)).toMatchObject({ status: 200 })
  })

  test('a refresh token that is left out asks for client credentials', async () => {
    await put(flow(oauth2))
    const { refresh_token: _, ...credentials } = oauth2
    await put(flow(credentials))
    expect((await stored()).authorization).toMatchObject({ refreshToken: null })
    await put(flow({ ...credentials, refresh_token: null }))
    expect((await stored()).authorization).toMatchObject({ refreshToken: null, clientSecret: 'client-secret' })
  })

  test('include the body and headers of a log-in', async () => {
    const login = {
      kind: 'login',
      request: { url: 'login', body: '{"password":"secret"}', headers: { 'X-App': 'app-secret' } },
      token: '/session',
      expires_in: 600,
    }
    await put(flow(login))
    const shown = await listed()
    expect(shown?.authorization?.request).toMatchObject({ url: 'login', body: null, headers: { 'X-App': null } })
    await put(shown)
    const { authorization } = await stored()
    expect(authorization).toMatchObject({
      kind: 'login',
      header: 'Bearer {{ token }}',
      expiresIn: 600,
      request: { body: '{"password":"secret"}', headers: { 'X-App': 'app-secret' }, method: 'POST' },
    })
  })
})

const paths = ({ status, body }: Answer): string[] => {
  expect(status).toBe(422)
  return (body.result as { errors: { path: string }[] }).errors.map(({ path }) => path)
}

describe('422 at', () => {
  const steps = (...more: Partial<NewStep>[]) => ({ steps: more.map((one) => step(one)) })
  const cases: [sentence: string, flow: unknown, paths: string[]][] = [
    ['neither steps nor a preset', {}, ['/flow']],
    ['no steps', { steps: [] }, ['/flow/steps']],
    ['a preset that there is not', { preset: 'unknown' }, ['/flow/preset']],
    ['steps beside a preset', { preset: 'unknown', ...steps({}) }, ['/flow/steps', '/flow/preset']],
    ['21 steps', { steps: Array.from({ length: 21 }, (_, at) => step({ name: `s${at}` })) }, ['/flow/steps']],
    ['an unknown field', { ...steps({}), more: 1 }, ['/flow/more']],
    ['an unknown field of a step', steps({ more: 1 } as object), ['/flow/steps/0/more']],
    ['a name twice', steps({}, {}), ['/flow/steps/1/name']],
    ['a name with capitals', steps({ name: 'Add' }), ['/flow/steps/0/name']],
    ['a name of 41 characters', steps({ name: 'a'.repeat(41) }), ['/flow/steps/0/name']],
    ['no event', steps({ on: [] }), ['/flow/steps/0/on']],
    ['an event that there is not', steps({ on: ['call_blind_transferred'] as never }), ['/flow/steps/0/on/0']],
    ['a template that cannot be read', steps({ body: '{{ data.x ' }), ['/flow/steps/0/body']],
    ['an unknown filter', steps({ if: '{{ data.x | nothing }}' }), ['/flow/steps/0/if']],
    ['a list that is none', steps({ each: '{{ data.call | json }}' }), ['/flow/steps/0/each']],
    ['a body that is no JSON', steps({ body: '{"a": }' }), ['/flow/steps/0/body']],
    ['a header that is ours', steps({ headers: { Host: 'x' } }), ['/flow/steps/0/headers/Host']],
    ['a header twice', steps({ headers: { 'x-a': '1', 'X-A': '2' } }), ['/flow/steps/0/headers/X-A']],
    ['another origin', steps({ url: 'https://evil.example/' }), ['/flow/steps/0/url']],
    ['an origin that a tag makes', steps({ url: 'https://{{ data.x }}/' }), ['/flow/steps/0/url']],
    ['a URL without a scheme', steps({ url: '//evil.example/' }), ['/flow/steps/0/url']],
    ['a path that goes up', steps({ url: '../x' }), ['/flow/steps/0/url']],
    ['an origin with a path', { ...steps({}), origins: ['https://a.example/x'] }, ['/flow/origins/0']],
    ['an origin without TLS', { ...steps({}), origins: ['http://a.example'] }, ['/flow/origins/0']],
    ['an origin with a user', { ...steps({}), origins: ['https://me@a.example'] }, ['/flow/origins/0']],
    [
      'six origins',
      { ...steps({}), origins: 'abcdef'.split('').map((one) => `https://${one}.example`) },
      ['/flow/origins'],
    ],
    ['a repetition that begins at no step', steps({ again: 'find' }), ['/flow/steps/0/again']],
    [
      'a rule that begins again at no step',
      steps({ when: [{ status: [404], then: 'again' }] }),
      ['/flow/steps/0/when/0/then'],
    ],
    [
      'a rule that begins again at a step that comes later',
      { steps: [step({ when: [{ status: [404], then: 'again', step: 'find' }] }), step({ name: 'find' })] },
      ['/flow/steps/0/when/0/step'],
    ],
    [
      'a rule with a step that does not begin again',
      { steps: [step({ name: 'find' }), step({ when: [{ status: [404], then: 'retry', step: 'find' }] })] },
      ['/flow/steps/1/when/0/step'],
    ],
    ['a repetition that begins at itself', steps({ again: 'add' }), ['/flow/steps/0/again']],
    [
      'a repetition that begins at a later step',
      { steps: [step({ again: 'find' }), step({ name: 'find' })] },
      ['/flow/steps/0/again'],
    ],
    [
      'a repetition that begins at a step without one of its events',
      { steps: [step({ name: 'find' }), step({ again: 'find', on: ['call_started', 'call_ended'] })] },
      ['/flow/steps/1/again'],
    ],
    ['a value that no step keeps', steps({ needs: ['id'] }), ['/flow/steps/0/needs/0']],
    ['a pointer without a slash', steps({ keep: { id: 'id' } }), ['/flow/steps/0/keep/id']],
    [
      'a status that there is not',
      steps({ when: [{ status: [999], then: 'done' }] }),
      ['/flow/steps/0/when/0/status/0'],
    ],
    [
      'a class of statuses that there is not',
      steps({ when: [{ status: '9xx', then: 'done' }] }),
      ['/flow/steps/0/when/0/status'],
    ],
    ['a rule about nothing', steps({ when: [{ then: 'done' }] }), ['/flow/steps/0/when/0']],
    [
      'values without a pointer',
      steps({ when: [{ status: [400], values: ['x'], then: 'fail' }] }),
      ['/flow/steps/0/when/0/values'],
    ],
    ['renewing nothing', steps({ when: [{ status: [403], then: 'renew' }] }), ['/flow/steps/0/when/0/then']],
    ['a recording of another event', steps({ upload: 'recording' }), ['/flow/steps/0/upload']],
    [
      'a body beside an upload',
      steps({ on: ['recording_saved'], upload: { field: 'file' }, body: 'x', method: 'GET' }),
      ['/flow/steps/0/body', '/flow/steps/0/method'],
    ],
    ['a body with GET', steps({ method: 'GET', body: '{}' }), ['/flow/steps/0/body']],
    ['0 calls at a time', { ...steps({}), parallel: 0 }, ['/flow/parallel']],
    ['17 calls at a time', { ...steps({}), parallel: 17 }, ['/flow/parallel']],
    [
      'a token for longer than ten years',
      {
        ...steps({}),
        authorization: { kind: 'login', request: { url: '/a' }, token: '/t', expires_in: 315_360_001 },
      },
      ['/flow/authorization/expires_in'],
    ],
    [
      'an authorization of both kinds',
      { ...steps({}), authorization: { kind: 'login', client_id: 'x' } },
      [
        '/flow/authorization/client_id',
        '/flow/authorization/request',
        '/flow/authorization/token',
        '/flow/authorization/expires_in',
      ],
    ],
    [
      'a header beside an authorization',
      {
        ...steps({ headers: { Authorization: 'x' } }),
        authorization: { kind: 'oauth2', token_url: 'https://a.example/', client_id: 'x', client_secret: 'y' },
      },
      ['/flow/steps/0/headers/Authorization'],
    ],
    [
      'a token URL that is none, and a log-in with rules',
      { ...steps({}), authorization: { kind: 'login', request: { when: [] }, token: '/t', expires_in: 1 } },
      ['/flow/authorization/request/when'],
    ],
  ]
  test.each(cases)('%s', async (_, flow, expected) => {
    expect(paths(await put(flow)).toSorted()).toEqual(expected.toSorted())
  })

  test('names of the wrong form, with the right form', async () => {
    const wrong = { name: 'Add', again: 'Find it', keep: { 'contact-id': '/id', contact: 'id' }, needs: ['1'] }
    const form = 'must begin with a letter a-z and have at most 40 of a-z, 0-9 and _'
    const answer = await put({ steps: [step(wrong)] })
    expect((answer.body.result as { errors: unknown[] }).errors).toEqual(
      expect.arrayContaining([
        { path: '/flow/steps/0/name', message: form },
        { path: '/flow/steps/0/again', message: form },
        { path: '/flow/steps/0/needs/0', message: form },
        { path: '/flow/steps/0/keep/contact-id', message: `is no name of a value: it ${form}` },
        { path: '/flow/steps/0/keep/contact', message: 'must be a JSON pointer, such as /result/id' },
      ]),
    )
  })

  test('a status that there is not, with the limit', async () => {
    const { body } = await put({ steps: [step({ when: [{ status: [200, 999], then: 'done' }] })] })
    const message = 'may be 599 at most'
    expect(body.result).toEqual({ errors: [{ path: '/flow/steps/0/when/0/status/1', message }] })
  })

  test.each(['here', 'http://[', '/rest', ''])('a webhook with an invalid URL: %j', async (url) => {
    const answer = await put({ steps: [step()] }, { url })
    expect([answer.status, paths(answer)]).toEqual([422, ['/url']])
  })

  test.each(['https://[/', 'https://a.example:99999/token'])('an invalid token URL: %s', async (url) => {
    const authorization = { kind: 'oauth2', token_url: url, client_id: 'x', client_secret: 'y' }
    expect(paths(await put({ steps: [step()], authorization }))).toEqual(['/flow/authorization/token_url'])
  })

  test('a body beside a flow', async () => {
    expect(paths(await put({ steps: [step()] }, { body: { preset: 'slack' } }))).toEqual(['/flow'])
  })

  test('an authorization beside a user in the URL', async () => {
    const authorization = { kind: 'oauth2', token_url: 'https://a.example/', client_id: 'x', client_secret: 'y' }
    const answer = await put({ steps: [step()], authorization }, { url: SIGNED_IN })
    expect(paths(answer)).toEqual(['/flow/authorization'])
  })

  test('nothing is changed', async () => {
    await put({ steps: [step()] })
    const before = await listed()
    expect((await put({ steps: [step({ body: '{{' })] })).status).toBe(422)
    expect(await listed()).toEqual(before)
  })
})

test('a renewal that is refused is a problem of the options, until one succeeds; it is read only', async () => {
  const problems = async () =>
    ((await ask(api, 'GET', PATH, { token })).body.result as { url: string; problem?: unknown }[]).map(
      (one) => one.problem,
    )
  await put({ steps: [{ name: 'a', on: ['call_ended'] }] })
  const owner = { accountId: 1, url: ONE }
  const claim = { owner, settings: 'x', refusedHeader: null, nowSteadyUs: 1, untilSteadyUs: 2 }
  const { authorizations } = store
  await authorizations.renewalClaim({ ...claim, claim: 'a' })
  await authorizations.renewalFail({
    owner,
    claim: 'a',
    problem: 'status 400: invalid_grant',
    nowUs: 1_795_213_000_000_000,
  })
  const problem = { since: '2026-11-21T04:56:40.000000Z', message: 'status 400: invalid_grant' }
  const [shown] = await problems()
  expect(shown).toEqual({ ...problem, since: expect.stringMatching(/^2026-11-2\dT.*Z$/) })
  const [options] = (await ask(api, 'GET', PATH, { token })).body.result as object[]
  expect((await ask(api, 'PUT', PATH, { token, body: { ...options } })).status).toBe(200)
  await authorizations.renewalClaim({ ...claim, claim: 'b' })
  const times = { expiresSteadyUs: null, renewSteadyUs: null }
  await authorizations.renewalStore({ owner, claim: 'b', header: 'Bearer 1', refreshToken: null, ...times })
  expect(await problems()).toEqual([undefined, undefined])
})
