import { describe, expect, test } from 'bun:test'
import type { CallEvent } from '../../../src/events/bodies.ts'
import { ODOO } from '../../../src/flows/presets/odoo.ts'
import { startOdoo } from '../../help/crm/odoo.ts'
import { type Partner, partner } from '../../help/crm/odoo-contacts.ts'
import { runPreset } from '../../help/crm/run-flow.ts'
import { situationOf } from '../../help/crm/situations.ts'

const NUMBER = '+493076543210'
/** A call from Berlin on a PBX with `country=DE`. */
const events = situationOf('asterisk/a-inbound-answered').events.map((event): CallEvent => {
  const { data } = event.body
  const from = { ...data.call.from, number: '03076543210', e164: NUMBER }
  return { ...event, body: { ...event.body, data: { ...data, call: { ...data.call, from } } } as CallEvent['body'] }
})

/** Returns the contacts of the call's notes and whether a contact was created. */
async function notedOn(version: 'json2' | 'rpc', known: readonly Partner[]) {
  const stub = startOdoo(version, known)
  try {
    const parameters = { ...stub.parameters, users: {} }
    const { failures } = await runPreset({ preset: ODOO, parameters, webhookUrl: stub.url, events })
    const created = stub.requests.filter(
      ({ text, path }) => /res\.partner/.test(path + text) && /create/.test(path + text),
    )
    return { failures, refusals: stub.refusals, created: created.length, calls: stub.calls().length }
  } finally {
    stub.stop()
  }
}

const FOUND = { failures: [], refusals: [], created: 0, calls: 1 }
const NEW = { ...FOUND, created: 1 }

const typed = (phone: string, more: Partial<Partner> = {}) => partner({ id: 31, name: 'Bea Berlin', phone, ...more })

test.each([
  ['in E.164', typed(NUMBER)],
  ['with spaces, and a country that Odoo knows', typed('030 76543210', { phone_sanitized: NUMBER })],
  ['with spaces, and a country that Odoo does not know', typed('030 7654-3210')],
  ['in international form with spaces', typed('+49 30 76543210')],
  ['with 00', typed('0049 30 76543210')],
  ['without a +', typed('49 30 76543210')],
])('Odoo 19 finds a number that is written %s', async (_, known) =>
  expect(await notedOn('json2', [known])).toEqual(FOUND),
)

test('Odoo 19 does not find the same national number of another country', async () =>
  expect(await notedOn('json2', [typed('030 76543210', { phone_sanitized: '+393076543210' })])).toEqual(NEW))

test.each([
  ['the phone in E.164', typed(NUMBER)],
  ['the mobile phone, as digits in national form', typed('+49301', { mobile: '03076543210' })],
  [
    'the phone in national form, beside a mobile phone',
    typed('03076543210', { mobile: '+49170', phone_sanitized: '+49170' }),
  ],
])('Odoo 14, without phone_mobile_search, finds %s', async (_, known) =>
  expect(await notedOn('rpc', [known])).toEqual(FOUND),
)

test.each(['json2', 'rpc'] as const)(
  'Odoo (%s): a contact that is deleted before its note is written costs no call',
  async (version) => {
    const stub = startOdoo(version)
    let left = 1
    stub.failWith(({ path, text }) => {
      if (/mail\.message/.test(path + text) && /search_read/.test(path + text) && left-- > 0) stub.deleteContacts()
      return undefined
    })
    try {
      const parameters = { ...stub.parameters, users: {} }
      const end = await runPreset({ preset: ODOO, parameters, webhookUrl: stub.url, events })
      expect({ failures: end.failures, refusals: stub.refusals, calls: stub.calls().length }).toEqual({
        failures: [],
        refusals: [],
        calls: 1,
      })
      expect(end.waitedForRetry).toBe(1)
    } finally {
      stub.stop()
    }
  },
)

// As driven on Odoo 18: the transaction of a merge was open while note and activity were written.
test.each(['json2', 'rpc'] as const)(
  'Odoo (%s): a contact that is merged while its note is written costs neither call nor activity',
  async (version) => {
    const stub = startOdoo(version)
    let left = 1
    stub.failWith(({ path, text }) => {
      if (/mail\.activity/.test(path + text) && /load/.test(path + text) && left-- > 0)
        queueMicrotask(() => stub.mergeContacts())
      return undefined
    })
    const { events: missed } = situationOf('asterisk/c-inbound-no-answer')
    const parameters = { ...stub.parameters, users: {} }
    const end = await runPreset({ preset: ODOO, parameters, webhookUrl: stub.url, events: missed })
    const seen = stub.calls().filter(({ number }) => number !== undefined)
    expect([end.failures, stub.refusals, end.waitedForRetry]).toEqual([[], [], 1])
    expect([seen.length, stub.activities()]).toEqual([1, 2])
    stub.stop()
  },
)

describe.each(['json2', 'rpc'] as const)('the activity for a missed call (%s)', (version) => {
  const MISSED = 'asterisk/c-inbound-no-answer'

  // As Odoo 14 answers some of eight calls of one number at once, and Odoo 19 a record that is gone.
  test('is made after a conflict that Odoo answers with an error', async () => {
    const stub = startOdoo(version)
    const error = { name: 'odoo.exceptions.MissingError', message: 'Record does not exist or has been deleted.' }
    let left = 1
    stub.failWith(({ path, text }) => {
      if (!/mail\.activity/.test(path + text) || !/load/.test(path + text) || left-- <= 0) return undefined
      if (version === 'json2') return { status: 404, body: error }
      return { status: 200, body: { jsonrpc: '2.0', id: 1, error: { code: 200, data: error } } }
    })
    const { events: missed } = situationOf(MISSED)
    const parameters = { ...stub.parameters, users: {} }
    const end = await runPreset({ preset: ODOO, parameters, webhookUrl: stub.url, events: missed })
    expect([end.failures, end.waitedForRetry, stub.calls().length, stub.activities()]).toEqual([[], 1, 1, 1])
    stub.stop()
  })

  test.each([
    ['stays while nobody has spoken to the contact', `${MISSED}+asterisk/d-inbound-busy`, true, 2],
    ['is done when the contact has called again and was answered', `${MISSED}+asterisk/a-inbound-answered`, true, 0],
    ['stays without the parameter', `${MISSED}+asterisk/a-inbound-answered`, false, 1],
  ])('%s', async (_, recordings, callback, open) => {
    const stub = startOdoo(version)
    const { events } = situationOf(recordings.replaceAll('+asterisk/', '+'))
    const parameters = { ...stub.parameters, callback, users: {} }
    const { failures } = await runPreset({ preset: ODOO, parameters, webhookUrl: stub.url, events })
    expect([failures, stub.refusals, stub.calls().length, stub.activities()]).toEqual([[], [], 2, open])
    stub.stop()
  })
})

describe.each(['json2', 'rpc'] as const)('the deadline of the activity for a missed call (%s)', (version) => {
  const { events: missed } = situationOf('asterisk/c-inbound-no-answer')
  // Half past two of the next day in Tashkent, half past four of the same one in New York.
  const late = missed.map((event): CallEvent => {
    const { data } = event.body
    const call = { ...data.call, ended_at: '2026-11-20T21:30:00.000Z' }
    return { ...event, body: { ...event.body, data: { ...data, call } } as CallEvent['body'] }
  })
  test.each([
    ['UTC, if nothing else is said', {}, '2026-11-20'],
    ['Tashkent', { timezone: 'Asia/Tashkent' }, '2026-11-21'],
    ['New York', { timezone: 'America/New_York' }, '2026-11-20'],
  ])('is the day in %s', async (_, zone, day) => {
    const stub = startOdoo(version)
    const parameters = { ...stub.parameters, users: {}, ...zone }
    const { failures } = await runPreset({ preset: ODOO, parameters, webhookUrl: stub.url, events: late })
    expect([failures, stub.deadlines()]).toEqual([[], [day]])
    stub.stop()
  })
})
