import { expect, test } from 'bun:test'
import { findFormErrors, formOf, optionsOf } from '../../../src/web/browser/lib/options-form.ts'
import type { WebhookOptions } from '../../../src/webhooks/options/model.ts'

const DEFAULTS: WebhookOptions = {
  url: 'https://crm.example.com/calls',
  name: null,
  paused: false,
  filter: null,
  headers: {},
  order: 'first_attempt',
  max_per_second: null,
  body: null,
  retain: false,
  discovery: null,
  events: [],
  flow: null,
  authorization: null,
  tls: null,
  share_pace: false,
}
const CASES: readonly (readonly [string, Partial<WebhookOptions>])[] = [
  ['the defaults', {}],
  ['a filter', { filter: { direction: ['inbound'], queue: ['sales*', 'support'] } }],
  ['headers, whose values stay', { headers: { 'X-Api-Key': null } }],
  ['a template', { body: { template: '{{ data.name }}', content_type: 'text/plain' } }],
  ['a preset', { body: { preset: 'slack' } }],
  ['a flow, which the form does not show', { flow: { preset: 'journal' }, share_pace: true }],
  ['a preset with a parameter', { body: { preset: 'telegram', parameters: { chat_id: '-1' } } }],
  ['the rest', { name: 'CRM', paused: true, order: 'strict', max_per_second: 0.5, events: ['call_missed'] }],
]

test.each(CASES)('%s come back from the form as they were', (_, options) => {
  const all = { ...DEFAULTS, ...options }
  expect(optionsOf(all.url, formOf(all))).toEqual(all)
})

test('empty fields are left out', () => {
  const form = { ...formOf(DEFAULTS), name: '  ', filter: { queue: ' , ' }, headers: [{ name: ' ', value: 'x' }] }
  expect(optionsOf(DEFAULTS.url, form)).toEqual(DEFAULTS)
})

test.each([
  ['a pace that is no number', { maxPerSecond: 'fast' }, ['/max_per_second']],
  [
    'values of the filter that match no event',
    { filter: { direction: 'in*, sideways', result: 'ok' } },
    ['/filter/direction', '/filter/result'],
  ],
  ['nothing that the API would find', { maxPerSecond: '5000', filter: { direction: 'inbound', queue: 'sales' } }, []],
])('the form reports %s', (_, change, paths) => {
  expect(findFormErrors({ ...formOf(DEFAULTS), ...change }).map(({ path }) => path)).toEqual(paths)
})
