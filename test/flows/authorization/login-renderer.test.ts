import { expect, test } from 'bun:test'
import { createLoginRenderer } from '../../../src/flows/authorization/login-renderer.ts'
import { type LoginAuthorization, STEP_DEFAULTS } from '../../../src/flows/model.ts'
import { TEMPLATES } from '../../help/templates.ts'

const renderer = createLoginRenderer(TEMPLATES)
const login = (
  request: Partial<LoginAuthorization['request']> = {},
  header = 'Bearer {{ token }}',
): LoginAuthorization => ({
  kind: 'login',
  request: { ...STEP_DEFAULTS, ...request },
  token: '/token',
  expiresIn: 60,
  header,
})
const webhook = (authorization: LoginAuthorization) => ({
  accountId: 1,
  url: 'https://crm.example/api?key=1',
  authorization,
  origins: ['https://login.example'],
  parameters: { user: 'a"b', password: 'p' },
})
const rendered = (request: Partial<LoginAuthorization['request']>) =>
  renderer.request(webhook(login(request)), login(request))

test('a log-in is joined to the URL, and its values are escaped', async () => {
  const body = '{"user":"{{ parameters.user }}","password":"{{ parameters.password }}"}'
  const headers = { 'X-Key': '{{ parameters.password }}' }
  expect(await rendered({ url: 'login', body, headers })).toEqual({
    request: {
      url: 'https://crm.example/api/login?key=1',
      method: 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json', 'x-key': 'p' },
      body: '{"user":"a\\"b","password":"p"}',
      maxAnswerBytes: 65_536,
    },
  })
  expect(await rendered({ url: 'https://login.example/in', method: 'GET' })).toMatchObject({
    request: { url: 'https://login.example/in', method: 'GET', body: null },
  })
})

test('a template that fails, and another origin, are problems', async () => {
  expect(await rendered({ body: '{"a": {{ nothing.at.all }}' })).toHaveProperty('problem')
  expect(await rendered({ url: 'https://other.example/' })).toEqual({
    problem: 'https://other.example is neither the origin of the webhook nor one of `origins`',
  })
})

test('the header has the token, on one line', async () => {
  const headerOf = (header: string, token: string) => renderer.header(webhook(login()), login({}, header), token)
  expect(await headerOf('Session {{ token }}', 'abc')).toEqual({ header: 'Session abc' })
  expect(await headerOf('{{ token', 'abc')).toHaveProperty('problem')
})
