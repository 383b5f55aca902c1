import { describe, expect, test } from 'bun:test'
import { allowListOf } from '../../src/app/settings.ts'
import { readLookUp } from '../../src/contacts/look-up.ts'
import { lookUpNumber } from '../../src/contacts/look-up-request.ts'
import { lookUpOf } from '../../src/contacts/settings.ts'
import { presetByName } from '../../src/flows/presets/catalog.ts'
import { createStepRenderer } from '../../src/flows/step-renderer.ts'
import { newExchange } from '../../src/outbound/exchange.ts'
import { newGuardedRequests } from '../../src/outbound/guarded-request.ts'
import type { CrmStub } from '../help/crm/server.ts'
import { STUBS } from '../help/crm/stubs.ts'
import { TEMPLATES } from '../help/templates.ts'

/** Each preset that looks contacts up, with the URL and key of its webhook, against its stub. */

const exchange = newExchange(newGuardedRequests({ allow: allowListOf(['loopback']), proxy: undefined }))
const steps = createStepRenderer(TEMPLATES, { accountId: 1, purpose: 'sending' })

async function found(stub: CrmStub, preset: string, e164: string) {
  const webhook = { url: stub.url, parameters: stub.parameters }
  const lookUp = lookUpOf(1, { settings: { preset }, secrets: {} }, webhook)
  if (lookUp === undefined) throw new Error(`${preset} looks nothing up`)
  const authorized = async () => ({ header: stub.authorization ?? '' })
  const authorizer = { authorize: authorized, renew: authorized }
  return await lookUpNumber(lookUp, { number: e164, e164 }, { steps, exchange, authorizer })
}

const LOOKING_UP = STUBS.filter(({ preset }) => presetByName(preset)?.lookup !== null)

describe.each(LOOKING_UP.map(({ label, preset, start }) => [label, preset, start] as const))(
  '%s',
  (_, preset, start) => {
    test('finds a contact, and tells a number that is not known from an error', async () => {
      const stub = start()
      try {
        const contact = await found(stub, preset, '+4930123456')
        expect(contact).toMatchObject({ kind: 'found', contact: { id: expect.stringMatching(/./) } })
        expect(contact).toMatchObject({ contact: { name: 'Maria Bern' } })
        expect(await found(stub, preset, '+4930999999')).toEqual({ kind: 'not found' })
        expect(stub.refusals).toEqual([])
        for (const answer of [...stub.limited, ...stub.passing]) {
          stub.failWith(() => answer)
          expect(await found(stub, preset, '+4930123456')).toMatchObject({ kind: 'failed' })
        }
      } finally {
        stub.stop()
      }
    })
  },
)

/** The user, page and extension of the contact in each vendor's documented answer; `null`: the CRM does not say. */
const DOCUMENTED: readonly [preset: string, more: object, user: string, url: string | null, owner: string | null][] = [
  ['bitrix24', {}, '1269', 'https://crm.example.com/crm/contact/details/797/', '101'],
  ['amocrm', {}, '504141', 'https://crm.example.com/contacts/detail/45687', '101'],
  ['hubspot', {}, '11349275740', null, '101'],
  ['odoo', {}, '7', 'https://crm.example.com/odoo/res.partner/25', '101'],
  ['pipedrive', {}, '7', 'https://crm.example.com/person/15', '101'],
  ['zendesk', {}, '7', 'https://crm.example.com/agent/users/35436', null],
  ['espocrm', {}, '1', 'https://crm.example.com/#Contact/view/5564764442a6d024c', '101'],
  ['frappe', {}, 'anna@example.com', 'https://crm.example.com/crm/contacts/Maria%20Bern', null],
  ['vtiger', {}, '19x1', null, null],
  ['zoho', { region: 'eu' }, '554023000000235011', 'https://crm.zoho.eu/crm/tab/Contacts/554023000000527002', '101'],
]
test.each(DOCUMENTED)(
  '%s gives the page of a contact, and the extension of its owner',
  (preset, more, user, url, owner) => {
    const answer = presetByName(preset)?.lookup?.answer
    // Of two extensions of one user the first is the owner's.
    const parameters = { users: { 100: 'another', 101: user, 102: user }, ...more }
    const webhook = { url: 'https://crm.example.com/rest/1/KEY/', parameters }
    const lookUp = lookUpOf(1, { settings: { preset }, secrets: {} }, webhook)
    if (lookUp === undefined) throw new Error(`${preset} looks nothing up`)
    const text = JSON.stringify(answer?.body)
    const read = readLookUp({ status: 200, failure: null, text, retryAfterMs: null, durationMs: 1 }, lookUp)
    expect(read).toMatchObject({ kind: 'found', contact: { name: 'Maria Bern', url, owner } })
  },
)

test('every preset that looks up is among them', () => {
  const names = LOOKING_UP.map(({ preset }) => preset)
  expect(DOCUMENTED.map(([preset]) => preset).toSorted()).toEqual([...new Set(names)].toSorted())
})

test('a contact without a user, or of a user without an extension, has no owner', () => {
  const lookUp = { item: '', fields: { id: '/id' }, owner: { user: '/user/0', extensions: new Map([['7', '101']]) } }
  const ownerIn = (body: unknown) =>
    readLookUp({ status: 200, failure: null, text: JSON.stringify(body), retryAfterMs: null, durationMs: 1 }, lookUp)
  expect(ownerIn({ id: 1, user: [7, 'Anna'] })).toMatchObject({ contact: { owner: '101' } })
  for (const user of [false, null, [8, 'Ben'], []])
    expect(ownerIn({ id: 1, user })).toMatchObject({ contact: { owner: null } })
})
