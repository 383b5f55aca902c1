import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { allowListOf } from '../../../src/app/settings.ts'
import { EXAMPLES, exampleTexts } from '../../../src/events/samples.ts'
import { allPresets } from '../../../src/flows/presets/catalog.ts'
import { setupRoutes } from '../../../src/flows/setup/routes.ts'
import { createSetupService } from '../../../src/flows/setup/service.ts'
import { newUuid } from '../../../src/lib/id.ts'
import { newExchange } from '../../../src/outbound/exchange.ts'
import { newGuardedRequests } from '../../../src/outbound/guarded-request.ts'
import { retainWarning } from '../../../src/outbound/mqtt-url.ts'
import { optionsRoutes } from '../../../src/webhooks/options/routes.ts'
import { createOptionsService } from '../../../src/webhooks/options/service.ts'
import { SILENT_AUDIT, startApi } from '../../help/api.ts'
import { emptyFolder } from '../../help/app.ts'
import { ask, webhook } from '../../help/client.ts'
import { startAmocrm } from '../../help/crm/amocrm.ts'
import { type OpenStore, openStore, storeEvents } from '../../help/store.ts'
import { TEMPLATES } from '../../help/templates.ts'

const crm = startAmocrm()
const folder = emptyFolder()
let store: OpenStore
let api: Awaited<ReturnType<typeof startApi>>
let token: string
let others: string
let nowUs = 0

beforeAll(async () => {
  store = openStore(join(folder.path, 'hookswitch.db'))
  const exchange = newExchange(newGuardedRequests({ allow: allowListOf(['loopback']), proxy: undefined }))
  const samples = new Map(EXAMPLES.map((body) => [body.data.name, JSON.stringify(body)]))
  api = await startApi(store, (auth) => {
    const options = createOptionsService({ webhooks: store.webhooks, samples, templates: TEMPLATES, allow: () => [] })
    const setup = createSetupService({
      calls: { callList: async () => [] },
      samples: exampleTexts(),
      webhooks: store.webhooks,
      events: store.log,
      templates: TEMPLATES,
      exchange,
      authorizer: { authorizeTrial: async () => ({ reason: 'amoCRM has a key', retryAfterMs: 0 }) },
    })
    const now = () => nowUs
    return optionsRoutes({ auth, options, audit: SILENT_AUDIT, warningOf: retainWarning, now }).use(
      setupRoutes({ auth, setup, now }),
    )
  })
  token = await api.logIn('default')
  others = await api.logIn('acme')
  await store.webhooks.listReplace({
    accountId: 1,
    list: [webhook(crm.url)],
    ifMatch: null,
    secrets: ['whsec_a'],
    nowUs: 1,
  })
})
beforeEach(() => {
  nowUs += 120_000_000
})
afterAll(async () => {
  await api.stop()
  await store.stop()
  folder[Symbol.dispose]()
  crm.stop()
})

/** Asks, and returns the answer without its envelope. */
async function got(method: string, path: string, options: Parameters<typeof ask>[3] = {}) {
  const { status, body } = await ask(api, method, `/integration/webhook/${path}`, options)
  return { status, result: body.result, message: body.message }
}
const post = (path: string, body: unknown, as = token) => got('POST', path, { token: as, body })
const trial = (parameters: object = crm.parameters) => ({ url: crm.url, preset: 'amocrm', parameters })

describe('GET /integration/webhook/preset', () => {
  test('lists each preset with its parameters, events, sources and whether it looks contacts up', async () => {
    const { status, result } = await got('GET', 'preset', { token })
    expect(status).toBe(200)
    const listed = result as { name: string; parameters: unknown[]; tried: string | null }[]
    expect(listed.map(({ name }) => name)).toEqual(allPresets().map(({ name }) => name))
    for (const one of listed)
      expect(Object.keys(one).sort().join(' ')).toBe('address events lookup name parameters sources title tried')
    // What was never tried says so.
    expect(listed.flatMap(({ name, tried }) => (tried === null ? [] : [[name, tried]]))).toEqual([
      ['odoo', 'Odoo 19.0, 18.0 and 14.0'],
      ['espocrm', 'EspoCRM 9.3.9'],
      ['frappe', 'Frappe CRM 1.34.5 on Frappe 15.44.2'],
    ])
    expect(listed.find(({ name }) => name === 'journal')?.parameters[0]).toMatchObject({
      name: 'format',
      type: 'choice',
      choices: [{ value: 'json' }, { value: 'form' }],
    })
  })

  test('needs a token', async () => expect((await got('GET', 'preset')).status).toBe(401))
})

describe('POST /integration/webhook/preset/check and /directory', () => {
  test("answer with the CRM's message, 200 also when it refuses", async () => {
    expect(await post('preset/check', trial())).toMatchObject({ status: 200, result: { status: 200, error: null } })
    const refused = await post('preset/check', trial({ ...crm.parameters, token: 'wrong-token' }))
    expect(refused).toMatchObject({
      status: 200,
      result: { status: 401, error: expect.stringContaining('make a new one') },
    })
    expect(JSON.stringify(refused.result)).not.toContain('wrong-token')
    expect(await post('preset/directory', trial())).toMatchObject({
      status: 200,
      result: { users: [{ id: '504141', name: 'Anna Smith', extension: null }] },
    })
  })

  test.each([
    ['preset/check', { url: crm.url, preset: 'nonsense' }, '/preset'],
    ['preset/check', { url: crm.url, preset: 'journal' }, '/preset'],
    ['preset/directory', { url: crm.url }, '/preset'],
    ['preset/check', { url: 'nonsense', preset: 'amocrm' }, '/url'],
    ['preset/check', { url: crm.url, preset: 'amocrm', surplus: 1 }, '/surplus'],
  ])('%s with %j is 422 at %s', async (path, body, pointer) => {
    const { status, result } = await post(path, body)
    expect([status, (result as { errors: { path: string }[] }).errors.map(({ path }) => path)]).toEqual([
      422,
      [pointer],
    ])
  })

  test('are limited', async () => {
    const answers = await Promise.all(
      Array.from({ length: 31 }, () => post('preset/check', { url: crm.url, preset: 'journal' })),
    )
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(1)
  })
})

test('a preset that is chosen switches on its events, and says which; its secret is never read back', async () => {
  const flow = { preset: 'amocrm', parameters: { ...crm.parameters } }
  const { status, message, result } = await got('PUT', 'options', {
    token,
    body: { url: crm.url, flow },
  })
  expect(status).toBe(200)
  expect(result).toMatchObject({ flow: { preset: 'amocrm', parameters: { token: null, responsible: '504150' } } })
  expect(message).toContain('The options were replaced')
  // The form has no key, so the stored one is used.
  expect(await post('preset/check', trial({ ...crm.parameters, token: null }))).toMatchObject({
    result: { error: null },
  })
  expect((await post('preset/check', trial({ ...crm.parameters, token: null }), others)).status).toBe(422)
})

describe('POST /integration/webhook/preview/call', () => {
  test('shows the requests that a call would have caused, to its account alone', async () => {
    const flow = { preset: 'amocrm', parameters: { ...crm.parameters, users: { '101': '504141' } } }
    const example = EXAMPLES.find(({ data }) => data.name === 'call_saved')
    const uuid = newUuid(1)
    const event = {
      uuid,
      callId: 'call-1',
      name: 'call_saved' as const,
      sequence: 1,
      atUs: 1,
      body: JSON.stringify(example),
    }
    await storeEvents(store, [event])
    const { status, result } = await post('preview/call', { url: crm.url, call_id: 'call-1', flow })
    expect(status).toBe(200)
    expect(result).toMatchObject({
      steps: [
        {
          event: 'call_saved',
          step: 'call',
          method: 'POST',
          url: `${crm.url}/api/v4/calls`,
          headers: ['authorization'],
          skipped: null,
          error: null,
          answer: { status: 200 },
        },
        { step: 'call_for_responsible', skipped: 'skipped: no value is kept for call_refused' },
        { step: 'incoming_lead' },
        { step: 'incoming_lead_for_responsible' },
      ],
    })
    expect(JSON.stringify(result)).not.toContain('long-lived')
    expect((await post('preview/call', { url: crm.url, call_id: 'call-1', flow }, others)).status).toBe(404)
    expect((await post('preview/call', { url: crm.url, call_id: 'none', flow })).status).toBe(404)
    expect((await post('preview/call', { url: 'https://without.example', call_id: 'call-1' })).status).toBe(422)
    expect((await post('preview/call', { url: crm.url, call_id: 'call-1', flow: { preset: 'nonsense' } })).status).toBe(
      422,
    )
  })
})
