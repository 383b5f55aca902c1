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

/** Returns the schema that `described` was given; every other schema as it is. */
export const originalOf = (schema: object): unknown => (ORIGINAL in schema ? schema[ORIGINAL] : schema)

/** Forms that schemas of several modules have. */
export const UUID = { format: 'uuid' }
export const ACCOUNT_NAME = { minLength: 1, maxLength: 64 }
export const WEBHOOK_URL = {
  maxLength: 2_048,
  pattern: '^([Hh][Tt][Tt][Pp]|[Mm][Qq][Tt][Tt])[Ss]?://[^/\\\\?#\\s][^\\s]*$',
}
