import { type NowUs, nowUs as wallUs } from '../lib/time.ts'
import { newAbortGroup } from './abort-group.ts'
import { readBody } from './answer-body.ts'
import type { ClientTls } from './client-tls.ts'
import { addDestination, type Reading, type SendGuarded, USER_AGENT } from './guarded-request.ts'
import { parseRetryAfter } from './outcome.ts'
import { type Target, targetOf } from './target.ts'

/** A request to the owner's system that is not a delivery: it is not signed. */
export type ExchangeRequest = {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** How it takes part in the TLS handshake. */
  readonly tls?: ClientTls | undefined
  /** A longer answer has no text. */
  readonly maxAnswerBytes: number
  /** The time limit of the answer; 10 s by default. */
  readonly timeoutMs?: number
}

/** The answer; without one, `status` is `null` and `failure` is the reason. */
export type Exchanged = {
  readonly status: number | null
  readonly failure: string | null
  /** The whole body; `null` if there was none, it is longer than `maxAnswerBytes`, or it broke off. */
  readonly text: string | null
  readonly retryAfterMs: number | null
  readonly durationMs: number
}

/** Sends a request to a checked address, like a delivery (address guard, proxy). Never rejects. */
export type Exchange = (request: ExchangeRequest) => Promise<Exchanged>

/** Creates the function for requests other than deliveries, on top of the function that checks addresses. */
export function newExchange(send: SendGuarded, nowUs: NowUs = wallUs): Exchange {
  return async (request) => {
    const { url, method, body, timeoutMs, tls } = request
    const target = targetIn(url)
    if (target === undefined) return withoutAnswer('the URL is not an absolute http: or https: URL', 0)
    const group = timeoutMs === undefined ? undefined : newAbortGroup()
    const timer = group === undefined ? undefined : setTimeout(group.abort, timeoutMs)
    try {
      const sent = { target, method, headers: headersOf(request, target), body: body ?? undefined, group, tls }
      return await send(sent, readingOf(request, nowUs))
    } finally {
      clearTimeout(timer)
    }
  }
}

function targetIn(url: string): Target | undefined {
  const parsed = URL.parse(url)
  return parsed !== null && /^https?:$/.test(parsed.protocol) ? targetOf(url) : undefined
}

function headersOf({ headers }: ExchangeRequest, target: Target): Record<string, string> {
  const own: Record<string, string> = { 'user-agent': USER_AGENT, 'accept-encoding': 'identity' }
  addDestination(own, target)
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  return { ...lower, ...own }
}

const withoutAnswer = (failure: string, durationMs: number): Exchanged => ({
  status: null,
  failure,
  text: null,
  retryAfterMs: null,
  durationMs,
})

function readingOf(
  { maxAnswerBytes, timeoutMs = 0 }: ExchangeRequest,
  nowUs: NowUs,
): Reading<string | null, Exchanged> {
  return {
    async read(response) {
      const body = await readBody(response, { maxBytes: maxAnswerBytes })
      return body.end === 'whole' ? body.text : null
    },
    answered(response, text = null, { durationMs }) {
      const retryAfterMs = parseRetryAfter(response.headers.get('retry-after'), nowUs()) ?? null
      return { status: response.status, failure: null, text, retryAfterMs, durationMs }
    },
    failed({ failure, durationMs }) {
      const reason = failure.kind === 'aborted' ? `no answer within ${timeoutMs / 1_000} s` : failure.reason
      return withoutAnswer(reason, durationMs)
    },
  }
}
