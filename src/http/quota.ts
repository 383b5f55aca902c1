import { Fault } from '../lib/fault.ts'
import { type NowUs, SECOND } from '../lib/time.ts'

export type Quota = {
  /** Counts one use by an account, or a user. @throws Fault 429 when its quota is used up, with the time until there is more. */
  take(id: number): void
}

export type QuotaOptions = { readonly limit: number; readonly windowUs: number; readonly now: NowUs }

/** Lets each account, or user, do something so many times within a time that moves on. In memory: a few times for each. */
export function createQuota({ limit, windowUs, now }: QuotaOptions): Quota {
  const usedUs = new Map<number, number[]>()
  return {
    take(id) {
      const atUs = now()
      const used = (usedUs.get(id) ?? []).filter((oneUs) => oneUs > atUs - windowUs)
      const [oldestUs = atUs] = used
      if (used.length >= limit) {
        const seconds = Math.max(1, Math.ceil((oldestUs + windowUs - atUs) / SECOND))
        throw new Fault('too_many_requests', `Too many changes in a short time. Try again in ${seconds} s.`, {
          headers: { 'retry-after': String(seconds) },
        })
      }
      usedUs.set(id, [...used, atUs])
    },
  }
}
