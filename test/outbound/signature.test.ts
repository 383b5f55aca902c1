import { describe, expect, test } from 'bun:test'
import { Webhook } from 'standardwebhooks'
import { faultOfSigned, newSecret, signerOf } from '../../src/outbound/signature.ts'

const NOW_S = Math.floor(Date.now() / 1_000)
const secret = newSecret()
const headersOf = (secrets: readonly string[], id: string, atS: number, body: string) => ({
  'webhook-id': id,
  'webhook-timestamp': String(atS),
  'webhook-signature': signerOf(secrets)(id, atS, body),
})

const BODIES = [
  ['plain', '{"time":"x","data":{}}'],
  ['umlauts and emoji', '{"name":"Jörg 🦊 שלום"}'],
  ['a lone surrogate', '{"name":"\ud800"}'],
  ['nothing', ''],
  ['64 KB', JSON.stringify({ pad: 'x'.repeat(65_536) })],
] as const

describe('the official library is the oracle', () => {
  test.each(BODIES.filter(([name]) => name !== 'a lone surrogate'))('it takes what we sign: %s', (_, body) => {
    const json = body === '' ? '{}' : body
    expect(() => new Webhook(secret).verify(json, headersOf([secret], 'id', NOW_S, json))).not.toThrow()
  })

  test.each(BODIES)('it signs the very same: %s', (_, body) => {
    const signed = new Webhook(secret).sign('msg_1', new Date(NOW_S * 1_000), body)
    expect(signerOf([secret])('msg_1', NOW_S, body)).toBe(signed)
  })

  test('after a rotation it takes either secret', () => {
    const before = newSecret()
    const headers = headersOf([secret, before], 'id', NOW_S, '{}')
    expect(headers['webhook-signature'].split(' ')).toHaveLength(2)
    for (const one of [secret, before]) expect(() => new Webhook(one).verify('{}', headers)).not.toThrow()
  })

  test('we accept its signatures', () => {
    const headers = {
      ...headersOf([secret], 'id', NOW_S, '{}'),
      'webhook-signature': new Webhook(secret).sign('id', new Date(NOW_S * 1_000), '{}'),
    }
    expect(faultOfSigned(secret, headers, '{}', NOW_S)).toBeUndefined()
  })
})

const good = headersOf([secret], 'id', NOW_S, '{}')
test.each([
  ['another body', good, '{ }', NOW_S, 'no signature matches'],
  ['another id', { ...good, 'webhook-id': 'other' }, '{}', NOW_S, 'no signature matches'],
  ['another time', { ...good, 'webhook-timestamp': String(NOW_S + 1) }, '{}', NOW_S, 'no signature matches'],
  ['a clock 6 minutes off', good, '{}', NOW_S + 360, '5 minutes'],
  ['a time that is none', { ...good, 'webhook-timestamp': 'now' }, '{}', NOW_S, 'not a number'],
  ['no signature', { 'webhook-id': 'id', 'webhook-timestamp': '1' }, '{}', NOW_S, 'missing'],
  ['a signature of another length', { ...good, 'webhook-signature': 'v1,x' }, '{}', NOW_S, 'no signature matches'],
])('%s is refused', (_, headers, body, nowS, fault) => {
  expect(faultOfSigned(secret, headers, body, nowS)).toContain(fault)
})

test('a secret is whsec_ and 32 random bytes', () => {
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  expect(newSecret()).not.toBe(secret)
})
