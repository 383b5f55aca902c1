import { sql } from 'drizzle-orm'
import { SECOND } from '../../lib/time.ts'
import type {
  AuthorizationOwner,
  AuthorizationProblemRecord,
  AuthorizationRecord,
  AuthorizationStore,
  NewDraft,
  RenewalClaim,
  RenewalClaimed,
  RenewalFailed,
  Renewed,
} from '../operations/authorizations.ts'
import { type Declarations, read, write } from './operation.ts'
import { selectFirst } from './select.ts'
import { all, exists, first, forUpdate, run, type Work } from './statement.ts'
import { authorizationDrafts, authorizations } from './tables.ts'

const of = ({ accountId, url }: AuthorizationOwner) => sql`account_id = ${accountId} AND url = ${url}`

/** Tokens of settings that are not saved are kept for so long. */
const DRAFT_KEPT_US = 86_400 * SECOND

function* claimRenewal(given: RenewalClaim): Work<RenewalClaimed> {
  const { owner, settings, refusedHeader, claim, nowSteadyUs, untilSteadyUs } = given
  yield* run(sql`
    INSERT INTO authorizations (account_id, url, settings) VALUES (${owner.accountId}, ${owner.url}, ${settings})
    ON CONFLICT (account_id, url) DO NOTHING`)
  const found = yield* selectFirst(authorizations, sql`WHERE ${of(owner)} ${forUpdate}`)
  const stored = yield* savedToken(given, found)
  const { header, expiresSteadyUs, renewSteadyUs, claimedUntilSteadyUs, refreshToken } = stored
  const isFresh = header !== null && header !== refusedHeader && (renewSteadyUs ?? nowSteadyUs + 1) > nowSteadyUs
  if (isFresh) return { kind: 'present', header, expiresSteadyUs, renewSteadyUs }
  if (stored.claim !== null && claimedUntilSteadyUs !== null && claimedUntilSteadyUs > nowSteadyUs)
    return { kind: 'busy', untilSteadyUs: claimedUntilSteadyUs }
  yield* run(sql`UPDATE authorizations SET claim = ${claim}, claimed_until = ${untilSteadyUs} WHERE ${of(owner)}`)
  return { kind: 'claimed', refreshToken }
}

type Token = Omit<AuthorizationRecord, 'accountId' | 'url' | 'settings' | 'problem' | 'problemSinceUs'>
const NO_TOKEN: Token = {
  header: null,
  expiresSteadyUs: null,
  renewSteadyUs: null,
  refreshToken: null,
  claim: null,
  claimedUntilSteadyUs: null,
}

/**
 * Returns the token of the settings; a check may have obtained it. Tokens that other settings obtained do not count,
 * nor does a renewal in progress with them. A problem lasts until a renewal succeeds.
 */
function* savedToken(
  { owner, settings, nowSteadyUs }: RenewalClaim,
  found: AuthorizationRecord | undefined,
): Work<Token> {
  const isSaved = found?.settings === settings
  if (isSaved && (found.header ?? found.refreshToken ?? found.claim) !== null) return found
  const draft = yield* selectFirst(authorizationDrafts, sql`WHERE ${of(owner)} AND settings = ${settings}`)
  if (isSaved && draft === undefined) return found
  // Settings that come back have the token that they had.
  if (found !== undefined && !isSaved && found.refreshToken !== null) yield* storeDraft({ draft: found, nowSteadyUs })
  const { header, expiresSteadyUs, renewSteadyUs, refreshToken } = draft ?? NO_TOKEN
  yield* run(sql`DELETE FROM authorization_drafts WHERE ${of(owner)} AND settings = ${settings}`)
  yield* run(sql`
    UPDATE authorizations SET settings = ${settings}, header = ${header}, expires_at = ${expiresSteadyUs},
      renew_at = ${renewSteadyUs}, refresh_token = ${refreshToken}, claim = NULL, claimed_until = NULL
    WHERE ${of(owner)}`)
  return { header, expiresSteadyUs, renewSteadyUs, refreshToken, claim: null, claimedUntilSteadyUs: null }
}

function* storeDraft({ draft, nowSteadyUs }: NewDraft): Work<void> {
  const { accountId, url, settings, header, expiresSteadyUs, renewSteadyUs, refreshToken } = draft
  yield* run(sql`DELETE FROM authorization_drafts WHERE kept_until < ${nowSteadyUs}`)
  yield* run(sql`
    INSERT INTO authorization_drafts
      (account_id, url, settings, header, expires_at, renew_at, refresh_token, kept_until)
    VALUES (${accountId}, ${url}, ${settings}, ${header}, ${expiresSteadyUs}, ${renewSteadyUs}, ${refreshToken},
      ${nowSteadyUs + DRAFT_KEPT_US})
    ON CONFLICT (account_id, url, settings) DO UPDATE SET header = excluded.header, expires_at = excluded.expires_at,
      renew_at = excluded.renew_at, kept_until = excluded.kept_until,
      refresh_token = coalesce(excluded.refresh_token, authorization_drafts.refresh_token)`)
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
  // Quiet: only the owner caches these rows, and reads them again when a token is refused.
  renewalClaim: write(claimRenewal, { isQuiet: true }),
  renewalStore: write(storeRenewed, { isQuiet: true }),
  renewalFail: write(failRenewal, { isQuiet: true }),
  authorizationDraftGet: read((owner, settings) =>
    selectFirst(authorizationDrafts, sql`WHERE ${of(owner)} AND settings = ${settings}`),
  ),
  authorizationDraftStore: write(storeDraft, { isQuiet: true }),
  authorizationProblemList: read((accountId) =>
    all<AuthorizationProblemRecord>(sql`
      SELECT url, problem AS message, problem_since AS "sinceUs" FROM authorizations
      WHERE account_id = ${accountId} AND problem IS NOT NULL ORDER BY url`),
  ),
}
