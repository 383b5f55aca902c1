import { expect, test } from 'bun:test'
import { type TSchema, Type } from '@sinclair/typebox'
import { BODIES, type CallRecord } from '../../src/events/bodies.ts'
import { ALL_EXAMPLES } from '../../src/events/samples.ts'
import { completionOf } from '../../src/events/schema-completion.ts'
import { readCallRecord, readEventBody } from '../../src/events/stored-json.ts'

/** Returns a schema that counts how often it, or a schema within it, is read. */
function counting(schema: TSchema) {
  const count = { reads: 0 }
  const wrap = <Value extends object>(value: Value): Value =>
    new Proxy(value, {
      get(target, key, receiver) {
        count.reads += 1
        const found: unknown = Reflect.get(target, key, receiver)
        return typeof found === 'object' && found !== null ? wrap(found) : found
      },
    })
  return { schema: wrap(schema), count }
}

test('the schemas of records and bodies are read once, not for each text', () => {
  const examples = new Map(ALL_EXAMPLES.map((body) => [body.data.name, body]))
  for (const [name, body] of examples) {
    const { schema, count } = counting(BODIES[name])
    const complete = completionOf(schema)
    const before = count.reads
    expect(before).toBeGreaterThan(0)
    for (let time = 0; time < 3; time += 1) complete?.(structuredClone(body))
    expect({ name, reads: count.reads - before }).toEqual({ name, reads: 0 })
  }
})

test('a complete record and a complete body are as they were stored', () => {
  for (const body of ALL_EXAMPLES) expect(readEventBody(JSON.stringify(body))).toEqual(body)
  expect(readCallRecord(JSON.stringify(exampleRecord()))).toEqual(exampleRecord())
})

test('keys that a text lacks are added at every depth, with the values that mean "unknown"', () => {
  const unknown: Readonly<Record<string, unknown>> = {
    ...Object.fromEntries(
      ['e164', 'contact', 'missed', 'parent_id', 'ring_duration', 'queue'].map((key) => [key, null]),
    ),
    ...Object.fromEntries(['merged_from', 'missed_by', 'recordings'].map((key) => [key, []])),
    transfers: 0,
    variables: {},
  }
  const ofEarlier = JSON.stringify(exampleRecord(), (key, value) => (key in unknown ? undefined : value))
  const now = JSON.stringify(exampleRecord(), (key, value) => (key in unknown ? unknown[key] : value))
  expect(ofEarlier).not.toContain('e164')
  expect(readCallRecord(ofEarlier)).toEqual(JSON.parse(now))
})

test('an optional key stays away, and one without a value for "unknown" is an error', () => {
  const schema = Type.Object({ url: Type.Optional(Type.String()), count: Type.Integer({ minimum: 0 }) })
  expect(completed(schema, {})).toEqual({ count: 0 })
  expect(() => completed(Type.Object({ id: Type.String() }), {})).toThrow('lacks a key')
})

function exampleRecord(): CallRecord {
  const saved = ALL_EXAMPLES.find(({ data }) => data.name === 'call_saved')?.data
  if (saved?.name !== 'call_saved') throw new Error('there is no example')
  const { call, stages, recordings } = saved
  return { call, stages, recordings }
}

function completed(schema: TSchema, value: object): unknown {
  const copy = structuredClone(value)
  completionOf(schema)?.(copy)
  return copy
}
