import { describe, expect, test } from 'bun:test'
import { EXAMPLES } from '../../../src/events/samples.ts'
import { begins } from '../../../src/flows/flow-machine.ts'
import { STEP_EVENTS, stepOf } from '../../../src/flows/model.ts'
import { allPresets } from '../../../src/flows/presets/catalog.ts'
import { flowOfPreset } from '../../../src/flows/setup/flow-option.ts'
import { flowErrors } from '../../../src/flows/setup/flow-rules.ts'
import { flowProblems } from '../../../src/flows/setup/flow-trial.ts'
import { createStepRenderer } from '../../../src/flows/step-renderer.ts'
import { TEMPLATES } from '../../help/templates.ts'

const renderer = createStepRenderer(TEMPLATES, { accountId: 1, purpose: 'trying' })
const samples = new Map(EXAMPLES.map((body) => [body.data.name, JSON.stringify(body)]))
const URL = 'https://crm.example.com/rest/1/secret/'

describe.each(allPresets().map((preset) => [preset.name, preset] as const))('the preset %s', (_, preset) => {
  const userId = preset.name === 'vtiger' ? '19x7' : '7'
  const required = preset.parameters.filter((one) => one.required).map((one) => [one.name, userId])
  const [first = []] = preset.oneOf ?? []
  const parameters = {
    ...Object.fromEntries([...required, ...first.map((one) => [one, userId])]),
    users: { '101': userId, '102': userId },
  }

  test('is a valid flow', () => {
    const steps = preset.steps.map(({ source: _source, answer: _answer, ...step }) => step)
    const hasRenewal = steps.some(({ when = [] }) => when.some((rule) => rule.then === 'renew'))
    const authorization = hasRenewal
      ? { kind: 'oauth2' as const, token_url: 'https://crm.example.com/token', client_id: 'a', client_secret: 'b' }
      : null
    // Headers are left out: with an authorization, a step must not set that header itself.
    const bare = steps.map((step) => ({ ...step, headers: {} }))
    expect(flowErrors({ steps: bare, authorization }, { url: URL, body: null, withCredentials: false })).toEqual([])
    expect(flowErrors({ preset: preset.name, parameters }, { url: URL, body: null, withCredentials: false })).toEqual(
      [],
    )
  })

  test('refuses texts that are no ids of users where the CRM numbers them', () => {
    const pathsOf = (id: string) =>
      flowErrors(
        { preset: preset.name, parameters: { ...parameters, responsible: id, users: { '101': userId, '10/2': id } } },
        { url: URL, body: null, withCredentials: false },
      ).map(({ path }) => path)
    const takesAnyText = ['journal', 'espocrm', 'frappe'].includes(preset.name)
    const refused = ['/flow/parameters/responsible', '/flow/parameters/users/10~12']
    for (const id of ['abc', '0', '-7', '1.5', '1e3', ' 7', 'x1', '19x'])
      expect(pathsOf(id).sort()).toEqual(takesAnyText ? [] : refused)
    // No text may have a line break.
    expect(pathsOf('7\n').sort()).toEqual(refused)
    expect(pathsOf(userId)).toEqual([])
  })

  test('takes an optional text that is empty as absent', () => {
    const optional = preset.parameters.filter(
      ({ name, type, required }) => type === 'text' && !required && !first.includes(name),
    )
    const empty = Object.fromEntries(optional.map(({ name }) => [name, '']))
    const flow = { preset: preset.name, parameters: { ...parameters, ...empty } }
    expect(flowErrors(flow, { url: URL, body: null, withCredentials: false })).toEqual([])
    expect(flowOfPreset(preset, flow.parameters)).toEqual(flowOfPreset(preset, parameters))
  })

  test('keeps to the pace of the vendor', () =>
    expect(flowOfPreset(preset, parameters).maxPerSecond).toBe(preset.maxPerSecond))

  test('renders with the sample of each event', async () => {
    expect(await flowProblems(flowOfPreset(preset, parameters), { url: URL, renderer, samples })).toEqual([])
  })

  test('needs the events that begin its steps', () => {
    const steps = preset.steps.map(({ source: _source, answer: _answer, ...step }) => stepOf(step))
    const used = STEP_EVENTS.filter((event) => steps.some((step) => begins(step, event)))
    expect([...preset.events].sort()).toEqual([...used].sort())
  })

  test('creates contacts by a request that cannot change one, and looks first when it is repeated', () => {
    for (const step of preset.steps.filter(({ inTurn }) => typeof inTurn?.value === 'string')) {
      expect(step.method ?? 'POST').toBe('POST')
      expect(`${step.url} ${step.body}`).not.toMatch(/create_or_update|upsert|"load"|\/load|"write"/)
      expect(preset.steps.map(({ name }) => name)).toContain(step.again ?? '')
    }
  })

  test('needs one of the ways in which it can log in, whole', () => {
    const errorsOf = (given: object) =>
      flowErrors({ preset: preset.name, parameters: given }, { url: URL, body: null, withCredentials: false }).map(
        ({ path }) => path,
      )
    const rest = Object.fromEntries(Object.entries(parameters).filter(([name]) => !first.includes(name)))
    for (const set of preset.oneOf ?? []) {
      const whole = Object.fromEntries(set.map((name) => [name, 'x']))
      expect(errorsOf({ ...rest, ...whole })).toEqual([])
      for (const name of set) expect(errorsOf({ ...rest, ...whole, [name]: '' })).toEqual(['/flow/parameters'])
    }
    expect(errorsOf(rest)).toEqual(first.length === 0 ? [] : ['/flow/parameters'])
  })

  test('names the source of each request, and has parameters for people', () => {
    const requests = [...preset.steps, preset.lookup, preset.directory, preset.check].filter((one) => one !== null)
    for (const { source } of requests) expect(source).toMatch(/^https:\/\//)
    expect(preset.sources.length).toBeGreaterThan(0)
    for (const { name, title, help } of preset.parameters) {
      expect(name).toMatch(/^[a-z][a-z0-9_]{0,39}$/)
      expect([title.length > 0, help.length > 0]).toEqual([true, true])
    }
    expect(new Set(preset.parameters.map(({ name }) => name)).size).toBe(preset.parameters.length)
  })
})
