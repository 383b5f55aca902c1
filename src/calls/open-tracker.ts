import type { NewId } from '../lib/id.ts'
import type { Log } from '../lib/log.ts'
import type { Store } from '../store/store.ts'
import type { AccountDirectory } from './account-directory.ts'
import { createToE164 } from './e164.ts'
import { readLiveCall, type StoredCall, takeOverLiveCalls } from './tracker/resync/takeover.ts'
import { type LiveCall, liveCalls, newTracker } from './tracker/tracker.ts'

/** The accounts that own the calls of a PBX. */
export type CallOwners = {
  /** The account of its calls; of a PBX with `tenants` of those that show no customer, `null`: nobody's. */
  readonly account: string | null
  readonly accountId: number | null
  /** It serves several accounts, which are found by the values of channels. */
  readonly tenants?:
    | { readonly accounts: Pick<AccountDirectory, 'get' | 'spellingOf'>; readonly isOnEveryChannel: boolean }
    | undefined
}

export type TrackerSource = CallOwners & {
  readonly calls: Pick<Store['calls'], 'liveCallList' | 'liveCallListAccounts'>
  readonly pbx: string
  readonly country?: Parameters<typeof createToE164>[0] | undefined
  readonly log: Log
  readonly newId: NewId
}

/** Returns a tracker with the live calls that the store has of a PBX. @throws Fault `unavailable`. */
export async function openTracker(source: TrackerSource) {
  const { calls, pbx, account, accountId, tenants, country, log, newId } = source
  const state = {
    ...newTracker(pbx, account, newId),
    toE164: createToE164(country ?? null),
    tenants:
      tenants === undefined
        ? null
        : { accountOf: tenants.accounts.spellingOf, isOnEveryChannel: tenants.isOnEveryChannel },
  }
  const stored = await calls.liveCallList(pbx)
  const owners = await calls.liveCallListAccounts(pbx)
  /** Accounts of calls that were up before: they stay theirs, whosever the PBX's calls are now. */
  const earlier = new Map(owners.map((owner) => [owner.account, owner.accountId]))
  const accountOf = new Map(owners.map((owner) => [owner.callId, owner.account]))
  /** A call of which nothing was emitted yet may be of any of several accounts: it was stored with its own. */
  const accountOfCall = ({ id, account: own }: StoredCall['call']): string | null =>
    accountOf.get(id) ?? tenants?.accounts.spellingOf(own ?? '') ?? account
  takeOverLiveCalls(
    state,
    stored
      .flatMap((json) => readStored(json, log))
      .map((one) => ({ ...one, call: { ...one.call, account: accountOfCall(one.call) } })),
  )
  /** Returns the id of an account that has calls on the PBX. */
  const accountIdOf = (name: string): number | undefined => {
    if (name === account && accountId !== null) return accountId
    return earlier.get(name) ?? tenants?.accounts.get(name)
  }
  return {
    state,
    accountIdOf,
    /** How many live calls the store had. */
    takenOver: stored.length,
    /** Returns the live calls of an account, each made as it is asked for. */
    liveCallsOf: (id: number): Iterable<LiveCall> => liveCalls(state, (name) => accountIdOf(name) === id),
    /** Returns how many calls are up, for each account that has some. */
    countLiveCalls(): ReadonlyMap<number, number> {
      const counts = new Map<number, number>()
      for (const call of state.calls.values()) {
        const id = call.account === null ? undefined : accountIdOf(call.account)
        if (id !== undefined && call.emitted && !call.ended) counts.set(id, (counts.get(id) ?? 0) + 1)
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
