import { expect, test } from 'bun:test'
import { lineOf, summaryOf } from '../../../src/pbx/endpoints/endpoint-summary.ts'
import type { KnownEndpoint } from '../../../src/pbx/endpoints/endpoints.ts'

const phone = (name: string, more: Partial<KnownEndpoint> = {}): KnownEndpoint => ({
  name,
  number: null,
  display: null,
  kind: 'extension',
  reason: 'hint',
  ...more,
})

test('endpoints are shown by kind, and by why they are taken for it', () => {
  const endpoints = [
    phone('PJSIP/101', { number: '101', display: 'Anna Bell' }),
    phone('PJSIP/bert', { number: '201', reason: 'seat' }),
    phone('PJSIP/102', { number: '102' }),
    phone('PJSIP/carrier', { kind: 'trunk', reason: 'registers' }),
    phone('PJSIP/door', { kind: null, reason: 'none' }),
  ]
  expect(lineOf(endpoints, 'extension')).toBe(
    'phones: PJSIP/101 Anna Bell, PJSIP/102 (hint); PJSIP/bert 201 (member of a queue)',
  )
  expect(lineOf(endpoints, 'trunk')).toBe('trunks: PJSIP/carrier (registration with a provider, or a gateway)')
  expect(lineOf(endpoints, null)).toBe('undecided: PJSIP/door')
  expect(lineOf([], 'trunk')).toBeNull()
  expect(summaryOf(endpoints)).toEqual({
    trunks: ['PJSIP/carrier (registration with a provider, or a gateway)'],
    phones: ['PJSIP/101 Anna Bell (hint)', 'PJSIP/bert 201 (member of a queue)', 'PJSIP/102 (hint)'],
    undecided: ['PJSIP/door'],
  })
})

test('a hundred endpoints are shown, even of thousands', () => {
  const many = Array.from({ length: 2_000 }, (_, index) => phone(`PJSIP/${1_000 + index}`))
  expect(lineOf(many, 'extension')).toMatch(/^phones: PJSIP\/1000, .* PJSIP\/1099 \(hint\); and 1900 more$/)
})
