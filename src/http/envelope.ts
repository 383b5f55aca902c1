import { Type } from '@sinclair/typebox'
import { type TSchema, t } from 'elysia'
import { named } from '../lib/api-schema.ts'
import { FAULT_STATUS, type Fault, type FaultCode } from '../lib/fault.ts'
import { bodyInSlices } from '../lib/slices.ts'

/** Returns the schema of a response. `result` is `[]` when there is nothing to return. */
const envelope = <const Status extends string, Code extends TSchema, Result extends TSchema>(
  status: Status,
  code: Code,
  result: Result,
) => t.Object({ status: t.Literal(status), code, result, message: t.String() })

export const Nothing = t.Array(t.Never(), { maxItems: 0 })

const FieldProblem = named(
  'FieldError',
  t.Object({
    path: t.String({
      description: 'A JSON pointer into the body, or the name of a parameter after a `/`',
      form: { format: 'json-pointer' },
    }),
    message: t.String({ description: 'What is wrong there' }),
  }),
)
const FieldErrors = t.Object({ errors: t.Array(FieldProblem) })

export const Failure = named(
  'Failure',
  t.Object({
    status: t.Literal('error', { description: 'Always `error`' }),
    code: Type.Integer({ description: 'The HTTP status code', form: { minimum: 400, maximum: 599 } }),
    result: t.Union([Nothing, FieldErrors], { description: 'For 422 the errors, each with its path; else `[]`' }),
    message: t.String({ description: 'A message for people' }),
  }),
)
export type Failure = typeof Failure.static

/** Every route may answer with these. */
const ALWAYS = ['not_acceptable', 'internal', 'unavailable'] as const satisfies readonly FaultCode[]

/** Returns the response schemas of a route: its success, and every fault that it may answer with. */
export function responses<Result extends TSchema>(result: Result, ...faults: readonly FaultCode[]) {
  const success = { 200: envelope('success', t.Literal(200), result) }
  const failures = Object.fromEntries([...faults, ...ALWAYS].map((code) => [FAULT_STATUS[code], Failure]))
  // The failures are for the API document only: the fault handler writes them, never a route.
  return Object.assign(failures, success) as typeof success
}

/** Returns the body of a successful response. */
export function success<Result>(result: Result, message: string) {
  return { status: 'success' as const, code: 200 as const, result, message }
}

const JSON_HEADERS = { 'content-type': 'application/json' }

/** Returns a successful response with a list of thousands: its text is made while the client reads it. */
export const successInSlices = (result: Iterable<unknown>, message: string): Response =>
  new Response(bodyInSlices(textOf(result, message)), { headers: JSON_HEADERS })

function* textOf(list: Iterable<unknown>, message: string): Generator<string> {
  const { status, code } = success([], message)
  yield `{"status":"${status}","code":${code},"result":[`
  let isFirst = true
  for (const item of list) {
    yield `${isFirst ? '' : ','}${JSON.stringify(item)}`
    isFirst = false
  }
  yield `],"message":${JSON.stringify(message)}}`
}

/**
 * Returns the same where all accounts may be meant (`null`): then each element of the result has its account, which the
 * schemas do not have.
 */
export function successOf<Result>(scope: number | null, result: Result, message: string) {
  const body = success(result, message)
  // Elysia passes a Response on as it is, without its schema.
  return scope === null ? (Response.json(body) as unknown as typeof body) : body
}

/** Returns the body of a failed response. */
export function failure(fault: Fault): Failure {
  return {
    status: 'error',
    code: fault.status,
    result: fault.code === 'invalid' ? { errors: [...fault.errors] } : [],
    message: fault.message,
  }
}
