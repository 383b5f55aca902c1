import { Fault } from '../lib/fault.ts'
import { type NowUs, SECOND, steadyUs } from '../lib/time.ts'

const WINDOW_US = 300 * SECOND
/** Bounds the memory: the keys whose last failure is the oldest are dropped first. */
const MAX_KEYS = 100_000
/** Bounds the queue of password checks: later requests would time out before their turn. */
const MAX_WAITING = 500

type Tally = { failedUs: number[]; running: number; waiting: (() => void)[] }
type Limited = { readonly key: string; readonly limit: number }

export type LoginLimits = {
  /**
   * Runs a password check that counts against each of the keys, the widest first, each with its limit of failures in 5
   * minutes. Running checks count as failures until they end, and a check above the limit waits for them, so that
   * parallel guesses gain nothing. A success (any result but `undefined`) clears the last key. A refused check is not
   * counted.
   * @throws Fault `too_many_requests` when a limit is reached.
   */
  attempt<Result>(keys: readonly Limited[], check: () => Promise<Result | undefined>): Promise<Result | undefined>
  size(): number
}

type Tallies = {
  get(hash: string): Tally | undefined
  failures(tally: Tally): readonly number[]
  begin(hash: string): void
  end(hash: string, outcome: 'failed' | 'cleared' | 'unchanged'): void
  /** Drops keys without failures in the window, and the oldest above the maximum. */
  dropOld(): void
  size(): number
}

/**
 * Creates the counts of failed and running checks. They are kept by the hash of their key, because clients choose a
 * part of the key.
 */
function createTallies(now: NowUs, maxKeys: number): Tallies {
  /** Ordered by the last failure. */
  const tallies = new Map<string, Tally>()
  const failures = ({ failedUs }: Tally): readonly number[] => failedUs.filter((atUs) => atUs > now() - WINDOW_US)
  return {
    get: (hash) => tallies.get(hash),
    failures,
    begin(hash) {
      const tally = tallies.get(hash) ?? { failedUs: [], running: 0, waiting: [] }
      tally.running += 1
      tallies.set(hash, tally)
    },
    end(hash, outcome) {
      const tally = tallies.get(hash)
      if (tally === undefined) return
      tally.running -= 1
      tally.failedUs = outcome === 'cleared' ? [] : [...failures(tally), ...(outcome === 'failed' ? [now()] : [])]
      for (const wake of tally.waiting.splice(0)) wake()
      // Deleted, or moved to the end: so the key with the oldest failure is always first.
      if (outcome === 'failed') tallies.delete(hash)
      if (tally.failedUs.length > 0 || tally.running > 0) tallies.set(hash, tally)
      else tallies.delete(hash)
    },
    dropOld() {
      for (const [hash, tally] of tallies) {
        if (tallies.size <= maxKeys && failures(tally).length > 0) return
        // A running check still needs its key; there are few of them.
        if (tally.running === 0) tallies.delete(hash)
      }
    },
    size: () => tallies.size,
  }
}

/**
 * Creates the limits on failed password checks, in memory. The clock is steady: a wall clock that is set back would
 * lock users out.
 */
export function createLoginLimits(now: NowUs = steadyUs, { maxKeys = MAX_KEYS } = {}): LoginLimits {
  const tallies = createTallies(now, maxKeys)
  let waiting = 0

  async function run<Result>(hashes: readonly string[], check: () => Promise<Result | undefined>) {
    for (const hash of hashes) tallies.begin(hash)
    let ended: 'failed' | 'succeeded' | 'threw' = 'threw'
    try {
      const result = await check()
      ended = result === undefined ? 'failed' : 'succeeded'
      return result
    } finally {
      for (const [index, hash] of hashes.entries()) {
        const isLast = index === hashes.length - 1
        tallies.end(hash, ended === 'failed' ? 'failed' : ended === 'succeeded' && isLast ? 'cleared' : 'unchanged')
      }
      tallies.dropOld()
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
          return tally === undefined ? [] : [{ tally, failedUs: tallies.failures(tally), limit }]
        })
        const reached = known.find(({ failedUs, limit }) => failedUs.length >= limit)
        if (reached !== undefined) throw tooMany(reached.failedUs, reached.limit, now())
        const full = known.find(({ tally, failedUs, limit }) => failedUs.length + tally.running >= limit)
        if (full === undefined) return await run(hashes, check)
        await waitFor(full.tally)
      }
    },
    size: tallies.size,
  }
}

const hashOf = (key: string): string => new Bun.CryptoHasher('sha256').update(key).digest('base64url')

function tooMany(failedUs: readonly number[], limit: number, atUs: number): Fault {
  // The next check is allowed when enough failures have left the window.
  const freeUs = (failedUs[failedUs.length - limit] ?? atUs) + WINDOW_US
  const seconds = Math.max(1, Math.ceil((freeUs - atUs) / SECOND))
  return new Fault('too_many_requests', `Too many failed attempts. Try again in ${seconds} s.`, {
    headers: { 'retry-after': String(seconds) },
  })
}
