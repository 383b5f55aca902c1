/**
 * Decides whose a call is, on a PBX that serves several accounts. Channels have a value that names the account. The
 * first channel's counts. A caller from a trunk may have none, or get one on its way through the dialplan; then the
 * phone that is dialled first shows it.
 *
 * A call: undecided → an account's, or nobody's. It never changes after that.
 */

/** How the values of a PBX name accounts. */
export type Tenants = {
  /** Returns the account with this name in any case, in its own spelling; `undefined` if there is none. */
  readonly accountOf: (value: string) => string | undefined
  /** Every channel has such a value, a trunk's too (a context): one that names no account means nothing. */
  readonly isOnEveryChannel: boolean
}

/** The facts of a call that decide whose it is. */
export type TenantFacts = {
  /** The present value of the first channel, `null` if it has none (yet). */
  readonly caller: string | null
  /** The values of the channels that were dialled, in the order of their dials, as far as they have one. */
  readonly dialled: readonly string[]
  /** A dial has begun: the caller's way through the dialplan has come to an end. */
  readonly isDialled: boolean
  /** The call is over, or has waited for a value for long enough. */
  readonly isLate: boolean
}

/** `account`: `null` if it is nobody's. `tenant`: the value that decided, `null` if there is none. */
export type AccountDecision = { readonly account: string | null; readonly tenant: string | null }

/** Returns whose a call is, or `undefined` while that may still show. Without any value it is `otherwise`'s. */
export function decideAccount(
  { caller, dialled, isDialled, isLate }: TenantFacts,
  { accountOf, isOnEveryChannel }: Tenants,
  otherwise: string | null,
): AccountDecision | undefined {
  const values = caller === null ? dialled : isOnEveryChannel ? [caller, ...dialled] : [caller]
  // Of values that may mean nothing the first that names an account counts, else the first.
  const considered = isOnEveryChannel ? values : values.slice(0, 1)
  for (const tenant of considered) {
    const account = accountOf(tenant)
    if (account !== undefined) return { account, tenant }
  }
  // The dialplan may still give the caller another value.
  const isFinal = isLate || (isDialled && !isOnEveryChannel && values.length > 0)
  if (!isFinal) return undefined
  const [tenant = null] = values
  return { account: tenant === null ? otherwise : null, tenant }
}
