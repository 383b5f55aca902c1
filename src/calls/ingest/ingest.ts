import type { Ownership } from '../../cluster/cluster.ts'
import type { CallEvent } from '../../events/bodies.ts'
import { type NewId, newUuid } from '../../lib/id.ts'
import type { Log } from '../../lib/log.ts'
import { type NowUs, nowUs as wallUs } from '../../lib/time.ts'
import type { Clock } from '../../store/clock.ts'
import { type CallBatch, type PlacedEvent, type StoredEvent, storedEventsOf } from '../../store/operations/calls.ts'
import type { Store } from '../../store/store.ts'
import { callBatch, type UrlOf } from '../api/event-records.ts'
import type { Signal } from '../signal.ts'
import { isAnyMissing, isAnySilent } from '../tracker/resync/missing-channels.ts'
import { isFull } from '../tracker/state/registry.ts'
import { channelsUp, type RequestedCall, requestedCall } from '../tracker/state/requested-calls.ts'
import { hasChanges, type LiveCall, takeChanges } from '../tracker/tracker.ts'
import { createBatchWriter } from './batch-writer.ts'
import { type CallContacts, type ContactLookUps, createCallContacts } from './call-contacts.ts'
import { customBatch, saidWithoutCall } from './custom-events.ts'
import { createLiveTracker } from './live-tracker.ts'
import { type CallOwners, openTracker } from './open-tracker.ts'
import { createWaitingEvents } from './waiting-events.ts'

/** The tracker of one PBX, connected to the store. */
type Ingest = {
  /**
   * Feeds signals to the tracker; events are stored in the background. Returns `false` if the queue is full: the
   * signals were dropped.
   */
  feed(signals: readonly Signal[]): boolean
  /**
   * Resolves when the signals so far are applied, which takes several turns behind a snapshot, and when few of their
   * events wait for a store that can be written; else `undefined`. Signals that are fed earlier are applied too.
   */
  caughtUp(): Promise<void> | undefined
  /** Returns the number of events that were emitted and are not on disk yet. */
  readonly pendingEvents: () => number
  readonly liveCalls: (accountId: number) => Iterable<LiveCall>
  /** Returns the call that was made for a request, `undefined` if it was not seen, or is over. */
  readonly requestedCall: (requestId: string) => RequestedCall | undefined
  readonly channelsUp: (callId: string) => readonly string[]
  /** Returns the number of live calls of each account that has any. */
  readonly liveCallCounts: () => ReadonlyMap<number, number>
  /** Returns whether the last snapshot lacked a channel that was up: the next snapshot decides. */
  readonly isAnyMissing: () => boolean
  /** Returns whether nothing was heard of a live call for an hour: a snapshot shows whether it is still there. */
  readonly isAnySilent: () => boolean
  /** Returns whether as many calls are open as are followed. */
  readonly isFull: () => boolean
  /** Returns the number of calls that are not saved yet. */
  readonly open: () => number
  /** Returns the number of calls that were ended as `unknown` because too many channels were live. */
  readonly endedEarly: () => number
  /** Returns the number of calls that were not followed because too many were: ever, and since there was last room. */
  readonly notFollowed: () => { readonly ever: number; readonly now: number }
  /** Stores the remaining events and stops. */
  stop(): Promise<void>
}

type IngestOptions = CallOwners & {
  readonly calls: Store['calls']
  /** The stored events of live calls, needed when the calls are taken over. */
  readonly history: Pick<Store['log'], 'eventListOfCall'>
  readonly ownership: Ownership
  readonly pbx: string
  /** The country in which numbers are dialled (`UZ`), for their E.164 form. */
  readonly country?: string | undefined
  readonly onStored: (stored: readonly StoredEvent[]) => void
  /** Called when signals are accepted again: a snapshot of the PBX is needed. */
  readonly onMissed: () => void
  /** The most calls that are followed at a time. */
  readonly maxCalls?: number | undefined
  /** Called when calls can be followed again after some were not: a snapshot of the PBX is needed. */
  readonly onRoom?: () => void
  /** Called when a signal made the tracker fail and was skipped: a snapshot of the PBX is needed. */
  readonly onFault: () => void
  /** Returns whether bytes of the PBX wait to be read, so that further signals will come. */
  readonly isBehind?: (() => boolean) | undefined
  /** Called with the tenant values of new calls that no account gets; `null` if a call shows none. */
  readonly onWithoutAccount?: (tenants: readonly (string | null)[]) => void
  /** Contacts of the accounts' callers. */
  readonly contacts?: ContactLookUps | undefined
  /** Returns the link to a recording, or `null`. Absent: the files of the PBX cannot be read. */
  readonly urlOf?: UrlOf | undefined
  readonly log: Log
  /** The most events that wait for the store. */
  readonly maxPending?: number
  /** A store that has written nothing for this time may be away. */
  readonly writesWithinMs?: number
  readonly newId?: NewId
  readonly nowUs?: NowUs
  /** The steady clock of calls and deliveries: a change of the wall clock must not delay settling events. */
  readonly clock: Clock
}

/**
 * Some 240 MB at 6 KB each. While the store cannot be written, this many events wait in memory; further signals are
 * dropped, and a snapshot is requested later.
 */
const MAX_PENDING = 40_000
const ENDED_EARLY_LOG_MS = 60_000
/** Calls are followed again below this share of the most: the list must not be asked for with each call that ends. */
const ROOM_SHARE = 0.9
/** Changes of a live call without an event (another channel, a hold) are stored after this time. */
const IDLE_FLUSH_MS = 1_000

/** Takes over a PBX's live calls from the store, and starts to track the PBX. */
export async function startIngest(options: IngestOptions): Promise<Ingest> {
  const {
    pbx,
    log,
    newId = newUuid,
    nowUs = wallUs,
    maxPending = MAX_PENDING,
    writesWithinMs = WRITES_WITHIN_MS,
  } = options
  const { steadyUs } = options.clock
  const writer = createBatchWriter(options)
  const { state, accountIdOf, takenOver, liveCallsOf, countLiveCalls } = await openTracker({ ...options, newId })
  const source = { pbx, accountIdOf, urlOf: options.urlOf }
  const contacts =
    options.contacts &&
    createCallContacts({
      directory: options.contacts,
      accountIdOf,
      onReleased: () => void outbox.flush(),
    })
  const outbox = createOutbox({
    held: contacts?.waiting ?? NONE,
    changed: state.changed,
    mergedFrom: (id) => state.calls.get(id)?.mergedFrom ?? [],
    batchOf(events, left) {
      const taken = { callIds: new Set(events.map(({ callId }) => callId)), most: MAX_BATCH_CHANGES }
      const changes = takeChanges(state, left, taken)
      if (contacts !== undefined) {
        for (const { body } of events) contacts.fill(body)
        for (const { record } of changes.merged) contacts.fillCall(record.call)
        contacts.forget(changes.removed)
      }
      if (changes.withoutAccount.length > 0) options.onWithoutAccount?.(changes.withoutAccount)
      return callBatch(events, changes, { ...source, nowUs: nowUs(), nowSteadyUs: steadyUs() })
    },
    store: writer.store,
    onStored,
  })
  const onEvents = (events: readonly CallEvent[]): void => {
    contacts?.note(events)
    outbox.add(events)
  }
  let isStopping = false
  let storedMs = Number.NEGATIVE_INFINITY
  const room = () =>
    outbox.size() < MAX_OF_SNAPSHOT ? undefined : waitForRoom(() => isStopping || outbox.size() < MAX_OF_SNAPSHOT)
  const isAhead = () => outbox.size() >= MAX_AHEAD && !isStopping && performance.now() - storedMs < writesWithinMs
  const storeCaughtUp = () => (isAhead() ? waitForRoom(() => !isAhead()) : undefined)
  const tracker = createLiveTracker(state, { ...options, nowUs, steadyUs, onEvents, room })
  const idleFlush = setInterval(() => {
    if (hasChanges(state)) outbox.flush()
    followLimit()
  }, IDLE_FLUSH_MS)
  /** The custom events outside of calls, one batch after the other. */
  let saying: Promise<void> = Promise.resolve()
  let areSignalsMissed = false
  let endedEarlyLoggedMs = Number.NEGATIVE_INFINITY
  let unfollowedLoggedMs = Number.NEGATIVE_INFINITY

  function onStored(stored: readonly StoredEvent[]): void {
    storedMs = performance.now()
    try {
      options.onStored(stored)
    } catch (error) {
      // Do not throw: the events are on disk, and storing them again would send each of them twice.
      log.error(
        { pbx, events: stored.length, err: error },
        'events are stored, but passing them on failed: they are delivered with the next poll',
      )
    }
    if (!areSignalsMissed || outbox.size() >= maxPending) return
    areSignalsMissed = false
    options.onMissed()
  }

  /** Logs at most once a minute, and notes when there is room again. */
  function followLimit(): void {
    if (state.unfollowed.size === 0) return
    if (state.calls.size < state.maxCalls * ROOM_SHARE) {
      log.info({ pbx, calls: state.calls.size }, 'calls of the PBX are followed again; requesting its channels')
      state.unfollowed.clear()
      options.onRoom?.()
      return
    }
    const atMs = performance.now()
    if (atMs - unfollowedLoggedMs < ENDED_EARLY_LOG_MS) return
    unfollowedLoggedMs = atMs
    log.error(
      { pbx, calls: state.calls.size, notFollowed: state.notFollowed },
      `${state.maxCalls} calls of this PBX are open: further ones are not followed (--max-calls); check whether the PBX reports the ends of calls`,
    )
  }

  /** Logs at most once a minute: a PBX that never ends a call would cause this message all the time. */
  function reportEndedEarly(): void {
    const atMs = performance.now()
    if (atMs - endedEarlyLoggedMs < ENDED_EARLY_LOG_MS) return
    endedEarlyLoggedMs = atMs
    log.error(
      { pbx, ended: state.endedEarly },
      'too many channels are live on this PBX: the calls of the oldest end as unknown; check whether the PBX reports the ends of calls',
    )
  }

  if (takenOver > 0) {
    log.info({ pbx, calls: takenOver }, 'live calls were taken over')
    // Events that became due while no process ran must not wait for the PBX.
    tracker.tick()
  }
  /** Stores custom events outside of calls; without an account they are for nobody. */
  function storeSaid(signals: readonly Signal[]): void {
    const said = saidWithoutCall(signals)
    const { account, accountId } = options
    if (said.length === 0 || account === null || accountId === null) return
    const batch = customBatch(said, { pbx, account, accountId, newId, nowSteadyUs: steadyUs() })
    saying = saying.then(async () => {
      const placed = await writer.store(batch)
      if (placed !== undefined) onStored(storedEventsOf(batch, placed))
    })
  }

  return {
    feed(signals) {
      if (outbox.size() < maxPending) {
        storeSaid(signals)
        const before = state.endedEarly
        tracker.apply(signals)
        if (state.endedEarly > before) reportEndedEarly()
        return true
      }
      if (!areSignalsMissed)
        log.error(
          { pbx, pending: outbox.size() },
          'the store is behind: new PBX events are dropped; live calls are compared with the PBX later',
        )
      areSignalsMissed = true
      return false
    },
    caughtUp: () => tracker.caughtUp() ?? storeCaughtUp(),
    pendingEvents: outbox.size,
    liveCalls: contacts === undefined ? liveCallsOf : (accountId) => withContacts(liveCallsOf(accountId), contacts),
    requestedCall: (requestId) => requestedCall(state, requestId),
    channelsUp: (callId) => channelsUp(state, callId),
    liveCallCounts: countLiveCalls,
    isAnyMissing: () => isAnyMissing(state),
    isAnySilent: () => isAnySilent(state, steadyUs() - SILENT_US),
    isFull: () => isFull(state),
    open: () => state.calls.size,
    endedEarly: () => state.endedEarly,
    notFollowed: () => ({ ever: state.notFollowed, now: state.unfollowed.size }),
    async stop() {
      isStopping = true
      await tracker.stop()
      writer.stop()
      contacts?.stop()
      clearInterval(idleFlush)
      await outbox.drained()
      await saying
      if (hasChanges(state)) await outbox.flush()
    },
  }
}

/** After this silence a call is looked for in the PBX's list, since its end may have been lost. */
const SILENT_US = 3_600_000_000

/** The events of a snapshot that wait for the store at a time, so that events of other PBXs come in between. */
const MAX_OF_SNAPSHOT = 2_000
/**
 * The events that wait for the store when a PBX sends faster than it can be written, with some 6 KB each: what the PBX
 * has sent waits as bytes, which are a tenth of that.
 */
const MAX_AHEAD = 4_000
/** While the store may be away, the PBX is followed on. */
const WRITES_WITHIN_MS = 1_000
const ROOM_CHECK_MS = 5
/** While the store cannot be written, a snapshot goes on after this time: its events then wait as all others. */
const ROOM_WITHIN_MS = 10_000

async function waitForRoom(hasRoom: () => boolean): Promise<void> {
  const untilMs = performance.now() + ROOM_WITHIN_MS
  while (!hasRoom() && performance.now() < untilMs) await Bun.sleep(ROOM_CHECK_MS)
}

const NONE: ReadonlySet<string> = new Set()

const isEmpty = ({ parts, live, removed, recordings = [] }: CallBatch): boolean =>
  parts.length + live.length + removed.length + recordings.length === 0

function* withContacts(calls: Iterable<LiveCall>, contacts: CallContacts): Generator<LiveCall> {
  for (const one of calls)
    yield {
      id: one.id,
      pbx: one.pbx,
      account: one.account,
      get call() {
        const { call } = one
        contacts.fillCall(call)
        return call
      },
      get stages() {
        return one.stages
      },
    }
}

type OutboxOptions = {
  /** The calls that may not be stored yet. */
  readonly held: ReadonlySet<string>
  /** The live calls whose stored state is out of date. */
  readonly changed: ReadonlySet<string>
  readonly mergedFrom: (callId: string) => readonly string[]
  /** Makes a batch of these events and of all changes since the last batch, without the calls that are left. */
  readonly batchOf: (events: readonly CallEvent[], left: Left) => CallBatch
  readonly store: (batch: CallBatch) => Promise<PlacedEvent[] | undefined>
  readonly onStored: (stored: readonly StoredEvent[]) => void
}

type Left = Parameters<typeof takeChanges>[1]

/**
 * Events of one batch, unless calls that belong together have more: some 20 ms of writing. The batches of all PBXs take
 * turns, so a PBX with a backlog of thousands of events delays the events of others by this much.
 */
const MAX_BATCH_EVENTS = 256

/** The changes without an event in a batch: after a long list of channels, thousands of calls change at once. */
const MAX_BATCH_CHANGES = 256

/**
 * Stores events in batches, one after the other. The next batch gets the events of held calls, the events beyond
 * `MAX_BATCH_EVENTS`, and all events that come during a write.
 */
function createOutbox({ held, changed, mergedFrom, batchOf, store, onStored }: OutboxOptions) {
  const waiting = createWaitingEvents()
  let writing: Promise<void> | undefined
  let isAskedAgain = false

  async function write(): Promise<void> {
    for (const id of held) waiting.hold([id, ...mergedFrom(id)])
    if (held.size > 0 || waiting.size() > MAX_BATCH_EVENTS)
      for (const id of changed) waiting.unite([id, ...mergedFrom(id)])
    const { events, hasMore } = waiting.take(MAX_BATCH_EVENTS, held)
    isAskedAgain = hasMore
    const batch = batchOf(events, waiting.calls)
    for (const id of changed) if (!waiting.calls.has(id)) isAskedAgain = true
    if (waiting.calls.size > 0 && isEmpty(batch)) return
    const placed = await store(batch)
    if (placed !== undefined) onStored(storedEventsOf(batch, placed))
  }
  function flush(): Promise<void> {
    if (writing !== undefined) isAskedAgain = true
    writing ??= write().finally(() => {
      writing = undefined
      if (isAskedAgain) flush()
    })
    return writing
  }

  return {
    /** Returns the number of events that are in no batch yet. */
    size: waiting.size,
    add(more: readonly CallEvent[]): void {
      for (const event of more) waiting.add(event)
      flush()
    },
    /** Stores a batch, even one without events. During a write another one is only requested. */
    flush,
    /** Resolves when no event is left. */
    async drained(): Promise<void> {
      while (writing !== undefined) await writing
    },
  }
}
