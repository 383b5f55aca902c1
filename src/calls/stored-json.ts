import { type TSchema, TypeGuard } from '@sinclair/typebox'
import { BODIES, type CallEventBody, CallRecord, type EventBody } from './event.ts'
import { isOfCall } from './event-subject.ts'

// Reading the JSON of records and bodies that an earlier version may have stored. Keys are only ever added to them, so
// a key that is missing is younger than the text: it gets the value that stands for "unknown" in its schema.

/** Parses the stored record of a call. */
export function readCallRecord(json: string): CallRecord {
  // Stored by ourselves: it has this shape, but for the keys that came later.
  return completed(CallRecord, JSON.parse(json)) as CallRecord
}

/** Parses the stored body of an event that was not erased. */
export function readEventBody(json: string): EventBody {
  // Stored by ourselves, as above.
  const body: EventBody = JSON.parse(json)
  return completed(BODIES[body.data.name], body) as EventBody
}

/** Parses the stored body of an event of a call that was not erased. @throws Error if it is of no call. */
export function readCallEventBody(json: string): CallEventBody {
  const body = readEventBody(json)
  if (!isOfCall(body)) throw new Error('an event of a call has no call')
  return body
}

/** Returns a value with all keys of its schema. */
export function completed(schema: TSchema, value: unknown): unknown {
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

/** Returns what a key holds when nothing is known of it. A schema without such a value cannot be added later. */
export function unknownOf(schema: TSchema): unknown {
  if (TypeGuard.IsUnion(schema) && schema.anyOf.some((one) => TypeGuard.IsNull(one))) return null
  if (TypeGuard.IsArray(schema)) return []
  if (TypeGuard.IsRecord(schema)) return {}
  if (TypeGuard.IsInteger(schema) && schema.minimum === 0) return 0
  throw new Error('a stored text lacks a key that has no value for "unknown"')
}
