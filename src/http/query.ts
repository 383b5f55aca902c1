import { OptionalKind, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { Fault } from '../lib/fault.ts'
import { errorsOf, INVALID } from './validation.ts'

/**
 * Returns the part of a route's options that checks the query parameters. Elysia converts numbers while it checks, and
 * then reports neither the parameter's name nor the other errors; so they are checked before it, and reported together,
 * each with its path.
 */
export function asks<Properties extends TProperties>(schema: TObject<Properties>) {
  const properties = Object.entries(schema.properties).map(([name, property]) => [name, plainSchema(property)] as const)
  const validator = TypeCompiler.Compile(Type.Object(Object.fromEntries(properties)))
  const numbers = properties.filter(([, { type }]) => type === 'integer' || type === 'number').map(([name]) => name)
  const lists = properties.filter(([, { type }]) => type === 'array').map(([name]) => name)
  const check = (query: object) => {
    const given: Record<string, unknown> = { ...query }
    for (const name of numbers) given[name] = toNumber(given[name])
    for (const name of lists) if (typeof given[name] === 'string') given[name] = [given[name]]
    if (!validator.Check(given)) throw new Fault('invalid', INVALID, { errors: errorsOf(validator.Errors(given)) })
  }
  return {
    // Elysia would refuse unknown parameters; they are ignored here.
    query: Type.Object(schema.properties, { additionalProperties: true }),
    // An arrow function, as in body.ts: Elysia would print a warning about a method.
    transform: ({ query }: { query: object }) => check(query),
  }
}

/** Returns the plain schema of a query parameter: Elysia's numbers are unions of a numeric string and a number. */
export function plainSchema(schema: TSchema): TSchema {
  const [text, meant]: TSchema[] = Array.isArray(schema.anyOf) ? schema.anyOf : []
  if (meant === undefined || !['integer', 'numeric', 'boolean'].includes(String(text?.format))) return schema
  return OptionalKind in schema ? Type.Optional(meant) : meant
}

const toNumber = (text: unknown) => (typeof text === 'string' && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text)
