import { describe, expect, test } from 'bun:test'
import { bodyFilterOf, matchesBody } from '../../../src/deliveries/log/body-filter.ts'

const body = JSON.stringify({
  time: 't',
  data: {
    name: 'call_ended',
    sequence: 3,
    call: { from: { number: '+4930123456', name: null }, partial: false, missed_by: [{ number: '101' }] },
  },
})
const matches = (query: Record<string, unknown>) => {
  const filter = bodyFilterOf(query)
  return filter === undefined ? undefined : matchesBody(filter, body)
}

describe('a filter by what is in the body', () => {
  test.each([
    [{ 'body.call.from.number': '+4930123456' }, true],
    [{ 'body.call.from.number': '+49301234' }, false],
    [{ 'body.call.from.number': '+4930123456', 'body.sequence': '3', 'body.call.partial': 'false' }, true],
    [{ 'body.call.from.number': '+4930123456', 'body.sequence': '4' }, false],
    [{ 'body.call.missed_by.0.number': '101' }, true],
    [{ 'body.call.from.name': 'null' }, false],
    [{ 'body.call.from': '[object Object]' }, false],
    [{ 'body.call.nothing': 'undefined' }, false],
    [{ 'body.constructor.name': 'Object' }, false],
    [{ state: 'failed' }, undefined],
  ])('%j matches: %p', (query, expected) => {
    expect(matches(query)).toBe(expected)
  })

  test('matches no body that was erased', () => {
    expect(matchesBody([{ path: ['name'], value: 'x' }], '{"erased":1}')).toBe(false)
    expect(matchesBody([{ path: ['name'], value: 'x' }], 'no JSON')).toBe(false)
  })

  test.each([
    [{ 'body.a': '1', 'body.b': '2', 'body.c': '3', 'body.d': '4' }, '/body.d'],
    [{ 'body.': '1' }, '/body.'],
    [{ 'body.call..number': '1' }, '/body.call..number'],
    [{ 'body.a': ['1', '2'] }, '/body.a'],
  ])('%j is refused', (query, path) => {
    expect(() => bodyFilterOf(query)).toThrow(
      expect.objectContaining({ code: 'invalid', errors: [expect.objectContaining({ path })] }),
    )
  })
})
