import { describe, expect, test } from 'bun:test'
import { Value } from '@sinclair/typebox/value'
import { CommanderError } from 'commander'
import { readConfig } from '../../src/app/config.ts'
import { DEFAULTS } from '../../src/app/settings.ts'
import { emailProblem, NewToken, normalEmail } from '../../src/auth/model.ts'
import { userProblem } from '../../src/cli/new-user.ts'
import { compileFilter } from '../../src/events/filter.ts'
import { errorsOf } from '../../src/http/validation.ts'
import { harmless } from '../../src/lib/terminal-text.ts'
import { textProblem } from '../../src/lib/text.ts'
import { parsePbxUrl } from '../../src/pbx/source/pbx-url.ts'
import { urlProblem } from '../../src/webhooks/model.ts'
import { NewWebhookOptions } from '../../src/webhooks/options/model.ts'
import { optionsRule } from '../../src/webhooks/options/rules.ts'

const HIDDEN = [
  '\u0000',
  '\u0007',
  '\u001b',
  '\u007f',
  '\u0085',
  '\u061c',
  '\u200e',
  '\u202e',
  '\u2028',
  '\u2066',
  '\ufeff',
  '\ud83d',
]
const url = 'https://a.example/'
const pbx = (query: string) => `ami://u:s@pbx.example?${query}`
const user = { account: 'default', name: 'Anna', email: 'anna@example.com', type: 'USER' as const }
const refusedByUrl = (text: string) => 'wrong' in parsePbxUrl(text)
const flow = (parameters: object) => ({ url, flow: { preset: 'odoo', parameters } })

/** Whether a place refuses a text that has the given character in its middle. */
const PLACES: Readonly<Record<string, (text: string) => boolean>> = {
  'the e-mail address of a user': (text) => emailProblem(`${text}@example.com`) !== undefined,
  'the name of a user': (name) => userProblem({ ...user, name }) !== undefined,
  'the account of a user': (account) => userProblem({ ...user, account }) !== undefined,
  'the name of a token': (name) => !Value.Check(NewToken, { name }),
  'the name of a webhook': (name) => !Value.Check(NewWebhookOptions, { url, name }),
  'a value of a filter': (text) => !Value.Check(NewWebhookOptions, { url, filter: { queue: [text] } }),
  'a parameter of a body': (text) =>
    !Value.Check(NewWebhookOptions, { url, body: { preset: 'telegram', parameters: { chat_id: text } } }),
  'a parameter of a flow': (text) =>
    optionsRule(flow({ database: text })).some(({ path }) => path.endsWith('/database')),
  'a map of a flow': (text) =>
    optionsRule(flow({ users: { [text]: '7' } })).some(({ path }) => path.startsWith('/flow/parameters/users/')),
  'the URL of a webhook': (text) => urlProblem(`${url}${text}`, []) !== undefined,
  'the topic of a webhook': (text) =>
    !text.isWellFormed() || urlProblem(`mqtt://b.example/${encodeURIComponent(text)}`, []) !== undefined,
  'a setting': (publicUrl) => {
    try {
      readConfig({ ...DEFAULTS, publicUrl: `https://a.example/${publicUrl}` }, {})
      return false
    } catch (error) {
      return error instanceof CommanderError
    }
  },
  ...Object.fromEntries(
    ['name', 'account', 'trunks', 'extensions', 'variables', 'recordings'].map((key) => [
      `${key}= of a PBX`,
      (text: string) => !text.isWellFormed() || refusedByUrl(pbx(`${key}=/${encodeURIComponent(text)}`)),
    ]),
  ),
  'the user of a PBX': (text) => !text.isWellFormed() || refusedByUrl(`ami://${encodeURIComponent(text)}:s@h`),
  'the secret of a PBX': (text) => !text.isWellFormed() || refusedByUrl(`ami://u:${encodeURIComponent(text)}@h`),
}

describe.each(Object.entries(PLACES))('%s', (_, refuses) => {
  test.each(HIDDEN.map((one) => [JSON.stringify(one), one]))('refuses %s', (_, one) =>
    expect(refuses(`a${one}b`)).toBe(true),
  )
  test('takes letters of any script', () => expect(refuses('Jürgen東Ж')).toBe(false))
})

test('nothing prints what nobody may enter', () => {
  for (const one of HIDDEN.filter((text) => text.isWellFormed())) expect(harmless(`a${one}b`)).toBe('a?b')
})

test('the reason says what to do, and never repeats the text', () => {
  expect(textProblem('a\u001b[2Jb')).toBe('has a control character: remove it')
  expect(textProblem('a\u202eb')).toBe('has an invisible character that changes the direction of text: remove it')
  const body = { url, filter: { queue: ['a\u202eb'] } }
  expect(errorsOf(Value.Errors(NewWebhookOptions, body))).toEqual([
    { path: '/filter/queue/0', message: 'has an invisible character that changes the direction of text: remove it' },
  ])
})

describe('two spellings of one text are one', () => {
  const [composed, decomposed] = ['Jos\u00e9', 'Jose\u0301']

  test('of an e-mail address', () => {
    expect(normalEmail(`${decomposed}@example.com`)).toBe(normalEmail(`${composed}@example.com`))
  })

  test('of the name and the account of a PBX', () => {
    const [one, other] = [composed, decomposed].map((text) => {
      const name = encodeURIComponent(text)
      return parsePbxUrl(pbx(`name=${name}&account=${name}`))
    })
    expect(one).toEqual(other ?? { wrong: '' })
  })

  test('of the value of a filter and a queue', () => {
    const facts = { direction: null, pbx: null, did: [], number: [], extension: [], result: null }
    for (const value of [composed, decomposed, `${composed}*`, `${decomposed}*`])
      for (const queue of [composed, decomposed])
        expect([value, queue, compileFilter({ queue: [value] })({ ...facts, queue })]).toEqual([value, queue, true])
  })
})
