import { Fault } from '../lib/fault.ts'
import { type NowUs, SECOND } from '../lib/time.ts'

type Allowance = {
  /**
   * Spends part of an account's allowance.
   * @throws Fault `too_many_requests` when it is too little, with the time until it is enough.
   */
  spend(accountId: number, amount: number): void
}

type AllowanceOptions = { readonly atOnce: number; readonly perSecond: number; readonly now: NowUs }

type Left = { readonly amount: number; readonly atUs: number }

/**
 * Creates a token bucket for each account: an amount that is spent and grows back. Keeps two numbers for each account
 * in memory.
 */
export function createAllowance({ atOnce, perSecond, now }: AllowanceOptions): Allowance {
  const left = new Map<number, Left>()
  return {
    spend(accountId, amount) {
      const atUs = now()
      const before = left.get(accountId) ?? { amount: atOnce, atUs }
      const grown = Math.min(atOnce, before.amount + ((atUs - before.atUs) / SECOND) * perSecond)
      left.set(accountId, { amount: Math.max(0, grown - amount), atUs })
      if (amount <= grown) return
      left.set(accountId, { amount: grown, atUs })
      const seconds = Math.ceil((amount - grown) / perSecond)
      throw new Fault('too_many_requests', `Too much data was sent in a short time. Try again in ${seconds} s.`, {
        headers: { 'retry-after': String(seconds) },
      })
    },
  }
}

type Quota = {
  /**
   * Counts one use by an account or a user.
   * @throws Fault `too_many_requests` when the quota is used up, with the time until the next.
   */
  take(id: number): void
}

type QuotaOptions = {
  readonly limit: number
  readonly windowUs: number
  readonly now: NowUs
  /** The uses that are counted, for the message: `changes` unless it is given. */
  readonly what?: string
}

/**
 * Creates a quota for each account or user: at most `limit` uses in any window of `windowUs`. Keeps the times of those
 * uses in memory.
 */
export function createQuota({ limit, windowUs, now, what = 'changes' }: QuotaOptions): Quota {
  const usedUs = new Map<number, number[]>()
  return {
    take(id) {
      const atUs = now()
      const used = (usedUs.get(id) ?? []).filter((oneUs) => oneUs > atUs - windowUs)
      const [oldestUs = atUs] = used
      if (used.length >= limit) {
        const seconds = Math.max(1, Math.ceil((oldestUs + windowUs - atUs) / SECOND))
        throw new Fault('too_many_requests', `Too many ${what} in a short time. Try again in ${seconds} s.`, {
          headers: { 'retry-after': String(seconds) },
        })
      }
      usedUs.set(id, [...used, atUs])
    },
  }
}
