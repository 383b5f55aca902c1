import { expect, test } from 'bun:test'
import { foreignJsonOf, parseForeignJson } from '../../src/lib/foreign-json.ts'
import { scaled, seededRandom } from '../help/seed.ts'

const MAX_DEPTH = 100
const nested = (depth: number, open = '[', close = ']') => open.repeat(depth) + close.repeat(depth)

test.each([
  ['null', null],
  ['"[[["', '[[['],
  ['"\\"[[\\\\"', '"[[\\'],
  [`"${'['.repeat(1_000)}\\"${'{'.repeat(1_000)}"`, `${'['.repeat(1_000)}"${'{'.repeat(1_000)}`],
  [`[${Array(1_000).fill('[]').join(',')}]`, Array(1_000).fill([])],
  [nested(MAX_DEPTH), JSON.parse(nested(MAX_DEPTH))],
])('reads what strings and short lists have (%#)', (text, value) => {
  expect(parseForeignJson(text)).toEqual(value)
})

test.each([
  nested(MAX_DEPTH + 1),
  nested(120_000),
  '['.repeat(250_000),
  `${'{"a":'.repeat(MAX_DEPTH + 1)}1${'}'.repeat(MAX_DEPTH + 1)}`,
  `{"a":"\\\\",${`"b":${nested(MAX_DEPTH)}`}}`,
])('refuses what is nested too deeply (%#)', (text) => {
  expect(() => parseForeignJson(text)).toThrow(`nested deeper than ${MAX_DEPTH} levels`)
  expect(foreignJsonOf(text)).toBeUndefined()
})

test.each([
  ['{"a":[9007199254740993,-12345678901234567891]}', { a: ['9007199254740993', '-12345678901234567891'] }],
  ['{"id":9007199254740991,"text":"9007199254740993"}', { id: 9007199254740991, text: '9007199254740993' }],
  ['[1e300, 0.1234567890123456, 1234567890123456.5]', [1e300, 0.1234567890123456, 1234567890123456.5]],
])('an integer that a number cannot hold is its digits in an answer: %s', (text, value) => {
  expect(foreignJsonOf(text)).toEqual(value)
})

test('reads and refuses what JSON.parse does, where nothing is nested deeply', () => {
  const random = seededRandom(91)
  const PIECES = ['[', ']', '{', '}', '"', '\\', '\\"', ',', ':', '1', 'true', ' ', '"a":', '\u0000', 'é']
  for (let round = 0; round < scaled(5_000); round++) {
    const text = Array.from({ length: 1 + random.int(12) }, () => random.pick(PIECES)).join('')
    let expected: unknown
    try {
      expected = JSON.parse(text)
    } catch {}
    expect(foreignJsonOf(text)).toEqual(expected)
  }
})
