import { Fault } from '../lib/fault.ts'
import { type NowUs, SECOND, steadyUs } from '../lib/time.ts'

const WINDOW_US = 300 * SECOND
/** Memory stays bounded whatever comes: the keys that failed longest ago are forgotten first. */
const MAX_KEYS = 100_000

type Tally = { failedUs: number[]; running: number; waiting: (() => void)[] }

export type AttemptLimits = {
  /**
   * Runs a password check under every one of the keys, each with its limit of failures in 5 minutes. Checks that are running
   * count as failures until they end, and one over the limit waits for them, so that many at once get no further than many in
   * a row. A success (anything but `undefined`) clears the first key.
   * @throws Fault 429 when a limit is reached.
   */
  attempt<Result>(
    keys: readonly { key: string; limit: number }[],
    check: () => Promise<Result | undefined>,
  ): Promise<Result | undefined>
}

/** Counts failed password checks, in memory. Its clock must not step: one set back a day would lock people out for it. */
export function createAttemptLimits(now: NowUs = steadyUs): AttemptLimits {
  const tallies = new Map<string, Tally>()

  function tallyOf(key: string): Tally {
    const tally = tallies.get(key) ?? { failedUs: [], running: 0, waiting: [] }
    tally.failedUs = tally.failedUs.filter((atUs) => atUs > now() - WINDOW_US)
    // At the end of the map: the first ones are those that were used longest ago.
    tallies.delete(key)
    tallies.set(key, tally)
    return tally
  }

  function makeRoom(): void {
    for (const [key, tally] of tallies) {
      const idle = tally.running === 0 && tally.waiting.length === 0
      const over = tallies.size > MAX_KEYS
      if (!over && (tally.failedUs.at(-1) ?? 0) > now() - WINDOW_US) return
      if (idle) tallies.delete(key)
    }
  }

  return {
    async attempt(keys, check) {
      makeRoom()
      for (;;) {
        const held = keys.map(({ key, limit }) => ({ tally: tallyOf(key), limit }))
        const reached = held.find(({ tally, limit }) => tally.failedUs.length >= limit)
        if (reached !== undefined) throw tooMany(reached.tally, reached.limit, now())
        const full = held.find(({ tally, limit }) => tally.failedUs.length + tally.running >= limit)
        if (full === undefined)
          return await counted(
            held.map(({ tally }) => tally),
            check,
            now,
          )
        await new Promise<void>((resolve) => full.tally.waiting.push(resolve))
      }
    },
  }
}

async function counted<Result>(
  tallies: readonly Tally[],
  check: () => Promise<Result | undefined>,
  now: NowUs,
): Promise<Result | undefined> {
  for (const tally of tallies) tally.running += 1
  let failed = false
  try {
    const result = await check()
    failed = result === undefined
    if (!failed) tallies[0]?.failedUs.splice(0)
    return result
  } finally {
    for (const tally of tallies) {
      tally.running -= 1
      if (failed) tally.failedUs.push(now())
      for (const wake of tally.waiting.splice(0)) wake()
    }
  }
}

function tooMany({ failedUs }: Tally, limit: number, atUs: number): Fault {
  // Free again once so many of the failures are old enough that fewer than the limit are left.
  const freeUs = (failedUs[failedUs.length - limit] ?? atUs) + WINDOW_US
  const seconds = Math.max(1, Math.ceil((freeUs - atUs) / SECOND))
  return new Fault('too_many_requests', `Too many failed attempts. Try again in ${seconds} s.`, {
    headers: { 'retry-after': String(seconds) },
  })
}
