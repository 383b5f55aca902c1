import { expect, test } from 'bun:test'
import { traceparentOf } from '../../src/outbound/trace-context.ts'

const CALL = '01a1f900-5c8e-7000-8000-000000000001'

test('all events of a call share one trace id, and each attempt has another parent id', () => {
  const all = Array.from({ length: 1_000 }, () => traceparentOf(CALL))
  for (const one of all) expect(one).toMatch(/^00-01a1f9005c8e70008000000000000001-(?!0{16})[0-9a-f]{16}-01$/)
  expect(new Set(all).size).toBe(all.length)
})

test.each([
  ['no UUID', 'call 1'],
  ['nothing but zeros, which is no trace', '00000000-0000-0000-0000-000000000000'],
])('an id that is %s has a trace too, always the same', (_, id) => {
  expect(traceparentOf(id)).toMatch(/^00-(?!0{32})[0-9a-f]{32}-[0-9a-f]{16}-01$/)
  expect(traceparentOf(id).slice(0, 35)).toBe(traceparentOf(id).slice(0, 35))
})
