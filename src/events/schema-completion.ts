import { KindGuard, type TSchema } from '@sinclair/typebox'

/** Adds the keys that a value lacks. The value was just parsed, so that nobody else has it. */
export type Complete = (value: unknown) => void

/** Returns how values of a schema are completed; `undefined`: they have no keys. It is made once for each schema. */
export function completionOf(schema: TSchema): Complete | undefined {
  if (KindGuard.IsUnion(schema)) {
    const [only, ...others] = schema.anyOf.filter((one) => !KindGuard.IsNull(one))
    return only === undefined || others.length > 0 ? undefined : completionOf(only)
  }
  if (KindGuard.IsArray(schema)) {
    const item = completionOf(schema.items)
    if (item === undefined) return undefined
    return (value) => {
      if (Array.isArray(value)) for (const one of value) item(one)
    }
  }
  return KindGuard.IsObject(schema) ? objectCompletion(Object.entries(schema.properties)) : undefined
}

function objectCompletion(properties: readonly [key: string, schema: TSchema][]): Complete {
  const nested = properties.flatMap(([key, property]) => {
    const complete = completionOf(property)
    return complete === undefined ? [] : { key, complete }
  })
  const required = properties.filter(([, property]) => !KindGuard.IsOptional(property))
  return (value) => {
    if (typeof value !== 'object' || value === null) return
    const object: Record<string, unknown> = Object(value)
    for (const { key, complete } of nested) complete(object[key])
    for (const [key, property] of required) if (object[key] === undefined) object[key] = unknownOf(property)
  }
}

/** Returns the value that means "unknown" in a schema. A key whose schema has none cannot be added later. */
function unknownOf(schema: TSchema): unknown {
  if (KindGuard.IsUnion(schema) && schema.anyOf.some((one) => KindGuard.IsNull(one))) return null
  if (KindGuard.IsArray(schema)) return []
  if (KindGuard.IsRecord(schema)) return {}
  if (KindGuard.IsInteger(schema) && schema.minimum === 0) return 0
  throw new Error('stored JSON lacks a key whose schema has no value for "unknown"')
}
