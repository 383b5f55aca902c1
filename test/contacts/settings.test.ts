import { describe, expect, test } from 'bun:test'
import type { NewContactSettings } from '../../src/contacts/model.ts'
import { lookUpOf, mergedSettings, settingsErrors, settingsWithoutSecrets } from '../../src/contacts/settings.ts'

const OWN: NewContactSettings = {
  url: 'https://crm.example/find?phone={{ number }}',
  headers: { 'X-Key': 'k1', authorization: 'Token abc' },
  item: '/items/0',
  fields: { name: '/name' },
}
const OAUTH2 = {
  kind: 'oauth2',
  token_url: 'https://crm.example/token',
  client_id: 'id',
  client_secret: 'hidden',
} as const

describe('settings', () => {
  const CASES: readonly [string, unknown, string[]][] = [
    ['of a request', OWN, []],
    ['of a request with a body', { ...OWN, body: '{"n":{{ number }}}' }, []],
    ['of a preset', { preset: 'bitrix24', url: 'https://x.bitrix24.com/rest/1/key/', parameters: {} }, []],
    ['of the preset of a webhook', { preset: 'bitrix24' }, []],
    ['that are null', null, []],
    ['without URL and fields', {}, ['/fields', '/url']],
    ['with a tag in the host', { ...OWN, url: 'https://{{ number }}.example/' }, ['/url']],
    ['with a tag behind the host', { ...OWN, url: 'https://crm.example{{ number }}/' }, ['/url']],
    ['with another scheme', { ...OWN, url: 'file:///etc/passwd' }, ['/url']],
    ['with a header that is refused', { ...OWN, headers: { Host: 'x' } }, ['/headers/Host']],
    ['with a header beside an authorization', { ...OWN, authorization: OAUTH2 }, ['/headers/authorization']],
    [
      'with an authorization that lacks something',
      { ...OWN, headers: {}, authorization: { kind: 'oauth2' } },
      ['/authorization/token_url', '/authorization/client_id', '/authorization/client_secret'],
    ],
    [
      'with a token URL that is none',
      { ...OWN, headers: {}, authorization: { ...OAUTH2, token_url: 'http://[/' } },
      ['/authorization/token_url'],
    ],
    ['with a body for GET', { ...OWN, method: 'GET', body: '{}' }, ['/body']],
    ['with parameters of no preset', { ...OWN, parameters: {} }, ['/parameters']],
    ['of an unknown preset', { preset: 'nothing' }, ['/preset']],
    ['of a preset without a look-up', { preset: 'journal' }, ['/preset']],
    ['of a preset with a request', { preset: 'bitrix24', item: '/x' }, ['/item']],
    [
      'of a preset with a surplus parameter',
      { preset: 'bitrix24', url: 'https://x.example/', parameters: { a: 1 } },
      ['/parameters/a'],
    ],
    ['of a preset with parameters and no URL', { preset: 'bitrix24', parameters: {} }, ['/url']],
  ]
  for (const [name, given, paths] of CASES)
    test(name, () =>
      expect(
        settingsErrors(given)
          .map(({ path }) => path)
          .toSorted(),
      ).toEqual(paths.toSorted()),
    )
})

const stored = (given: NewContactSettings, before: Parameters<typeof mergedSettings>[1] = null) => {
  const merged = mergedSettings(given, before)
  if ('errors' in merged) throw new Error(JSON.stringify(merged.errors))
  return merged
}

describe('secrets', () => {
  const first = stored({ ...OWN, headers: { 'X-Key': 'k1' }, authorization: OAUTH2 })

  test('are stored apart, and not read back', () => {
    expect(JSON.stringify(first.settings)).not.toMatch(/k1|hidden/)
    expect(Object.values(first.secrets).toSorted()).toEqual(['hidden', 'k1'])
    expect(settingsWithoutSecrets(first)).toEqual({
      url: 'https://crm.example/find?phone={{ number }}',
      method: 'GET',
      headers: { 'X-Key': null },
      body: null,
      authorization: { ...OAUTH2, client_secret: null },
      item: '/items/0',
      fields: { name: '/name' },
      spellings: ['e164', 'digits', 'national', 'last_10'],
      budget_ms: 300,
      cache_minutes: 10,
    })
  })

  test('keep their stored value if they are null', () => {
    const again = stored({ ...settingsWithoutSecrets(first), headers: { 'x-key': null }, budget_ms: 50 }, first)
    expect(again.secrets).toEqual(first.secrets)
    const lookUp = lookUpOf(1, again, undefined)
    expect(lookUp?.request.headers).toEqual({ 'x-key': 'k1' })
    expect(lookUp?.authorization).toMatchObject({ clientSecret: 'hidden' })
  })

  test('go to no other host than the one they were given for', () => {
    for (const url of ['https://evil.example/', 'http://crm.example/', 'https://crm.example:8443/'])
      expect(mergedSettings({ ...settingsWithoutSecrets(first), url }, first)).toEqual({
        errors: [
          { path: '/headers/X-Key', message: 'has no stored value that null could keep' },
          { path: '/authorization/client_secret', message: 'has no stored value that null could keep' },
        ],
      })
    const other = { ...OAUTH2, token_url: 'https://evil.example/token', client_secret: null }
    expect(mergedSettings({ ...settingsWithoutSecrets(first), authorization: other }, first)).toHaveProperty('errors')
  })
})

test('a look-up has the host of the URL, and the rest as a template', () => {
  const of = (url: string) => {
    const lookUp = lookUpOf(1, stored({ ...OWN, url }), undefined)
    return [lookUp?.url, lookUp?.request.url, lookUp?.request.method]
  }
  expect(of('https://crm.example/a/{{ number }}')).toEqual(['https://crm.example/', '/a/{{ number }}', 'GET'])
  expect(of('https://me:pw@crm.example?n={{ number }}')).toEqual([
    'https://me:pw@crm.example/',
    '/?n={{ number }}',
    'GET',
  ])
})

test('a preset without a URL uses the webhook with this preset', () => {
  const merged = stored({ preset: 'bitrix24', cache_minutes: 1 })
  expect(lookUpOf(1, merged, undefined)).toBeUndefined()
  const lookUp = lookUpOf(1, merged, { url: 'https://x.bitrix24.com/rest/1/key/', parameters: {} })
  // The look-up uses the webhook's tokens.
  expect(lookUp).toMatchObject({ url: 'https://x.bitrix24.com/rest/1/key/', item: '/result/0', isOfWebhook: true })
  expect(settingsWithoutSecrets(merged)).toEqual({ preset: 'bitrix24', budget_ms: 300, cache_minutes: 1 })
})
