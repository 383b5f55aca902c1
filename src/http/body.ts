import type { TypeCheck } from '@sinclair/typebox/compiler'
import type { TSchema } from 'elysia'
import { Fault, type FieldError } from '../lib/fault.ts'
import { parseForeignJson } from '../lib/foreign-json.ts'
import { pointerPart } from '../lib/json-pointer.ts'
import { steadyUs } from '../lib/time.ts'
import { createAllowance } from './rate-limit.ts'
import { errorsOf, INVALID, lazyValidator, MAX_ERRORS } from './validation.ts'

/** A list of 100 webhooks needs less. */
const MAX_BODY_BYTES = 1024 * 1024
/**
 * Bodies above this size are limited per account, because reading and checking 1 MiB takes some 50 ms. All requests
 * without a token count as one account: a login needs less, and thousands of clients may log in at the same time.
 */
const LARGE_BYTES = 16 * 1024
const STRANGERS = 0
const accountBytes = createAllowance({ atOnce: 32 * MAX_BODY_BYTES, perSecond: MAX_BODY_BYTES, now: steadyUs })
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json$/

/** The codes of the faults of a route with `takesNothing`. */
export const READ_FAULTS = ['malformed', 'too_large', 'unsupported_media_type', 'too_many_requests'] as const
/** The codes of the faults of a route with `takes` or `takesOptional`. */
export const BODY_FAULTS = [...READ_FAULTS, 'invalid'] as const

/**
 * A check that a schema cannot express. It gets the body before the schema has accepted it, so that all errors are
 * reported together.
 */
type Rule = (body: unknown) => readonly FieldError[]
/** `accountId` comes from the guard; a route without a guard is open to everyone. */
type Incoming = { request: Request; body: unknown; accountId?: number }

/**
 * Returns the part of a route's options that reads a JSON body, limits its size and checks it. It replaces Elysia's own
 * parsing, because the order of the checks is fixed (after 401: 413, 415, 400, 422) and every error has to be listed.
 * Arrow functions: Elysia inspects the source text of methods and would print a warning.
 */
export function takes<Body extends TSchema>(schema: Body, rule?: Rule) {
  return reading(schema, rule, () => {
    throw new Fault('malformed', 'The body is empty. Send JSON.')
  })
}

/** Returns the same as `takes` for a body that may be omitted: an empty one is read as `{}`. */
export const takesOptional = <Body extends TSchema>(schema: Body, rule?: Rule) => reading(schema, rule, () => ({}))

function reading<Body extends TSchema>(schema: Body, rule: Rule = () => [], whenEmpty: () => unknown) {
  const validator = lazyValidator(schema)
  return {
    body: schema,
    parse: 'none' as const,
    transform: async (context: Incoming) => {
      const { body, halves } = await readJson(context)
      context.body = checked(
        validator(),
        (given) => [...halves, ...rule(given)],
        body === undefined ? whenEmpty() : body,
      )
    },
  }
}

/** The options of a route without a body: a body that a client sends is checked by the same rules, then ignored. */
export const takesNothing = {
  parse: 'none' as const,
  transform: async (context: Omit<Incoming, 'body'>) => {
    await readJson(context)
  },
}

function checked(validator: TypeCheck<TSchema>, rule: Rule, body: unknown): unknown {
  const fits = validator.Check(body)
  const found = fits ? [] : errorsOf(validator.Errors(body))
  const seen = new Set(found.map((error) => error.path))
  const errors = [...found, ...rule(body).filter((error) => !seen.has(error.path))].slice(0, MAX_ERRORS)
  if (errors.length > 0) throw new Fault('invalid', INVALID, { errors })
  return body
}

type JsonBody = {
  /** `undefined`: it is empty. */
  readonly body: unknown
  /** The errors of texts with half of a character. */
  readonly halves: readonly FieldError[]
}

/** Returns the body as JSON. @throws Fault 413, 429, 415 or 400, in this order. */
async function readJson(incoming: Omit<Incoming, 'body'>): Promise<JsonBody> {
  const { request } = incoming
  const bytes = await readBounded(incoming).catch((cause) => {
    if (cause instanceof Fault) throw cause
    // The client has disconnected and reads no response; it must not be logged as an error of the service.
    throw new Fault('malformed', 'The body is incomplete: the connection was closed.')
  })
  if (bytes.length === 0) return { body: undefined, halves: [] }
  const [type = '', ...parameters] = (request.headers.get('content-type') ?? '').toLowerCase().split(';')
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='))
  if (!JSON_TYPE.test(type.trim()) || !(charset === undefined || /^charset="?utf-?8"?$/.test(charset)))
    throw new Fault('unsupported_media_type', 'Send the body as Content-Type: application/json.')
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    const body = parseForeignJson(text)
    return { body, halves: SURROGATE.test(text) ? [...halvesIn(body, '')] : [] }
  } catch {
    throw new Fault('malformed', 'The body is not valid JSON, or its values are nested too deeply.')
  }
}

/** A surrogate can come only as an escape: UTF-8 has none. */
const SURROGATE = /\\u[dD][89a-fA-F]/
const HALF = 'has half of a character (a lone surrogate): send the whole character'

/** Yields an error for each text, names of fields included, that a store or a log cannot keep unchanged. */
function* halvesIn(value: unknown, path: string): Generator<FieldError> {
  if (typeof value === 'string' && !value.isWellFormed()) yield { path, message: HALF }
  if (typeof value !== 'object' || value === null) return
  for (const [name, field] of Object.entries(value)) {
    const fieldPath = `${path}/${pointerPart(name)}`
    if (!name.isWellFormed()) yield { path: fieldPath, message: HALF }
    yield* halvesIn(field, fieldPath)
  }
}

async function readBounded({ request, accountId = STRANGERS }: Omit<Incoming, 'body'>): Promise<Uint8Array> {
  const tooLarge = () => new Fault('too_large', `The body is too large: at most ${MAX_BODY_BYTES} bytes are accepted.`)
  const spend = (bytes: number) => {
    if (bytes > 0) accountBytes.spend(accountId, bytes)
  }
  const declared = Number(request.headers.get('content-length') ?? 0)
  if (declared > MAX_BODY_BYTES) throw tooLarge()
  if (request.body === null) return new Uint8Array()
  // The server enforces an announced length; only a chunked body has to be counted while it is read.
  if (request.headers.has('content-length')) {
    spend(declared - LARGE_BYTES)
    return await request.bytes()
  }
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of request.body) {
    spend(Math.min(chunk.length, length + chunk.length - LARGE_BYTES))
    length += chunk.length
    if (length > MAX_BODY_BYTES) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
