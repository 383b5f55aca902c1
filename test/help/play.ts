import type { Signal } from '../../src/calls/signal.ts'
import { liveCallText, readLiveCall, takeOverLiveCalls } from '../../src/calls/tracker/resync/takeover.ts'
import type { TrackerState } from '../../src/calls/tracker/state/state.ts'
import { newTracker, takeChanges, track } from '../../src/calls/tracker/tracker.ts'
import type { CallEvent } from '../../src/events/bodies.ts'
import type { NewId } from '../../src/lib/id.ts'
import { SECOND } from '../../src/lib/time.ts'

/** Ids that sort by their times and have a count, so that a failing test reads the same each time. */
export function countingIds(): NewId {
  let count = 0
  return (atUs, after = '') => {
    const id = `${Math.floor(atUs / 1_000)}-${String(++count).padStart(6, '0')}`
    return id > after ? id : `${after}+${count}`
  }
}

/** Stored live calls by id. */
export type LiveCalls = Map<string, string>

/** Stores the changes of a tracker since the last save. */
export function saveChanges(state: TrackerState, stored: LiveCalls): void {
  const { changed, removed } = takeChanges(state)
  for (const one of changed) stored.set(one.call.id, liveCallText(one))
  for (const id of removed) stored.delete(id)
}

export type PlayerOptions = {
  readonly state?: TrackerState
  /** The moment from which the clock of the process counts; an hour before the first signal unless it is given. */
  readonly clockFromUs?: number
  /** Called after each signal, ticks too. */
  readonly onTracked?: (tracked: ReturnType<typeof track>, signal: Signal, state: TrackerState) => void
}

/** How long the process has run when its first signal comes: its clock is not the one of the PBX's times. */
const UPTIME_US = 3_600 * SECOND

/** No call takes as many: a tracker that asks for one more does so for ever. */
const MAX_TICKS = 100_000

/**
 * Feeds signals to a tracker with its own clock: between two signals it ticks whenever the tracker asks for it. As in a
 * service, arrival times are of a clock that counts from another moment than the times of the PBX.
 */
export function player({ state: first, clockFromUs, onTracked = () => {} }: PlayerOptions = {}) {
  const newId = countingIds()
  const events: CallEvent[] = []
  let state = first ?? newTracker('pbx', 'default', newId)
  let tickAtUs: number | null = null
  let originUs = clockFromUs

  const nowUs = (): number => (originUs ?? 0) + state.nowUs

  function tickUntil(atUs: number): void {
    for (let ticks = 0; tickAtUs !== null && tickAtUs <= atUs; ticks++) {
      if (ticks > MAX_TICKS) throw new Error('the tracker wants a tick again and again')
      feed({ kind: 'tick', atUs: tickAtUs, arrivedUs: tickAtUs })
    }
  }
  /** Feeds one signal without the ticks before it. */
  function feed(signal: Signal): void {
    originUs ??= state.nowUs > 0 ? 0 : signal.arrivedUs - UPTIME_US
    const tracked = track(state, { ...signal, arrivedUs: signal.arrivedUs - originUs })
    if (tracked.faults.length > 0) throw tracked.faults[0]
    events.push(...tracked.events)
    tickAtUs = tracked.tickAtUs === null ? null : tracked.tickAtUs + originUs
    onTracked(tracked, signal, state)
  }
  return {
    get state() {
      return state
    },
    /** The present, on the clock of the signals that are played. */
    get nowUs() {
      return nowUs()
    },
    events,
    feed,
    tickUntil,
    play(signals: readonly Signal[]): void {
      for (const signal of signals) {
        tickUntil(signal.arrivedUs)
        feed(signal)
      }
    },
    /** Lets so much time pass. */
    rest(durationUs: number): void {
      const untilUs = nowUs() + durationUs
      tickUntil(untilUs)
      feed({ kind: 'tick', atUs: untilUs, arrivedUs: untilUs })
    },
    /** Continues like another process, with the stored live calls. */
    restart(stored: LiveCalls): void {
      state = newTracker('pbx', 'default', newId)
      takeOverLiveCalls(state, [...stored.values()].map(readLiveCall))
    },
  }
}
