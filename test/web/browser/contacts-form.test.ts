import { describe, expect, test } from 'bun:test'
import { SPELLINGS } from '../../../src/contacts/look-up.ts'
import type { NewContactSettings } from '../../../src/contacts/model.ts'
import { settingsErrors } from '../../../src/contacts/settings.ts'
import {
  type ContactsForm,
  contactSettingsOf,
  contactsFormOf,
  findContactsErrors,
} from '../../../src/web/browser/lib/contacts-form.ts'

const STORED: NewContactSettings = {
  url: 'https://crm.example.com/contacts?phone={{ number }}',
  method: 'POST',
  headers: { 'x-api-key': null },
  body: '{"phone":{{ number }}}',
  authorization: null,
  item: '/items/0',
  fields: { name: '/name', owner: '/owner/extension' },
  spellings: ['e164', 'last_10'],
  budget_ms: 500,
  cache_minutes: 0,
}

describe('the form of a look-up', () => {
  test('gives settings back as they were stored', () =>
    expect(contactSettingsOf(contactsFormOf(STORED))).toEqual(STORED))

  test('keeps an authorization that it does not show', () => {
    const authorization = { kind: 'oauth2', token_url: 'https://crm.example.com/token', client_id: 'a' } as const
    expect(contactSettingsOf(contactsFormOf({ ...STORED, authorization })).authorization).toEqual(authorization)
  })

  test('has no request for a preset, whose waiting time it has', () => {
    const form = contactsFormOf({ preset: 'odoo', budget_ms: 100, cache_minutes: 5 })
    expect([form.url, form.budgetMs, form.cacheMinutes]).toEqual(['', '100', '5'])
  })

  test('has all spellings when it is new, and the API takes it once it has a URL and a field', () => {
    const empty = contactsFormOf(null)
    expect(empty.spellings).toEqual([...SPELLINGS])
    const form = { ...empty, url: ' https://crm.example.com/{{ number }} ', fields: { ...empty.fields, name: '/name' } }
    expect(findContactsErrors(form, true)).toEqual([])
    expect(settingsErrors(contactSettingsOf(form))).toEqual([])
  })

  test.each<[string, Partial<ContactsForm>, string]>([
    ['a URL', { url: 'crm.example.com' }, '/url'],
    ['a field', { fields: { name: ' ', company: '', id: '', url: '', owner: '' } }, '/fields'],
    ['a pointer with a slash', { item: 'items' }, '/item'],
    ['a pointer with a slash', { fields: { name: 'name', company: '', id: '', url: '', owner: '' } }, '/fields/name'],
    ['a spelling', { spellings: [] }, '/spellings'],
    ['numbers', { budgetMs: 'soon' }, '/budget_ms'],
    ['numbers', { cacheMinutes: 'x' }, '/cache_minutes'],
  ])('asks for %s', (_, change, path) =>
    expect(findContactsErrors({ ...contactsFormOf(STORED), ...change }, true).map((one) => one.path)).toEqual([path]),
  )

  test('sends null for a header whose stored value stays', () => {
    const form = contactsFormOf(STORED)
    const headers = [...form.headers, { name: ' x-new ', value: 'secret' }, { name: '', value: 'left' }]
    expect(contactSettingsOf({ ...form, headers }).headers).toEqual({ 'x-api-key': null, 'x-new': 'secret' })
  })
})
