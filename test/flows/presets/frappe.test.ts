import { expect, test } from 'bun:test'
import { FRAPPE } from '../../../src/flows/presets/frappe.ts'
import { startFrappe } from '../../help/crm/frappe.ts'
import { runPreset } from '../../help/crm/run-flow.ts'
import { situationOf } from '../../help/crm/situations.ts'

const MISSED = 'asterisk/c-inbound-no-answer'
const USERS = { 101: 'u1@example.com' }

function startStub() {
  const stub = startFrappe()
  return { ...stub, [Symbol.dispose]: () => void stub.stop() }
}

test.each([
  ['is open for the owner', MISSED, true, ['Todo u1@example.com']],
  [
    'is done when the contact has called again and was answered',
    `${MISSED}+a-inbound-answered`,
    true,
    ['Done u1@example.com'],
  ],
  ['is not made without the parameter', `${MISSED}+a-inbound-answered`, false, []],
])('the task for a missed call in Frappe CRM %s', async (_, recordings, callback, tasks) => {
  const { events } = situationOf(recordings)
  for (let kill = -1; ; kill += 1) {
    using stub = startStub()
    const parameters = { ...stub.parameters, callback, users: USERS }
    const killedAfter = new Set(kill < 0 ? [] : [kill])
    const { attempts } = await runPreset({ preset: FRAPPE, parameters, webhookUrl: stub.url, events, killedAfter })
    expect([stub.refusals, stub.tasks()]).toEqual([[], tasks])
    if (kill >= attempts) break
  }
})

test.each([
  ['as digits', '15551230001', '15551230001'],
  ['with spaces', '+1 555 123 0001', '+15551230001'],
  ['with brackets', '(555) 123-0001', '+15551230001'],
  ['as Frappe writes it', '+1-5551230001', '+15551230001'],
])('a contact whose number is spelled %s gets the call, and no lead is made', async (_, spelled, number) => {
  using stub = startStub()
  stub.addContact('Alice', spelled)
  const { events } = situationOf('asterisk/a-inbound-answered')
  const text = JSON.stringify(events).replaceAll('"e164":null', `"e164":"${number}"`)
  const parameters = { ...stub.parameters, users: USERS }
  await runPreset({ preset: FRAPPE, parameters, webhookUrl: stub.url, events: JSON.parse(text) })
  expect(stub.references()).toEqual(['Contact Alice'])
  expect(stub.requests.some(({ method, path }) => method === 'POST' && path.endsWith('CRM%20Lead'))).toBe(false)
})

test('a contact with a deal gets the call on the deal', async () => {
  using stub = startStub()
  stub.addContact('With a deal', '15551230001')
  const { events } = situationOf('asterisk/a-inbound-answered')
  await runPreset({ preset: FRAPPE, parameters: { ...stub.parameters }, webhookUrl: stub.url, events })
  expect(stub.references()).toEqual(['CRM Deal CRM-DEAL-2026-1'])
})

test('a caller whose number has no digits is not filed under a contact that has no number', async () => {
  using stub = startStub()
  stub.addContact('Somebody', '')
  const { events } = situationOf('asterisk/a-inbound-answered')
  const text = JSON.stringify(events).replaceAll('15551230001', 'reception')
  await runPreset({
    preset: FRAPPE,
    parameters: { ...stub.parameters, users: USERS },
    webhookUrl: stub.url,
    events: JSON.parse(text),
  })
  expect(stub.calls().map((call) => call.number)).toEqual(['reception'])
})

test('a lead that a person deletes before the call is saved costs no call', async () => {
  using stub = startStub()
  let isDeleted = false
  stub.failWith(({ method, path }) => {
    if (isDeleted || method !== 'POST' || !path.endsWith('CRM%20Call%20Log')) return undefined
    isDeleted = true
    stub.deleteLeads()
    return undefined
  })
  const { events } = situationOf('asterisk/a-inbound-answered')
  const { failures } = await runPreset({
    preset: FRAPPE,
    parameters: { ...stub.parameters, users: USERS },
    webhookUrl: stub.url,
    events,
  })
  expect([isDeleted, failures, stub.calls().map(({ number, user }) => [number, user])]).toEqual([
    true,
    [],
    [['15551230001', 'u1@example.com']],
  ])
})

test('a role without tasks costs no call', async () => {
  using stub = startStub()
  stub.failWith(({ path }) =>
    path.startsWith('/api/resource/CRM%20Task') ? { status: 403, body: { exc_type: 'PermissionError' } } : undefined,
  )
  const { events } = situationOf(`${MISSED}+a-inbound-answered`)
  const parameters = { ...stub.parameters, callback: true, users: USERS }
  const { failures } = await runPreset({ preset: FRAPPE, parameters, webhookUrl: stub.url, events })
  expect([failures, stub.calls().length, stub.tasks()]).toEqual([[], 2, []])
})
