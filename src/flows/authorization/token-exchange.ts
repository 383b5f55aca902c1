import { foreignJsonOf } from '../../lib/foreign-json.ts'
import { valueAt } from '../../lib/json-pointer.ts'
import { oneLine } from '../../lib/terminal-text.ts'
import type { Exchanged, ExchangeRequest } from '../../outbound/exchange.ts'
import type { LoginAuthorization, OAuth2Authorization } from '../model.ts'

// Requests for tokens and their answers; pure.

/** How a client authenticates: RFC 6749 (2.3.1) requires servers to support `basic`, but many only know `body`. */
export type ClientProof = 'body' | 'basic'

/** The meaning of an answer to a token request. */
export type TokenAnswer =
  | {
      readonly kind: 'token'
      readonly token: string
      /** The token's lifetime; `null` if the answer does not say. */
      readonly lifetimeS: number | null
      /** The new refresh token; `null`: the sent token stays valid. */
      readonly refreshToken: string | null
    }
  /**
   * Another request cannot succeed until the owner or the server changes something. `isClient`: the client is unknown.
   */
  | { readonly kind: 'refused'; readonly message: string; readonly isClient: boolean }
  | { readonly kind: 'failed'; readonly message: string; readonly retryAfterMs: number }

export const MAX_TOKEN_ANSWER_BYTES = 64 * 1_024
const MAX_TOKEN_CHARACTERS = 16_384
const MAX_MESSAGE_CHARACTERS = 300
/** 4xx statuses that say nothing about the request itself. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 425, 429])
const TOKEN = /^[!-~]+$/

/** Returns the request for a token of OAuth 2.0, with a refresh token or with client credentials. */
export function tokenRequest(
  { tokenUrl, clientId, clientSecret, scope }: OAuth2Authorization,
  refreshToken: string | null,
  proof: ClientProof,
): ExchangeRequest {
  const form = new URLSearchParams(
    refreshToken === null
      ? { grant_type: 'client_credentials' }
      : { grant_type: 'refresh_token', refresh_token: refreshToken },
  )
  if (scope !== null) form.set('scope', scope)
  const headers: Record<string, string> = {
    'content-type': 'application/x-www-form-urlencoded',
    accept: 'application/json',
  }
  if (proof === 'basic') {
    const pair = `${formText(clientId)}:${formText(clientSecret ?? '')}`
    headers.authorization = `Basic ${Buffer.from(pair).toString('base64')}`
  } else {
    form.set('client_id', clientId)
    if (clientSecret !== null) form.set('client_secret', clientSecret)
  }
  return { url: tokenUrl, method: 'POST', headers, body: form.toString(), maxAnswerBytes: MAX_TOKEN_ANSWER_BYTES }
}

/** RFC 6749 encodes both parts of the pair as a form does. */
const formText = (text: string): string => new URLSearchParams({ a: text }).toString().slice('a='.length)

/** Returns the meaning of an answer of the token endpoint. */
export function readTokenAnswer(answer: Exchanged, redact: Redact): TokenAnswer {
  const found = readAnswer(answer, redact)
  if (!('json' in found)) return found
  const token = valueAt(found.json, '/access_token')
  if (!isToken(token)) return refused(answer.status, { json: found.json, redact, lacks: 'has no access_token' })
  const refreshToken = valueAt(found.json, '/refresh_token')
  return {
    kind: 'token',
    token,
    lifetimeS: secondsOf(valueAt(found.json, '/expires_in')),
    refreshToken: isToken(refreshToken) ? refreshToken : null,
  }
}

/** Returns the meaning of an answer to a log-in. */
export function readLoginAnswer(
  answer: Exchanged,
  { token, expiresIn }: LoginAuthorization,
  redact: Redact,
): TokenAnswer {
  const found = readAnswer(answer, redact)
  if (!('json' in found)) return found
  const value = valueAt(found.json, token)
  const text = typeof value === 'number' ? String(value) : value
  if (!isToken(text)) return refused(answer.status, { json: found.json, redact, lacks: `has no token at ${token}` })
  const lifetimeS = typeof expiresIn === 'number' ? expiresIn : secondsOf(valueAt(found.json, expiresIn))
  return { kind: 'token', token: text, lifetimeS, refreshToken: null }
}

/** Returns the JSON of an answer that may have a token, or the answer's meaning. */
function readAnswer(
  { status, failure, text, retryAfterMs }: Exchanged,
  redact: Redact,
): TokenAnswer | { readonly json: unknown } {
  if (status === null) return failed(failure ?? 'no answer')
  const json = foreignJsonOf(text)
  if (status >= 200 && status < 300)
    return json === undefined ? refused(status, { json, redact, lacks: 'is not JSON, or too long' }) : { json }
  if (status >= 400 && status < 500 && !PASSING_STATUSES.has(status)) return refused(status, { json, redact })
  return failed(`status ${status}${saying(json, redact)}`, retryAfterMs ?? 0)
}

const failed = (message: string, retryAfterMs = 0): TokenAnswer => ({ kind: 'failed', message, retryAfterMs })

type Refusal = { readonly json: unknown; readonly redact: Redact; readonly lacks?: string }

function refused(status: number | null, { json, redact, lacks }: Refusal): TokenAnswer {
  const error = valueAt(json, '/error')
  const isClient = error === 'invalid_client' || (status === 401 && typeof error !== 'string')
  const what = lacks === undefined ? `status ${status}` : `the answer (status ${status}) ${lacks}`
  return { kind: 'refused', message: `${what}${saying(json, redact)}`, isClient }
}

/** The places where servers explain an error. */
const MESSAGES = ['/error_description', '/error/message', '/message', '/detail', '/error', '/title']

/** Returns a server's explanation of its refusal, after a colon. */
function saying(json: unknown, redact: Redact): string {
  const found = [valueAt(json, '/error'), ...MESSAGES.map((pointer) => valueAt(json, pointer))]
  const texts = [...new Set(found.filter((one) => typeof one === 'string' && one.trim() !== ''))]
  const text = oneLine(redact(texts.slice(0, 2).join(': '))).slice(0, MAX_MESSAGE_CHARACTERS)
  return text === '' ? '' : `: ${text}`
}

const isToken = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= MAX_TOKEN_CHARACTERS && TOKEN.test(value)

/** Some servers send the seconds as text. */
function secondsOf(value: unknown): number | null {
  const seconds = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
  return typeof seconds === 'number' && seconds > 0 && Number.isFinite(seconds) ? seconds : null
}

/** Removes the secrets of an authorization from a server's text, which may repeat the request. */
type Redact = (text: string) => string

/** Shorter secrets are not removed: they are parts of ordinary words. */
const LEAST_SECRET_CHARACTERS = 4

/** Returns the function that removes secrets. */
export function redactionOf(secrets: readonly (string | null)[]): Redact {
  const longestFirst = [...new Set(secrets)]
    .filter((one) => one !== null)
    .filter(({ length }) => length >= LEAST_SECRET_CHARACTERS)
    .toSorted((one, other) => other.length - one.length)
  return (text) => longestFirst.reduce((rest, secret) => rest.replaceAll(secret, '***'), text)
}

/** Returns the texts of a log-in's request that may be secret: its headers and the values in its body. */
export function secretsOfLogin({ headers, body }: Pick<ExchangeRequest, 'headers' | 'body'>): string[] {
  const inHeaders = Object.values(headers).flatMap((text) => [text, ...text.split(/\s+/)])
  if (body === null) return inHeaders
  const json = foreignJsonOf(body)
  return [...inHeaders, body, ...(json === undefined ? new URLSearchParams(body).values() : textsIn(json))]
}

function textsIn(json: unknown): string[] {
  if (typeof json === 'string') return [json]
  return typeof json === 'object' && json !== null ? Object.values(json).flatMap(textsIn) : []
}
