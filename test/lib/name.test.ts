import { describe, expect, test } from 'bun:test'
import { Value } from '@sinclair/typebox/value'
import { NewToken } from '../../src/auth/model.ts'
import { userProblem } from '../../src/cli/new-user.ts'
import { nameProblem, nameSchema } from '../../src/lib/name.ts'
import { parsePbxUrl } from '../../src/pbx/source/pbx-url.ts'
import { NewWebhookOptions } from '../../src/webhooks/options/model.ts'
import { createRandom } from '../help/random.ts'
import { scaled, seedsOf } from '../help/seed.ts'

const PARTS = [
  'a',
  'Ж',
  '東',
  '🙂',
  ' ',
  '\u0000',
  '\n',
  '\u007f',
  '\u0085',
  '\u202e',
  '\u2028',
  '\ufeff',
  '\ud83d',
  '\ude42',
  '"',
  '\u200d',
  'e\u0301',
]

/** Every place where a person names something, with the text as it is. */
const PLACES: Readonly<Record<string, (name: string) => boolean>> = {
  'the name of a webhook': (name) => Value.Check(NewWebhookOptions, { url: 'https://a.example', name }),
  'the name of a token': (name) => Value.Check(NewToken, { name }),
  'the name of a user': (name) =>
    userProblem({ account: 'default', name, email: 'a@example.com', type: 'USER' }) === undefined,
}

test('all names have one rule: characters count, and no control characters or halves of characters', () => {
  for (const seed of seedsOf(31, scaled(500))) {
    const random = createRandom(seed)
    const length = random.chance(0.3) ? 90 + random.int(20) : random.int(6)
    const name = Array.from({ length }, () => (random.chance(0.8) ? 'ü🙂' : random.pick(PARTS))).join('')
    const isFine = nameProblem(name) === undefined
    for (const [place, accepts] of Object.entries(PLACES))
      expect([place, name, accepts(name)]).toEqual([place, name, isFine])
    if (isFine)
      expect([name.isWellFormed(), /\p{Cc}/u.test(name), [...name].length <= 100]).toEqual([true, false, true])
  }
})

describe('a name', () => {
  test.each([
    ['100 characters that take two units each', '🙂'.repeat(100), undefined],
    ['101 characters', 'é'.repeat(101), 'may have 100 characters at most'],
    ['white space alone', ' \t', 'must not be empty'],
    ['a control character', 'a\u0000b', 'has a control character: remove it'],
    ['half of a character', 'a\ud800', 'has half of a character (a lone surrogate): send the whole character'],
  ])('with %s', (_, name, problem) => expect(nameProblem(name)).toBe(problem))

  test.each(['%00', 'a%0Ab', '%7F', 'x'.repeat(101)])('of a PBX is refused with what to do: %s', (name) => {
    const parsed = parsePbxUrl(`ami://u:s@pbx.example?name=${name}`)
    expect('wrong' in parsed && parsed.wrong).toMatch(
      /cannot be used(: its name has a control| \(name=…\): it may have 100)/,
    )
  })

  test('is described to readers of the API document by its pattern', () => {
    const { pattern } = nameSchema('a name').form
    for (const [name, isFine] of [
      ['Sales 🙂', true],
      ['a\nb', false],
      ['  ', false],
      ['\u0085', false],
    ] as const)
      expect([name, new RegExp(pattern, 'u').test(name)]).toEqual([name, isFine])
  })
})
