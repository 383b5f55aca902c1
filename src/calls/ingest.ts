import { type Ownership, pbxLease } from '../cluster/ownership.ts'
import type { Clock } from '../deliveries/clock.ts'
import { type NewId, newUuid } from '../lib/id.ts'
import type { Log } from '../lib/log.ts'
import { nowUs as wallUs } from '../lib/time.ts'
import { type CallBatch, type PlacedEvent, type StoredEvent, storedEventsOf } from '../store/operations/calls.ts'
import { LeaseLost } from '../store/operations/cluster.ts'
import type { Store } from '../store/store.ts'
import type { CallEvent } from './event.ts'
import { newEvent, newRecordings, savedCall, savedRecord, type UrlOf } from './event-records.ts'
import { openTracker } from './open-tracker.ts'
import type { Signal } from './signal.ts'
import { isAnyMissing } from './tracker/resync/missing-channels.ts'
import { type LiveCall, takeChanges, track } from './tracker/tracker.ts'

/** The tracker of one PBX, with the way of its events to the store. */
export type Ingest = {
  /**
   * Feeds signals to the tracker; events are stored in the background. Returns `false` if the queue is full: the
   * signals were dropped.
   */
  feed(signals: readonly Signal[]): boolean
  /** Returns the number of events that were emitted and are not on disk yet. */
  readonly pendingEvents: () => number
  /** The calls of an account that are up, each made as it is asked for. */
  readonly liveCalls: (accountId: number) => Iterable<LiveCall>
  /** Returns whether a channel that was up lacked in the last snapshot: the next one decides. */
  readonly isAnyMissing: () => boolean
  /** Calls that are not saved yet. */
  readonly open: () => number
  /** Stores what is left and stops. */
  stop(): Promise<void>
}

export type IngestOptions = {
  readonly calls: Store['calls']
  readonly ownership: Ownership
  readonly pbx: string
  readonly account: string
  readonly accountId: number
  /** The country in which numbers are dialled (`UZ`): they have an E.164 form then. */
  readonly country?: string | undefined
  readonly onStored: (stored: readonly StoredEvent[]) => void
  /** Called when signals are accepted again: a snapshot of the PBX is needed. */
  readonly onMissed: () => void
  /** Called when a signal made the tracker fail and was left out: a snapshot of the PBX is needed. */
  readonly onFault: () => void
  /** Makes the link to a recording, or `null`. Without it the files of the PBX cannot be read. */
  readonly urlOf?: UrlOf | undefined
  readonly log: Log
  /** Events that wait for the store at the most. */
  readonly maxPending?: number
  readonly newId?: NewId
  readonly nowUs?: () => number
  /** The steady clock of calls and deliveries: settling must not take longer when the wall clock is set. */
  readonly clock: Clock
}

/**
 * Some 6 KB each, so some 240 MB: while the store cannot be written this much waits in memory, then signals are turned
 * away and asked for later.
 */
const MAX_PENDING = 40_000
/** Changes of a live call that come with no event (a channel more, a hold) are stored that soon. */
const IDLE_FLUSH_MS = 1_000
const RETRY_MS = 250
/** At least this between two faults that are logged. */
const FAULT_LOG_MS = 5_000
/** Stopping waits that long for a store that cannot be written. */
const LAST_TRY_MS = 5_000

/** Takes over the live calls of a PBX that the store has, and starts to track it. */
export async function startIngest(options: IngestOptions): Promise<Ingest> {
  const { calls, pbx, log, ownership, newId = newUuid, nowUs = wallUs, maxPending: maxWaiting = MAX_PENDING } = options
  const { steadyUs } = options.clock
  const { state, earlier, takenOver, liveCallsOf } = await openTracker({ ...options, newId })

  let events: CallEvent[] = []
  let writing: Promise<void> | undefined
  let tickTimer: Timer | undefined
  let missed = false
  let faultLoggedMs = Number.NEGATIVE_INFINITY
  let stopped = false

  const idleFlush = setInterval(() => {
    if (state.changed.size > 0 || state.removed.size > 0) flush()
  }, IDLE_FLUSH_MS)

  function trackSignal(signal: Signal): number | null {
    const tracked = track(state, { ...signal, arrivedUs: steadyUs() })
    if (tracked.faults.length > 0) reportFaults(tracked.faults, signal)
    for (const event of tracked.events) log.debug(loggedOf(event, signal), 'event emitted')
    events.push(...tracked.events)
    return tracked.tickAtUs
  }

  function reportFaults(faults: readonly unknown[], signal: Signal): void {
    options.onFault()
    const atMs = performance.now()
    // A caller must not be able to fill the log.
    if (atMs - faultLoggedMs < FAULT_LOG_MS) return
    faultLoggedMs = atMs
    const channel = 'id' in signal ? signal.id : undefined
    log.error(
      { pbx, signal: signal.kind, channel, err: faults[0] },
      'a PBX event could not be processed and is ignored; live calls are compared with the PBX',
    )
  }

  function schedule(wakeAtUs: number | null): void {
    clearTimeout(tickTimer)
    if (wakeAtUs === null || stopped) return
    tickTimer = setTimeout(tick, Math.max(1, Math.ceil((wakeAtUs - steadyUs()) / 1_000)))
  }

  function tick(): void {
    schedule(trackSignal({ kind: 'tick', atUs: nowUs(), arrivedUs: 0 }))
    if (events.length > 0) flush()
  }

  function flush(): void {
    writing ??= write().finally(() => {
      writing = undefined
      if (events.length > 0) flush()
    })
  }

  async function write(): Promise<void> {
    const batch = events
    const { changed, removed, merged } = takeChanges(state)
    const live = changed.map((call) => ({ id: call.call.id, state: JSON.stringify(call) }))
    events = []
    const partOf = (account: string, accountId: number) => {
      const mine = batch.filter((event) => event.body.data.account === account)
      const records = merged.filter((one) => one.account === account).map(({ record }) => savedRecord(record, nowUs()))
      return {
        accountId,
        events: mine.map((event) => newEvent(event, options.urlOf)),
        saved: [...records, ...mine.flatMap(savedCall)],
      }
    }
    const owners = [[options.account, options.accountId] as const, ...earlier]
    const parts = owners.map(([account, accountId]) => partOf(account, accountId))
    const recordings =
      options.urlOf === undefined
        ? []
        : owners.flatMap(([account, accountId]) =>
            batch
              .filter(({ body }) => body.data.account === account)
              .flatMap((event) => newRecordings(event, accountId)),
          )
    const stored = { pbx, parts, live, removed, recordings, nowSteadyUs: steadyUs() }
    const placed = await untilStored(stored)
    if (placed === undefined) return
    try {
      options.onStored(storedEventsOf(stored, placed))
    } catch (error) {
      // They are on disk: to store them again would send all of them twice.
      log.error(
        { pbx, events: batch.length, err: error },
        'events are stored, but passing them on failed: they are delivered with the next poll',
      )
    }
    if (!missed || events.length >= maxWaiting) return
    missed = false
    options.onMissed()
  }

  /** @returns where the events were placed; `undefined`: it was given up, to stop. */
  async function untilStored(batch: CallBatch): Promise<PlacedEvent[] | undefined> {
    const facts = { pbx, events: batch.parts.reduce((sum, { events }) => sum + events.length, 0) }
    for (let tries = 0; ; tries++) {
      try {
        const placed = await calls.batchStore(batch, ownership.fenceOf(pbxLease(pbx)))
        if (tries > 0)
          log.info({ ...facts, tries }, 'the store can be written again: the events that waited are stored')
        return placed
      } catch (error) {
        if (error instanceof LeaseLost) {
          log.warn({ ...facts, err: error }, 'another node watches this PBX now: what was not stored is left to it')
          return undefined
        }
        if (tries === 0)
          log.error(
            { ...facts, err: error },
            'cannot write to the store: events wait in memory and are stored when it can be written again',
          )
        if (stopped && tries * RETRY_MS >= LAST_TRY_MS) {
          log.error(facts, 'stopped while the store cannot be written: these events are lost')
          return undefined
        }
        await Bun.sleep(RETRY_MS)
      }
    }
  }

  if (takenOver > 0) {
    log.info({ pbx, calls: takenOver }, 'live calls were taken over')
    // Events that became due while no process ran must not wait for the PBX.
    tick()
  }
  return {
    feed(signals) {
      if (events.length >= maxWaiting) {
        if (!missed)
          log.error(
            { pbx, pending: events.length },
            'the store is behind: new PBX events are dropped; live calls are compared with the PBX later',
          )
        missed = true
        return false
      }
      let wakeAtUs: number | null = null
      for (const signal of signals) wakeAtUs = trackSignal(signal)
      if (signals.length > 0) schedule(wakeAtUs)
      if (events.length > 0) flush()
      return true
    },
    pendingEvents: () => events.length,
    liveCalls: liveCallsOf,
    isAnyMissing: () => isAnyMissing(state),
    open: () => state.calls.size,
    async stop() {
      stopped = true
      clearTimeout(tickTimer)
      clearInterval(idleFlush)
      while (writing !== undefined) await writing
      if (events.length > 0 || state.changed.size > 0 || state.removed.size > 0) await write()
    },
  }
}

/** Returns the fields of the log line of an event: its ids lead to its attempts, and to the PBX's own log. */
function loggedOf({ id, callId, name, sequence, body }: CallEvent, signal: Signal) {
  const { call, pbx } = body.data
  const from = call.from.extension ?? call.from.number
  const to = call.to.extension ?? call.to.number
  const channel = 'id' in signal ? signal.id : undefined
  return { pbx, call: callId, event: id, name, sequence, from, to, pbxId: call.pbx_id, by: signal.kind, channel }
}
