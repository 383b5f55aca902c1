import { setImmediate } from 'node:timers/promises'
import type { Call } from '../../events/bodies.ts'
import type { CallStore } from '../../store/operations/calls.ts'

type Dependencies = {
  readonly calls: CallStore
  readonly liveCalls: (accountId: number) => Iterable<{ readonly call: Call }>
}

/** The number of a trunk has more calls than anybody reads. */
const MAX_CALLS = 1_000
/** Live calls are made when they are read: after this many (a millisecond or two) other work gets its turn. */
const LIVE_AT_ONCE = 100

/**
 * Returns the ids of an account's calls from or to a number, as the PBX spells it or in E.164, at most 1,000: the live
 * calls and the newest saved ones.
 */
export async function findCallsOfNumber(deps: Dependencies, accountId: number, number: string): Promise<string[]> {
  const live: string[] = []
  let count = 0
  for (const { call } of deps.liveCalls(accountId)) {
    if ([call.from, call.to].some((party) => party.number === number || party.e164 === number)) live.push(call.id)
    count += 1
    if (count % LIVE_AT_ONCE === 0) await setImmediate()
  }
  const saved = await deps.calls.callListIdsOfNumber({ accountId, number, limit: MAX_CALLS })
  return [...live, ...saved].slice(0, MAX_CALLS)
}
