import { describe, expect, test } from 'bun:test'
import { compileFilter, type EventFacts, type EventFilter } from '../../src/events/filter.ts'
import { seededRandom } from '../help/seed.ts'

const FACTS: EventFacts = {
  direction: 'inbound',
  pbx: 'office',
  queue: 'sales',
  did: ['030 1110', '+49301110'],
  number: ['030123456', '+4930123456', '+49301110'],
  extension: ['101', '102'],
  result: null,
}
const NOTHING: EventFacts = {
  direction: null,
  pbx: null,
  queue: null,
  did: [],
  number: [],
  extension: [],
  result: null,
}

const CASES: readonly (readonly [string, EventFilter, boolean])[] = [
  ['nothing is asked', {}, true],
  ['one value is equal', { direction: ['outbound', 'inbound'] }, true],
  ['no value is equal', { direction: ['outbound', 'internal'] }, false],
  ['every key matches', { direction: ['inbound'], pbx: ['office'], queue: ['sales'] }, true],
  ['one key of several does not', { direction: ['inbound'], pbx: ['branch'] }, false],
  ['a prefix matches', { did: ['+4930*'] }, true],
  ['another prefix does not', { did: ['+4940*'] }, false],
  ['a value is no prefix by itself', { did: ['+4930'] }, false],
  ['a star within is itself', { did: ['+49*110'] }, false],
  ['any number of the call matches', { number: ['+4930123456'] }, true],
  ['any extension matches by its prefix', { extension: ['2*', '102'] }, true],
  ['no extension matches', { extension: ['103'] }, false],
  ['a bare star asks that there is one', { queue: ['*'] }, true],
  ['a fact that is unknown matches nothing', { result: ['answered', '*'] }, false],
]

test('a filter matches what its values match one by one', () => {
  const random = seededRandom(7)
  const text = (length: number) =>
    Array.from({ length }, () => random.pick(['0', '1', '+', 'é', '\u{1f600}', '*'])).join('')
  const matched = { yes: 0, no: 0 }
  for (let n = 0; n < 3_000; n += 1) {
    const values = Array.from({ length: 9 + random.int(20) }, () => text(1 + random.int(4)) + random.pick(['', '*']))
    const number = Array.from({ length: random.int(4) }, () => text(random.int(6)))
    const expected = number.some((one) =>
      values.some((value) => (value.endsWith('*') ? one.startsWith(value.slice(0, -1)) : one === value)),
    )
    expect([values, number, compileFilter({ number: values })({ ...FACTS, number })]).toEqual([
      values,
      number,
      expected,
    ])
    matched[expected ? 'yes' : 'no'] += 1
  }
  expect(Math.min(matched.yes, matched.no)).toBeGreaterThan(100)
})

describe('a filter', () => {
  test.each(CASES)('%s', (_, filter, expected) => expect(compileFilter(filter)(FACTS)).toBe(expected))
  test.each(CASES)('%s, also among a hundred other values', (_, filter, expected) => {
    const others = Array.from({ length: 50 }, (_, n) => [`other ${n}`, `other ${n}*`]).flat()
    const large = Object.entries(filter).map(([key, values]) => [key, [...others, ...values]])
    expect(compileFilter(Object.fromEntries(large))(FACTS)).toBe(expected)
  })
  test.each(['direction', 'pbx', 'queue', 'did', 'number', 'extension', 'result'] as const)(
    'an event that lacks the fact does not match: %s',
    (key) => expect(compileFilter({ [key]: ['*'] })(NOTHING)).toBe(false),
  )
})
