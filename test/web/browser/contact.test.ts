import { describe, expect, test } from 'bun:test'
import type { Contact } from '../../../src/events/bodies.ts'
import { contactHref, partyTexts } from '../../../src/web/browser/lib/contact.ts'

const none: Contact = { id: null, name: null, company: null, url: null, owner: null }
const withUrl = (url: string | null) => ({ contact: { ...none, url } })

describe('the link to a contact', () => {
  for (const [url, expected] of [
    ['https://crm.example/contacts/1?a=b', 'https://crm.example/contacts/1?a=b'],
    [' https://crm.example/1', 'https://crm.example/1'],
    ['http://crm.example/1', null],
    ['javascript:alert(1)', null],
    ['java\nscript:alert(1)', null],
    ['data:text/html,<script>alert(1)</script>', null],
    ['//crm.example/1', null],
    ['/contacts/1', null],
    [null, null],
  ] as const)
    test(JSON.stringify(url), () => expect(contactHref(withUrl(url))).toBe(expected))

  test('is missing without a contact', () => expect(contactHref({ contact: null })).toBeNull())
})

describe('a party', () => {
  const party = { number: '+4930123456', name: 'CALLER', extension: null, e164: null, contact: null }
  const shown = (contact: Partial<Contact> | null, more: object = {}) =>
    partyTexts({ ...party, ...more, contact: contact === null ? null : { ...none, ...contact } })

  test('has the name of its contact, with number and company beside it', () => {
    expect(shown(null)).toEqual({ main: 'CALLER', beside: ['+4930123456'] })
    expect(shown({ name: 'Maria', company: 'Bern AG' })).toEqual({ main: 'Maria', beside: ['+4930123456', 'Bern AG'] })
    expect(shown({ company: 'Bern AG' })).toEqual({ main: 'Bern AG', beside: ['+4930123456'] })
    expect(shown({ id: '1' })).toEqual({ main: 'CALLER', beside: ['+4930123456'] })
    expect(shown(null, { name: null })).toEqual({ main: '+4930123456', beside: [] })
    expect(shown(null, { name: null, number: null })).toEqual({ main: 'Anonymous', beside: [] })
    expect(shown(null, { number: '101', extension: '101', name: 'Anna' })).toEqual({ main: 'Anna', beside: ['101'] })
  })
})
