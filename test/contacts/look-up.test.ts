import { describe, expect, test } from 'bun:test'
import { createContactCache } from '../../src/contacts/cache.ts'
import { readLookUp, SPELLINGS, spelled } from '../../src/contacts/look-up.ts'
import { SECOND } from '../../src/lib/time.ts'

const BERLIN = { number: '030 123456', e164: '+4930123456' }
const MOBILE = { number: '998712345678', e164: '+998712345678' }
const UNKNOWN = { number: '(0712) 34-56', e164: null }

describe('the spellings of a number', () => {
  for (const [name, phone, expected] of [
    ['with an E.164 form', BERLIN, ['+4930123456', '4930123456', '030123456', '4930123456'.slice(-10)]],
    ['of another country', MOBILE, ['+998712345678', '998712345678', '712345678', '8712345678']],
    ['without an E.164 form', UNKNOWN, ['', '07123456', '07123456', '07123456']],
  ] as const)
    test(name, () => {
      const each = SPELLINGS.map((one) => spelled(phone, [one])[0] ?? '')
      expect(each).toEqual([...expected])
      expect(spelled(phone, SPELLINGS)).toEqual([...new Set(expected)].filter((text) => text !== ''))
    })
})

const PLACE = {
  item: '/result/0',
  fields: { id: '/ID', name: '/NAME', company: '/company/title', url: '/links/self', owner: '/owner' },
} as const
const answered = (status: number | null, text: string | null) => ({
  status,
  failure: status === null ? 'connection refused' : null,
  text,
  retryAfterMs: null,
  durationMs: 1,
})
const read = (json: unknown) => readLookUp(answered(200, JSON.stringify(json)), PLACE)
const contact = { id: null, name: null, company: null, url: null, owner: null }

describe('an answer to a look-up', () => {
  test('has a contact at the item, with text of numbers', () => {
    const item = {
      ID: 797,
      NAME: ' Maria Bern ',
      company: { title: 'Bern AG' },
      links: { self: 'https://x/797' },
      owner: 101,
    }
    expect(read({ result: [item] })).toEqual({
      kind: 'found',
      contact: { id: '797', name: 'Maria Bern', company: 'Bern AG', url: 'https://x/797', owner: '101' },
    })
    // Odoo writes `false` for an empty field.
    expect(read({ result: [{ ID: 1, NAME: false, owner: '' }] })).toEqual({
      kind: 'found',
      contact: { ...contact, id: '1' },
    })
  })

  for (const [name, answer] of [
    ['without the item', read({ result: [] })],
    ['with an empty item', read({ result: [{}] })],
    ['with null in its place', read({ result: [null] })],
    ['with nothing at any field', read({ result: [{ other: 1 }] })],
    ['of 404', readLookUp(answered(404, 'no such page'), PLACE)],
    ['of 204', readLookUp(answered(204, null), PLACE)],
    ['without a body', readLookUp(answered(200, ''), PLACE)],
  ] as const)
    test(`${name} is not a contact`, () => expect(answer).toEqual({ kind: 'not found' }))

  const NO_JSON = 'the answer is not JSON, or is nested too deeply'
  for (const [name, answer, reason] of [
    ['that did not come', readLookUp(answered(null, null), PLACE), 'connection refused'],
    ['of 401', readLookUp(answered(401, '{}'), PLACE), 'status 401'],
    ['of 302', readLookUp(answered(302, null), PLACE), 'status 302'],
    ['of 500', readLookUp(answered(500, '{}'), PLACE), 'status 500'],
    ['that is too long', readLookUp(answered(200, null), PLACE), 'the answer is too long, or ended too early'],
    ['that is no JSON', readLookUp(answered(200, '<html>'), PLACE), NO_JSON],
    [
      'that is nested too deeply',
      readLookUp(answered(200, `${'['.repeat(1_000)}${']'.repeat(1_000)}`), PLACE),
      NO_JSON,
    ],
    ['with text for an item', read({ result: ['Maria'] }), 'the answer has no object at /result/0'],
  ] as const)
    test(`${name} is a failure`, () => expect(answer).toEqual({ kind: 'failed', reason }))

  test('is cut where a text is too long', () => {
    const found = read({ result: [{ NAME: '💶'.repeat(500), links: { self: `https://x/${'a'.repeat(5_000)}` } }] })
    if (found.kind !== 'found') throw new Error('it was not found')
    expect([...(found.contact.name ?? '')]).toHaveLength(200)
    expect(found.contact.url).toHaveLength(1_000)
  })
})

describe('the cache', () => {
  const entry = (untilUs: number) => ({ contact: { ...contact, id: '1' }, untilUs })

  test('keeps a result, found or not found, for its time', () => {
    const cache = createContactCache()
    cache.set(1, '+49301', entry(10 * SECOND))
    cache.set(1, '+49302', { contact: null, untilUs: 5 * SECOND })
    expect(cache.get(1, '+49301', 9 * SECOND)).toEqual({ ...contact, id: '1' })
    expect(cache.get(1, '+49302', 4 * SECOND)).toBeNull()
    expect(cache.get(1, '+49302', 5 * SECOND)).toBeUndefined()
    expect(cache.get(1, '+49301', 10 * SECOND)).toBeUndefined()
    expect(cache.get(2, '+49301', 0)).toBeUndefined()
    expect(cache.size()).toBe(0)
  })

  test('forgets the number that was used least recently', () => {
    const cache = createContactCache(2)
    cache.set(1, 'a', entry(SECOND))
    cache.set(1, 'b', entry(SECOND))
    cache.get(1, 'a', 0)
    cache.set(1, 'c', entry(SECOND))
    expect(['a', 'b', 'c'].map((number) => cache.get(1, number, 0) !== undefined)).toEqual([true, false, true])
  })

  test('an account that fills it pushes out its own numbers alone', () => {
    const cache = createContactCache(10)
    for (const number of ['a', 'b', 'c']) cache.set(2, number, entry(SECOND))
    for (let number = 0; number < 1_000; number += 1) cache.set(1, `${number}`, entry(SECOND))
    expect(['a', 'b', 'c'].map((number) => cache.get(2, number, 0) !== undefined)).toEqual([true, true, true])
    expect([cache.size(), cache.get(1, '999', 0) !== undefined]).toEqual([10, true])
    cache.forget(1)
    expect(cache.size()).toBe(3)
  })

  test('forgets the numbers of an account', () => {
    const cache = createContactCache()
    cache.set(1, 'a', entry(SECOND))
    cache.set(11, 'a', entry(SECOND))
    cache.forget(1)
    expect(cache.get(1, 'a', 0)).toBeUndefined()
    expect(cache.get(11, 'a', 0)).toBeDefined()
  })
})
