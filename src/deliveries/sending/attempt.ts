import type { AuthorizedWebhook } from '../../flows/flows.ts'
import { shownUrl } from '../../lib/shown-url.ts'
import { oneLine } from '../../lib/terminal-text.ts'
import { type NowUs, nowUs as wallUs } from '../../lib/time.ts'
import type { AbortGroup } from '../../outbound/abort-group.ts'
import type { AllowList } from '../../outbound/address-guard.ts'
import { readBody } from '../../outbound/answer-body.ts'
import type { ClientTls } from '../../outbound/client-tls.ts'
import { addDestination, newGuardedRequests, type Reading, USER_AGENT } from '../../outbound/guarded-request.ts'
import { type Attempted, type Outcome, parseRetryAfter } from '../../outbound/outcome.ts'
import type { Resolve } from '../../outbound/resolver.ts'
import type { Target } from '../../outbound/target.ts'

/** One POST request. */
export type Request = {
  readonly target: Target
  readonly id: string
  readonly timestampS: number
  readonly signature: string
  /** The trace of the call, and this attempt within it. */
  readonly traceparent: string
  readonly body: string
  /** The media type of the body; JSON by default. */
  readonly contentType?: string
  /** Further headers, from the options of the webhook. */
  readonly headers?: Readonly<Record<string, string>>
  /** The webhook, if its requests have a token; `newAuthorizedAttempt` obtains it. */
  readonly authorization?: AuthorizedWebhook | undefined
  /** How it takes part in the TLS handshake. */
  readonly tls?: ClientTls | undefined
  /** The requests that are aborted together with it. */
  readonly group?: AbortGroup | undefined
  /** How it is published, if it is for an MQTT broker. */
  readonly publication?: Publication
}

/** The webhook, which has a connection of its own, and the topic of an event. */
type Publication = { readonly webhookId: number; readonly topic: string; readonly retain: boolean }

export type Attempt = (request: Request) => Promise<Attempted>

export type AttemptOptions = {
  readonly allow: AllowList
  /** An egress proxy; it has to guard the network then, since names are resolved there. */
  readonly proxy?: string
  readonly timeoutMs?: number
  /** How long to wait for a connection to an address before trying the next one. */
  readonly nextAddressMs?: number
  readonly resolve?: Resolve
  readonly nowUs?: NowUs
}

/** Makes the one function that sends requests to receivers. It never throws: a failure is an outcome. */
export function newAttempt(options: AttemptOptions): Attempt {
  const { nowUs = wallUs } = options
  const send = newGuardedRequests(options)
  const reading: Reading<string | null, Attempted> = {
    // The common case is bounded by the 10 s of the attempt. Even reading the property `body` would make it a stream.
    read: (response, leftMs) => (isShort(response) ? response.text() : readLogged(response, leftMs)),
    answered: (response, text = '', { durationMs, address }) => ({
      outcome: outcomeOf(response, nowUs),
      durationMs,
      address,
      response: text,
    }),
    failed: ({ failure, durationMs, address }) => ({ outcome: failure, durationMs, address, response: null }),
  }
  // No further promise: thousands of requests a second.
  return (request) => {
    const { target, body, group, tls } = request
    if (request.authorization !== undefined) throw new Error('a request that needs a token was sent without it')
    return send({ target, method: 'POST', headers: headersOf(request), body, group, tls }, reading)
  }
}

function headersOf(request: Request): Record<string, string> {
  const { target, id, timestampS, signature, traceparent, contentType = 'application/json' } = request
  const own: Record<string, string> = {
    'content-type': contentType,
    'user-agent': USER_AGENT,
    'accept-encoding': 'identity',
    'webhook-id': id,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': signature,
    traceparent,
  }
  addDestination(own, target)
  return request.headers === undefined ? own : { ...request.headers, ...own }
}

function outcomeOf(response: Response, nowUs: NowUs): Outcome {
  const { status } = response
  if (status >= 200 && status < 300) return { kind: 'delivered', status }
  const retryAfterMs =
    status === 429 || status === 503 ? parseRetryAfter(response.headers.get('retry-after'), nowUs()) : undefined
  const location = status >= 300 && status < 400 ? response.headers.get('location') : null
  return {
    kind: 'refused',
    status,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(location === null ? {} : { reason: redirectReason(location) }),
  }
}

/** The most characters of the other address that are logged. */
const LOCATION_CHARACTERS = 300

/** Returns why a redirect is a failure: the body would go to an address that nobody has checked. */
const redirectReason = (location: string): string =>
  `it redirects to ${oneLine(shownUrl(location)).slice(0, LOCATION_CHARACTERS)}, which is not followed: give that URL if it is right`

/** The log has the first bytes of an answer's body. */
const LOGGED_BYTES = 4_096

/** The first bytes of a body come with its status or soon after; a trickling body must not delay the next event. */
const BODY_WAIT_MS = 1_000

/** Returns whether an answer has a short body with a length. A chunked body has no valid one. */
function isShort({ headers }: Response): boolean {
  const length = headers.get('content-length')
  return length !== null && Number(length) <= LOGGED_BYTES && !headers.has('transfer-encoding')
}

/** Returns the first 4 KiB of an answer's body, or `null` if it has none. Reads for a second at most. */
async function readLogged(response: Response, leftMs: number): Promise<string | null> {
  const { text } = await readBody(response, { maxBytes: LOGGED_BYTES, waitMs: Math.min(leftMs, BODY_WAIT_MS) })
  return text
}
