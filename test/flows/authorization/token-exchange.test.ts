import { describe, expect, test } from 'bun:test'
import {
  readLoginAnswer,
  readTokenAnswer,
  redactionOf,
  secretsOfLogin,
  tokenRequest,
} from '../../../src/flows/authorization/token-exchange.ts'
import { type LoginAuthorization, type OAuth2Authorization, STEP_DEFAULTS } from '../../../src/flows/model.ts'
import type { Exchanged } from '../../../src/outbound/exchange.ts'

const OAUTH2: OAuth2Authorization = {
  kind: 'oauth2',
  tokenUrl: 'https://crm.example/oauth/token',
  clientId: 'me & you',
  clientSecret: 's e:c%r=t',
  refreshToken: 'r-1',
  scope: 'calls contacts',
}
const LOGIN: LoginAuthorization = {
  kind: 'login',
  request: STEP_DEFAULTS,
  token: '/data/token',
  expiresIn: '/data/ttl',
  header: 'Bearer {{ token }}',
}
const answer = (status: number | null, body: unknown, more: Partial<Exchanged> = {}): Exchanged => ({
  status,
  failure: null,
  text: typeof body === 'string' || body === null ? body : JSON.stringify(body),
  retryAfterMs: null,
  durationMs: 1,
  ...more,
})
const asItIs = (text: string) => text
const oauth2 = (status: number | null, body: unknown, more: Partial<Exchanged> = {}) =>
  readTokenAnswer(answer(status, body, more), asItIs)
const login = (body: unknown, authorization = LOGIN) => readLoginAnswer(answer(200, body), authorization, asItIs)

describe('a request for a token', () => {
  const formOf = (...given: Parameters<typeof tokenRequest>) =>
    Object.fromEntries(new URLSearchParams(tokenRequest(...given).body ?? ''))

  test('exchanges a refresh token, with the client in the form or in the header', () => {
    const asked = { grant_type: 'refresh_token', refresh_token: 'r-2', scope: 'calls contacts' }
    expect(formOf(OAUTH2, 'r-2', 'body')).toEqual({ ...asked, client_id: 'me & you', client_secret: 's e:c%r=t' })
    expect(formOf(OAUTH2, 'r-2', 'basic')).toEqual(asked)
    const { authorization } = tokenRequest(OAUTH2, 'r-2', 'basic').headers
    expect(Buffer.from(authorization?.slice('Basic '.length) ?? '', 'base64').toString()).toBe(
      'me+%26+you:s+e%3Ac%25r%3Dt',
    )
  })

  test('has the credentials of the client alone where there is no refresh token', () => {
    const asked = { grant_type: 'client_credentials', client_id: 'me & you', client_secret: 's e:c%r=t' }
    expect(formOf({ ...OAUTH2, scope: null }, null, 'body')).toEqual(asked)
    expect(tokenRequest(OAUTH2, null, 'body')).toMatchObject({ url: OAUTH2.tokenUrl, method: 'POST' })
  })
})

describe('an answer of a token endpoint', () => {
  const token = { kind: 'token', token: 'a-1', lifetimeS: null, refreshToken: null } as const
  const refused = (message: string, isClient = false) => ({ kind: 'refused', message, isClient }) as const
  const failed = (message: string, retryAfterMs = 0) => ({ kind: 'failed', message, retryAfterMs }) as const
  const CASES: readonly [string, ReturnType<typeof oauth2>, ReturnType<typeof oauth2>][] = [
    ['with a token', oauth2(200, { access_token: 'a-1' }), token],
    ['of any 2xx', oauth2(201, { access_token: 'a-1' }), token],
    ['with seconds', oauth2(200, { access_token: 'a-1', expires_in: 3_600 }), { ...token, lifetimeS: 3_600 }],
    ['with seconds as text', oauth2(200, { access_token: 'a-1', expires_in: '60' }), { ...token, lifetimeS: 60 }],
    ['with no sense for seconds', oauth2(200, { access_token: 'a-1', expires_in: -1 }), token],
    [
      'with another refresh token',
      oauth2(200, { access_token: 'a-1', refresh_token: 'r-2' }),
      { ...token, refreshToken: 'r-2' },
    ],
    [
      'with a line break in the token',
      oauth2(200, { access_token: 'a\nb' }),
      refused('the answer (status 200) has no access_token'),
    ],
    ['that is no JSON', oauth2(200, '<html>'), refused('the answer (status 200) is not JSON, or too long')],
    ['without a body', oauth2(200, null), refused('the answer (status 200) is not JSON, or too long')],
    [
      'of 200 with an error',
      oauth2(200, { error: 'expired' }),
      refused('the answer (status 200) has no access_token: expired'),
    ],
    [
      'that refuses the refresh token',
      oauth2(400, { error: 'invalid_grant', error_description: 'It was\r\nused before' }),
      refused('status 400: invalid_grant: It was used before'),
    ],
    ['that refuses the client', oauth2(400, { error: 'invalid_client' }), refused('status 400: invalid_client', true)],
    ['of 401 in other words', oauth2(401, { message: 'no' }), refused('status 401: no', true)],
    ['of 403', oauth2(403, 'x'), refused('status 403')],
    ['of 404', oauth2(404, null), refused('status 404')],
    ['of 429', oauth2(429, null, { retryAfterMs: 7_000 }), failed('status 429', 7_000)],
    ['of 408', oauth2(408, null), failed('status 408')],
    ['of 503', oauth2(503, { error: { message: 'busy' } }), failed('status 503: busy')],
    ['of 302', oauth2(302, null), failed('status 302')],
    ['that did not come', oauth2(null, null, { failure: 'connection refused' }), failed('connection refused')],
  ]
  for (const [name, found, expected] of CASES) test(name, () => expect(found).toEqual(expected))
})

describe('an answer to a log-in', () => {
  test('has the token and its time where the settings say', () => {
    const token = { kind: 'token', token: 'a-1', lifetimeS: 60, refreshToken: null } as const
    expect(login({ data: { token: 'a-1', ttl: 60 } })).toEqual(token)
    expect(login({ data: { token: 7, ttl: 60 } })).toEqual({ ...token, token: '7' })
    expect(login({ data: { token: 'a-1' } })).toEqual({ ...token, lifetimeS: null })
    expect(login({ data: { token: 'a-1' } }, { ...LOGIN, expiresIn: 5 })).toEqual({ ...token, lifetimeS: 5 })
  })

  test('without a token is a refusal in the words of the server', () => {
    expect(login({ error: { message: 'wrong password' } })).toEqual({
      kind: 'refused',
      message: 'the answer (status 200) has no token at /data/token: wrong password',
      isClient: false,
    })
  })
})

describe('the words of a server', () => {
  const refusal = (text: string, secrets: readonly (string | null)[]) => {
    const read = readTokenAnswer(answer(400, { error_description: text }), redactionOf(secrets))
    return read.kind === 'refused' ? read.message : ''
  }

  test('are shown without the secrets that it was sent, also if they are cut off', () => {
    expect(refusal('r-123 of client s3cret-9 s3cret is wrong', ['s3cret', null, 'r-123', 's3cret-9'])).toBe(
      'status 400: *** of client *** *** is wrong',
    )
    const secret = 'abcdefghijklmnopqrstuvwxyz'
    for (let before = 270; before < 305; before++)
      expect(refusal(`${'x'.repeat(before)}${secret}`, [secret])).not.toMatch(/abcd/)
  })

  test('are without the headers and texts of a log-in', () => {
    const secretsOf = (headers: Record<string, string>, body: string | null) =>
      redactionOf(secretsOfLogin({ headers, body }))
    expect(secretsOf({ authorization: 'Basic bWU6cGFzcw==' }, null)('bad bWU6cGFzcw==')).toBe('bad ***')
    expect(secretsOf({}, '{"user":{"password":"hunter22"}}')('not hunter22')).toBe('not ***')
    expect(secretsOf({}, 'user=me&password=hunter%2022')('not hunter 22')).toBe('not ***')
  })
})
