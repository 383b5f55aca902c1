import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { FIXTURES } from './recording.ts'

/**
 * Recordings whose events are known to be wrong, by their names: what `.expected` demands and the tracker does not emit
 * yet. Whoever mends one removes its entry; a test fails for entries that are no longer true.
 */
type Known = {
  readonly cause: string
  readonly differences: readonly string[]
  /** The rules for every list of events that the recording breaks. */
  readonly rules: readonly string[]
}

export const KNOWN: Readonly<Record<string, Known>> = JSON.parse(
  readFileSync(join(FIXTURES, 'known-differences.json'), 'utf8'),
)

/** The part of a difference that stays when the events come in another order, or some kinds of them not at all. */
const wantedOf = (difference: string): string =>
  (difference.includes('\n') ? difference.split(': event ') : difference.split(', got '))[0] ?? ''

/** Returns the differences of a recording, such as `freeswitch/queue`, without those that are known. */
export function unknown(name: string, differences: readonly string[]): string[] {
  const known = new Set(KNOWN[name]?.differences.map(wantedOf))
  return differences.filter((one) => !known.has(wantedOf(one)))
}
