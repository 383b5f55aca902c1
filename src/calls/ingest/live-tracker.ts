import type { Log } from '../../lib/log.ts'
import type { NowUs } from '../../lib/time.ts'
import type { CallEvent } from '../event.ts'
import type { Signal } from '../signal.ts'
import type { TrackerState } from '../tracker/state/state.ts'
import { track } from '../tracker/tracker.ts'

/** A tracker in real time: it has a clock, and ticks when an event is due without a signal. */
type LiveTracker = {
  /** Applies signals in their order. */
  apply(signals: readonly Signal[]): void
  /** Emits the events that are due by now. */
  tick(): void
  /** Stops ticking. */
  stop(): void
}

type LiveTrackerOptions = {
  readonly pbx: string
  readonly onEvents: (events: readonly CallEvent[]) => void
  /** Called when a signal made the tracker fail and was skipped. */
  readonly onFault: () => void
  readonly log: Log
  readonly nowUs: NowUs
  readonly steadyUs: () => number
}

/** The least time between two logged faults: a caller must not be able to fill the log. */
const FAULT_LOG_MS = 5_000

/** Returns the tracker of this state, in real time. */
export function createLiveTracker(state: TrackerState, options: LiveTrackerOptions): LiveTracker {
  const { pbx, onEvents, onFault, log, nowUs, steadyUs } = options
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
    tickTimer = setTimeout(tick, Math.max(1, Math.ceil((tickAtUs - steadyUs()) / 1_000)))
  }

  function apply(signals: readonly Signal[]): void {
    let tickAtUs: number | null = null
    const events: CallEvent[] = []
    for (const signal of signals) {
      const tracked = track(state, { ...signal, arrivedUs: steadyUs() })
      if (tracked.faults.length > 0) reportFaults(tracked.faults, signal)
      for (const event of tracked.events) log.debug(loggedOf(event, signal), 'event emitted')
      events.push(...tracked.events)
      tickAtUs = tracked.tickAtUs
    }
    if (signals.length > 0) schedule(tickAtUs)
    if (events.length > 0) onEvents(events)
  }

  const tick = (): void => apply([{ kind: 'tick', atUs: nowUs(), arrivedUs: 0 }])

  return {
    apply,
    tick,
    stop() {
      stopped = true
      clearTimeout(tickTimer)
    },
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
