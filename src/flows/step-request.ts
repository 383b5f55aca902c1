import { foreignJsonOf } from '../lib/foreign-json.ts'
import { type NowUs, nowUs as wallUs } from '../lib/time.ts'
import type { AbortGroup } from '../outbound/abort-group.ts'
import { type AnswerBody, readBody } from '../outbound/answer-body.ts'
import type { ClientTls } from '../outbound/client-tls.ts'
import {
  addDestination,
  type Reading,
  type RequestFailure,
  type SendGuarded,
  USER_AGENT,
} from '../outbound/guarded-request.ts'
import { parseRetryAfter } from '../outbound/outcome.ts'
import { type Target, targetOf } from '../outbound/target.ts'
import type { Upload } from '../outbound/upload.ts'
import { MAX_ANSWER_BYTES } from './model.ts'

/** The request of a step, signed and authorized. */
export type StepRequest = {
  readonly url: string
  readonly method: string
  /** Further headers, names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly contentType: string
  readonly body: string | Upload | null
  /** The whole answer is wanted: a failure to read it is a failure of the request. */
  readonly isAnswerWanted: boolean
  readonly group: AbortGroup | undefined
  /** How it takes part in the TLS handshake. */
  readonly tls?: ClientTls | undefined
}

/** The answer to a step. `durationMs` ends with the status; with its body, if that is wanted and broke off. */
export type StepAnswer = {
  readonly status: number
  readonly retryAfterMs: number | undefined
  /** The whole body as JSON; `undefined` if it is not JSON, too long, or not needed. */
  readonly json: unknown
  /** Its first 4 KiB, for the log. */
  readonly logged: string | null
  readonly durationMs: number
  readonly address: string | null
}

export type SendStep = (request: StepRequest) => Promise<StepAnswer | RequestFailure>

const LOGGED_BYTES = 4_096
/** The first bytes of a body that nobody waits for come with its status or soon after. */
const BODY_WAIT_MS = 1_000

/** Creates the function that sends the requests of steps. It never rejects. */
export function newStepRequests(send: SendGuarded, nowUs: NowUs = wallUs): SendStep {
  return (request) => {
    const { url, method, body, group, isAnswerWanted, tls } = request
    const target = targetOf(url)
    const sent = { target, method, headers: headersOf(request, target), group, tls, isSentOnce: true }
    return send({ ...sent, body: body ?? undefined }, readingOf(isAnswerWanted, nowUs))
  }
}

function headersOf({ headers, contentType, body }: StepRequest, target: Target): Record<string, string> {
  const own: Record<string, string> = { 'user-agent': USER_AGENT, 'accept-encoding': 'identity' }
  addDestination(own, target)
  if (body !== null) own['content-type'] = typeof body === 'string' ? contentType : body.contentType
  if (body !== null && typeof body !== 'string') own['content-length'] = String(body.size)
  return { ...headers, ...own }
}

type ReadAnswer = { readonly read: AnswerBody; readonly tookMs: number }

const readingOf = (isAnswerWanted: boolean, nowUs: NowUs): Reading<ReadAnswer, StepAnswer | RequestFailure> => ({
  async read(response, leftMs) {
    const startedMs = performance.now()
    const read = await readBody(response, {
      maxBytes: isAnswerWanted ? MAX_ANSWER_BYTES : LOGGED_BYTES,
      waitMs: isAnswerWanted ? leftMs : Math.min(leftMs, BODY_WAIT_MS),
    })
    return { read, tookMs: Math.round(performance.now() - startedMs) }
  },
  answered(response, { read, tookMs } = BROKEN, { durationMs, address }) {
    const { status, headers } = response
    const isLimited = status === 429 || status === 503
    const retryAfterMs = isLimited ? parseRetryAfter(headers.get('retry-after'), nowUs()) : undefined
    if (isAnswerWanted && read.end === 'broken') {
      const reason = `the answer (${status}) ${read.why}: what it keeps is unknown`
      const failure = { kind: 'unreachable' as const, reason }
      return { failure, mayHaveBeenSent: true, durationMs: durationMs + tookMs, address }
    }
    const json = isAnswerWanted && read.end === 'whole' ? foreignJsonOf(read.text) : undefined
    return { status, retryAfterMs, json, logged: firstBytes(read.text), durationMs, address }
  },
  failed: (failure) => failure,
})

const BROKEN: ReadAnswer = { read: { end: 'broken', text: null, why: 'broke off' }, tookMs: 0 }

const firstBytes = (text: string | null): string | null => {
  if (text === null || text.length * 3 <= LOGGED_BYTES) return text
  return new TextDecoder().decode(Buffer.from(text).subarray(0, LOGGED_BYTES), { stream: true })
}
