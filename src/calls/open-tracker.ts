import type { NewId } from '../lib/id.ts'
import type { Log } from '../lib/log.ts'
import type { Store } from '../store/store.ts'
import { createToE164 } from './e164.ts'
import { readLiveCall, type StoredCall, takeOverLiveCalls } from './tracker/resync/takeover.ts'
import { type LiveCall, liveCalls, newTracker } from './tracker/tracker.ts'

export type TrackerSource = {
  readonly calls: Pick<Store['calls'], 'liveCallList' | 'liveCallListAccounts'>
  readonly pbx: string
  readonly account: string
  readonly accountId: number
  readonly country?: Parameters<typeof createToE164>[0] | undefined
  readonly log: Log
  readonly newId: NewId
}

/** Returns a tracker with the live calls that the store has of a PBX. @throws Fault `unavailable`. */
export async function openTracker({ calls, pbx, account, accountId, country, log, newId }: TrackerSource) {
  const state = { ...newTracker(pbx, account, newId), toE164: createToE164(country ?? null) }
  const stored = await calls.liveCallList(pbx)
  const owners = await calls.liveCallListAccounts(pbx)
  /** Accounts that the PBX was before: what is up since then stays theirs. */
  const earlier = new Map(owners.map((owner) => [owner.account, owner.accountId]))
  earlier.delete(account)
  const accountOf = new Map(owners.map((owner) => [owner.callId, owner.account]))
  takeOverLiveCalls(
    state,
    stored
      .flatMap((json) => readStored(json, log))
      .map((one) => ({ ...one, call: { ...one.call, account: accountOf.get(one.call.id) ?? account } })),
  )
  return {
    state,
    earlier,
    /** How many live calls the store had. */
    takenOver: stored.length,
    /** Returns the live calls of an account, each made as it is asked for. */
    liveCallsOf: (id: number): Iterable<LiveCall> =>
      liveCalls(state, (name) => (earlier.get(name) ?? accountId) === id),
    /** Returns how many calls are up, for each account that has some. */
    countLiveCalls(): ReadonlyMap<number, number> {
      const counts = new Map<number, number>()
      for (const call of state.calls.values()) {
        if (!call.emitted || call.ended) continue
        const id = earlier.get(call.account) ?? accountId
        counts.set(id, (counts.get(id) ?? 0) + 1)
      }
      return counts
    },
  }
}

function readStored(json: string, log: Log): StoredCall[] {
  try {
    return [readLiveCall(json)]
  } catch (error) {
    log.error({ err: error }, 'a live call in the store cannot be read and is ignored')
    return []
  }
}
