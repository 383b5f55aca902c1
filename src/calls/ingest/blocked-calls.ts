import type { CallEvent } from '../event.ts'

/**
 * Calls whose events wait for a contact; pure. Waiting events and the state of their live call stay in memory before
 * the commit: after a crash the call is as it was stored last, as if those events had not been emitted. All calls that
 * the waiting events name wait too, so that a merged call is never stored without the call that it is part of.
 */

/** Returns the ids of all calls that an event names, its own included. */
function callsOf({ body: { data } }: CallEvent): string[] {
  const { id, merged_from, merged_into } = data.call
  const others = [merged_into, 'transfer' in data ? data.transfer.other_call_id : null]
  return [id, ...merged_from, ...others.filter((one) => one !== null)]
}

/**
 * Returns the calls whose events may not be stored yet: the waiting calls, and calls that events name together with a
 * waiting one. `mergedFrom` returns the calls that were merged into a live call.
 */
export function blockedCalls(
  waiting: ReadonlySet<string>,
  events: readonly CallEvent[],
  mergedFrom: (callId: string) => readonly string[],
): ReadonlySet<string> {
  const blocked = new Set<string>()
  for (const id of waiting) for (const one of [id, ...mergedFrom(id)]) blocked.add(one)
  for (let before = -1; before !== blocked.size; ) {
    before = blocked.size
    for (const event of events) {
      const named = callsOf(event)
      if (named.some((id) => blocked.has(id))) for (const id of named) blocked.add(id)
    }
  }
  return blocked
}
