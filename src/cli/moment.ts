import { nowUs, parseDuration, parseTime, rfc3339 } from '../lib/time.ts'
import { wrongUsage } from '../lib/usage.ts'

/**
 * Returns a time that is given in RFC 3339, or as how long ago it was (`7d`).
 * @throws CommanderError (exit code 2) for another text.
 */
export function momentOf(flag: string, given: string): string {
  const agoMs = parseDuration(given)
  if (agoMs !== undefined) return rfc3339(nowUs() - agoMs * 1_000)
  if (parseTime(given) !== undefined) return given
  throw wrongUsage(`${flag}: ${given} is neither a time (2026-11-01T00:00:00Z) nor how long ago it was (7d, 12h)`)
}
