import { startIngest } from '../../calls/ingest/ingest.ts'
import { pbxLease } from '../../cluster/ownership.ts'
import { nowUs } from '../../lib/time.ts'
import type { PbxEntry } from './pbx-list.ts'
import { startWatchedPbx, type WatchedPbx, type WatchOptions } from './watched-pbx.ts'

/**
 * One PBX of the list, as far as this node has to do with it.
 *
 * States: idle → `ending` (calls of an earlier PBX of its name are ended) → `running`, all while this node owns it. A
 * change of the PBX ends what runs, and begins again. A removed PBX goes from `ending` to nothing.
 */
type Slot = {
  readonly name: string
  /** `undefined`: it is not in the list any more. */
  entry: PbxEntry | undefined
  running?: { readonly pbx: WatchedPbx; readonly version: string } | undefined
  ending?: Promise<void> | undefined
  /** It was lost since it was begun: what it knows is worth nothing. */
  isStale: boolean
  work: Promise<void>
}

type Slots = {
  /** Returns the PBXs that this node watches. */
  running(): WatchedPbx[]
  /** Watches what there is, and follows changes of the list and of the ownership. @throws Fault `unavailable`. */
  start(): Promise<void>
  stop(): Promise<void>
}

const RETRY_MS = 1_000
const CHECK_MS = 100

/** Creates the slots of the PBXs, each with at most one connection. */
export function createSlots(options: WatchOptions): Slots {
  const { pbxs, ownership, log } = options
  const slots = new Map<string, Slot>()
  let retry: Timer | undefined
  let stopped = false
  const ownershipOf = (slot: Slot) => (stopped ? 'not owned' : ownership.pbxOwnership(slot.name))

  async function adjust(slot: Slot): Promise<void> {
    const { entry } = slot
    await stopOutdated(slot, ownershipOf(slot) !== 'not owned', log)
    if (entry === undefined || ownershipOf(slot) !== 'owned') await slot.running?.pbx.disconnect()
    else if (entry.record.endsCalls) beginEnding(slot, entry)
    else if (entry.source !== undefined) {
      slot.running ??= { pbx: await startWatchedPbx(entry.source, options), version: entry.record.version }
      slot.running.pbx.connect()
    }
    if (slot.entry === undefined && slot.running === undefined && slot.ending === undefined) slots.delete(slot.name)
  }

  function beginEnding(slot: Slot, entry: PbxEntry): void {
    slot.ending ??= tryToEndCalls(options, entry, () => ownershipOf(slot) === 'owned').finally(() => {
      slot.ending = undefined
      adjustOrRetry()
    })
  }

  function takeInList(): void {
    const entries = new Map(pbxs.entries().map((entry) => [entry.record.name, entry]))
    for (const slot of slots.values()) slot.entry = entries.get(slot.name)
    for (const [name, entry] of entries)
      if (!slots.has(name)) slots.set(name, { name, entry, isStale: false, work: Promise.resolve() })
  }

  /** One change after the other for each PBX. One that is lost is marked at once: if it comes back it starts again. */
  function adjustAll(): Promise<unknown> {
    takeInList()
    const all = [...slots.values()]
    for (const slot of all) {
      if (ownership.pbxOwnership(slot.name) === 'not owned') slot.isStale = true
      slot.work = slot.work.catch(() => undefined).then(() => adjust(slot))
    }
    return Promise.all(all.map(({ work }) => work))
  }

  /** Returns of each PBX when what it takes now is done. */
  function adjustOrRetry(): ReadonlyMap<string, Promise<unknown>> {
    adjustAll().catch((error) => {
      log.warn({ err: error }, 'a PBX cannot be watched yet, since the store is unavailable: it is tried again')
      clearTimeout(retry)
      if (!stopped) retry = setTimeout(adjustOrRetry, RETRY_MS)
    })
    return new Map([...slots.values()].map((one) => [pbxLease(one.name), Promise.allSettled([one.work, one.ending])]))
  }

  let unlisten = () => {}
  return {
    running: () => [...slots.values()].flatMap((slot) => slot.running?.pbx ?? []),
    async start() {
      unlisten = ownership.onChange(adjustOrRetry)
      pbxs.onChange(adjustOrRetry)
      await adjustAll()
    },
    async stop() {
      stopped = true
      clearTimeout(retry)
      unlisten()
      await Promise.all([adjustAll(), ...[...slots.values()].map(({ ending }) => ending)])
    },
  }
}

/** Stops what runs in a slot if its PBX has changed, or is not this node's. */
async function stopOutdated(slot: Slot, isOwned: boolean, log: WatchOptions['log']): Promise<void> {
  const isChanged = slot.running !== undefined && slot.running.version !== slot.entry?.record.version
  if (!slot.isStale && !isChanged && isOwned) return
  slot.isStale = false
  const before = slot.running
  slot.running = undefined
  await before?.pbx.stop()
  if (isChanged) log.info({ pbx: slot.name }, 'the PBX was changed or removed: its connection is closed')
}

/** Ends calls as `endCalls` does; resolves also if it failed, after a while in which it may become possible. */
async function tryToEndCalls(options: WatchOptions, entry: PbxEntry, mayGoOn: () => boolean): Promise<void> {
  try {
    await endCalls(options, entry, mayGoOn)
  } catch (error) {
    const pbx = entry.record.name
    options.log.warn({ pbx, err: error }, 'calls of an earlier PBX cannot be ended yet: it is tried again')
    if (mayGoOn()) await Bun.sleep(RETRY_MS)
  }
}

/** The account of calls of which nothing was emitted. */
const NO_OWNER = { account: 'default', accountId: 1 }

/**
 * Ends the calls of an earlier PBX of this name: no event of their end will arrive. Ends early when this node stops or
 * loses the PBX: the next owner goes on.
 */
async function endCalls(
  { store, pbxs, onStored, clock, ownership, recordingUrl, contacts, log }: WatchOptions,
  { record: { name, version }, recordings }: PbxEntry,
  mayGoOn: () => boolean,
): Promise<void> {
  const [owner = NO_OWNER] = await store.calls.liveCallListAccounts(name)
  const ingest = await startIngest({
    calls: store.calls,
    history: store.log,
    ownership,
    clock,
    log,
    onStored,
    pbx: name,
    account: owner.account,
    accountId: owner.accountId,
    // It may have been one of several accounts.
    tenants: { accounts: pbxs.accounts, isOnEveryChannel: false },
    urlOf: recordings === undefined ? undefined : recordingUrl,
    contacts,
    onMissed() {},
    onFault() {},
  })
  if (ingest.open() > 0)
    log.warn({ pbx: name, calls: ingest.open() }, 'calls of a PBX that is watched no more are ended')
  const at = { atUs: nowUs(), arrivedUs: nowUs() }
  ingest.feed([
    { ...at, kind: 'connected', first: true, boot: null },
    { ...at, kind: 'snapshot', channels: [] },
  ])
  while (ingest.open() > 0 && mayGoOn()) await Bun.sleep(CHECK_MS)
  await ingest.stop()
  if (!mayGoOn() || ingest.open() > 0) return
  await store.pbxs.pbxSetCallsEnded({ name, version }, ownership.fenceOf(pbxLease(name)))
  await pbxs.reload()
}
