import { expect, test } from 'bun:test'
import { type NamedPhone, proposeExtensions } from '../../../src/flows/setup/proposed-extensions.ts'

const user = (id: string, names: readonly string[], extension: string | null = null) => ({ id, names, extension })
const phone = (extension: string, name: string | null): NamedPhone => ({ extension, name })
const ANNA = user('7', ['Anna Smith', 'anna.smith@example.com'])

test.each<[string, readonly ReturnType<typeof user>[], readonly NamedPhone[], Record<string, string>]>([
  ['the phone with the name of the user', [ANNA], [phone('101', 'Anna Smith'), phone('102', 'Ben')], { 7: '101' }],
  [
    'one in another case, with accents and signs',
    [user('7', ['Zoë Müller'])],
    [phone('101', 'zoe  MULLER')],
    { 7: '101' },
  ],
  ['one with the last name first', [ANNA], [phone('101', 'Smith, Anna')], { 7: '101' }],
  ['one with the log-in', [ANNA], [phone('101', 'anna.smith')], { 7: '101' }],
  ['none where two phones have the name', [ANNA], [phone('101', 'Anna Smith'), phone('102', 'Anna Smith')], {}],
  ['none where two users have the name', [ANNA, user('8', ['Anna Smith'])], [phone('101', 'Anna Smith')], {}],
  ['none for a user whose extension the CRM has', [user('7', ['Anna'], '105')], [phone('101', 'Anna')], {}],
  ['none that another user has in the CRM', [user('7', ['Anna']), user('8', ['B'], '101')], [phone('101', 'Anna')], {}],
  ['none for a phone without a name', [user('7', [''])], [phone('101', null), phone('102', '')], {}],
])('of a user is proposed %s', (_, users, phones, proposed) =>
  expect(Object.fromEntries(proposeExtensions(users, phones))).toEqual(proposed),
)
