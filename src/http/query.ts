import { type TObject, type TProperties, Type } from '@sinclair/typebox'
import { Fault } from '../lib/fault.ts'
import { errorsOf, INVALID, lazyValidator } from './validation.ts'

/**
 * Returns the part of a route's options that reads and checks the query parameters. Elysia reads numbers while it
 * checks, and then reports neither the parameter's name nor the other errors; so it is done before Elysia's check, and
 * all errors are reported together, each with its path.
 */
export function asks<Properties extends TProperties>(
  schema: TObject<Properties>,
  unknown: 'ignored' | 'refused' = 'ignored',
) {
  const properties = Object.entries(schema.properties)
  const validator = lazyValidator(Type.Object(schema.properties, { additionalProperties: unknown === 'ignored' }))
  const numbers = properties.filter(([, { type }]) => type === 'integer' || type === 'number').map(([name]) => name)
  const lists = properties.filter(([, { type }]) => type === 'array').map(([name]) => name)
  const read = (query: Record<string, unknown>) => {
    for (const name of numbers) query[name] = toNumber(query[name])
    for (const name of lists) if (typeof query[name] === 'string') query[name] = [query[name]]
    if (!validator().Check(query)) throw new Fault('invalid', INVALID, { errors: errorsOf(validator().Errors(query)) })
  }
  return {
    // Elysia would refuse unknown parameters at the first one.
    query: Type.Object(schema.properties, { additionalProperties: true }),
    // An arrow function, as in body.ts: Elysia would print a warning about a method.
    transform: ({ query }: { query: object }) => read(query as Record<string, unknown>),
  }
}

const toNumber = (text: unknown) => (typeof text === 'string' && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text)
