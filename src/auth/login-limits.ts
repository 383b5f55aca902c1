import { Fault } from '../lib/fault.ts'
import { type NowUs, SECOND, steadyUs } from '../lib/time.ts'

const WINDOW_US = 300 * SECOND
/** Memory stays bounded whatever comes: the keys that failed longest ago are forgotten first. */
const MAX_KEYS = 100_000
/** As many as wait for their password to be checked: whoever comes later would be answered too late. */
const MAX_WAITING = 500

type Tally = { failedUs: number[]; running: number; waiting: (() => void)[] }
type Limited = { readonly key: string; readonly limit: number }

export type AttemptLimits = {
  /**
   * Runs a password check under every one of the keys, the widest first, each with its limit of failures in 5 minutes. Checks that
   * are running count as failures until they end, and one over the limit waits for them, so that many at once get no further than
   * many in a row. A success (anything but `undefined`) clears the last key. An attempt that is refused leaves nothing behind.
   * @throws Fault 429 when a limit is reached.
   */
  attempt<Result>(keys: readonly Limited[], check: () => Promise<Result | undefined>): Promise<Result | undefined>
  /** Returns how many keys are remembered. */
  size(): number
}

/** Counts failed password checks, in memory. Its clock must not step: one set back a day would lock people out for it. */
export function createAttemptLimits(now: NowUs = steadyUs, { maxKeys = MAX_KEYS } = {}): AttemptLimits {
  /** By the hash of a key, which clients choose a part of; in the order in which they failed last. */
  const tallies = new Map<string, Tally>()
  let waiting = 0

  const failures = ({ failedUs }: Tally): readonly number[] => failedUs.filter((atUs) => atUs > now() - WINDOW_US)

  function begin(hash: string): void {
    const tally = tallies.get(hash) ?? { failedUs: [], running: 0, waiting: [] }
    tally.running += 1
    tallies.set(hash, tally)
  }

  function end(hash: string, outcome: 'failed' | 'cleared' | 'unchanged'): void {
    const tally = tallies.get(hash)
    if (tally === undefined) return
    tally.running -= 1
    tally.failedUs = outcome === 'cleared' ? [] : [...failures(tally), ...(outcome === 'failed' ? [now()] : [])]
    for (const wake of tally.waiting.splice(0)) wake()
    // Removed or put last: the first ones are those that failed longest ago.
    if (outcome === 'failed') tallies.delete(hash)
    if (tally.failedUs.length > 0 || tally.running > 0) tallies.set(hash, tally)
    else tallies.delete(hash)
  }

  function forgetOld(): void {
    for (const [hash, tally] of tallies) {
      if (tallies.size <= maxKeys && failures(tally).length > 0) return
      // One that is being checked is needed until then; few are at a time.
      if (tally.running === 0) tallies.delete(hash)
    }
  }

  async function run<Result>(hashes: readonly string[], check: () => Promise<Result | undefined>) {
    for (const hash of hashes) begin(hash)
    let ended: 'failed' | 'succeeded' | 'threw' = 'threw'
    try {
      const result = await check()
      ended = result === undefined ? 'failed' : 'succeeded'
      return result
    } finally {
      for (const [index, hash] of hashes.entries()) {
        const isLast = index === hashes.length - 1
        end(hash, ended === 'failed' ? 'failed' : ended === 'succeeded' && isLast ? 'cleared' : 'unchanged')
      }
      forgetOld()
    }
  }

  async function waitFor(tally: Tally): Promise<void> {
    if (waiting >= MAX_WAITING)
      throw new Fault('too_many_requests', 'Too many passwords are being checked. Try again soon.', {
        headers: { 'retry-after': '10' },
      })
    waiting += 1
    await new Promise<void>((resolve) => tally.waiting.push(resolve))
    waiting -= 1
  }

  return {
    async attempt(keys, check) {
      const hashed = keys.map(({ key, limit }) => ({ hash: hashOf(key), limit }))
      const hashes = hashed.map(({ hash }) => hash)
      for (;;) {
        const known = hashed.flatMap(({ hash, limit }) => {
          const tally = tallies.get(hash)
          return tally === undefined ? [] : [{ tally, failedUs: failures(tally), limit }]
        })
        const reached = known.find(({ failedUs, limit }) => failedUs.length >= limit)
        if (reached !== undefined) throw tooMany(reached.failedUs, reached.limit, now())
        const full = known.find(({ tally, failedUs, limit }) => failedUs.length + tally.running >= limit)
        if (full === undefined) return await run(hashes, check)
        await waitFor(full.tally)
      }
    },
    size: () => tallies.size,
  }
}

const hashOf = (key: string): string => new Bun.CryptoHasher('sha256').update(key).digest('base64url')

function tooMany(failedUs: readonly number[], limit: number, atUs: number): Fault {
  // Free again once so many of the failures are old enough that fewer than the limit are left.
  const freeUs = (failedUs[failedUs.length - limit] ?? atUs) + WINDOW_US
  const seconds = Math.max(1, Math.ceil((freeUs - atUs) / SECOND))
  return new Fault('too_many_requests', `Too many failed attempts. Try again in ${seconds} s.`, {
    headers: { 'retry-after': String(seconds) },
  })
}
