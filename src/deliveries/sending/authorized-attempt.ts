import { type Authorizer, secretMask, secretsOfHeaders } from '../../flows/flows.ts'
import type { Attempted } from '../../outbound/outcome.ts'
import type { Attempt, Request } from './attempt.ts'

/**
 * Makes attempts whose requests have a token where the webhook asks for one. A token that the receiver refuses (401) is
 * renewed once, and the request repeated. Without a token nothing is sent: the delivery stays pending.
 */
export function newAuthorizedAttempt(attempt: Attempt, authorizer: Authorizer): Attempt {
  // The common case, thousands of times a second: no further promise.
  return (request) => {
    const { authorization, ...rest } = request
    return authorization === undefined ? attempt(request) : authorized(rest, authorization)
  }

  async function authorized(
    request: Omit<Request, 'authorization'>,
    owner: NonNullable<Request['authorization']>,
  ): Promise<Attempted> {
    const first = await authorizer.authorize(owner)
    if ('reason' in first) return deferred(first)
    const attempted = await send(request, first.header)
    if (!isUnauthorized(attempted)) return attempted
    const renewed = await authorizer.renew(owner, first.header)
    return 'reason' in renewed ? deferred(renewed) : await send(request, renewed.header)
  }

  async function send(request: Omit<Request, 'authorization'>, header: string): Promise<Attempted> {
    const attempted = await attempt({ ...request, headers: { ...request.headers, authorization: header } })
    const { response } = attempted
    // The answer may repeat the token.
    return response === null
      ? attempted
      : { ...attempted, response: secretMask(secretsOfHeaders({ authorization: header }))(response) }
  }
}

const isUnauthorized = ({ outcome }: Attempted): boolean => outcome.kind === 'refused' && outcome.status === 401

const deferred = ({ reason, retryAfterMs }: { reason: string; retryAfterMs: number }): Attempted => ({
  outcome: { kind: 'deferred', reason: `the authorization: ${reason}`, afterMs: retryAfterMs },
  durationMs: 0,
  address: null,
  response: null,
})
