import { readCallEventBody } from '../../events/stored-json.ts'
import type { NewId } from '../../lib/id.ts'
import type { Log } from '../../lib/log.ts'
import { runInSlices } from '../../lib/slices.ts'
import type { LiveCallAccount } from '../../store/operations/calls.ts'
import { ERASED_START, MAX_EVENTS_OF_CALL } from '../../store/operations/log.ts'
import type { Store } from '../../store/store.ts'
import { createToE164 } from '../e164.ts'
import { MAX_CALLS } from '../tracker/resync/live-limits.ts'
import { rebuildCall } from '../tracker/resync/rebuilt-call.ts'
import { readLiveCall, type StoredCall, takeOverLiveCalls } from '../tracker/resync/takeover.ts'
import { type LiveCall, liveCalls, newTracker } from '../tracker/tracker.ts'
import type { AccountDirectory } from './account-directory.ts'

/** The accounts that own the calls of a PBX. */
export type CallOwners = {
  /** The account of the calls. With `tenants`: the account of calls that show no customer, `null` for no account. */
  readonly account: string | null
  readonly accountId: number | null
  /** Present if the PBX serves several accounts: they are found by the values of channels. */
  readonly tenants?:
    | { readonly accounts: Pick<AccountDirectory, 'get' | 'spellingOf'>; readonly isOnEveryChannel: boolean }
    | undefined
}

type TrackerSource = CallOwners & {
  readonly calls: Pick<Store['calls'], 'liveCallList' | 'liveCallListAccounts'>
  /**
   * The events from which a live call with an unreadable state is rebuilt, so that it ends. `undefined`: for display
   * only, such a call is left out.
   */
  readonly history: Pick<Store['log'], 'eventListOfCall'> | undefined
  readonly pbx: string
  readonly country?: Parameters<typeof createToE164>[0] | undefined
  readonly log: Log
  readonly newId: NewId
  /** The most calls that are followed at a time. */
  readonly maxCalls?: number | undefined
}

/** Returns a tracker with a PBX's live calls from the store. @throws Fault `unavailable`. */
export async function openTracker(source: TrackerSource) {
  const { calls, history, pbx, account, accountId, tenants, country, log, newId } = source
  const state = {
    ...newTracker(pbx, account, newId),
    toE164: createToE164(country ?? null),
    maxCalls: source.maxCalls ?? MAX_CALLS,
    tenants:
      tenants === undefined
        ? null
        : { accountOf: tenants.accounts.spellingOf, isOnEveryChannel: tenants.isOnEveryChannel },
  }
  const rows = await calls.liveCallList(pbx)
  const owners = await calls.liveCallListAccounts(pbx)
  /** A call that is already live stays with its account, even if the PBX belongs to another one now. */
  const earlier = new Map(owners.map((owner) => [owner.account, owner.accountId]))
  const accountOf = new Map(owners.map((owner) => [owner.callId, owner.account]))
  /** A call without an emitted event may belong to any of several accounts: its stored state names the account. */
  const accountOfCall = ({ id, account: own }: StoredCall['call']): string | null =>
    accountOf.get(id) ?? tenants?.accounts.spellingOf(own ?? '') ?? account
  const unreadable: { readonly id: string; readonly err: Error }[] = []
  function* takeOverReadable(): Generator<void, void> {
    for (const { id, state: text } of rows) {
      const read = readStored(text)
      if (read instanceof Error) unreadable.push({ id, err: read })
      else takeOverLiveCalls(state, [{ ...read, call: { ...read.call, account: accountOfCall(read.call) } }])
      yield
    }
  }
  // A busy PBX has thousands of live calls, and this node serves others, too.
  await runInSlices(takeOverReadable())
  for (const { id, err } of unreadable) {
    if (history === undefined) break
    const owner = owners.find(({ callId }) => callId === id)
    const rebuilt = owner === undefined ? undefined : await rebuild(history, owner)
    log.error({ pbx, call: id, account: owner?.account, err }, rebuilt === undefined ? FORGOTTEN : ENDED)
    if (rebuilt === undefined) state.removed.add(id)
    else takeOverLiveCalls(state, [rebuilt])
  }
  const accountIdOf = (name: string): number | undefined => {
    if (name === account && accountId !== null) return accountId
    return earlier.get(name) ?? tenants?.accounts.get(name)
  }
  return {
    state,
    accountIdOf,
    /** The number of live calls that the store had. */
    takenOver: rows.length,
    liveCallsOf: (id: number): Iterable<LiveCall> => liveCalls(state, (name) => accountIdOf(name) === id),
    /** Returns the number of live calls of each account that has any. */
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

const ENDED = 'a live call in the store cannot be read: it ends as unknown, with the facts that its events have'
const FORGOTTEN = 'a live call in the store cannot be read, and its events are gone: it is dropped'

/** Returns a stored call, or the reason why it cannot be taken over, which a trial tracker finds. */
function readStored(json: string): StoredCall | Error {
  try {
    takeOverLiveCalls(newTracker('', null, String), [readLiveCall(json)])
    // Parsed again, since the trial tracker changes the call that it takes over.
    return readLiveCall(json)
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** Rebuilds a live call from its events; `undefined` if some are missing, since their numbers have to be continued. */
async function rebuild(
  history: NonNullable<TrackerSource['history']>,
  { callId, accountId, account }: LiveCallAccount,
): Promise<StoredCall | undefined> {
  const events = await history.eventListOfCall(accountId, callId)
  if (events.length === 0 || events.length === MAX_EVENTS_OF_CALL) return undefined
  const past = events.map(({ name, sequence, body }) => ({
    name,
    sequence,
    body: body.startsWith(ERASED_START) ? undefined : readCallEventBody(body),
  }))
  return rebuildCall(callId, account, past)
}
