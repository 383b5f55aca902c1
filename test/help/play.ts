import type { CallEvent } from '../../src/calls/event.ts'
import type { Signal } from '../../src/calls/signal.ts'
import type { TrackerState } from '../../src/calls/tracker/state.ts'
import { newTracker, track } from '../../src/calls/tracker/tracker.ts'

/** Ids that count, so that a failing test reads the same each time. */
export function countingIds(): (atUs: number) => string {
  let count = 0
  return () => `id-${++count}`
}

/** Feeds signals to a tracker with a clock of its own: between two signals it ticks whenever the tracker asks for it. */
export function player(state: TrackerState = newTracker('pbx', 'default', countingIds())) {
  const events: CallEvent[] = []
  let wakeAtUs: number | null = null

  function tickUntil(atUs: number): void {
    for (let steps = 0; wakeAtUs !== null && wakeAtUs <= atUs && steps < 100_000; steps++) {
      feed({ kind: 'tick', atUs: wakeAtUs, arrivedUs: wakeAtUs })
    }
  }
  function feed(signal: Signal): void {
    const tracked = track(state, signal)
    if (tracked.faults.length > 0) throw tracked.faults[0]
    events.push(...tracked.events)
    wakeAtUs = tracked.tickAtUs
  }
  return {
    state,
    events,
    play(signals: readonly Signal[]): void {
      for (const signal of signals) {
        tickUntil(signal.arrivedUs)
        feed(signal)
      }
    },
    /** Lets so much time pass. */
    rest(durationUs: number): void {
      const untilUs = state.nowUs + durationUs
      tickUntil(untilUs)
      feed({ kind: 'tick', atUs: untilUs, arrivedUs: untilUs })
    },
  }
}
