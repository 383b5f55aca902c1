import { startIngest } from '../../calls/calls.ts'
import { pbxLease } from '../../cluster/cluster.ts'
import { nowUs } from '../../lib/time.ts'
import type { PbxEntry } from './pbx-list.ts'
import { startWatchedPbx, type WatchedPbx, type WatchOptions } from './watched-pbx.ts'

/**
 * One PBX of the list, and its state on this node.
 *
 * States: idle → `ending` (ends calls of an earlier PBX with its name) → `running`, all while this node owns it. A
 * change of the PBX stops the slot and begins again. The slot of a removed PBX is dropped after `ending`.
 */
type Slot = {
  readonly name: string
  /** `undefined`: the list no longer has it. */
  entry: PbxEntry | undefined
  running?: { readonly pbx: WatchedPbx; readonly version: string } | undefined
  ending?: Promise<void> | undefined
  /** The PBX was lost since the slot began: its facts are out of date. */
  isStale: boolean
  work: Promise<void>
}

type Slots = {
  running(): WatchedPbx[]
  /**
   * Watches the PBXs of the list, and follows changes of the list and of the ownership. @throws Fault `unavailable`.
   */
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

  /**
   * Adjusts all slots, one change after the other for each PBX. A lost PBX is marked at once: if it comes back, its
   * slot starts again.
   */
  function adjustAll(): Promise<unknown> {
    takeInList()
    const all = [...slots.values()]
    for (const slot of all) {
      if (ownership.pbxOwnership(slot.name) === 'not owned') slot.isStale = true
      slot.work = slot.work.catch(() => undefined).then(() => adjust(slot))
    }
    return Promise.all(all.map(({ work }) => work))
  }

  /** Returns for each PBX a promise of the end of its changes so far. */
  function adjustOrRetry(): ReadonlyMap<string, Promise<unknown>> {
    adjustAll().catch((error) => {
      log.warn({ err: error }, 'a PBX cannot be watched yet, since the store is unavailable; will retry')
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

/** Stops a slot if its PBX has changed, or this node no longer owns it. */
async function stopOutdated(slot: Slot, isOwned: boolean, log: WatchOptions['log']): Promise<void> {
  const isChanged = slot.running !== undefined && slot.running.version !== slot.entry?.record.version
  if (!slot.isStale && !isChanged && isOwned) return
  slot.isStale = false
  const before = slot.running
  slot.running = undefined
  await before?.pbx.stop()
  if (isChanged) log.info({ pbx: slot.name }, 'the PBX was changed or removed: its connection is closed')
}

/** Ends calls like `endCalls`; if that fails, resolves after a pause, since it may work later. */
async function tryToEndCalls(options: WatchOptions, entry: PbxEntry, mayGoOn: () => boolean): Promise<void> {
  try {
    await endCalls(options, entry, mayGoOn)
  } catch (error) {
    const pbx = entry.record.name
    options.log.warn({ pbx, err: error }, 'calls of an earlier PBX cannot be ended yet; will retry')
    if (mayGoOn()) await Bun.sleep(RETRY_MS)
  }
}

/** The account of calls without an emitted event. */
const NO_OWNER = { account: 'default', accountId: 1 }

/**
 * Ends the calls of an earlier PBX with this name, whose ends will not be reported. Ends early when this node stops or
 * loses the PBX: the next owner continues.
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
    // The earlier PBX may have had several accounts.
    tenants: { accounts: pbxs.accounts, isOnEveryChannel: false },
    urlOf: recordings === undefined ? undefined : recordingUrl,
    contacts,
    onMissed() {},
    onFault() {},
  })
  if (ingest.open() > 0)
    log.warn({ pbx: name, calls: ingest.open() }, 'calls of a PBX that is no longer watched are ended')
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
