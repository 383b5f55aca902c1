import type { LiveCall } from '../calls/tracker/tracker.ts'
import type { KnownEndpoint } from './endpoints.ts'
import { createCallsElsewhere } from './live-calls-elsewhere.ts'
import { createSlots } from './pbx-slots.ts'
import type { WatchedStatus, WatchOptions } from './watched-pbx.ts'

export type Watch = {
  status(): readonly WatchedStatus[]
  /** Reads the live calls of PBXs that other nodes watch, for `liveCalls`. @throws Fault `unavailable`. */
  refreshCalls(): Promise<void>
  /** The calls of an account that are up, each made as it is asked for. */
  liveCalls(accountId: number): Iterable<LiveCall>
  /** Returns how many calls are up on each PBX that this node watches, for each account that may see it. */
  callCounts(): ReadonlyMap<string, ReadonlyMap<number, number>>
  /** The phones and trunks of the PBXs that are an account's alone, by the PBX's name, as far as they are known. */
  endpoints(accountId: number): ReadonlyMap<string, readonly KnownEndpoint[]>
  /** Returns how many events are emitted but not on disk yet, of all PBXs. */
  waiting(): number
  stop(): Promise<void>
}

/** Watches every PBX of the list that this node owns: connection → signals → tracker → store. */
export async function startWatch(options: WatchOptions): Promise<Watch> {
  const { pbxs, ownership } = options
  const slots = createSlots(options)
  const { running } = slots
  const watchedByOthers = () => {
    const own = new Set(running().map(({ source }) => source.name))
    return ownership.isShared ? pbxs.sources().filter(({ name }) => !own.has(name)) : []
  }
  const elsewhere = createCallsElsewhere({ ...options, accounts: pbxs.accounts, pbxs: watchedByOthers })
  await slots.start()
  return {
    status: () => running().map((pbx) => pbx.status()),
    *liveCalls(accountId) {
      for (const pbx of running()) yield* pbx.liveCalls(accountId)
      yield* elsewhere.liveCalls(accountId)
    },
    refreshCalls: elsewhere.refresh,
    callCounts: () => new Map(running().map((pbx) => [pbx.source.name, pbx.callCounts()])),
    endpoints: (accountId) =>
      new Map(
        running()
          .filter(({ source }) => source.tenants === undefined && pbxs.accounts.get(source.account ?? '') === accountId)
          .map((pbx) => [pbx.source.name, pbx.endpoints()]),
      ),
    waiting: () => running().reduce((sum, pbx) => sum + pbx.waiting(), 0),
    stop: slots.stop,
  }
}
