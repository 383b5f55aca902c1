import type { ClientTls } from '../outbound/client-tls.ts'
import type { Authorization, Flow } from './model.ts'

/**
 * A webhook whose requests or flow have an authorization, or a look-up of contacts. Its tokens belong to the account
 * and the URL.
 */
export type AuthorizedWebhook = Pick<Flow, 'origins' | 'parameters'> & {
  readonly accountId: number
  readonly url: string
  readonly authorization: Authorization
  /** How it takes part in the TLS handshake with the webhook's own host. */
  readonly tls?: ClientTls | undefined
  /** The look-up of contacts: an account has one, whatever its URL. */
  readonly isLookUp?: boolean
}

/**
 * The value of the `authorization` header, or the reason why none is available now, and when to ask again. `reason` is
 * a sentence for the owner, without secrets.
 */
export type Authorized = { readonly header: string } | { readonly reason: string; readonly retryAfterMs: number }

/** Obtains and renews tokens. Never rejects; a webhook has one renewal at a time, over all nodes. */
export type Authorizer = {
  /** Returns the present value; obtains a token first if it is missing or expires within a minute. */
  authorize(webhook: AuthorizedWebhook): Promise<Authorized>
  /** Renews the token after a 401 to `header`; returns the present one at once if it is another one by now. */
  renew(webhook: AuthorizedWebhook, header: string): Promise<Authorized>
}

/** Obtains tokens for settings that may not be saved. Never rejects. */
export type TrialAuthorizer = {
  /**
   * Returns a value for trial settings. Its token is stored apart from the saved one, and becomes the webhook's when
   * these settings are saved. `refusedHeader`: the value that a 401 has refused.
   */
  authorizeTrial(webhook: AuthorizedWebhook, refusedHeader: string | null): Promise<Authorized>
}
