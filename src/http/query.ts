import { OptionalKind, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { Fault } from '../lib/fault.ts'
import { errorsOf, INVALID } from './validation.ts'

/**
 * The part of a route's options by which it takes query parameters. Elysia reads numbers while it checks, and then knows neither
 * the parameter's name nor the other faults: so all are checked before it, and told at once, each with its path.
 */
export function asks<Properties extends TProperties>(schema: TObject<Properties>) {
  const properties = Object.entries(schema.properties).map(([name, property]) => [name, asMeant(property)] as const)
  const validator = TypeCompiler.Compile(Type.Object(Object.fromEntries(properties)))
  const numbers = properties.filter(([, { type }]) => type === 'integer' || type === 'number').map(([name]) => name)
  const lists = properties.filter(([, { type }]) => type === 'array').map(([name]) => name)
  const check = (query: object) => {
    const given: Record<string, unknown> = { ...query }
    for (const name of numbers) given[name] = numberOf(given[name])
    for (const name of lists) if (typeof given[name] === 'string') given[name] = [given[name]]
    if (!validator.Check(given)) throw new Fault('invalid', INVALID, { errors: errorsOf(validator.Errors(given)) })
  }
  return {
    // Without normalize Elysia would refuse what it does not know; here that is ignored.
    query: Type.Object(schema.properties, { additionalProperties: true }),
    // Arrow functions, as in body.ts: of a method Elysia warns on standard output.
    transform: ({ query }: { query: object }) => check(query),
  }
}

/** Elysia's numbers of a query are "a string that is a number, or a number": the number is what is meant. */
export function asMeant(schema: TSchema): TSchema {
  const [text, meant]: TSchema[] = Array.isArray(schema.anyOf) ? schema.anyOf : []
  if (meant === undefined || !['integer', 'numeric', 'boolean'].includes(String(text?.format))) return schema
  return OptionalKind in schema ? Type.Optional(meant) : meant
}

const numberOf = (text: unknown) => (typeof text === 'string' && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text)
