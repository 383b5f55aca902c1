/**
 * Decides the account of a call, on a PBX that serves several accounts. Channels have a tenant value that names the
 * account. The value of the first channel counts. A caller from a trunk may have none, or get one on its path through
 * the dialplan; then the value of the first dialled phone counts.
 *
 * A call: undecided → with an account, or without one. It never changes after that.
 */

/** How the tenant values of a PBX name accounts. */
export type Tenants = {
  /** Returns the exact name of the account with this name in any case; `undefined` if no account has it. */
  readonly accountOf: (value: string) => string | undefined
  /** Every channel has a tenant value (a context), even a trunk's: a value that names no account means nothing. */
  readonly isOnEveryChannel: boolean
}

/** The facts of a call that decide its account. */
type TenantFacts = {
  /** The present value of the first channel, `null` if it has none (yet). */
  readonly caller: string | null
  /** The values of the dialled channels that have one, in the order of the dials. */
  readonly dialled: readonly string[]
  /** A dial has begun: the caller's path through the dialplan has ended. */
  readonly isDialled: boolean
  /** The call is over, or has waited long enough for a value. */
  readonly isLate: boolean
}

/** `account`: `null` if no account gets the call. `tenant`: the deciding value, `null` if the call shows none. */
export type AccountDecision = { readonly account: string | null; readonly tenant: string | null }

/**
 * Returns the account of a call, or `undefined` while it may still show. A call without any value belongs to
 * `otherwise`.
 */
export function decideAccount(
  { caller, dialled, isDialled, isLate }: TenantFacts,
  { accountOf, isOnEveryChannel }: Tenants,
  otherwise: string | null,
): AccountDecision | undefined {
  const values = caller === null ? dialled : isOnEveryChannel ? [caller, ...dialled] : [caller]
  // If values may mean nothing, the first that names an account counts; if none does, the first of all.
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
