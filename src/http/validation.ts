import 'elysia'
import { CloneType, FormatRegistry, KindGuard, type TSchema } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import { type ValueError, ValueErrorType } from '@sinclair/typebox/errors'
import type { FieldError } from '../lib/fault.ts'
import { isNameSchema, nameProblem } from '../lib/name.ts'
import { isTextSchema, textProblem } from '../lib/text.ts'
import { parseTime } from '../lib/time.ts'

// TypeBox knows no formats, and Elysia's `date-time` takes everything that a browser can read. It sets its formats when
// it is loaded, so it is loaded before this.
FormatRegistry.Set('date-time', (text) => parseTime(text) !== undefined)

type Found = Pick<ValueError, 'type' | 'schema' | 'path'> & Partial<Pick<ValueError, 'value' | 'errors'>>

export const INVALID = 'The request is not valid. See the errors.'

/**
 * A list of 100 webhooks cannot have more errors, except for unknown fields. Reporting 1 MiB of those would take
 * seconds.
 */
export const MAX_ERRORS = 1_000

/**
 * Returns a function that compiles the schema at its first call: compiling the schemas of all routes takes 10 ms of a
 * start. It compiles the schema as it is now: Elysia forbids unknown fields in the schemas of its routes afterwards.
 */
export function lazyValidator<Schema extends TSchema>(schema: Schema): () => TypeCheck<Schema> {
  const original = CloneType(schema)
  let validator: TypeCheck<Schema> | undefined
  return () => {
    validator ??= TypeCompiler.Compile(original)
    return validator
  }
}

/**
 * Returns one error for each path (a JSON pointer) at which TypeBox found one. The messages come from the schema alone:
 * the submitted value may be a password and is never repeated.
 */
export function errorsOf(found: Iterable<Found>): FieldError[] {
  const byPath = new Map<string, FieldError>()
  for (const error of expanded(found)) {
    const { path } = error
    if (!byPath.has(path))
      byPath.set(path, { path, message: `${path === '' ? bodyName(error) : ''}${messageOf(error)}` })
    if (byPath.size === MAX_ERRORS) break
  }
  return [...byPath.values()]
}

/** An error of the whole body has an empty path, so its message needs a subject. */
const bodyName = ({ schema }: Found): string => (schema.type === 'array' ? 'the list ' : 'the body ')

/**
 * Yields the errors of the one meant schema, if a value may have one of several types: they have the exact paths. That
 * is the only schema besides `null`, or the only one of the value's own type.
 */
function* expanded(found: Iterable<Found>): Generator<Found> {
  for (const error of found) {
    const { type, value, schema, errors = [] } = error
    const isGiven = type === ValueErrorType.Union && value !== null && value !== undefined
    const indexesOf = (isMeant: (one: TSchema) => boolean): number[] =>
      isGiven ? schema.anyOf.flatMap((one: TSchema, at: number) => (isMeant(one) ? at : [])) : []
    const notNull = indexesOf((one) => !KindGuard.IsNull(one))
    const [only, ...more] = notNull.length === 1 ? notNull : indexesOf((one) => one.type === typeOf(value))
    if (only === undefined || more.length > 0) yield error
    else yield* expanded(errors[only] ?? [])
  }
}

/** Returns the type of a JSON value, as schemas name it. */
const typeOf = (value: unknown): string => (Array.isArray(value) ? 'array' : typeof value)

function messageOf({ type, schema, value }: Found): string {
  switch (type) {
    case ValueErrorType.ObjectRequiredProperty:
      return 'is missing'
    case ValueErrorType.ObjectAdditionalProperties:
      return ruleOf(schema) ?? 'is an unknown field'
    case ValueErrorType.StringMaxLength:
      return `may have ${schema.maxLength} characters at most`
    case ValueErrorType.StringMinLength:
      return schema.minLength === 1 ? 'must not be empty' : `must have ${schema.minLength} characters at least`
    case ValueErrorType.ArrayUniqueItems:
      return 'must not contain an item twice'
    case ValueErrorType.ArrayMinItems:
      return schema.minItems === 1 ? 'must not be empty' : `must have ${schema.minItems} items at least`
    case ValueErrorType.ObjectMaxProperties:
      return `may have ${schema.maxProperties} entries at most`
    case ValueErrorType.StringPattern:
      return ruleOf(schema) ?? 'has the wrong form: /docs describes it'
    case ValueErrorType.ArrayMaxItems:
      return `may have ${schema.maxItems} items at most`
    case ValueErrorType.IntegerMinimum:
    case ValueErrorType.NumberMinimum:
      return `must be ${schema.minimum} at least`
    case ValueErrorType.IntegerMaximum:
    case ValueErrorType.NumberMaximum:
      return `may be ${schema.maximum} at most`
    case ValueErrorType.StringFormat:
      return enteredProblem(schema, value) ?? `must be ${expected(schema)}`
    default:
      return `must be ${expected(schema)}`
  }
}

/** Returns the sentence by which a schema explains its pattern, or the names of its fields. */
const ruleOf = ({ rule }: TSchema): string | undefined => (typeof rule === 'string' ? rule : undefined)

/** Returns why people may not enter a value where the schema has a name or another text of theirs. */
function enteredProblem(schema: TSchema, value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  return isNameSchema(schema) ? nameProblem(value) : isTextSchema(schema) ? textProblem(value) : undefined
}

/** Describes the values that a schema accepts. */
function expected(schema: TSchema): string {
  if (Array.isArray(schema.enum)) return `one of ${schema.enum.join(', ')}`
  if (KindGuard.IsUnion(schema)) return [...new Set(schema.anyOf.map(expected))].join(' or ')
  if (KindGuard.IsLiteral(schema)) return JSON.stringify(schema.const)
  if (schema.format === 'date-time') return 'a time like 2026-11-20T21:42:00Z'
  if (
    typeof schema.description === 'string' &&
    schema.format !== undefined &&
    !isNameSchema(schema) &&
    !isTextSchema(schema)
  )
    return schema.description
  return TYPE_NAMES[String(schema.type)] ?? 'of another type'
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'a string',
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
  object: 'an object',
  array: 'an array',
  null: 'null',
}
