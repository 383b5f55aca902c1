import type { TSchema } from '@sinclair/typebox'
import { Call } from '../../events/bodies.ts'

// The records of calls as CSV (RFC 4180): a line of names, then a line for each call. Columns are named as in the body
// `flat`.

type Column = { readonly name: string; readonly path: readonly string[] }

/** Returns the columns of a schema: a column for each field, those of objects joined by `_`; a list is one column. */
function columnsOf(schema: TSchema, path: readonly string[], name: string): Column[] {
  const fields: Readonly<Record<string, TSchema>> | undefined = objectIn(schema)?.properties
  if (fields === undefined) return [{ name, path }]
  return Object.entries(fields).flatMap(([key, field]) => columnsOf(field, [...path, key], `${name}_${key}`))
}

/** Returns the schema of the object that a schema describes, by itself or beside `null`. */
function objectIn(schema: TSchema): TSchema | undefined {
  if (schema.type === 'object') return schema.properties === undefined ? undefined : schema
  const either: readonly TSchema[] = schema.anyOf ?? []
  return either.find(({ type }) => type === 'object')
}

let known: readonly Column[] | undefined
const columns = (): readonly Column[] => {
  known ??= columnsOf(Call, [], 'call')
  return known
}

/** Returns the line of column names: the given ones, then the names of the call's fields. */
export const csvHead = (before: readonly string[]): string => csvLine([...before, ...columns().map(({ name }) => name)])

/** Returns the line of a call: the given cells, then the cells of its fields. */
export function csvOf(before: readonly string[], call: Call): string {
  return csvLine([...before, ...columns().map(({ path }) => textOf(path.reduce<unknown>(valueAt, call)))])
}

const valueAt = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, key) : null

function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** How a cell begins that a spreadsheet would compute. */
const FORMULA = /^[=+\-@\t\r]/
/** A telephone number is no formula, also with its plus. */
const NUMBER = /^\+?\d+$/

function cellOf(text: string): string {
  const harmless = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}

const csvLine = (cells: readonly string[]): string => `${cells.map(cellOf).join(',')}\r\n`
