import type { PhoneNumber } from '../events/phone-number.ts'
import {
  type Authorizer,
  type Flow,
  joinStepUrl,
  MAX_ANSWER_BYTES,
  type Step,
  type StepRenderer,
} from '../flows/flows.ts'
import type { Exchange, ExchangeRequest } from '../outbound/exchange.ts'
import { type ContactPlace, type LookUpAnswer, readLookUp, type Spelling, spelled } from './look-up.ts'

/** An account's settings for look-ups, with all defaults. */
export type LookUp = ContactPlace &
  Pick<Flow, 'origins' | 'parameters' | 'authorization'> & {
    readonly accountId: number
    /** The base URL to which the request's URL is joined. */
    readonly url: string
    readonly request: Omit<Step, 'name' | 'on'>
    readonly spellings: readonly Spelling[]
    /** It uses the tokens of the webhook with this URL, since a rotating refresh token must have one owner. */
    readonly isOfWebhook: boolean
  }

type LookUpParts = {
  readonly steps: StepRenderer
  readonly exchange: Exchange
  readonly authorizer: Authorizer
}

/** The longest request: after this time the caller has hung up or was answered. */
const TIMEOUT_MS = 5_000
const UNAUTHORIZED = 401

/** Looks up a number, in one spelling after the other until one is found. Never rejects. */
export async function lookUpNumber(lookUp: LookUp, phone: PhoneNumber, parts: LookUpParts): Promise<LookUpAnswer> {
  let last: LookUpAnswer = { kind: 'not found' }
  for (const number of spelled(phone, lookUp.spellings)) {
    last = await lookUpOnce(lookUp, number, parts)
    if (last.kind !== 'not found') return last
  }
  return last
}

async function lookUpOnce(lookUp: LookUp, number: string, parts: LookUpParts): Promise<LookUpAnswer> {
  try {
    const made = await requestOf(lookUp, number, parts.steps)
    if ('problem' in made) return { kind: 'failed', reason: made.problem }
    const { accountId, url, origins, parameters, authorization } = lookUp
    if (authorization === null) return readLookUp(await parts.exchange(made.request), lookUp)
    const owner = { accountId, url, origins, parameters, authorization, isLookUp: !lookUp.isOfWebhook }
    let authorized = await parts.authorizer.authorize(owner)
    for (let isLast = false; ; isLast = true) {
      if ('reason' in authorized) return { kind: 'failed', reason: authorized.reason }
      const { header } = authorized
      const headers = { ...made.request.headers, authorization: header }
      const answer = await parts.exchange({ ...made.request, headers })
      if (answer.status !== UNAUTHORIZED || isLast) return readLookUp(answer, lookUp)
      authorized = await parts.authorizer.renew(owner, header)
    }
  } catch (error) {
    return { kind: 'failed', reason: error instanceof Error ? error.message : String(error) }
  }
}

/** Returns the request for a number, or the reason why the number is not looked up. */
export async function requestOf(
  { url, origins, parameters, request }: Pick<LookUp, 'url' | 'origins' | 'parameters' | 'request'>,
  number: string,
  steps: StepRenderer,
): Promise<{ readonly request: ExchangeRequest } | { readonly problem: string }> {
  const data = { body: JSON.stringify({ number }), kept: {}, merged: [], parameters }
  const rendered = await steps.request(request, data)
  if ('problem' in rendered) return rendered
  if ('skipped' in rendered) return { problem: 'its condition is not met' }
  const { headers, body } = rendered.request
  const joined = joinStepUrl(url, rendered.request.url, origins)
  if ('problem' in joined) return joined
  const type = body === null ? {} : { 'content-type': request.content_type }
  return {
    request: {
      url: joined.url,
      method: request.method,
      headers: { accept: 'application/json', ...headers, ...type },
      body,
      maxAnswerBytes: MAX_ANSWER_BYTES,
      timeoutMs: TIMEOUT_MS,
    },
  }
}
