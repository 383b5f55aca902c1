import type { LiveCall } from '../../calls/calls.ts'
import { nowUs as wallUs } from '../../lib/time.ts'
import { type Present, type PresentAt, presentOfRows } from '../../states/states.ts'
import type { KnownEndpoint } from '../endpoints/endpoints.ts'
import type { PbxSource } from '../source/pbx-url.ts'
import { createSavedEndpointsReader } from './endpoint-memory.ts'
import { createCallsElsewhere } from './live-calls-elsewhere.ts'
import { createSlots } from './pbx-slots.ts'
import type { WatchedPbx, WatchedStatus, WatchOptions } from './watched-pbx.ts'

export type Watch = {
  status(): readonly WatchedStatus[]
  /** Reads the live calls of PBXs that other nodes watch, for `liveCalls`. @throws Fault `unavailable`. */
  refreshCalls(): Promise<void>
  liveCalls(accountId: number): Iterable<LiveCall>
  /** Returns the number of live calls on each PBX that this node watches, for each account that may see it. */
  callCounts(): ReadonlyMap<string, ReadonlyMap<number, number>>
  /**
   * Returns the known phones and trunks of the PBXs that belong to one account only, by PBX name; for PBXs that other
   * nodes watch, as those stored them. @throws Fault `unavailable`.
   */
  endpoints(accountId: number): Promise<ReadonlyMap<string, readonly KnownEndpoint[]>>
  /**
   * Returns the present states of an account's phones, trunks, agents and queues, of all PBXs or one; for PBXs that
   * other nodes watch, as those stored them. @throws Fault `unavailable`.
   */
  states(accountId: number, pbx?: string): Promise<Iterable<PresentAt>>
  /** Returns the present states of each PBX to which this node is connected, of all accounts, by PBX name. */
  present(): ReadonlyMap<string, readonly Present[]>
  /** Returns the PBXs that this node watches. */
  running(): readonly WatchedPbx[]
  /** Returns the number of events of all PBXs that are emitted but not on disk yet. */
  waiting(): number
  stop(): Promise<void>
}

/** Watches every PBX of the list that this node owns: connection → signals → tracker → store. */
export async function startWatch(options: WatchOptions): Promise<Watch> {
  const { pbxs, ownership, store, log, nowUs = wallUs } = options
  const slots = createSlots(options)
  const { running } = slots
  const watchedByOthers = () => {
    const own = new Set(running().map(({ source }) => source.name))
    return ownership.isShared ? pbxs.sources().filter(({ name }) => !own.has(name)) : []
  }
  const elsewhere = createCallsElsewhere({ ...options, accounts: pbxs.accounts, pbxs: watchedByOthers })
  const savedEndpointsOf = createSavedEndpointsReader({ calls: store.calls, log })
  const isOnlyOf = (accountId: number, { tenants, account }: PbxSource) =>
    tenants === undefined && pbxs.accounts.get(account ?? '') === accountId
  await slots.start()
  return {
    status: () => running().map((pbx) => pbx.status()),
    *liveCalls(accountId) {
      for (const pbx of running()) yield* pbx.liveCalls(accountId)
      yield* elsewhere.liveCalls(accountId)
    },
    refreshCalls: elsewhere.refresh,
    callCounts: () => new Map(running().map((pbx) => [pbx.source.name, pbx.callCounts()])),
    async endpoints(accountId) {
      const own = running().filter(({ source }) => isOnlyOf(accountId, source))
      const others = watchedByOthers().filter((source) => isOnlyOf(accountId, source))
      return new Map([
        ...(await Promise.all(others.map(async (source) => [source.name, await savedEndpointsOf(source)] as const))),
        ...own.map((pbx) => [pbx.source.name, pbx.endpoints()] as const),
      ])
    },
    async states(accountId, only) {
      const isAsked = (name: string) => only === undefined || name === only
      const own = running().filter(({ source }) => isAsked(source.name))
      const others = watchedByOthers().filter(({ name }) => isAsked(name))
      const isOwner = (account: string) => pbxs.accounts.get(account) === accountId
      const stored = await Promise.all(
        others.map(async ({ name }) => ({ name, rows: await store.calls.subjectStateList(name) })),
      )
      // Made one by one, while they are read.
      return (function* () {
        for (const { name, rows } of stored)
          for (const present of presentOfRows(rows, isOwner, nowUs())) yield { pbx: name, present }
        for (const pbx of own) for (const present of pbx.states(accountId)) yield { pbx: pbx.source.name, present }
      })()
    },
    present: () =>
      new Map(
        running().flatMap((pbx) =>
          pbx.status().state === 'up' ? [[pbx.source.name, [...pbx.present()]] as const] : [],
        ),
      ),
    running,
    waiting: () => running().reduce((sum, pbx) => sum + pbx.waiting(), 0),
    stop: slots.stop,
  }
}
