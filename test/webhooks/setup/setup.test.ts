import { afterEach, describe, expect, test } from 'bun:test'
import { allowListOf } from '../../../src/app/settings.ts'
import { newExchange } from '../../../src/deliveries/sending/exchange.ts'
import { newGuardedRequests } from '../../../src/deliveries/sending/guarded-request.ts'
import { presetByName } from '../../../src/webhooks/presets/catalog.ts'
import { createSetupService } from '../../../src/webhooks/setup/service.ts'
import type { CrmStub } from '../../help/crm/server.ts'
import { situationOf } from '../../help/crm/situations.ts'
import { STUBS } from '../../help/crm/stubs.ts'
import { TEMPLATES } from '../../help/templates.ts'

const exchange = newExchange(newGuardedRequests({ allow: allowListOf(['loopback']), proxy: undefined }))
type Listed = Awaited<ReturnType<Parameters<typeof createSetupService>[0]['webhooks']['optionsList']>>
const service = (listed: Listed = [], authorization = '') =>
  createSetupService({
    authorizer: { authorize: async () => ({ header: authorization }), renew: async () => ({ header: authorization }) },
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

/** The service of an account that has saved the preset: a token is kept with the webhook. */
const saved = (stub: CrmStub, preset: string) =>
  service([{ url: stub.url, options: { flow: { preset }, flowSecrets: {} } }] as unknown as Listed, stub.authorization)

describe.each(STUBS.map(({ label, preset, start }) => [label, preset, start] as const))('%s', (_, preset, start) => {
  const { check, directory } = presetByName(preset) ?? {}

  test('is checked by a request that changes nothing', async () => {
    const stub = startStub(start)
    const trial = { url: stub.url, preset, parameters: { ...stub.parameters } }
    if (check === null) {
      await expect(saved(stub, preset).check(1, trial)).rejects.toMatchObject({ code: 'invalid' })
      return
    }
    expect(await saved(stub, preset).check(1, trial)).toMatchObject({ status: 200, error: null })
    expect(stub.refusals).toEqual([])
    expect(stub.calls()).toEqual([])
  })

  test('says in the words of the CRM what is wrong, without the key', async () => {
    if (check === null) return
    const stub = startStub(start)
    stub.failWith(({ headers }) => ({
      status: 401,
      body: { message: `invalid key ${headers.get('authorization')} ${headers.get('x-api-key')}` },
    }))
    const checked = await saved(stub, preset).check(1, { url: stub.url, preset, parameters: { ...stub.parameters } })
    expect(checked.error).toContain('the CRM answered 401: invalid key')
    expect(checked.error).toContain('make a new one')
    for (const secret of secretsOf(preset, stub.parameters)) expect(JSON.stringify(checked)).not.toContain(secret)
  })

  test('lists its users for the map', async () => {
    const stub = startStub(start)
    const trial = { url: stub.url, preset, parameters: { ...stub.parameters } }
    if (directory === null) {
      await expect(saved(stub, preset).directory(1, trial)).rejects.toMatchObject({ code: 'invalid' })
      return
    }
    const listed = await saved(stub, preset).directory(1, trial)
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

  test('that is unknown is refused', async () => {
    await expect(service().check(1, { url: 'https://crm.example', preset: 'nonsense' })).rejects.toMatchObject({
      code: 'invalid',
    })
  })

  test('says when there is no answer', async () => {
    const stub = startStub(() => (STUBS.find(({ preset }) => preset === 'amocrm') ?? { start: never }).start())
    stub.stop()
    const checked = await service().check(1, { url: stub.url, preset: 'amocrm', parameters: { ...stub.parameters } })
    expect(checked).toMatchObject({ status: null, error: expect.stringContaining('is the address right') })
  })
})

function never(): never {
  throw new Error('there is no such stub')
}
