import { expect, test } from 'bun:test'
import { findFormErrors, formOf, optionsOf } from '../../../src/web/browser/lib/options-form.ts'
import { findWebhookErrors } from '../../../src/web/browser/lib/webhook-form.ts'
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
  [
    'an authorization',
    { authorization: { kind: 'oauth2', token_url: 'https://t/', client_id: 'a', client_secret: null } },
  ],
  [
    'a log-in',
    {
      authorization: {
        kind: 'login',
        request: { url: '/login', headers: { 'x-key': null }, body: null },
        token: '/token',
        expires_in: 600,
      },
    },
  ],
  ['certificates', { tls: { certificate: 'CERTIFICATE\n', key: null, ca: null } }],
  ['discovery', { retain: true, discovery: 'homeassistant' }],
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

test('secrets that are typed are sent, and those that are not are kept', () => {
  const form = formOf({ ...DEFAULTS, tls: { certificate: 'OLD', key: null, ca: null } })
  const oauth2 = { ...form.authorization, kind: 'oauth2' as const, tokenUrl: ' https://t/ ', clientId: 'a', scope: '' }
  const sent = (change: Partial<typeof form>) => optionsOf(DEFAULTS.url, { ...form, ...change })
  expect(sent({ authorization: { ...oauth2, clientSecret: 's' } }).authorization).toEqual({
    kind: 'oauth2',
    token_url: 'https://t/',
    client_id: 'a',
    client_secret: 's',
    scope: null,
  })
  const ofUser = { ...oauth2, isOfUser: true, refreshToken: '' }
  expect(sent({ authorization: ofUser }).authorization).toMatchObject({ client_secret: null, refresh_token: null })
  const login = { ...form.authorization, kind: 'login' as const, url: '/login', body: '{"a":1}', expiresIn: '60' }
  expect(sent({ authorization: login }).authorization).toMatchObject({
    request: { url: '/login', body: '{"a":1}', headers: {} },
    expires_in: 60,
  })
  expect(sent({ tls: { ...form.tls, key: 'KEY' } }).tls).toEqual({ certificate: 'OLD', key: 'KEY', ca: null })
  expect(sent({ tls: { certificate: ' ', key: '', ca: 'CA' } }).tls).toEqual({ certificate: null, key: null, ca: 'CA' })
  expect(sent({ tls: { certificate: '', key: '', ca: '' } }).tls).toBeNull()
})

test('a new address asks for the secrets of the old one', () => {
  const options = formOf({ ...DEFAULTS, tls: { certificate: 'C', key: null, ca: null } })
  const authorization = { ...options.authorization, kind: 'oauth2' as const, tokenUrl: 'https://t/', clientId: 'a' }
  const form = { url: 'https://new.example.com/', chosen: [], options: { ...options, authorization } }
  expect(findWebhookErrors(form, form.url)).toEqual([])
  expect(findWebhookErrors(form, DEFAULTS.url).map(({ path }) => path)).toEqual([
    '/tls/key',
    '/authorization/client_secret',
  ])
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
