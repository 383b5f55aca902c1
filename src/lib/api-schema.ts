import type { TSchema } from '@sinclair/typebox'

/**
 * Notes that schemas carry for the API document. Besides `description` a schema may have a `form`: keywords such as
 * `pattern` or `maxLength` that validators ignore. Requests are checked for them by rules that count code points or
 * know more than a pattern; responses need no check, because the service wrote them.
 */
const ORIGINAL = Symbol('original')

/** Returns a schema with a description of this use; the API document still refers to the schema by its name. */
export const described = <Schema extends TSchema>(schema: Schema, description: string): Schema => ({
  description,
  ...schema,
  [ORIGINAL]: schema,
})

/** Returns the schema that `described` was given, any other as it is. */
export const originalOf = (schema: object): object =>
  ORIGINAL in schema && typeof schema[ORIGINAL] === 'object' && schema[ORIGINAL] !== null ? schema[ORIGINAL] : schema

type Naming = { readonly name: string; readonly alternatives: readonly TSchema[] }
const NAMINGS = new WeakMap<object, Naming>()

/**
 * Names a schema in the API's document, and in types that are generated from it. Returns the schema. One with
 * `alternatives` is documented as exactly one of them: requests are checked by one schema with the fields of all.
 */
export function named<Schema extends TSchema>(name: string, schema: Schema, ...alternatives: TSchema[]): Schema {
  NAMINGS.set(schema, { name, alternatives })
  return schema
}

/** Returns the name and the alternatives of a schema; `undefined`: it is written out where it is used. */
export const namingOf = (schema: object): Naming | undefined => NAMINGS.get(schema)

/** Forms that schemas of several modules have. */
export const UUID = { format: 'uuid' }
export const ACCOUNT_NAME = { minLength: 1, maxLength: 64 }
export const WEBHOOK_URL = {
  maxLength: 2_048,
  pattern: '^([Hh][Tt][Tt][Pp]|[Mm][Qq][Tt][Tt])[Ss]?://[^/\\\\?#\\s][^\\s]*$',
}
