/**
 * Errors that a client can cause or has to handle, with their HTTP status. The message is for the client; the cause is
 * only logged. Any other thrown value is a bug: it is logged under the request id, and the client gets a 500 without
 * details.
 */
export const FAULT_STATUS = {
  malformed: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  not_acceptable: 406,
  conflict: 409,
  gone: 410,
  precondition_failed: 412,
  too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  misdirected: 421,
  invalid: 422,
  too_many_requests: 429,
  internal: 500,
  unavailable: 503,
} as const

export type FaultCode = keyof typeof FAULT_STATUS

/**
 * Returns whether an error is a bug of this program, such as a failed assertion: not a Fault, and not an error of the
 * operating system or a database, which has a code.
 */
export const isInternalError = (error: unknown): boolean =>
  !(error instanceof Fault) && Object(error).code === undefined

/** One error in a body. `path` is a JSON pointer into it (RFC 6901), `''` for the whole body. */
export type FieldError = { path: string; message: string }

type FaultDetail = {
  errors?: readonly FieldError[]
  headers?: Readonly<Record<string, string>>
  cause?: unknown
}

/** The one error class for foreseen failures; http/fault-handler.ts maps it to a response. */
export class Fault extends Error {
  override readonly name = 'Fault'
  readonly code: FaultCode
  readonly errors: readonly FieldError[]
  readonly headers: Readonly<Record<string, string>>

  constructor(code: FaultCode, message: string, detail: FaultDetail = {}) {
    super(message, { cause: detail.cause })
    this.code = code
    this.errors = detail.errors ?? []
    this.headers = detail.headers ?? {}
  }

  get status(): number {
    return FAULT_STATUS[this.code]
  }
}
