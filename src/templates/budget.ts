import { backoff } from '../lib/backoff.ts'
import { MILLISECOND, SECOND } from '../lib/time.ts'

/**
 * The time that the templates of one account may take from all others. Pure; times are of the steady clock.
 *
 * Each account has a share of the thread's time, after a burst. A template that was ended rests, and so does one that
 * reached a limit three times in a row: nobody renders it again before the rest is over.
 */

/** A usual template takes some 30 µs, which is a share of 0.03 at 1,000 events a second. */
const MAX_SHARE = 0.2
const BURST_US = 200 * MILLISECOND

const MAX_COSTLY = 3
const FIRST_REST_US = 60 * SECOND
const LAST_REST_US = 3_600 * SECOND
/** Bounds the memory: the oldest entries of customers who try one hostile template after the other are dropped. */
const MAX_KNOWN = 10_000

/** Creates the time budgets, by key. */
export function createBudgets() {
  // The time at which the share of the budget will have paid for all rendering so far.
  const paidUntilUs = new Map<string, number>()
  return {
    /** Returns the microseconds until a budget is available again; 0 if it is. */
    spentForUs(key: string, atUs: number): number {
      const untilUs = paidUntilUs.get(key)
      return untilUs === undefined ? 0 : Math.max(0, untilUs - atUs - BURST_US / MAX_SHARE)
    },
    charge(key: string, atUs: number, tookUs: number): void {
      const fromUs = Math.max(paidUntilUs.get(key) ?? 0, atUs - tookUs)
      paidUntilUs.delete(key)
      paidUntilUs.set(key, fromUs + tookUs / MAX_SHARE)
      forgetOldest(paidUntilUs)
    },
  }
}

type Known = { readonly costly: number; readonly rests: number; readonly untilUs: number }

/** Creates the rests of templates, by key. */
export function createRests() {
  const known = new Map<string, Known>()
  const FRESH: Known = { costly: 0, rests: 0, untilUs: Number.NEGATIVE_INFINITY }

  function note(key: string, next: Known): void {
    known.delete(key)
    known.set(key, next)
    forgetOldest(known)
  }
  /** Begins a rest, twice as long as the last one. Returns its length in microseconds. */
  function rest(key: string, atUs: number): number {
    const { rests } = known.get(key) ?? FRESH
    const forUs = backoff(rests + 1, FIRST_REST_US, LAST_REST_US)
    note(key, { costly: 0, rests: rests + 1, untilUs: atUs + forUs })
    return forUs
  }

  return {
    /** Returns whether any template is known to be costly. */
    isEmpty: (): boolean => known.size === 0,
    /** Returns the microseconds until the rest of a template ends; 0 if it does not rest. */
    restsForUs: (key: string, atUs: number): number => Math.max(0, (known.get(key)?.untilUs ?? 0) - atUs),
    rest,
    /** Counts a rendering that reached a limit. The third in a row begins a rest. */
    noteCostly(key: string, atUs: number): void {
      const before = known.get(key) ?? FRESH
      if (before.costly + 1 >= MAX_COSTLY) rest(key, atUs)
      else note(key, { ...before, costly: before.costly + 1 })
    },
    /** Ends the row of costly renderings. */
    noteUsual: (key: string): void => void known.delete(key),
  }
}

function forgetOldest(known: Map<string, unknown>): void {
  if (known.size <= MAX_KNOWN) return
  const [oldest = ''] = known.keys()
  known.delete(oldest)
}
