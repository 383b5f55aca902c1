import { afterEach, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { allowListOf } from '../../../src/app/settings.ts'
import { exampleTexts } from '../../../src/events/samples.ts'
import { presetByName } from '../../../src/flows/presets/catalog.ts'
import { flowOfPreset } from '../../../src/flows/setup/flow-option.ts'
import { createSetupService } from '../../../src/flows/setup/service.ts'
import { type Exchange, newExchange } from '../../../src/outbound/exchange.ts'
import { newGuardedRequests } from '../../../src/outbound/guarded-request.ts'
import type { Store } from '../../../src/store/store.ts'
import { emptyFolder } from '../../help/app.ts'
import { newAuthorizer } from '../../help/authorizer.ts'
import { startBitrix24 } from '../../help/crm/bitrix24.ts'
import { startEspocrm } from '../../help/crm/espocrm.ts'
import { startOdoo } from '../../help/crm/odoo.ts'
import type { CrmStub } from '../../help/crm/server.ts'
import { situationOf } from '../../help/crm/situations.ts'
import { STUBS } from '../../help/crm/stubs.ts'
import { startZendesk } from '../../help/crm/zendesk.ts'
import { startZoho } from '../../help/crm/zoho.ts'
import { openStore } from '../../help/store.ts'
import { TEMPLATES } from '../../help/templates.ts'

const exchange = newExchange(newGuardedRequests({ allow: allowListOf(['loopback']), proxy: undefined }))
type Listed = Awaited<ReturnType<Parameters<typeof createSetupService>[0]['webhooks']['optionsList']>>
const service = (listed: Listed = [], authorization = '', records: readonly unknown[] = []) =>
  createSetupService({
    calls: { callList: async () => records.map((one) => ({ savedUs: 1, id: 'a', record: JSON.stringify(one) })) },
    samples: exampleTexts(),
    authorizer: { authorizeTrial: async () => ({ header: authorization }) },
    webhooks: { optionsList: async () => listed },
    events: { eventListOfCall: async () => [] },
    templates: TEMPLATES,
    exchange,
  })

const started: CrmStub[] = []
const startStub = (start: () => CrmStub): CrmStub => {
  const stub = start()
  started.push(stub)
  return stub
}
afterEach(() => {
  for (const stub of started.splice(0)) stub.stop()
})

const secretsOf = (preset: string, parameters: Readonly<Record<string, unknown>>): string[] =>
  (presetByName(preset)?.parameters ?? []).flatMap(({ name, type }) =>
    type === 'secret' && typeof parameters[name] === 'string' ? [String(parameters[name])] : [],
  )

describe('of Odoo a refusal is not blamed on', () => {
  const error = (answer: object) => ({
    jsonrpc: '2.0',
    id: 1,
    error: { code: 200, message: 'Odoo Server Error', ...answer },
  })
  test.each<[string, string, number, unknown, RegExp, RegExp]>([
    [
      'the URL where the version is older',
      'json2',
      404,
      '<html>404</html>',
      /the version, the database or the URL is wrong/,
      /\. the URL is wrong/,
    ],
    [
      'the URL where there is no such database',
      'json2',
      404,
      { message: 'no database' },
      /the database or the URL/,
      /\. the URL is wrong/,
    ],
    [
      'the key where there is no such database',
      'rpc',
      200,
      error({ data: { message: 'database "x" does not exist' } }),
      /"x" does not exist\. compare the database/,
      /refuses the key/,
    ],
  ])('%s', async (_, version, status, body, named, misleading) => {
    const stub = startStub(() => startOdoo('json2'))
    stub.failWith(() => ({ status, body }))
    const parameters = { ...stub.parameters, version, uid: '2' }
    const { error } = await service().check(1, { url: stub.url, preset: 'odoo', parameters })
    expect(error).toMatch(named)
    expect(error).not.toMatch(misleading)
  })
})

describe('of Odoo the check names', () => {
  const versionOf = (server_version: string, major: number) => ({
    jsonrpc: '2.0',
    id: 1,
    result: { server_version, server_version_info: [major, 0, 0, 'final', 0, ''] },
  })
  test.each<[string, object, RegExp]>([
    ['the version, where /json/2 is missing', versionOf('14.0', 14), /the version is wrong: this is Odoo 14\.0/],
    [
      'the database, where it is unknown',
      versionOf('19.0', 19),
      /the database is wrong: this Odoo 19\.0 has none with/,
    ],
    ['the address, where no Odoo answers', { error: 'no Odoo' }, /the version, the database or the URL is wrong/],
  ])('%s', async (_, answer, named) => {
    const stub = startStub(() => startOdoo('json2'))
    stub.failWith(({ path }) => (path === '/jsonrpc' ? { status: 200, body: answer } : { status: 404, body: '<p>' }))
    const trial = { url: stub.url, preset: 'odoo', parameters: { ...stub.parameters } }
    expect((await service().check(1, trial)).error).toMatch(named)
  })
})

// As Odoo 18 and 19 answer.
describe('of Odoo the check shows', () => {
  const KEY = { id: 1, name: 'hookswitch', expiration_date: '2027-02-16 19:18:47', user_id: [5, 'Hook Switch'] }
  test.each<['json2' | 'rpc', string, unknown, object, object]>([
    ['json2', 'has_access', false, { create: true }, { error: expect.stringContaining('give it Contact Creation') }],
    ['json2', 'has_access', false, { create: false }, { error: null, warnings: [] }],
    ['rpc', 'check_access_rights', false, { create: true }, { error: expect.stringContaining('Contact Creation') }],
    [
      'rpc',
      'apikeys',
      [KEY],
      {},
      { error: null, warnings: [expect.stringContaining('Hook Switch ends on 2027-02-16')] },
    ],
    ['json2', 'apikeys', [KEY], {}, { warnings: [expect.stringContaining('"hookswitch" of Hook Switch ends')] }],
    ['json2', 'apikeys', [], {}, { error: null, warnings: [] }],
  ])('over %s, by %s: %j with %j', async (version, method, answer, given, shown) => {
    const stub = startStub(() => startOdoo(version))
    stub.failWith(({ path, json }) => {
      if (!`${path} ${JSON.stringify(json)}`.includes(method)) return undefined
      return { status: 200, body: version === 'rpc' ? { jsonrpc: '2.0', id: 1, result: answer } : answer }
    })
    const parameters = { ...stub.parameters, responsible: '7', ...given }
    expect(await service().check(1, { url: stub.url, preset: 'odoo', parameters })).toMatchObject(shown)
  })
})

describe('of EspoCRM the check names what the role of the key lacks', () => {
  const all = { create: 'yes', read: 'all' }
  const acl = (table: object, assignmentPermission: string) => ({ table, assignmentPermission })
  test.each<[string, object, string | RegExp | null]>([
    [
      'users, as EspoCRM 9.3.9 shows them',
      acl({ User: { read: 'own' }, Contact: all, Call: all }, 'all'),
      /lacks Users/,
    ],
    [
      'calls',
      acl({ User: all, Contact: all, Call: { create: 'no' } }, 'team'),
      /lacks Calls \(create: yes, read: all\),/,
    ],
    ['assignment', acl({ User: all, Contact: all, Call: all }, 'no'), /lacks Assignment Permission/],
    ['nothing', acl({ User: { read: 'team' }, Contact: all, Call: all }, 'all'), null],
  ])('%s', async (_, rights, named) => {
    const stub = startStub(startEspocrm)
    stub.failWith(({ path }) =>
      path === '/api/v1/App/user' ? { status: 200, body: { user: { id: 'u1', type: 'api' }, acl: rights } } : undefined,
    )
    const { error } = await service().check(1, { url: stub.url, preset: 'espocrm', parameters: { ...stub.parameters } })
    if (named === null) expect(error).toBeNull()
    else expect(error).toMatch(named)
  })
})

describe('a check warns', () => {
  const call = (number: string, e164: string | null) => ({ call: { direction: 'inbound', from: { number, e164 } } })
  const owners = { responsible: '7' }
  test.each<[string, object, readonly unknown[], readonly (string | RegExp)[]]>([
    ['of calls without owners', { responsible: '', users: {} }, [], [/no responsible user/]],
    ['of nothing where a user is responsible', owners, [], []],
    ['of nothing where an extension has a user', { responsible: '', users: { 101: '7' } }, [], []],
    ['of national numbers', owners, [call('030123456', null)], [/such as 030123456, .* give the PBX its country/]],
    ['of nothing where numbers have their E.164', owners, [call('030123456', '+4930123456')], []],
    ['of nothing where numbers are short', owners, [call('117', null)], []],
    ['of nothing where one number alone is none', owners, [call('0', null), call('0301234567', '+49301234567')], []],
  ])('%s', async (_, given, records, warnings) => {
    const stub = startStub(() => startOdoo('json2'))
    const trial = { url: stub.url, preset: 'odoo', parameters: { ...stub.parameters, ...given } }
    const checked = await service([], '', records).check(1, trial)
    expect(checked).toMatchObject({ error: null })
    expect(checked.warnings).toEqual(warnings.map((one) => expect.stringMatching(one)))
  })
})

/** The steps of each preset that change nothing, with the parameters of its stub. */
const SEARCHES: Readonly<Record<string, readonly string[]>> = {
  journal: [],
  bitrix24: [],
  amocrm: [],
  hubspot: ['contact'],
  odoo: ['fields', 'contact'],
  pipedrive: ['person'],
  zendesk: ['caller', 'own_caller', 'find_ticket'],
  espocrm: ['active_owner', 'contact', 'find_call', 'open_tasks'],
  frappe: ['zone', 'contact', 'lead', 'deal', 'open_tasks'],
  vtiger: ['contact', 'find_call'],
  zoho: ['contact', 'same_start'],
}

describe.each(STUBS.map(({ label, preset, start }) => [label, preset, start] as const))('%s', (_, preset, start) => {
  const { check, directory } = presetByName(preset) ?? {}

  test('is checked by a request that changes nothing', async () => {
    const stub = startStub(start)
    const trial = { url: stub.url, preset, parameters: { ...stub.parameters } }
    if (check === null) {
      await expect(service([], stub.authorization).check(1, trial)).rejects.toMatchObject({ code: 'invalid' })
      return
    }
    expect(await service([], stub.authorization).check(1, trial)).toMatchObject({ status: 200, error: null })
    expect(stub.refusals).toEqual([])
    expect(stub.calls()).toEqual([])
  })

  test('is checked with each search of its calls, and a refused one is named', async () => {
    if (check === null) return
    const named: (string | undefined)[] = []
    // What the key's user may do, and how long, is asked first, and may stay unknown.
    const { rights, expiry } = presetByName(preset) ?? {}
    const first = 1 + [rights, expiry].filter((one) => one !== undefined).length
    for (let failing = first; ; failing += 1) {
      const stub = startStub(start)
      stub.failWith((_, at) => (at === failing ? { status: 500, body: { message: 'not for this key' } } : undefined))
      const trial = { url: stub.url, preset, parameters: { ...stub.parameters } }
      const { error } = await service([], stub.authorization).check(1, trial)
      expect(stub.calls()).toEqual([])
      if (error === null) break
      expect(error).toContain('not for this key')
      named.push(/^the request "(\w+)"/.exec(error)?.[1])
    }
    expect(named).toEqual([...(SEARCHES[preset] ?? [])])
  })

  test("reports the fault in the CRM's words, without the key", async () => {
    if (check === null) return
    const stub = startStub(start)
    stub.failWith(({ headers }) => ({
      status: 401,
      body: { message: `invalid key ${headers.get('authorization')} ${headers.get('x-api-key')}` },
    }))
    const checked = await service([], stub.authorization).check(1, {
      url: stub.url,
      preset,
      parameters: { ...stub.parameters },
    })
    expect(checked.error).toContain('the CRM answered 401: invalid key')
    expect(checked.error).toContain('make a new one')
    for (const secret of secretsOf(preset, stub.parameters)) expect(JSON.stringify(checked)).not.toContain(secret)
  })

  test('is never accepted by an answer that is an error, whatever its status', async () => {
    if (check === null || directory === null) return
    const stub = startStub(start)
    const setup = service([], stub.authorization)
    const trial = { url: stub.url, preset, parameters: { ...stub.parameters } }
    const page = { status: 200, headers: { 'content-type': 'text/html' }, body: '<!DOCTYPE html><title>Log in</title>' }
    for (const answer of [...stub.limited, ...stub.passing, ...stub.wrongKey, page]) {
      stub.failWith(() => answer)
      const [checked, listed] = [await setup.check(1, trial), await setup.directory(1, trial)]
      expect([answer, checked.error, listed.error, listed.users]).toEqual([
        answer,
        expect.any(String),
        expect.any(String),
        [],
      ])
      expect(checked.error).not.toContain('<')
    }
  })

  test('lists its users for the map', async () => {
    const stub = startStub(start)
    const trial = { url: stub.url, preset, parameters: { ...stub.parameters } }
    if (directory === null) {
      await expect(service([], stub.authorization).directory(1, trial)).rejects.toMatchObject({ code: 'invalid' })
      return
    }
    const listed = await service([], stub.authorization).directory(1, trial)
    expect(listed).toMatchObject({ status: 200, error: null })
    expect(listed.users[0]).toMatchObject({ id: stub.userAt(0), name: 'Anna Smith' })
    expect(stub.refusals).toEqual([])
  })

  test('is previewed with a recorded call: nothing is sent, and no secret shown', async () => {
    const stub = startStub(start)
    const { events } = situationOf('asterisk/ast13-freepbx-recorded')
    const previewed = events.map(({ name, callId, body }) => ({ name, callId, body: JSON.stringify(body) }))
    const flow = { preset, parameters: { ...stub.parameters } }
    const { steps } = await service().previewEvents(1, { url: stub.url, flow, events: previewed })
    const made = steps.filter(({ skipped }) => skipped === null)
    expect(made.length).toBeGreaterThan(0)
    expect(steps.filter(({ error }) => error !== null)).toEqual([])
    for (const step of made) expect(step.answer).not.toBeNull()
    for (const secret of secretsOf(preset, stub.parameters)) expect(JSON.stringify(steps)).not.toContain(secret)
    expect(stub.requests).toEqual([])
  })
})

test('the list of users proposes the extension of the phone with the name of one', async () => {
  const stub = startStub(() => startOdoo('json2'))
  const setup = createSetupService({
    calls: { callList: async () => [] },
    phones: async (accountId) => [{ extension: `10${accountId}`, name: 'Smith Anna' }],
    samples: exampleTexts(),
    authorizer: { authorizeTrial: async () => ({ header: '' }) },
    webhooks: { optionsList: async () => [] },
    events: { eventListOfCall: async () => [] },
    templates: TEMPLATES,
    exchange,
  })
  const trial = { url: stub.url, preset: 'odoo', parameters: { ...stub.parameters } }
  expect((await setup.directory(1, trial)).users).toEqual([{ id: '7', name: 'Anna Smith', extension: '101' }])
})

test('a preview of a call has the values that were kept for the call that was merged into it', async () => {
  const { events } = situationOf('freeswitch/att-older-consult')
  const mergedIds = new Set(events.flatMap(({ body }) => body.data.call.merged_from))
  const survivor = events.findLast(({ body }) => body.data.call.merged_from.length > 0)?.callId ?? ''
  const preset = { preset: 'bitrix24', parameters: { responsible: '1' } }
  const setup = createSetupService({
    calls: { callList: async () => [] },
    samples: exampleTexts(),
    authorizer: { authorizeTrial: async () => ({ header: '' }) },
    webhooks: { optionsList: async () => [] },
    events: {
      eventListOfCall: async (_, callId) =>
        events.flatMap(({ id: uuid, callId: ofCall, name, body }, at) =>
          ofCall === callId ? [{ uuid, name, sequence: at, atUs: at, body: JSON.stringify(body), deliveries: [] }] : [],
        ),
    },
    templates: TEMPLATES,
    exchange,
  })
  const url = 'https://example.bitrix24.com/rest/1/KEY/'
  const { steps, truncated } = await setup.preview(1, { url, call_id: survivor, flow: preset })
  expect(mergedIds.size).toBe(1)
  // The outside call was registered; the older internal call, in which it goes on, finishes it.
  expect(steps.find(({ step }) => step === 'finish')?.body).toContain('"CALL_ID":"externalCall.')
  // The requests of the merged call itself are not shown.
  expect(steps.filter(({ step, skipped }) => step === 'register' && skipped === null)).toEqual([])
  expect(truncated).toBeNull()
})

/** The presets whose tokens are obtained, with what their servers of tokens get and answer. */
const WITH_AUTHORIZATION = [
  {
    title: 'Zoho CRM',
    start: startZoho,
    preset: 'zoho',
    tokenUrl: 'https://accounts.zoho.eu/oauth/v2/token',
    rotates: false,
    more: {},
  },
  {
    title: 'Bitrix24 as an application',
    start: () => startBitrix24('Bearer access-1'),
    preset: 'bitrix24',
    tokenUrl: 'https://oauth.bitrix.info/oauth/token/',
    rotates: true,
    more: { client_id: 'local.1', client_secret: 'application-secret', refresh_token: 'refresh-0' },
  },
]

function servicesOf(store: Pick<Store, 'authorizations'>, exchange: Exchange) {
  const authorizer = newAuthorizer(store, exchange)
  const setup = createSetupService({
    calls: { callList: async () => [] },
    samples: exampleTexts(),
    authorizer,
    webhooks: { optionsList: async () => [] },
    events: { eventListOfCall: async () => [] },
    templates: TEMPLATES,
    exchange,
  })
  return { authorizer, setup }
}

describe.each(WITH_AUTHORIZATION)('$title, before it is saved', ({ start, preset, tokenUrl, rotates, more }) => {
  test('is checked and filled in with one token, which it has when it is saved', async () => {
    using folder = emptyFolder()
    const store = openStore(join(folder.path, 'hookswitch.db'))
    const stub = startStub(start)
    const asked: URLSearchParams[] = []
    const ofVendor: Exchange = async (request) => {
      if (request.url !== tokenUrl) return await exchange(request)
      asked.push(new URLSearchParams(request.body ?? ''))
      const token = {
        access_token: rotates ? 'access-1' : '1000.access',
        expires_in: 3_600,
        ...(rotates ? { refresh_token: 'refresh-1' } : {}),
      }
      return { status: 200, failure: null, text: JSON.stringify(token), retryAfterMs: null, durationMs: 1 }
    }
    const { authorizer, setup } = servicesOf(store, ofVendor)
    const trial = { url: stub.url, preset, parameters: { ...stub.parameters, ...more } }
    try {
      const checked = await setup.check(1, trial)
      expect(checked).toMatchObject({ status: 200, error: null })
      const { users } = await setup.directory(1, trial)
      expect(users[0]).toMatchObject({ name: 'Anna Smith' })
      expect(asked).toHaveLength(1)

      const found = presetByName(preset)
      if (found === undefined) throw new Error(`there is no preset ${preset}`)
      const { authorization, origins, parameters } = flowOfPreset(found, trial.parameters)
      if (authorization === null) throw new Error('it has no authorization')
      const saved = { accountId: 1, url: stub.url, authorization, origins, parameters }
      expect(await authorizer.authorize(saved)).toHaveProperty('header')
      expect(asked).toHaveLength(1)

      stub.failWith(({ headers }) => ({ status: 403, body: { message: `no right: ${headers.get('authorization')}` } }))
      const refused = JSON.stringify(await setup.check(1, trial))
      expect(refused).toContain('no right: ***')
      for (const secret of ['access-1', '1000.access', ...secretsOf(preset, trial.parameters)])
        expect(refused).not.toContain(secret)
    } finally {
      await authorizer.stop()
      await store.stop()
    }
  })

  test("reports the fault in the token server's words, without a secret", async () => {
    using folder = emptyFolder()
    const store = openStore(join(folder.path, 'hookswitch.db'))
    const stub = startStub(start)
    const refusing: Exchange = async ({ body }) => ({
      status: 400,
      failure: null,
      text: JSON.stringify({ error: 'invalid_code', error_description: `not known: ${body}` }),
      retryAfterMs: null,
      durationMs: 1,
    })
    const { authorizer, setup } = servicesOf(store, refusing)
    const parameters = { ...stub.parameters, ...more }
    const checked = await setup.check(1, { url: stub.url, preset, parameters })
    expect(checked.error).toContain('the token cannot be obtained: status 400: invalid_code')
    expect(checked.error).toContain('Compare the client')
    for (const secret of secretsOf(preset, parameters)) expect(JSON.stringify(checked)).not.toContain(secret)
    expect(stub.requests).toEqual([])
    await authorizer.stop()
    await store.stop()
  })
})

describe('a preset that is tried', () => {
  test('uses the stored secret for null, of the same URL alone', async () => {
    const stub = startStub(() => (STUBS.find(({ preset }) => preset === 'amocrm') ?? { start: never }).start())
    const options = {
      flow: null,
      flowSecrets: { 'parameters/amocrm/token': 'long-lived' },
    } as unknown as Listed[number]['options']
    const trial = { preset: 'amocrm', parameters: { ...stub.parameters, token: null } }
    const known = service([{ url: stub.url, options }] as unknown as Listed)
    expect(await known.check(1, { ...trial, url: stub.url })).toMatchObject({ error: null })
    await expect(known.check(1, { ...trial, url: 'https://other.example' })).rejects.toMatchObject({ code: 'invalid' })
  })

  test('is refused if it is unknown', async () => {
    await expect(service().check(1, { url: 'https://crm.example', preset: 'nonsense' })).rejects.toMatchObject({
      code: 'invalid',
    })
  })

  test('says when there is no answer', async () => {
    const stub = startStub(() => (STUBS.find(({ preset }) => preset === 'amocrm') ?? { start: never }).start())
    stub.stop()
    const checked = await service().check(1, { url: stub.url, preset: 'amocrm', parameters: { ...stub.parameters } })
    expect(checked).toMatchObject({ status: null, error: expect.stringContaining('is the URL right') })
  })
})

function never(): never {
  throw new Error('there is no such stub')
}

test('Zendesk with an OAuth client asks for a token by its credentials, and sends that', async () => {
  using folder = emptyFolder()
  const store = openStore(join(folder.path, 'hookswitch.db'))
  const stub = startStub(startZendesk)
  const { authorizer, setup } = servicesOf(store, exchange)
  const { responsible } = stub.parameters
  const trialOf = (client_secret: string) => ({
    url: stub.url,
    preset: 'zendesk',
    parameters: { responsible, client_id: 'hookswitch', client_secret },
  })
  try {
    expect(await setup.check(1, trialOf('zd-secret {{ brace }}'))).toMatchObject({ status: 200, error: null })
    expect((await setup.directory(1, trialOf('zd-secret {{ brace }}'))).users[0]).toMatchObject({ name: 'Anna Smith' })
    const refused = await setup.check(1, trialOf('wrong'))
    expect(refused.error).toContain('Client authentication failed')
  } finally {
    await authorizer.stop()
    await store.stop()
  }
})
