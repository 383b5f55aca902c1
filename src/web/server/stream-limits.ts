/**
 * How many streams may be open. `guaranteed`: of an account, regardless of other accounts; `shared`: of all accounts
 * together beyond the guaranteed ones.
 */
type Limits = { readonly guaranteed: number; readonly ofAccount: number; readonly shared: number }

const LIMITS = {
  whole: { guaranteed: 16, ofAccount: 64, shared: 256 },
  /** Each person of an account may have the pop page open, and its stream has little to send. */
  calls: { guaranteed: 16, ofAccount: 512, shared: 1_024 },
} as const satisfies Readonly<Record<string, Limits>>

/** Returns whether an account may open one more stream of this kind. `open`: the account of each open one. */
export function mayOpen(kind: keyof typeof LIMITS, accountId: number, open: readonly number[]): boolean {
  const { guaranteed, ofAccount, shared } = LIMITS[kind]
  const counts = new Map<number, number>()
  for (const account of open) counts.set(account, (counts.get(account) ?? 0) + 1)
  const own = counts.get(accountId) ?? 0
  if (own < guaranteed) return true
  const beyond = counts.values().reduce((sum, count) => sum + Math.max(0, count - guaranteed), 0)
  return own < ofAccount && beyond < shared
}
