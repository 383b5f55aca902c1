import { type Ingest, startIngest } from '../calls/ingest.ts'
import type { LiveCall } from '../calls/tracker/tracker.ts'
import { pbxLease } from '../cluster/ownership.ts'
import type { Clock } from '../deliveries/clock.ts'
import type { PbxSource } from '../lib/pbx-url.ts'
import { nowUs } from '../lib/time.ts'
import type { PbxStatus } from './connection/supervisor.ts'
import type { KnownEndpoint } from './endpoints.ts'
import { createCallsElsewhere } from './live-calls-elsewhere.ts'
import { startWatchedPbx, type WatchedPbx, type WatchOptions } from './watched-pbx.ts'

export type Watch = {
  status(): readonly PbxStatus[]
  /** Reads the live calls of PBXs that other nodes watch, for `liveCalls`. @throws Fault `unavailable`. */
  refreshCalls(): Promise<void>
  /** The calls of an account that are up, each made as it is asked for. */
  liveCalls(accountId: number): Iterable<LiveCall>
  /** The phones and trunks of an account's PBXs, by the PBX's name, as far as they are known. */
  endpoints(accountId: number): ReadonlyMap<string, readonly KnownEndpoint[]>
  /** Returns how many events are emitted but not on disk yet, of all PBXs. */
  waiting(): number
  stop(): Promise<void>
}

/** Watches every PBX that this node owns: connection → signals → tracker → store. */
export async function startWatch(options: WatchOptions): Promise<Watch> {
  const { accounts, ownership, log } = options
  const slots = options.pbxs.map((source): Slot => ({ source, isStale: false, work: Promise.resolve() }))
  const running = () => slots.flatMap(({ running }) => running ?? [])
  const watchedByOthers = () =>
    ownership.isShared ? slots.filter((slot) => slot.running === undefined).map(({ source }) => source) : []
  const elsewhere = createCallsElsewhere({ ...options, pbxs: watchedByOthers })
  let retry: Timer | undefined
  let stopped = false

  async function adjust(slot: Slot): Promise<void> {
    const state = () => (stopped ? 'not owned' : ownership.pbxOwnership(slot.source.name))
    if (slot.isStale || state() === 'not owned') {
      slot.isStale = false
      const before = slot.running
      slot.running = undefined
      await before?.stop()
    }
    if (state() === 'owned') {
      slot.running ??= await startWatchedPbx(slot.source, options)
      slot.running.connect()
    } else await slot.running?.disconnect()
  }

  /**
   * One change after the other for each PBX. A PBX that is lost is marked at once: if it comes back it starts afresh.
   */
  function adjustAll(): Promise<unknown> {
    for (const slot of slots) {
      if (ownership.pbxOwnership(slot.source.name) === 'not owned') slot.isStale = true
      slot.work = slot.work.catch(() => undefined).then(() => adjust(slot))
    }
    return Promise.all(slots.map(({ work }) => work))
  }
  /** Returns of each PBX when what it takes now is done. */
  function adjustOrRetry(): ReadonlyMap<string, Promise<void>> {
    adjustAll().catch((error) => {
      log.warn({ err: error }, 'a PBX cannot be watched yet, since the store is unavailable: it is tried again')
      clearTimeout(retry)
      if (!stopped) retry = setTimeout(adjustOrRetry, RETRY_MS)
    })
    return new Map(slots.map(({ source, work }) => [pbxLease(source.name), work.catch(() => undefined)]))
  }

  const unlisten = ownership.onChange(adjustOrRetry)
  await adjustAll()
  const closing = await closeOrphaned(options, options.clock)
  return {
    status: () => running().map((pbx) => pbx.status()),
    *liveCalls(accountId) {
      for (const pbx of running()) yield* pbx.liveCalls(accountId)
      yield* elsewhere.liveCalls(accountId)
    },
    refreshCalls: elsewhere.refresh,
    endpoints: (accountId) =>
      new Map(
        running()
          .filter(({ source }) => accounts.get(source.account) === accountId)
          .map((pbx) => [pbx.source.name, pbx.endpoints()]),
      ),
    waiting: () => running().reduce((sum, pbx) => sum + pbx.waiting(), 0),
    async stop() {
      stopped = true
      clearTimeout(retry)
      unlisten()
      await Promise.all([adjustAll(), closing.stop()])
    },
  }
}

/** A PBX of the settings, and what watches it while this node owns it. */
type Slot = {
  readonly source: PbxSource
  running?: WatchedPbx | undefined
  /** It was lost since it was begun: what it knows is worth nothing. */
  isStale: boolean
  work: Promise<void>
}

const RETRY_MS = 1_000
const CHECK_MS = 250

/** Ends the calls of PBXs that are watched no more: no event of their end will arrive. */
async function closeOrphaned(
  { store, pbxs, ownership, onStored, log }: WatchOptions,
  clock: Clock,
): Promise<{ stop(): Promise<void> }> {
  const open = new Set<Ingest>()
  const names = pbxs.map(({ name }) => name)
  for (const { pbx, account, accountId } of await store.calls.orphanedPbxList(names)) {
    if (ownership.pbxOwnership(pbx) !== 'owned') continue
    log.warn({ pbx }, 'this PBX is watched no more: the calls that it left open are ended')
    const ingest = await startIngest({
      calls: store.calls,
      ownership,
      pbx,
      account,
      accountId,
      onStored,
      onMissed() {},
      onFault() {},
      clock,
      log,
    })
    const at = { atUs: nowUs(), arrivedUs: nowUs() }
    ingest.feed([
      { ...at, kind: 'connected', first: true, boot: null },
      { ...at, kind: 'snapshot', channels: [] },
    ])
    open.add(ingest)
  }
  const timer = setInterval(() => {
    for (const ingest of open) {
      if (ingest.open() > 0) continue
      open.delete(ingest)
      void ingest.stop()
    }
    if (open.size === 0) clearInterval(timer)
  }, CHECK_MS)
  return {
    async stop() {
      clearInterval(timer)
      await Promise.all([...open].map((ingest) => ingest.stop()))
    },
  }
}
