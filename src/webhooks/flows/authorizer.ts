import type { Authorization, Flow } from './model.ts'

/** A webhook whose flow has an authorization, or a look-up of contacts. Its tokens belong to account and URL. */
export type AuthorizedWebhook = Pick<Flow, 'origins' | 'parameters'> & {
  readonly accountId: number
  readonly url: string
  readonly authorization: Authorization
  /** The look-up of contacts: an account has one, whatever its URL. */
  readonly isLookUp?: boolean
}

/**
 * The value of the header `authorization`; or why there is none now, and after which time to ask again. `reason` is a
 * sentence for the owner without a secret.
 */
export type Authorized = { readonly header: string } | { readonly reason: string; readonly retryAfterMs: number }

/** Obtains and renews tokens. Never rejects; one renewal of a webhook at a time, over all nodes. */
export type Authorizer = {
  /** Returns the present value, obtained first if there is none or less than a minute is left of it. */
  authorize(webhook: AuthorizedWebhook): Promise<Authorized>
  /** Renews the token after a 401 to `header`; returns the present one at once if that is another by now. */
  renew(webhook: AuthorizedWebhook, header: string): Promise<Authorized>
}

/** Obtains tokens for settings that may not be saved. Never rejects. */
export type TrialAuthorizer = {
  /**
   * Returns a value for settings that are tried. Its token is kept apart, so that the saved one stays, and becomes that
   * of the webhook when these settings are saved. `refusedHeader`: the value that a 401 has refused.
   */
  authorizeTrial(webhook: AuthorizedWebhook, refusedHeader: string | null): Promise<Authorized>
}
