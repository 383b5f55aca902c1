import { describe, expect, test } from 'bun:test'
import {
  bySetting,
  type Configured,
  classify,
  kindOfContext,
  type Seen,
} from '../../../src/pbx/endpoints/endpoint-classifier.ts'

type Surroundings = Parameters<typeof classify>[3]

const NOBODY: Surroundings = {
  settings: { trunks: [], extensions: [] },
  usersOf: () => ({ extensions: 0, trunks: 0 }),
  knowsExtensions: false,
}
/** `office` is a context of phones, `carrier` one of trunks, `both` is used by both. */
const KNOWN: Surroundings = {
  ...NOBODY,
  usersOf: (context) => ({
    extensions: context === 'office' || context === 'both' ? 3 : 0,
    trunks: context === 'carrier' || context === 'both' ? 1 : 0,
  }),
  knowsExtensions: true,
}

type Case = readonly [what: string, name: string, Configured, Seen, Surroundings, kind: string | null, reason: string]

const CASES: readonly Case[] = [
  ['nothing is known', 'PJSIP/anna', {}, {}, NOBODY, null, 'none'],
  ['a name that is a number', 'PJSIP/101', {}, {}, NOBODY, 'extension', 'numeric_name'],
  ['a number of seven digits is no name of a phone', 'SIP/5551234', {}, {}, NOBODY, null, 'none'],
  ['it registers with a provider', 'PJSIP/101', { registers: true, listed: 'hint' }, {}, NOBODY, 'trunk', 'registers'],
  ['a hint', 'PJSIP/anna', { listed: 'hint', dialled: 'with_number' }, {}, NOBODY, 'extension', 'hint'],
  ['a mailbox', 'PJSIP/201', { listed: 'mailbox' }, { proof: 'with_number' }, NOBODY, 'extension', 'mailbox'],
  ['a queue seat', 'PJSIP/anna', { listed: 'seat' }, { context: 'from-trunk' }, NOBODY, 'extension', 'seat'],
  ['a directory entry', '1001', { listed: 'directory' }, {}, NOBODY, 'extension', 'directory'],
  [
    'the dialplan sends numbers to it',
    'PJSIP/555012',
    { dialled: 'with_number' },
    {},
    NOBODY,
    'trunk',
    'dialplan_number',
  ],
  [
    '… and a call dials it alone',
    'PJSIP/t',
    { dialled: 'with_number' },
    { alone: true },
    NOBODY,
    'trunk',
    'dialplan_number',
  ],
  ['a call sent a number to it', 'PJSIP/t', {}, { proof: 'with_number', alone: true }, NOBODY, 'trunk', 'call_number'],
  ['it logged in', '1001', {}, { proof: 'login', context: 'public' }, NOBODY, 'extension', 'login'],
  [
    'a proof goes before a context',
    'PJSIP/t',
    {},
    { proof: 'with_number', context: 'from-internal' },
    NOBODY,
    'trunk',
    'call_number',
  ],
  ['the name of its context', 'PJSIP/t', {}, { context: 'from-trunk', alone: true }, NOBODY, 'trunk', 'context'],
  [
    'the name of its context, though its own is a number',
    'PJSIP/555012',
    {},
    { context: 'from-pstn' },
    NOBODY,
    'trunk',
    'context',
  ],
  ['a named phone', 'PJSIP/bert', {}, { context: 'from-internal' }, NOBODY, 'extension', 'context'],
  [
    'the context of its configuration',
    'external',
    { context: 'public' },
    { context: 'default' },
    NOBODY,
    'trunk',
    'context',
  ],
  [
    'the dialplan dials it alone',
    'PJSIP/door',
    { dialled: 'alone' },
    { context: 'door' },
    KNOWN,
    'extension',
    'dialplan_alone',
  ],
  ['its context is that of phones', 'PJSIP/anna', {}, { context: 'office' }, KNOWN, 'extension', 'context_shared'],
  [
    'its context is that of trunks',
    'PJSIP/x',
    {},
    { context: 'carrier', alone: true },
    KNOWN,
    'trunk',
    'context_shared',
  ],
  ["its context is nobody's", 'PJSIP/x', {}, { context: 'other' }, KNOWN, 'trunk', 'context_shared'],
  ["its context is everybody's", 'PJSIP/x', {}, { context: 'both' }, KNOWN, null, 'none'],
  [
    'many call through it',
    'PJSIP/200',
    {},
    { manyCallers: true, context: 'office', alone: true, number: '200' },
    KNOWN,
    'trunk',
    'many_callers',
  ],
  [
    '… which the dialplan knows better',
    'PJSIP/200',
    { dialled: 'alone' },
    { manyCallers: true },
    NOBODY,
    'extension',
    'dialplan_alone',
  ],
  ['a call dialled it alone', 'PJSIP/anna', {}, { alone: true, context: 'default' }, NOBODY, 'extension', 'call_alone'],
]

describe('an endpoint is', () => {
  test.each(CASES)('%s: %s', (_, name, configured, seen, around, kind, reason) => {
    expect(classify(name, configured, seen, around)).toEqual({ kind, reason } as ReturnType<typeof classify>)
  })

  test('what the settings state before all', () => {
    const settings = { trunks: ['PJSIP/t*', 'DAHDI/i1', 'carrier'], extensions: ['anna', '1??', '2*', 'a.b'] }
    const kinds: Readonly<Record<string, string | null>> = {
      'PJSIP/t1': 'trunk',
      'SIP/t1': null,
      'DAHDI/i1': 'trunk',
      'IAX2/carrier': 'trunk',
      'PJSIP/anna': 'extension',
      'PJSIP/2': 'extension',
      'PJSIP/111': 'extension',
      'PJSIP/11': null,
      'PJSIP/1111': null,
      'PJSIP/a.b': 'extension',
      'PJSIP/axb': null,
    }
    for (const [name, kind] of Object.entries(kinds))
      expect(`${name} ${bySetting(name, '', settings)}`).toBe(`${name} ${kind}`)
    expect(bySetting('PJSIP/0004f2aabbcc', '133', settings)).toBe('extension')
    expect(bySetting('PJSIP/x', '', { trunks: [], extensions: ['1*'] })).toBe('trunk')
    const around = { ...NOBODY, settings }
    expect(classify('PJSIP/t1', { listed: 'hint' }, { proof: 'login' }, around)).toEqual({
      kind: 'trunk',
      reason: 'setting',
    })
  })
})

test.each([
  ['from-internal', 'extension'],
  ['from-internal-xfer', 'extension'],
  ['internal', 'extension'],
  ['phones', 'extension'],
  ['from-trunk', 'trunk'],
  ['from-trunk-pjsip-Provider', 'trunk'],
  ['from-pstn', 'trunk'],
  ['from-pstn-toheader', 'trunk'],
  ['from-did-direct', 'trunk'],
  ['from-sip-external', 'trunk'],
  ['public', 'trunk'],
  ['incoming', 'trunk'],
  ['inbound-calls', 'trunk'],
  ['default', null],
  ['office', null],
  ['publication', null],
  ['', null],
])('the context %s is of a kind: %s', (context, kind) => {
  expect(kindOfContext(context)).toBe(kind as ReturnType<typeof kindOfContext>)
})

describe('a pattern of a setting', () => {
  const isTrunk = (pattern: string, name: string) =>
    bySetting(name, '', { trunks: [pattern], extensions: [] }) === 'trunk'

  /** The same language as regular expressions have it, for short texts. */
  const expected = (pattern: string, name: string) =>
    new RegExp(
      `^${pattern
        .replace(/[.+^${}()|[\]\\]/g, '\\$&')
        .replaceAll('*', '.*')
        .replaceAll('?', '.')}$`,
    ).test(name)

  test('matches as a regular expression would', () => {
    const texts = (letters: string, longest: number): string[] =>
      longest === 0 ? [''] : texts(letters, longest - 1).flatMap((one) => [one, ...[...letters].map((l) => one + l)])
    const names = [...new Set(texts('ab', 5))]
    for (const pattern of new Set(texts('a*?', 4)))
      for (const name of names)
        expect([pattern, name, isTrunk(pattern, name)]).toEqual([pattern, name, expected(pattern, name)])
  })

  test('takes no time even if it would backtrack without end', () => {
    const pattern = `${'*a'.repeat(2_000)}*b`
    // A regular expression would not be done with one of these in the age of the universe.
    for (let count = 0; count < 20; count += 1) expect(isTrunk(pattern, 'a'.repeat(100_000))).toBe(false)
  })
})
