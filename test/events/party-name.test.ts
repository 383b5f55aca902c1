import { expect, test } from 'bun:test'
import { withNumber } from '../../src/events/party-name.ts'
import { STATE_PHRASES } from '../../src/events/phrase.ts'

test.each([
  ['Anna', '101', 'Anna 101'],
  ['Phone 101', '101', 'Phone 101'],
  ['sipp 79161000919', '79161000919', 'sipp 79161000919'],
  ['ANNA', 'anna', 'ANNA'],
  ['Desk (101)', '101', 'Desk (101)'],
  // Part of a longer number is not the number.
  ['Room 1015', '101', 'Room 1015 101'],
  ['Anna', null, 'Anna'],
  [null, '101', '101'],
  [null, null, null],
] as const)('the name %j with the number %j is %j', (name, number, text) => {
  expect(withNumber(name, number)).toBe(text)
})

test('a phone that is called a phone is named once', () => {
  const phone = { extension: '101', state: 'registered', device: 'in_use', contacts: 1, pbx: 'office' } as const
  const since = '2026-11-28T12:00:00.000000Z'
  expect(STATE_PHRASES.phone({ ...phone, since, name: 'Phone 101' })).toBe('Phone 101 is in use')
  expect(STATE_PHRASES.phone({ ...phone, since, name: 'Anna' })).toBe('Phone Anna (101) is in use')
  expect(STATE_PHRASES.phone({ ...phone, since, name: null })).toBe('Phone 101 is in use')
})
