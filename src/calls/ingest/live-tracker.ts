import type { CallEvent } from '../../events/bodies.ts'
import type { Log } from '../../lib/log.ts'
import { nextTurn } from '../../lib/slices.ts'
import type { NowUs } from '../../lib/time.ts'
import type { Signal } from '../signal.ts'
import type { TrackerState } from '../tracker/state/state.ts'
import { track, trackSnapshot, trackTick } from '../tracker/tracker.ts'

/**
 * A tracker in real time: it has a clock, and ticks when an event is due without a signal. A snapshot is applied in
 * slices, as is the first tick after a takeover; in between other work runs. Signals and ticks that come meanwhile wait
 * behind it.
 */
type LiveTracker = {
  /** Applies signals in their order. */
  apply(signals: readonly Signal[]): void
  /** Resolves when no signal waits behind a snapshot; `undefined` if none does. */
  caughtUp(): Promise<void> | undefined
  /** Emits the events that are due by now. */
  tick(): void
  /** Stops ticking, and resolves when no signal waits. */
  stop(): Promise<void>
}

type LiveTrackerOptions = {
  readonly pbx: string
  readonly onEvents: (events: readonly CallEvent[]) => void
  /** Called when a signal made the tracker fail and was skipped. */
  readonly onFault: () => void
  /** Resolves when there is room for further events of a snapshot; `undefined` if there is. */
  readonly room?: () => Promise<void> | undefined
  /** Returns whether bytes of the PBX wait to be read, so that further signals will come. */
  readonly isBehind?: (() => boolean) | undefined
  readonly log: Log
  readonly nowUs: NowUs
  readonly steadyUs: () => number
}

/** The least time between two logged faults: a caller must not be able to fill the log. */
const FAULT_LOG_MS = 5_000

export function createLiveTracker(state: TrackerState, options: LiveTrackerOptions): LiveTracker {
  const { pbx, onEvents, onFault, room = () => undefined, isBehind = () => false, log } = options
  const arrivals = createArrivalClock(options)
  const waiting: Signal[] = []
  let catchingUp: Promise<void> | undefined
  let tickTimer: Timer | undefined
  let faultLoggedMs = Number.NEGATIVE_INFINITY
  let stopped = false

  function reportFaults(faults: readonly unknown[], signal: Signal): void {
    onFault()
    const atMs = performance.now()
    if (atMs - faultLoggedMs < FAULT_LOG_MS) return
    faultLoggedMs = atMs
    log.error(
      { pbx, signal: signal.kind, channel: channelOf(signal), err: faults[0] },
      'a PBX event could not be processed and is ignored; live calls are compared with the PBX',
    )
  }

  function schedule(tickAtUs: number | null): void {
    clearTimeout(tickTimer)
    if (tickAtUs === null || stopped) return
    tickTimer = setTimeout(ring, Math.max(1, Math.ceil((tickAtUs - arrivals.nowUs()) / 1_000)), tickAtUs, 0)
  }

  /** Ticks once all bytes of the PBX are read: one of its events may be the missing fact. */
  function ring(tickAtUs: number, triedMs: number): void {
    const lateMs = triedMs === 0 ? againAfterMs(arrivals.nowUs() - tickAtUs) : null
    const pauseMs = isBehind() ? BEHIND_PAUSE_MS : lateMs
    if (pauseMs === null || triedMs >= MAX_AGAIN_MS) tick()
    else tickTimer = setTimeout(ring, pauseMs, tickAtUs, triedMs + pauseMs)
  }

  function note(events: readonly CallEvent[], signal: Signal): void {
    for (const event of events) log.debug(loggedOf(event, signal), 'event emitted')
    if (events.length > 0) onEvents(events)
  }

  function applyAtOnce(signals: readonly Signal[]): void {
    let tickAtUs: number | null = null
    const events: CallEvent[] = []
    for (const signal of signals) {
      const tracked = track(state, { ...signal, arrivedUs: arrivals.of(signal) })
      if (tracked.faults.length > 0) reportFaults(tracked.faults, signal)
      for (const event of tracked.events) {
        log.debug(loggedOf(event, signal), 'event emitted')
        events.push(event)
      }
      tickAtUs = tracked.tickAtUs
    }
    if (signals.length > 0) schedule(tickAtUs)
    if (events.length > 0) onEvents(events)
  }

  async function applyInSlices(signal: Slow): Promise<void> {
    clearTimeout(tickTimer)
    const arrivedUs = arrivals.of(signal)
    const steps =
      signal.kind === 'tick'
        ? trackTick(state, { ...signal, arrivedUs })
        : trackSnapshot(state, { ...signal, arrivedUs })
    for (;;) {
      const { events, end } = takeSteps(steps, stopped)
      note(events, signal)
      if (end !== undefined) {
        if (end.faults.length > 0) reportFaults(end.faults, signal)
        return schedule(end.tickAtUs)
      }
      await nextTurn()
      if (!stopped) await room()
    }
  }

  async function catchUp(): Promise<void> {
    // Never over before `catchingUp` is set: the signals before a long list may leave a short one.
    await undefined
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      try {
        if (isSlow(next, state)) await applyInSlices(next)
        else applyAtOnce([next])
      } catch (error) {
        reportFaults([error], next)
      }
    }
    catchingUp = undefined
  }

  function apply(signals: readonly Signal[]): void {
    if (catchingUp === undefined && !signals.some((signal) => isSlow(signal, state))) {
      applyAtOnce(signals)
      return
    }
    for (const signal of signals) waiting.push(signal)
    catchingUp ??= catchUp()
  }

  function tick(): void {
    if (catchingUp === undefined) apply([{ kind: 'tick', atUs: options.nowUs(), arrivedUs: 0 }])
  }

  return {
    apply,
    tick,
    caughtUp: () => catchingUp,
    async stop() {
      stopped = true
      clearTimeout(tickTimer)
      await catchingUp
    },
  }
}

/**
 * The clock of the tracker. Deadlines are in arrival time: signals that arrived together stay together, however late
 * they are processed, since a busy machine must not change the emitted events. A signal that was read late, by the
 * PBX's stamp, counts as arrived when it was sent: the next one of the same moment is read even later.
 */
function createArrivalClock({ nowUs: wallUs, steadyUs }: Pick<LiveTrackerOptions, 'nowUs' | 'steadyUs'>) {
  /** The delay between the arrival of the last signal and its processing. */
  let behindUs = 0
  let lastUs = Number.NEGATIVE_INFINITY
  const nowUs = (): number => steadyUs() - behindUs
  return {
    nowUs,
    /** Returns the steady arrival time of a signal, never before the arrival of an earlier signal or tick. */
    of(signal: Signal): number {
      if (signal.kind === 'tick') {
        lastUs = Math.max(lastUs, nowUs())
        return lastUs
      }
      const waitedUs = wallUs() - signal.arrivedUs
      behindUs = waitedUs > 0 && waitedUs <= MAX_BEHIND_US ? waitedUs : 0
      lastUs = Math.max(lastUs, nowUs() - readLateUs(signal))
      return lastUs
    },
  }
}

/** Returns how late a signal was read, by the PBX's stamp: 0 if it was in time. */
function readLateUs({ atUs, arrivedUs }: Signal): number {
  const lateUs = arrivedUs - atUs
  return lateUs > LATE_READ_US && lateUs <= MAX_BEHIND_US ? lateUs : 0
}

/** More than a network and an idle machine take. */
const LATE_READ_US = 100_000
/** A longer delay of a signal shows a change of the wall clock, not a late signal. */
const MAX_BEHIND_US = 60_000_000
/** A longer delay of a timer shows that the process got no processor. */
const LATE_US = 20_000
const MAX_AGAIN_MS = 1_000
const BEHIND_PAUSE_MS = 10

/** Returns the pause before a late tick is tried again, in milliseconds; `null`: no pause. */
function againAfterMs(lateUs: number): number | null {
  return lateUs < LATE_US ? null : Math.min(MAX_AGAIN_MS, Math.ceil(lateUs / 1_000))
}

type Slow = Extract<Signal, { kind: 'snapshot' | 'tick' }>

/**
 * A snapshot of fewer channels, of as few known ones, is applied at once, in a few milliseconds; so is a tick with
 * fewer calls to look at. There are more after a takeover.
 */
const MAX_AT_ONCE = 64

function isSlow(signal: Signal, state: TrackerState): signal is Slow {
  if (signal.kind === 'tick') return state.dirty.size > MAX_AT_ONCE
  return signal.kind === 'snapshot' && signal.channels.length + state.channels.size > MAX_AT_ONCE
}

/** Some milliseconds of tracking. */
const SLICE_MS = 5

/** Takes steps for some milliseconds, or all of them. `end`: the result of the last one. */
function takeSteps(steps: ReturnType<typeof trackSnapshot>, all: boolean) {
  const events: CallEvent[] = []
  const untilMs = performance.now() + SLICE_MS
  for (;;) {
    const step = steps.next()
    if (step.done === true) return { events, end: step.value }
    for (const event of step.value) events.push(event)
    if (!all && performance.now() >= untilMs) return { events, end: undefined }
  }
}

const channelOf = (signal: Signal): string | undefined => ('id' in signal ? signal.id : undefined)

/** Returns the fields of an event's log line: its ids lead to the delivery attempts and to the PBX's own log. */
function loggedOf({ id, callId, name, sequence, body }: CallEvent, signal: Signal) {
  const { call, pbx } = body.data
  const from = call.from.extension ?? call.from.number
  const to = call.to.extension ?? call.to.number
  const channel = channelOf(signal)
  return { pbx, call: callId, event: id, name, sequence, from, to, pbxId: call.pbx_id, by: signal.kind, channel }
}
