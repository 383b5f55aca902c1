import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { TSchema } from 'elysia'
import { Fault, type FieldError } from '../lib/fault.ts'
import { steadyUs } from '../lib/time.ts'
import { createAllowance } from './rate-limit.ts'
import { errorsOf, INVALID } from './validation.ts'

/** More than any list of 100 webhooks needs. */
const MAX_BODY_BYTES = 1024 * 1024
/** Of strangers: a login needs less, and thousands of them may send one each at the same time. */
const MAX_STRANGERS_BYTES = 16 * 1024
/** What large bodies an account may send at once, and each second: reading and checking 1 MiB takes some 50 ms. */
const LARGE_BYTES = 16 * 1024
const accountBytes = createAllowance({ atOnce: 32 * MAX_BODY_BYTES, perSecond: MAX_BODY_BYTES, now: steadyUs })
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json$/

/** What a schema cannot say. It sees the body before it is known to fit, so that all faults are told at once. */
export type Rule = (body: unknown) => readonly FieldError[]
/** `accountId` is what the guard has put there; a route without a guard is for strangers. */
type Incoming = { request: Request; body: unknown; accountId?: number }

/**
 * The part of a route's options by which it takes a JSON body: read, bounded and checked by us and not by Elysia, since the order
 * of the checks is given (after 401: 413, 415, 400, 422) and since every fault has to be listed. Arrow functions: what Elysia reads of
 * a minified method's text makes it warn on standard output.
 */
export function takes<Body extends TSchema>(schema: Body, rule?: Rule) {
  return reading(schema, rule, () => {
    throw new Fault('malformed', 'The body is empty; JSON is wanted.')
  })
}

/** As `takes`, for a body that may be left out: an empty one is `{}`. */
export const takesOptional = <Body extends TSchema>(schema: Body, rule?: Rule) => reading(schema, rule, () => ({}))

function reading<Body extends TSchema>(schema: Body, rule: Rule = () => [], whenEmpty: () => unknown) {
  const validator = TypeCompiler.Compile(schema)
  return {
    body: schema,
    parse: 'none' as const,
    transform: async (context: Incoming) => {
      const body = await readJson(context)
      context.body = checked(validator, rule, body === undefined ? whenEmpty() : body)
    },
  }
}

/** For a route that needs no body: one that comes is held to the same rules, and then ignored. */
export const takesNothing = {
  parse: 'none' as const,
  transform: async (context: Omit<Incoming, 'body'>) => {
    await readJson(context)
  },
}

function checked(validator: ReturnType<typeof TypeCompiler.Compile>, rule: Rule, body: unknown): unknown {
  const fits = validator.Check(body)
  const errors = [...(fits ? [] : errorsOf(validator.Errors(body)))]
  const seen = new Set(errors.map((error) => error.path))
  errors.push(...rule(body).filter((error) => !seen.has(error.path)))
  if (errors.length > 0) throw new Fault('invalid', INVALID, { errors })
  return body
}

/** The body as JSON, `undefined` if there is none. @throws Fault 413, 429, 415, 400, in this order. */
async function readJson(incoming: Omit<Incoming, 'body'>): Promise<unknown> {
  const { request } = incoming
  const bytes = await readBounded(incoming).catch((cause) => {
    if (cause instanceof Fault) throw cause
    // Nobody is there to be told; but that a client went away is no fault of the service.
    throw new Fault('malformed', 'The body broke off.')
  })
  if (bytes.length === 0) return undefined
  const [type = '', ...parameters] = (request.headers.get('content-type') ?? '').toLowerCase().split(';')
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='))
  if (!JSON_TYPE.test(type.trim()) || !(charset === undefined || /^charset="?utf-?8"?$/.test(charset)))
    throw new Fault('unsupported_media_type', 'Send the body as Content-Type: application/json.')
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw new Fault('malformed', 'The body is not JSON.')
  }
}

async function readBounded({ request, accountId }: Omit<Incoming, 'body'>): Promise<Uint8Array> {
  const maxBytes = accountId === undefined ? MAX_STRANGERS_BYTES : MAX_BODY_BYTES
  const tooLarge = () => new Fault('too_large', `A body may have ${maxBytes} bytes at most.`)
  const spend = (bytes: number) => {
    if (accountId !== undefined && bytes > 0) accountBytes.spend(accountId, bytes)
  }
  const declared = Number(request.headers.get('content-length') ?? 0)
  if (declared > maxBytes) throw tooLarge()
  if (request.body === null) return new Uint8Array()
  // A length that is announced is what the server hands over; only a chunked body has to be counted as it comes.
  if (request.headers.has('content-length')) {
    spend(declared - LARGE_BYTES)
    return await request.bytes()
  }
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of request.body) {
    spend(Math.min(chunk.length, length + chunk.length - LARGE_BYTES))
    length += chunk.length
    if (length > maxBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
