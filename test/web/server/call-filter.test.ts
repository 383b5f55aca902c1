import { expect, test } from 'bun:test'
import { EXAMPLES } from '../../../src/events/samples.ts'
import { createCallFilter } from '../../../src/web/server/call-filter.ts'

const example = EXAMPLES[2]?.data
if (example?.name !== 'dial_answered') throw new Error('the third example is dial_answered')
const nobody = { number: null, name: null, extension: null, e164: null, contact: null }
const call = { ...example.call, from: nobody, to: nobody, answered_by: null, handled_by: [], missed_by: [] }
const rings = (target: string) => [{ ...example.stage, kind: 'user' as const, target }]

test('a call is sent from the moment when the extension rings until its end, and other calls are not', () => {
  const isSent = createCallFilter('102')
  expect(isSent(call, [])).toBe(false)
  expect(isSent(call, rings('101'))).toBe(false)
  expect(isSent(call, rings('102'))).toBe(true)
  expect(isSent(call, [])).toBe(true)
  expect(isSent({ ...call, id: 'another' }, [])).toBe(false)
  expect(isSent({ ...call, state: 'ended' }, [])).toBe(true)
  // Its end is told once: what comes after it has to show the extension itself.
  expect(isSent({ ...call, state: 'ended' }, [])).toBe(false)
  expect(isSent({ ...call, state: 'ended' }, rings('102'))).toBe(true)
})

test('a queue or a group with the name of an extension is not the extension', () => {
  const isSent = createCallFilter('102')
  expect(isSent(call, [{ ...example.stage, kind: 'queue', target: '102' }])).toBe(false)
  expect(isSent({ ...call, from: { ...nobody, number: '102' } }, [])).toBe(false)
})

test.each([
  ['who calls', { from: { ...nobody, extension: '102' } }],
  ['who is called', { to: { ...nobody, extension: '102' } }],
  ['who answered', { answered_by: { ...nobody, extension: '102' } }],
  ['who handled it', { handled_by: [{ ...nobody, extension: '102' }] }],
  ['who missed it', { missed_by: [{ ...nobody, extension: '102' }] }],
])('%s is taken for the extension', (_, part) => {
  expect(createCallFilter('102')({ ...call, ...part }, [])).toBe(true)
  expect(createCallFilter('10')({ ...call, ...part }, [])).toBe(false)
})

test('without an extension every call is sent', () => {
  expect(createCallFilter(null)(call, [])).toBe(true)
})
