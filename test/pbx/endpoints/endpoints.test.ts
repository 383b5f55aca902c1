import { describe, expect, test } from 'bun:test'
import { createEndpoints } from '../../../src/pbx/endpoints/endpoints.ts'

const NONE = { trunks: [], extensions: [] }
const caller = (number: string, context = 'any', display = '') => ({ number, context, display })
const callee = (sent: string | null, more: object = {}) => ({ sent, number: '', display: '', ...more })

describe('the endpoints of a PBX', () => {
  test('a trunk that was dialled with a number stays one, however it is dialled later', () => {
    const endpoints = createEndpoints(NONE)
    expect(endpoints.callee('PJSIP/t', callee('15557654321')).kind).toBe('external')
    expect(endpoints.callee('PJSIP/t', callee(null))).toMatchObject({ kind: 'external' })
    expect(endpoints.caller('PJSIP/t', caller('116117'))).toEqual({ kind: 'external', number: '116117', name: null })
  })

  test('a short number proves nothing of who calls', () => {
    const endpoints = createEndpoints(NONE)
    expect(endpoints.caller('PJSIP/t', caller('116117')).kind).toBe('external')
    expect(endpoints.list().map(({ kind, reason }) => [kind, reason])).toEqual([[null, 'none']])
    expect(endpoints.undecidedCallers()).toEqual(['PJSIP/t'])
    endpoints.callee('PJSIP/t', callee('15557654321'))
    expect(endpoints.undecidedCallers()).toEqual([])
  })

  test.each([
    ['its own name', '101', '101', '101', 'extension'],
    ['its own number', '0004f2aabbcc', '109', '109', 'extension'],
    ['made up by the phone', 'anna', '8f3k2j1p', '', 'extension'],
    ['a telephone number', 'carrier', '15557654321', '', 'external'],
    ['a telephone number with its plus', 'carrier', '+15557654321', '', 'external'],
  ])('the user part of a URI is %s', (_, name, sent, number, kind) => {
    expect(createEndpoints(NONE).callee(`PJSIP/${name}`, callee(sent, { uri: true, number })).kind).toBe(
      kind as 'extension' | 'external',
    )
  })

  test('a call does not overturn the configuration, and calls fill in its gaps', () => {
    const endpoints = createEndpoints(NONE)
    endpoints.configure({
      endpoints: { 'PJSIP/anna': { listed: 'hint', number: '201' }, 'PJSIP/t': { dialled: 'with_number' } },
      mailboxes: { 201: 'Anna Bell', 202: 'Carl Dean' },
    })
    expect(endpoints.callee('PJSIP/anna', callee('15557654321'))).toEqual({
      kind: 'extension',
      number: '201',
      name: 'Anna Bell',
    })
    expect(endpoints.callee('PJSIP/t', callee(null)).kind).toBe('external')
    expect(endpoints.caller('PJSIP/202', caller('202'))).toEqual({
      kind: 'extension',
      number: '202',
      name: 'Carl Dean',
    })
    expect(endpoints.isExtension('201')).toBe(true)
    expect(endpoints.isExtension('t')).toBe(false)
    expect(endpoints.callee('PJSIP/u', callee('15557654321')).kind).toBe('external')
    expect(endpoints.list().map(({ name, kind, reason }) => `${name} ${kind} ${reason}`)).toEqual([
      'PJSIP/202 extension mailbox',
      'PJSIP/anna extension hint',
      'PJSIP/t trunk dialplan_number',
      'PJSIP/u trunk call_number',
    ])
  })

  test('where the phones of the configuration call from, others are phones too; where none does, they are trunks', () => {
    const endpoints = createEndpoints(NONE)
    endpoints.configure({ endpoints: { 'PJSIP/101': { listed: 'hint', number: '101' } }, mailboxes: {} })
    expect(endpoints.caller('PJSIP/x', caller('0301234567', 'carrier')).kind).toBe('external')
    endpoints.caller('PJSIP/101', caller('101', 'office'))
    expect(endpoints.kindOf('PJSIP/x')).toBe('trunk')
    expect(endpoints.caller('PJSIP/bert', caller('0301234567', 'office'))).toMatchObject({
      kind: 'extension',
      number: 'bert',
    })
  })

  test('what calls with many numbers is a trunk, also where phones call from; a phone shows one, or a few', () => {
    const endpoints = createEndpoints(NONE)
    endpoints.configure({ endpoints: { 'PJSIP/101': { listed: 'hint', number: '101' } }, mailboxes: {} })
    endpoints.caller('PJSIP/101', caller('101', 'default'))
    const calls = (name: string, ...numbers: string[]): string[] =>
      numbers.map((number) => endpoints.caller(name, { ...caller(number, 'default'), begins: true }).kind)
    expect(calls('PJSIP/anna', '201', '0301234567', 'anonymous', '', '201', '+49301234567')).not.toContain('external')
    expect(calls('PJSIP/carrier', '116117', '0301', '116117', '0302', '0303', '116117')).toEqual([
      'extension',
      'extension',
      'extension',
      'extension',
      'external',
      'external',
    ])
    const line = endpoints.caller('PJSIP/carrier', caller('116117', 'default'))
    expect(line).toEqual({ kind: 'external', number: '116117', name: null })
    // A gateway of mobile phones, for example, which is an extension by its name alone.
    expect(calls('PJSIP/200', '0151', '0152', '0153', '0154').at(-1)).toBe('external')
    const kinds = endpoints.list().map(({ name, kind, reason }) => `${name} ${kind} ${reason}`)
    expect(kinds).toEqual([
      'PJSIP/101 extension hint',
      'PJSIP/200 trunk many_callers',
      'PJSIP/anna extension context_shared',
      'PJSIP/carrier trunk many_callers',
    ])
    const after = createEndpoints(NONE, JSON.parse(JSON.stringify(endpoints.saved())))
    expect([after.kindOf('PJSIP/carrier'), after.kindOf('PJSIP/anna')]).toEqual(['trunk', 'extension'])
    expect(JSON.stringify(endpoints.saved())).not.toContain('0301')
  })

  test('numbers that an endpoint shows without having begun the call count for nothing', () => {
    const endpoints = createEndpoints(NONE)
    for (const number of ['1551', '1552', '1553', '1554', '1555']) endpoints.caller('PJSIP/200', caller(number))
    expect(endpoints.kindOf('PJSIP/200')).toBe('extension')
  })

  test('a later process knows what this one knew, and the settings win over both', () => {
    const before = createEndpoints(NONE)
    before.configure({ endpoints: { 'PJSIP/t': { registers: true } }, mailboxes: {} })
    before.callee('PJSIP/u', callee('15557654321'))
    before.caller('PJSIP/v', caller('0301234567', 'from-trunk'))
    const memory = JSON.parse(JSON.stringify(before.saved()))
    const after = createEndpoints(NONE, memory)
    expect(after.isConfigured()).toBe(true)
    expect(after.list()).toEqual(before.list())
    expect(['PJSIP/t', 'PJSIP/u', 'PJSIP/v'].map((name) => after.kindOf(name))).toEqual(['trunk', 'trunk', 'trunk'])
    expect(createEndpoints({ trunks: [], extensions: ['u'] }, memory).kindOf('PJSIP/u')).toBe('extension')
  })

  test('its version counts what should survive, and nothing else', () => {
    const endpoints = createEndpoints(NONE)
    const versions = [endpoints.version()]
    for (let call = 0; call < 3; call++) {
      endpoints.caller('PJSIP/t', caller('15551230001', 'from-trunk'))
      endpoints.callee('PJSIP/101', callee(null))
      versions.push(endpoints.version())
    }
    expect(versions).toEqual([0, 2, 2, 2])
  })

  test('numbers in names do not fill the memory', () => {
    const endpoints = createEndpoints(NONE)
    for (let count = 0; count < 10_100; count++) endpoints.caller(`SIP/10.0.${count}.1`, caller(`1555${count}`, 'any'))
    expect(Object.keys(endpoints.saved().seen).length).toBe(10_000)
  })
})
