import { expect, test } from 'bun:test'
import { messageInFields } from '../../src/cli/field-sentence.ts'
import { INVALID } from '../../src/http/validation.ts'
import { Fault } from '../../src/lib/fault.ts'
import { optionsFrom } from '../../src/webhooks/options/rules.ts'

const url = 'https://a.example/'
const step = { name: 'a', on: ['call_ended'], url: '/x', body: '{}' }
const odoo = { preset: 'odoo', parameters: { key: 'k', database: 'd' } }

test.each<[object, string]>([
  [{ max_per_second: 99_999 }, '--max-per-second may be 1000 at most'],
  [{ filter: { queu: ['a'] } }, '--filter: queu is an unknown field'],
  [{ headers: { 'Content-Length': '3' } }, '--headers: Content-Length is a header that cannot be set here'],
  [{ flow: { steps: [] } }, '--flow: the field steps must not be empty'],
  [{ flow: { steps: [{ name: 'a', url: 'x' }] } }, '--flow: the field steps[0].on is missing'],
  [{ flow: { steps: [step, { ...step, method: 'FETCH' }] } }, '--flow: the field steps[1].method must be one of GET, '],
  [{ flow: { preset: 'nope' } }, '--flow: the preset is not a preset of this version: hookswitch webhook preset lists'],
  [{ flow: { ...odoo, parameters: { key: 'k' } } }, '--flow: the parameter database is missing: Database'],
  [
    { body: { template: 'x', content_type: 'text' } },
    '--content-type has the wrong form: hookswitch help webhooks desc',
  ],
])('the error of %j is a sentence that names the field as it was given', (options, sentence) => {
  const error = Promise.try(() => optionsFrom({ url, ...options }))
  return expect(error.then(() => '', messageInFields)).resolves.toStartWith(sentence)
})

test('an error of the URL, of no field and without fields is a sentence', () => {
  const fault = (path: string, message: string) => new Fault('invalid', INVALID, { errors: [{ path, message }] })
  expect(messageInFields(fault('/url', 'must be an absolute http: or https: URL'))).toBe(
    'the URL must be an absolute http: or https: URL',
  )
  expect(messageInFields(fault('/body/template', 'line 1: output not closed'))).toBe(
    '--template: line 1: output not closed',
  )
  expect(messageInFields(fault('', 'must be an object'))).toBe('must be an object')
  const own = new Fault('invalid', 'The list is full.', { errors: [{ path: '/url', message: 'is one too many' }] })
  expect(messageInFields(own)).toBe('The list is full.')
  expect(messageInFields('text')).toBe('text')
})
