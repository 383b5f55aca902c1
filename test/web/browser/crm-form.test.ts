import { describe, expect, test } from 'bun:test'
import { GUIDES } from '../../../src/docs/guides.ts'
import { allPresets } from '../../../src/flows/presets/catalog.ts'
import { shownPresets } from '../../../src/flows/setup/service.ts'
import { crmAddressOf } from '../../../src/web/browser/lib/crm-addresses.ts'
import {
  type CrmForm,
  crmFormOf,
  describePhone,
  fillLines,
  findCrmErrors,
  flowOfForm,
  offeredPhones,
} from '../../../src/web/browser/lib/crm-form.ts'
import { formatSentence } from '../../../src/web/browser/lib/format.ts'
import { anchorOf, sectionsOf } from '../../../src/web/browser/lib/guide-search.ts'
import type { Phone } from '../../../src/web/browser/lib/resources.ts'

const URL = 'https://crm.example.com'
const PRESETS = shownPresets()
function preset(name: string) {
  const found = PRESETS.find((one) => one.name === name)
  if (found === undefined) throw new Error(`no preset ${name}`)
  return found
}
const withValues = (form: CrmForm, values: CrmForm['values']): CrmForm => ({
  ...form,
  values: { ...form.values, ...values },
})
const parametersOf = (form: CrmForm) => flowOfForm(form).parameters

describe('the form of a preset', () => {
  test.each(PRESETS.map((one) => [one.name, one] as const))('%s: a new one has the defaults', (_, one) => {
    const sent = parametersOf(crmFormOf(one, URL)) ?? {}
    for (const { name, default: byDefault } of one.parameters) expect(sent[name] ?? null).toEqual(byDefault)
  })

  test('a stored secret is kept by null, unless it is typed anew; one that never was is left out', () => {
    const form = crmFormOf(preset('espocrm'), URL, { key: null, responsible: 'u1', create: false, callback: true })
    expect(parametersOf(form)).toEqual({ key: null, responsible: 'u1', create: false, callback: true })
    expect(parametersOf(withValues(form, { key: ' new ' }))).toMatchObject({ key: 'new' })
    expect(parametersOf(crmFormOf(preset('espocrm'), URL))).not.toHaveProperty('key')
    expect(findCrmErrors(form)).toEqual([])
  })

  test('stored values come back unchanged', () => {
    const parameters = { format: 'form', internal: true, users: { '101': 'anna', '102': 'bo' }, responsible: 'eve' }
    expect(parametersOf(crmFormOf(preset('journal'), URL, parameters))).toEqual(parameters)
  })

  test.each([
    ['an address', { url: 'crm.example.com' }, {}, ['/url']],
    ['a key', {}, { key: ' ' }, ['/parameters/key']],
    ['a user for an extension', {}, { users: [{ extension: '101', user: '' }] }, ['/parameters/users']],
    [
      'each extension once',
      {},
      {
        users: [
          { extension: '101', user: 'u1' },
          { extension: ' 101', user: 'u2' },
        ],
      },
      ['/parameters/users'],
    ],
    ['no extension for a user', {}, { users: [{ extension: '', user: 'u1' }] }, []],
  ])('asks for %s', (_, change, values, paths) => {
    const whole = withValues(crmFormOf(preset('espocrm'), URL), { key: 'k', responsible: 'u1' })
    expect(findCrmErrors(withValues({ ...whole, ...change }, values)).map(({ path }) => path)).toEqual(paths)
  })
})

test('the map is filled in with the users of the CRM, and existing lines stay', () => {
  const users = [
    { id: '1', name: 'Anna', extension: '101' },
    { id: '2', name: 'Bo', extension: null },
    { id: '3', name: 'Cleo', extension: '103' },
    { id: '4', name: 'Dan', extension: '104' },
  ]
  const lines = [
    { extension: '103', user: '9' },
    { extension: '', user: '4' },
    { extension: '', user: '' },
  ]
  const filled = [
    { extension: '103', user: '9' },
    { extension: '104', user: '4' },
    { extension: '101', user: '1' },
    { extension: '', user: '2' },
    { extension: '', user: '3' },
  ]
  expect(fillLines(lines, users)).toEqual(filled)
  expect(fillLines(filled, users)).toEqual(filled)
})

describe('the known phones', () => {
  const phone = (extension: string, name: string | null, state: Phone['state'] = 'registered') => ({
    extension,
    name,
    state,
  })
  const phones = [
    phone('101', 'Anna Smith'),
    phone('102', 'Bo', 'unregistered'),
    phone('103', null, 'unreachable'),
    phone('104', null),
    phone('101', 'Hotel desk', 'unregistered'),
  ]

  test('are offered with name and state, each extension once, without the ones that a line has', () => {
    expect(offeredPhones(phones, [{ extension: ' 102 ', user: '' }])).toEqual([
      { extension: '101', text: 'Anna Smith; Hotel desk, not registered' },
      { extension: '103', text: 'unreachable' },
      { extension: '104', text: '' },
    ])
    expect(offeredPhones([], [])).toEqual([])
  })

  test('are shown beside their extension; another extension is not known', () => {
    expect(['102', '104', '105'].map((extension) => describePhone(extension, phones))).toEqual([
      'Bo, not registered',
      '',
      undefined,
    ])
  })
})

test('the preset of a file has the address that it names, and the chapter of the guide about files', () => {
  const [name, example] = ['dolibarr', 'https://example.com/dolibarr/']
  expect(crmAddressOf({ name, address: example })).toMatchObject({ example, guide: 'presets' })
  expect(crmAddressOf({ name, address: null })).toMatchObject({ example: 'https://crm.example.com' })
})

describe('every preset', () => {
  const sections = GUIDES.filter(({ name }) => name === 'crm').flatMap(sectionsOf)

  test.each(allPresets().map((one) => [one.name, one] as const))(
    '%s has an address that the guide names, in a section of its own',
    (name) => {
      const { example, section } = crmAddressOf({ name, address: null })
      const found = sections.find(({ anchor }) => anchor === anchorOf(section.replaceAll('`', '')))
      expect([name, found?.title.replaceAll('`', '')]).toEqual([name, section.replaceAll('`', '')])
      if (!/^https:\/\/crm.example.com/.test(example)) expect(found?.text).toContain(example)
    },
  )

  // The page offers "Check" and "Fill in from the CRM" where there is a look-up.
  test.each(allPresets().map((one) => [one.name, one] as const))(
    '%s has a check and a list of users where it has a look-up, and only there',
    (_, { lookup, check, directory }) => {
      expect([check !== null, directory !== null]).toEqual([lookup !== null, lookup !== null])
    },
  )
})

test.each([
  [
    'the CRM answered 401: Unauthorized. the key is wrong: make a new one',
    'The CRM answered 401: Unauthorized. The key is wrong: make a new one.',
  ],
  ['Done.', 'Done.'],
  ['was it https://crm.example.com/a.b?', 'Was it https://crm.example.com/a.b?'],
])('%j is the sentence %j', (text, sentence) => expect(formatSentence(text)).toBe(sentence))
