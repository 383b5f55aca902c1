import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { allowListOf } from '../../../src/app/settings.ts'
import guide from '../../../src/docs/presets.md' with { type: 'text' }
import type { CallEvent } from '../../../src/events/bodies.ts'
import { exampleTexts } from '../../../src/events/samples.ts'
import { allPresets, presetByName, setPresetsOfFiles } from '../../../src/flows/presets/catalog.ts'
import { flowOf } from '../../../src/flows/setup/flow-option.ts'
import { loadPresetFolder } from '../../../src/flows/setup/preset-folder.ts'
import { createSetupService } from '../../../src/flows/setup/service.ts'
import { newExchange } from '../../../src/outbound/exchange.ts'
import { newGuardedRequests } from '../../../src/outbound/guarded-request.ts'
import { DEFAULT_OPTIONS } from '../../../src/store/webhook-options.ts'
import { createOptionsService } from '../../../src/webhooks/options/service.ts'
import { emptyFolder } from '../../help/app.ts'
import { webhook } from '../../help/client.ts'
import { expectCalls, usersOf } from '../../help/crm/check.ts'
import { startDolibarr } from '../../help/crm/dolibarr.ts'
import { runPreset } from '../../help/crm/run-flow.ts'
import type { CrmAnswer } from '../../help/crm/server.ts'
import { situationOf } from '../../help/crm/situations.ts'
import { startVtigerOwn } from '../../help/crm/vtiger-own.ts'
import { openStore } from '../../help/store.ts'
import { TEMPLATES } from '../../help/templates.ts'

// Presets as files: the example of the guide, and what is wrong with others.

const EXAMPLE = /```jsonc\n([\s\S]+?)```/.exec(guide)?.[1] ?? ''
const folder = emptyFolder()
const path = join(folder.path, 'presets')
afterEach(() => rmSync(path, { recursive: true, force: true }))
afterAll(() => {
  setPresetsOfFiles([])
  folder[Symbol.dispose]()
})

/** Loads a folder with these files. Returns the names of its presets, and what was left out. */
async function load(files: Readonly<Record<string, string>>) {
  mkdirSync(path, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text)
  const leftOut: [string, string][] = []
  const digests = await loadPresetFolder(path, {
    onLeftOut: (file, problem) => leftOut.push([file.slice(path.length + 1), problem]),
    trial: { templates: TEMPLATES, samples: exampleTexts() },
  })
  return { names: [...digests.keys()], leftOut }
}

/** Numbers that a caller over the internet can send, to end the quotes or brackets around his number. */
const HOSTILE_NUMBERS = ["x' or phone <> '", "x') or (t.rowid:>:'0", "'", 'a(b', 'a\\']

/** Returns the events of an answered call from a number. */
function fromNumber(number: string): CallEvent[] {
  return situationOf('asterisk/a-inbound-answered').events.map((event) => {
    const { call } = event.body.data
    const data = { ...event.body.data, call: { ...call, from: { ...call.from, number, e164: null } } }
    return { ...event, body: { ...event.body, data } as CallEvent['body'] }
  })
}

describe('the example of the guide', () => {
  test('is offered like a built-in preset', async () => {
    expect(await load({ 'dolibarr.json': EXAMPLE, 'notes.txt': 'not a preset' })).toEqual({
      names: ['dolibarr'],
      leftOut: [],
    })
    expect(allPresets().at(-1)).toMatchObject({ name: 'dolibarr', title: 'Dolibarr', events: ['call_saved'] })
    rmSync(path, { recursive: true })
    await load({})
    expect(presetByName('dolibarr')).toBeUndefined()
  })

  test.each([
    'asterisk/a-inbound-answered',
    'asterisk/c-inbound-no-answer',
    'asterisk/ast13-freepbx-outbound',
    'asterisk/ast13-freepbx-recorded',
    'asterisk/ast13-freepbx-blind-refer',
  ])('keeps the calls of %s, each once, also when the process is killed at each of its requests', async (name) => {
    await load({ 'dolibarr.json': EXAMPLE })
    const preset = presetByName('dolibarr')
    if (preset === undefined) throw new Error('the preset is missing')
    const situation = situationOf(name)
    for (let kill = -1; ; kill += 1) {
      const stub = startDolibarr()
      const parameters = { ...stub.parameters, callback: true, users: usersOf(stub, situation.events) }
      const { attempts } = await runPreset({
        preset,
        parameters,
        webhookUrl: stub.url,
        events: situation.events,
        killedAfter: new Set(kill < 0 ? [] : [kill]),
      })
      expect(stub.refusals).toEqual([])
      expectCalls(stub, situation)
      stub.stop()
      if (kill >= attempts) break
    }
  })

  test('does not file a caller whose number has no digits under a contact without a number', async () => {
    await load({ 'dolibarr.json': EXAMPLE })
    const preset = presetByName('dolibarr')
    if (preset === undefined) throw new Error('the preset is missing')
    const stub = startDolibarr()
    const { events } = situationOf('asterisk/f4-endpoints-with-at')
    await runPreset({ preset, parameters: { ...stub.parameters }, webhookUrl: stub.url, events })
    expect([stub.refusals, stub.calls().map(({ number }) => number)]).toEqual([[], ['15551230001', 'carrier']])
    stub.stop()
  })

  test.each(HOSTILE_NUMBERS)('searches the number %j as a value, and keeps the call with it', async (number) => {
    await load({ 'dolibarr.json': EXAMPLE })
    const preset = presetByName('dolibarr')
    if (preset === undefined) throw new Error('the preset is missing')
    const stub = startDolibarr()
    const events = fromNumber(number)
    const { failures } = await runPreset({
      preset,
      parameters: { ...stub.parameters },
      webhookUrl: stub.url,
      events,
    })
    expect([stub.refusals, failures, stub.calls().map((call) => call.number)]).toEqual([[], [], [number]])
    stub.stop()
  })

  test.each([
    ['is checked with its searches, and lists users', EXAMPLE, 'agendaevents agendaevents'],
    [
      'is checked without the search by an id that it documents nowhere',
      EXAMPLE.replaceAll(/,\s*"answer": .*/g, ''),
      'agendaevents',
    ],
  ])('%s', async (_, file, searches) => {
    await load({ 'dolibarr.json': file })
    const stub = startDolibarr()
    const setup = createSetupService({
      authorizer: { authorizeTrial: async () => ({ header: '' }) },
      webhooks: { optionsList: async () => [] },
      events: { eventListOfCall: async () => [] },
      calls: { callList: async () => [] },
      samples: exampleTexts(),
      templates: TEMPLATES,
      exchange: newExchange(newGuardedRequests({ allow: allowListOf(['loopback']), proxy: undefined })),
    })
    const trial = { url: stub.url, preset: 'dolibarr', parameters: { ...stub.parameters } }
    expect(await setup.check(1, trial)).toMatchObject({ status: 200, error: null, warnings: [] })
    expect(stub.requests.map(({ path: at }) => at.split('/').at(-1)).join(' ')).toBe(`info contacts ${searches}`)
    expect((await setup.directory(1, trial)).users).toEqual([{ id: '2', name: 'Anna Smith', extension: null }])
    expect(await setup.check(1, { ...trial, parameters: { ...stub.parameters, key: 'wrong' } })).toMatchObject({
      error: expect.stringContaining('the key is wrong, or its user lacks a right'),
    })
    stub.stop()
  })
})

describe('the example with a log-in by challenge', () => {
  async function loaded() {
    const second = [...guide.matchAll(/```jsonc\n([\s\S]+?)```/g)][1]?.[1] ?? ''
    expect(await load({ 'vtiger.json': second })).toEqual({ names: ['vtiger_own'], leftOut: [] })
    const preset = presetByName('vtiger_own')
    if (preset === undefined) throw new Error('the preset is missing')
    return preset
  }
  function startStub() {
    const stub = startVtigerOwn()
    return { ...stub, [Symbol.dispose]: () => void stub.stop() }
  }

  test.each([
    'asterisk/a-inbound-answered',
    'asterisk/c-inbound-no-answer',
    'asterisk/ast13-freepbx-recorded',
    'asterisk/f4-endpoints-with-at',
  ])('keeps the calls of %s, each once, also when an answer is lost at each of its requests', async (name) => {
    const preset = await loaded()
    const situation = situationOf(name)
    for (let lost = -1; ; lost += 1) {
      using stub = startStub()
      const { attempts, failures } = await runPreset({
        preset,
        parameters: { ...stub.parameters, users: usersOf(stub, situation.events) },
        webhookUrl: stub.url,
        events: situation.events,
        killedAfter: new Set(lost < 0 ? [] : [lost]),
      })
      expect([stub.refusals, failures]).toEqual([[], []])
      expectCalls(stub, situation)
      expect(stub.contacts()).toEqual([...new Set(stub.calls().map(({ number }) => number))])
      // A lost answer is met in the same session, unless it was one of the log-in.
      const isLogin = new URLSearchParams(stub.requests[lost]?.text).get('operation') === 'login'
      expect(stub.logins()).toBeLessThanOrEqual(stub.calls().length + (isLogin ? 1 : 0))
      if (lost >= attempts) break
    }
  })

  test.each(HOSTILE_NUMBERS)('searches the number %j as a value, and keeps the call with it', async (number) => {
    const preset = await loaded()
    using stub = startStub()
    const parameters = { ...stub.parameters, callback: true }
    const { failures } = await runPreset({ preset, parameters, webhookUrl: stub.url, events: fromNumber(number) })
    expect([stub.refusals, failures, stub.contacts()]).toEqual([[], [], [number]])
  })

  const MISSED = 'asterisk/c-inbound-no-answer'
  test.each([
    ['is open for the owner', MISSED, true, ['Not Started 19x5']],
    ['is completed when the number was spoken to', `${MISSED}+a-inbound-answered`, true, ['Completed 19x5']],
    ['is not made without the parameter', `${MISSED}+a-inbound-answered`, false, []],
  ])('the task for a missed call %s, once, also when an answer is lost', async (_, recordings, callback, tasks) => {
    const preset = await loaded()
    const { events } = situationOf(recordings)
    for (let lost = -1; ; lost += 1) {
      using stub = startStub()
      const { attempts, failures } = await runPreset({
        preset,
        parameters: { ...stub.parameters, callback, users: { 101: '19x5' } },
        webhookUrl: stub.url,
        events,
        killedAfter: new Set(lost < 0 ? [] : [lost]),
      })
      expect([stub.refusals, failures]).toEqual([[], []])
      expect(stub.tasks().map(({ status, user }) => `${status} ${user}`)).toEqual(tasks)
      if (lost >= attempts) break
    }
  })

  test('a user without the right to make tasks costs no call', async () => {
    const preset = await loaded()
    using stub = startStub()
    stub.failWith(({ text }) =>
      new URLSearchParams(text).get('elementType') === 'Calendar'
        ? { status: 200, body: { success: false, error: { code: 'ACCESS_DENIED' } } }
        : undefined,
    )
    const { events } = situationOf(MISSED)
    const parameters = { ...stub.parameters, callback: true }
    const { failures } = await runPreset({ preset, parameters, webhookUrl: stub.url, events })
    expect([stub.refusals, failures, stub.calls().length, stub.tasks()]).toEqual([[], [], 1, []])
  })

  test('logs in once more when the session has ended, or another call has replaced the challenge', async () => {
    const preset = await loaded()
    const situation = situationOf('asterisk/a-inbound-answered')
    using stub = startStub()
    const faults = new Map<string, () => CrmAnswer | undefined>([
      ['login', () => ({ status: 200, body: { success: false, error: { code: 'INVALID_USER_CREDENTIALS' } } })],
      [
        'create',
        () => {
          stub.endSessions()
          return undefined
        },
      ],
    ])
    stub.failWith(({ text }) => {
      const operation = new URLSearchParams(text).get('operation') ?? ''
      const fault = faults.get(operation)
      faults.delete(operation)
      return fault?.()
    })
    const parameters = { ...stub.parameters, users: usersOf(stub, situation.events) }
    const { failures } = await runPreset({ preset, parameters, webhookUrl: stub.url, events: situation.events })
    expect([failures, stub.refusals, stub.logins()]).toEqual([[], [], 2])
    expectCalls(stub, situation)
  })
})

describe('a file that is wrong is left out, and named', () => {
  const step = { name: 'one', on: ['call_ended'], url: 'calls' }
  const fine = { name: 'mine', title: 'Mine', steps: [step] }
  test.each<[string, unknown, RegExp]>([
    ['no JSON', 'nonsense', /is not JSON/],
    ['a list', [], /must be/],
    ['no steps', { name: 'mine', title: 'Mine' }, /\/steps: is missing/],
    ['an unknown field', { ...fine, color: 'red' }, /\/color/],
    ['the name of a built-in preset', { ...fine, name: 'odoo' }, /odoo is a built-in preset/],
    ['a step that is none', { ...fine, steps: [{ ...step, on: ['nonsense'] }] }, /\/steps\/0\/on/],
    ['a broken template', { ...fine, steps: [{ ...step, url: '{{ data.call' }] }, /\/steps\/0\/url/],
    ['a body that is no JSON', { ...fine, steps: [{ ...step, body: '{"a": {{ data.call.id }}' }] }, /\/steps\/0\/body/],
    ['an unknown step in again', { ...fine, steps: [{ ...step, again: 'two' }] }, /\/steps\/0\/again/],
    ['a parameter twice', { ...fine, parameters: [text('a'), text('a')] }, /\/parameters\/1\/name/],
    ['a choice without choices', { ...fine, parameters: [{ ...text('a'), type: 'choice' }] }, /\/choices: is missing/],
    ['a wrong default', { ...fine, parameters: [{ ...text('a'), default: true }] }, /\/parameters\/0\/default/],
    [
      'no expression',
      { ...fine, parameters: [{ ...text('a'), form: { pattern: '(', message: 'x' } }] },
      /form\/pattern/,
    ],
    ['events that lack one', { ...fine, events: ['call_saved'] }, /\/events: lacks call_ended/],
    ['a kept value that is none', { ...fine, steps: [{ ...step, in_turn: { value: 'id' } }] }, /in_turn\/value/],
    ['an origin that is none', { ...fine, origins: ['ftp://x'] }, /\/origins\/0/],
    [
      'an authorization without its fields',
      { ...fine, authorization: { kind: 'oauth2' } },
      /\/authorization\/token_url/,
    ],
    [
      'a look-up without fields',
      { ...fine, lookup: { item: '', fields: {}, spellings: ['e164'] } },
      /\/lookup\/fields/,
    ],
  ])('%s', async (_, content, problem) => {
    const body = typeof content === 'string' ? content : JSON.stringify(content)
    const { names, leftOut } = await load({
      'good.json': JSON.stringify({ ...fine, name: 'good' }),
      'wrong.json': body,
    })
    expect(names).toEqual(['good'])
    expect(leftOut).toEqual([['wrong.json', expect.stringMatching(problem)]])
  })

  test('the second file with a name', async () => {
    const { names, leftOut } = await load({ 'a.json': JSON.stringify(fine), 'b.json': JSON.stringify(fine) })
    expect([names, leftOut]).toEqual([['mine'], [['b.json', '/name: another file has mine']]])
  })

  test('a folder that is not there', async () => {
    const leftOut: string[] = []
    const digests = await loadPresetFolder(join(path, 'missing'), { onLeftOut: (_, problem) => leftOut.push(problem) })
    expect([digests.size, leftOut]).toEqual([0, [expect.stringContaining('cannot be read')]])
  })
})

function text(name: string) {
  return { name, title: name, type: 'text' }
}

test('an authorization of a file takes parameters, and applies only if its own is given', async () => {
  const authorization = {
    if: '{{ parameters.client }}',
    kind: 'oauth2',
    token_url: 'https://{{ parameters.region }}.example.com/token',
    client_id: '{{ parameters.client }}',
    client_secret: '{{ parameters.secret }}',
  }
  const parameters = [text('client'), { ...text('secret'), type: 'secret' }, { ...text('region'), default: 'eu' }]
  const file = { name: 'mine', title: 'Mine', parameters, authorization, steps: [{ name: 'one', on: ['call_ended'] }] }
  expect(await load({ 'a.json': JSON.stringify(file) })).toEqual({ names: ['mine'], leftOut: [] })
  const preset = presetByName('mine')
  expect(preset?.authorization({ region: 'us' })).toBeNull()
  expect(preset?.authorization({ client: 'c', secret: '{{ x }}', region: 'us' })).toEqual({
    kind: 'oauth2',
    token_url: 'https://us.example.com/token',
    client_id: 'c',
    client_secret: '{{ x }}',
  })
})

test('a webhook whose preset is gone shows the problem', async () => {
  using at = emptyFolder()
  const store = openStore(join(at.path, 'hookswitch.db'))
  const url = 'https://crm.example.com/'
  await store.webhooks.listReplace({
    accountId: 1,
    list: [webhook(url)],
    ifMatch: null,
    secrets: ['whsec_a'],
    nowUs: 1,
  })
  const flow = { preset: 'mine', parameters: {} }
  await store.webhooks.optionsReplace({ accountId: 1, url, options: { ...DEFAULT_OPTIONS, flow }, nowUs: 1 })
  let elsewhere: readonly string[] = []
  const { list } = createOptionsService({
    webhooks: store.webhooks,
    samples: exampleTexts(),
    templates: TEMPLATES,
    allow: () => [],
    presetsElsewhere: async () => elsewhere,
  })
  setPresetsOfFiles([])
  const message = expect.stringContaining('there is no preset mine here')
  expect((await list(1))[0]?.problem).toEqual({ since: expect.any(String), message })
  expect(flowOf({ flow, flowSecrets: {} })).toEqual({ problem: message })
  // A node that has the preset sends for the account.
  elsewhere = ['mine']
  expect((await list(1))[0]?.problem).toBeUndefined()
  elsewhere = []
  await load({
    'a.json': JSON.stringify({ name: 'mine', title: 'Mine', steps: [{ name: 'one', on: ['call_ended'] }] }),
  })
  expect((await list(1))[0]?.problem).toBeUndefined()
  await store.stop()
})
