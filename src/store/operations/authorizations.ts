// The tokens with which an account's requests are authorized: of a webhook's flow, and of the look-up of contacts.

/** The owner of a token. `url`: the webhook's; empty: the look-up of contacts. */
export type AuthorizationOwner = { readonly accountId: number; readonly url: string }

/** A token as it is stored. */
export type AuthorizationRecord = AuthorizationOwner & {
  /** A digest of the settings that the token was obtained with: other settings make it worthless. */
  readonly settings: string
  /** The value of the `authorization` header; `null` without a token. */
  readonly header: string | null
  /** `null`: valid until a server refuses it. */
  readonly expiresSteadyUs: number | null
  /** From when on it is renewed; `null`: never by its age. */
  readonly renewSteadyUs: number | null
  /** The last rotated refresh token; `null`: the one of the settings. */
  readonly refreshToken: string | null
  /** Why the last renewal was refused, and since when (wall clock) all were; `null`: it was not. */
  readonly problem: string | null
  readonly problemSinceUs: number | null
  /** The renewal that is under way, and the time from which it counts as lost; `null`: none is. */
  readonly claim: string | null
  readonly claimedUntilSteadyUs: number | null
}

export type RenewalClaim = {
  readonly owner: AuthorizationOwner
  readonly settings: string
  /** A header that a server has refused: it counts as no token. */
  readonly refusedHeader: string | null
  /** The name of this renewal, random. */
  readonly claim: string
  readonly nowSteadyUs: number
  readonly untilSteadyUs: number
}

/**
 * `present`: another process has renewed it, or it is still valid. `busy`: another renewal is under way until then, if
 * its process lives. `claimed`: only this one may renew it now.
 */
export type RenewalClaimed =
  | ({ readonly kind: 'present'; readonly header: string } & Pick<
      AuthorizationRecord,
      'expiresSteadyUs' | 'renewSteadyUs'
    >)
  | { readonly kind: 'busy'; readonly untilSteadyUs: number }
  | { readonly kind: 'claimed'; readonly refreshToken: string | null }

export type Renewed = Pick<AuthorizationRecord, 'header' | 'expiresSteadyUs' | 'renewSteadyUs'> & {
  readonly owner: AuthorizationOwner
  readonly claim: string
  /** A refresh token that replaces the used token; `null`: that stays. */
  readonly refreshToken: string | null
}

export type RenewalFailed = {
  readonly owner: AuthorizationOwner
  readonly claim: string
  /** Why it was refused; `null`: it failed in another way, and the stored problem stays. */
  readonly problem: string | null
  /** Wall time. */
  readonly nowUs: number
}

/** Since when the renewals of a webhook are refused. */
export type AuthorizationProblemRecord = { readonly url: string; readonly message: string; readonly sinceUs: number }

/**
 * A token of settings that are not saved, or no longer. Saving them makes it the owner's token, so that a rotated
 * refresh token is not lost.
 */
type AuthorizationDraft = AuthorizationOwner &
  Pick<AuthorizationRecord, 'settings' | 'header' | 'expiresSteadyUs' | 'renewSteadyUs' | 'refreshToken'>

export type NewDraft = {
  readonly draft: AuthorizationDraft
  readonly nowSteadyUs: number
}

export type AuthorizationStore = {
  /** Returns a token, or `undefined` if none was stored. */
  authorizationGet(owner: AuthorizationOwner): Promise<AuthorizationRecord | undefined>
  /** Claims the renewal of a token, so that one at a time is under way over all processes. */
  renewalClaim(claim: RenewalClaim): Promise<RenewalClaimed>
  /**
   * Stores the token of a claimed renewal and ends the claim. Returns `undefined` if another has claimed it since: then
   * nothing is stored; else whether a problem has ended.
   */
  renewalStore(renewed: Renewed): Promise<{ readonly endedProblem: boolean } | undefined>
  /** Ends a claim without a token. Returns whether a problem has begun. */
  renewalFail(failed: RenewalFailed): Promise<boolean>
  /** Returns the token of settings that are not saved, or `undefined` if none is kept. */
  authorizationDraftGet(owner: AuthorizationOwner, settings: string): Promise<AuthorizationDraft | undefined>
  /** Keeps the token of settings that are not saved, for a day. A `refreshToken` of `null` keeps the one before. */
  authorizationDraftStore(given: NewDraft): Promise<void>
  /** Returns the problems of an account's tokens, in the order of their URLs. */
  authorizationProblemList(accountId: number): Promise<AuthorizationProblemRecord[]>
}
