import { type TSchema, TypeGuard } from '@sinclair/typebox'
import { type ValueError, ValueErrorType } from '@sinclair/typebox/errors'
import type { FieldError } from '../lib/fault.ts'

type Found = Pick<ValueError, 'type' | 'schema' | 'path'>

export const INVALID = 'The request does not fit; see the errors.'

/** More than a list of 100 webhooks can have, unless fields are made up; 1 MiB of faults would take seconds to tell. */
const MAX_ERRORS = 1_000

/**
 * One fault for each path (a JSON pointer), of all that TypeBox found. Written from the schema alone: what was submitted, a password
 * perhaps, is never repeated.
 */
export function errorsOf(found: Iterable<Found>): FieldError[] {
  const byPath = new Map<string, FieldError>()
  for (const error of found) {
    if (!byPath.has(error.path)) byPath.set(error.path, { path: error.path, message: messageOf(error) })
    if (byPath.size === MAX_ERRORS) break
  }
  return [...byPath.values()]
}

function messageOf({ type, schema }: Found): string {
  switch (type) {
    case ValueErrorType.ObjectRequiredProperty:
      return 'is missing'
    case ValueErrorType.ObjectAdditionalProperties:
      return 'is not a field that is known here'
    case ValueErrorType.StringMaxLength:
      return `may have ${schema.maxLength} characters at most`
    case ValueErrorType.StringMinLength:
      return schema.minLength === 1 ? 'may not be empty' : `must have ${schema.minLength} characters at least`
    case ValueErrorType.ArrayMaxItems:
      return `may have ${schema.maxItems} items at most`
    case ValueErrorType.IntegerMinimum:
    case ValueErrorType.NumberMinimum:
      return `must be ${schema.minimum} at least`
    case ValueErrorType.IntegerMaximum:
    case ValueErrorType.NumberMaximum:
      return `may be ${schema.maximum} at most`
    default:
      return `must be ${wanted(schema)}`
  }
}

/** What a schema wants, in words. */
function wanted(schema: TSchema): string {
  if (Array.isArray(schema.enum)) return `one of ${schema.enum.join(', ')}`
  if (TypeGuard.IsUnion(schema)) return [...new Set(schema.anyOf.map(wanted))].join(' or ')
  if (TypeGuard.IsLiteral(schema)) return JSON.stringify(schema.const)
  if (schema.format === 'date-time') return 'a time like 2026-11-20T21:42:00Z'
  if (typeof schema.description === 'string' && schema.format !== undefined) return schema.description
  return WORDS[String(schema.type)] ?? 'of another kind'
}

const WORDS: Readonly<Record<string, string>> = {
  string: 'a string',
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
  object: 'an object',
  array: 'an array',
  null: 'null',
}
