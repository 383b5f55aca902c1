import { EVENT_NAMES, isOnlyOnRequest } from '../lib/event-kinds.ts'
import { SECOND } from '../lib/time.ts'
import { NOTHING_TO_SEND } from './operations/log.ts'

// The parts of `verify` that are the same for all engines.

/** Kinds of event that repeat the sequence of the event before them, as a list in SQL. */
export const KINDS_ON_REQUEST = EVENT_NAMES.filter(isOnlyOnRequest)
  .map((name) => `'${name}'`)
  .join(', ')

/** The condition that an attempt (`a`) delivered: it was accepted, or there was nothing to send. */
export const HAS_DELIVERED = `(a.status BETWEEN 200 AND 299 OR a.error = '${NOTHING_TO_SEND}')`

/** A wall clock that was set meanwhile may have put what is newer below what is older, by less than this. */
const MARGIN_US = 86_400 * SECOND
const SHOWN = 5

/** Returns from when on all events are kept, in microseconds, if those before a time may have been pruned. */
export const keptFromUs = (prunedToUs: number): number => (prunedToUs === 0 ? 0 : prunedToUs + MARGIN_US)

/** Returns the sentence about rows that are wrong, with some of their ids; none if there are no such rows. */
export function sentenceOf(what: string, rows: readonly { readonly id: string | number }[]): string[] {
  if (rows.length === 0) return []
  const some = rows.slice(0, SHOWN).map(({ id }) => id)
  return [`${rows.length} ${what}: ${some.join(', ')}${rows.length > SHOWN ? ', …' : ''}`]
}
