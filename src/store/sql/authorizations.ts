import { sql } from 'drizzle-orm'
import type {
  AuthorizationOwner,
  AuthorizationProblem,
  AuthorizationStore,
  RenewalClaim,
  RenewalClaimed,
  RenewalFailed,
  Renewed,
} from '../operations/authorizations.ts'
import { type Declarations, read, write } from './operation.ts'
import { selectFirst } from './select.ts'
import { all, exists, first, forUpdate, run, type Work } from './statement.ts'
import { authorizations } from './tables.ts'

const of = ({ accountId, url }: AuthorizationOwner) => sql`account_id = ${accountId} AND url = ${url}`

function* claimRenewal(given: RenewalClaim): Work<RenewalClaimed> {
  const { owner, settings, refusedHeader, claim, nowSteadyUs, untilSteadyUs } = given
  yield* run(sql`
    INSERT INTO authorizations (account_id, url, settings) VALUES (${owner.accountId}, ${owner.url}, ${settings})
    ON CONFLICT (account_id, url) DO NOTHING`)
  const stored = yield* selectFirst(authorizations, sql`WHERE ${of(owner)} ${forUpdate}`)
  if (stored?.settings !== settings) {
    // Nothing that was obtained with other settings counts, not even a renewal with them that is under way. A problem
    // goes on until a renewal succeeds.
    yield* run(sql`
      UPDATE authorizations SET settings = ${settings}, header = NULL, expires_at = NULL, renew_at = NULL,
        refresh_token = NULL, claim = ${claim}, claimed_until = ${untilSteadyUs}
      WHERE ${of(owner)}`)
    return { kind: 'claimed', refreshToken: null }
  }
  const { header, expiresSteadyUs, renewSteadyUs, claimedUntilSteadyUs, refreshToken } = stored
  const isFresh = header !== null && header !== refusedHeader && (renewSteadyUs ?? nowSteadyUs + 1) > nowSteadyUs
  if (isFresh) return { kind: 'present', header, expiresSteadyUs, renewSteadyUs }
  if (stored.claim !== null && claimedUntilSteadyUs !== null && claimedUntilSteadyUs > nowSteadyUs)
    return { kind: 'busy', untilSteadyUs: claimedUntilSteadyUs }
  yield* run(sql`UPDATE authorizations SET claim = ${claim}, claimed_until = ${untilSteadyUs} WHERE ${of(owner)}`)
  return { kind: 'claimed', refreshToken }
}

function* storeRenewed(renewed: Renewed): Work<{ endedProblem: boolean } | undefined> {
  const { owner, claim, header, expiresSteadyUs, renewSteadyUs, refreshToken } = renewed
  const stored = yield* first<{ problem: string | null }>(sql`
    SELECT problem FROM authorizations WHERE ${of(owner)} AND claim = ${claim} ${forUpdate}`)
  if (stored === undefined) return undefined
  yield* run(sql`
    UPDATE authorizations SET header = ${header}, expires_at = ${expiresSteadyUs}, renew_at = ${renewSteadyUs},
      refresh_token = coalesce(${refreshToken}, refresh_token), problem = NULL, problem_since = NULL, claim = NULL,
      claimed_until = NULL
    WHERE ${of(owner)}`)
  return { endedProblem: stored.problem !== null }
}

function* failRenewal({ owner, claim, problem, nowUs }: RenewalFailed): Work<boolean> {
  const begins =
    problem !== null &&
    (yield* exists(sql`
      SELECT 1 FROM authorizations WHERE ${of(owner)} AND claim = ${claim} AND problem IS NULL ${forUpdate}`))
  const sinceUs = problem === null ? null : nowUs
  yield* run(sql`
    UPDATE authorizations SET claim = NULL, claimed_until = NULL, problem = coalesce(${problem}, problem),
      problem_since = coalesce(problem_since, ${sinceUs})
    WHERE ${of(owner)} AND claim = ${claim}`)
  return begins
}

/** The operations on tokens with which requests are authorized. */
export const AUTHORIZATIONS: Declarations<AuthorizationStore> = {
  authorizationGet: read((owner) => selectFirst(authorizations, sql`WHERE ${of(owner)}`)),
  // Quiet: nobody caches what they change but its owner, who asks again when a token is refused.
  renewalClaim: write(claimRenewal, { isQuiet: true }),
  renewalStore: write(storeRenewed, { isQuiet: true }),
  renewalFail: write(failRenewal, { isQuiet: true }),
  authorizationProblemList: read((accountId) =>
    all<AuthorizationProblem>(sql`
      SELECT url, problem AS message, problem_since AS "sinceUs" FROM authorizations
      WHERE account_id = ${accountId} AND problem IS NOT NULL ORDER BY url`),
  ),
}
