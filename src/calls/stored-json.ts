import { type TSchema, TypeGuard } from '@sinclair/typebox'
import { BODIES, type CallEventBody, CallRecord, type EventBody } from './event.ts'
import { isOfCall } from './event-subject.ts'

// Reads the JSON of records and bodies, which an earlier version may have stored. Keys are only ever added, so a
// missing key is younger than the text: it gets the value that means "unknown" in its schema.

/** Parses the stored record of a call. */
export function readCallRecord(json: string): CallRecord {
  // This program stored it: it has this shape, except for keys that were added later.
  return completed(CallRecord, JSON.parse(json)) as CallRecord
}

/** Parses the stored body of an event that was not erased. */
export function readEventBody(json: string): EventBody {
  // This program stored it, as above.
  const body: EventBody = JSON.parse(json)
  return completed(BODIES[body.data.name], body) as EventBody
}

/** Parses the stored body of a call event that was not erased. @throws Error if it belongs to no call. */
export function readCallEventBody(json: string): CallEventBody {
  const body = readEventBody(json)
  if (!isOfCall(body)) throw new Error('an event of a call has no call')
  return body
}

/** Returns a value with all keys of its schema added. */
function completed(schema: TSchema, value: unknown): unknown {
  if (value === null || value === undefined) return value
  if (TypeGuard.IsUnion(schema)) {
    const [only, ...others] = schema.anyOf.filter((one) => !TypeGuard.IsNull(one))
    return only === undefined || others.length > 0 ? value : completed(only, value)
  }
  if (TypeGuard.IsArray(schema))
    return Array.isArray(value) ? value.map((item) => completed(schema.items, item)) : value
  if (!TypeGuard.IsObject(schema) || typeof value !== 'object') return value
  const known = new Map(Object.entries(value))
  const keys = Object.entries(schema.properties).flatMap(([key, property]) => {
    if (known.has(key)) return [[key, completed(property, known.get(key))] as const]
    return TypeGuard.IsOptional(property) ? [] : [[key, unknownOf(property)] as const]
  })
  return { ...value, ...Object.fromEntries(keys) }
}

/** Returns the value that means "unknown" in a schema. A key whose schema has none cannot be added later. */
function unknownOf(schema: TSchema): unknown {
  if (TypeGuard.IsUnion(schema) && schema.anyOf.some((one) => TypeGuard.IsNull(one))) return null
  if (TypeGuard.IsArray(schema)) return []
  if (TypeGuard.IsRecord(schema)) return {}
  if (TypeGuard.IsInteger(schema) && schema.minimum === 0) return 0
  throw new Error('stored JSON lacks a key whose schema has no value for "unknown"')
}
