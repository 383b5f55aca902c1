import type { Log } from '../../lib/log.ts'
import { type NowUs, SECOND } from '../../lib/time.ts'
import type { Loader } from './loader.ts'
import type { AttemptSlot, Scheduler } from './scheduler.ts'

/** How long no attempt begins after one could not be sent from this machine. */
const PAUSE_US = SECOND
const LOG_PAUSE_EVERY_US = 60 * SECOND
/** Attempts in flight while signals are behind: each answer takes a turn of the event loop from them. */
const IN_FLIGHT_WHEN_BEHIND = 4

export type SchedulingLoopOptions = {
  readonly scheduler: Pick<Scheduler, 'inFlight' | 'take' | 'tick'>
  readonly loader: Pick<Loader, 'refill' | 'tick'>
  /** Begins an attempt; `run` has to be called when it has ended. */
  readonly send: (slot: AttemptSlot) => void
  /** Begins the requests that precede deliveries. */
  readonly beginReserved: () => void
  /** Returns whether so many outcomes are not recorded yet that no attempt may begin. */
  readonly isFull: () => boolean
  /** Returns whether signals from PBXs are queued: then fewer attempts begin. */
  readonly isIntakeBehind: () => boolean
  /** Returns whether attempts may begin at this moment. */
  readonly isTrusted: () => boolean
  readonly steadyUs: NowUs
  readonly log: Log
}

export type SchedulingLoop = ReturnType<typeof createSchedulingLoop>

/** Begins attempts as long as there are deliveries and room. */
export function createSchedulingLoop(options: SchedulingLoopOptions) {
  const { scheduler, loader, send, beginReserved, isFull, isIntakeBehind, isTrusted, steadyUs, log } = options
  const drained = Promise.withResolvers<void>()
  let running = false
  let scheduled = false
  let stopping = false
  let pausedToUs = Number.NEGATIVE_INFINITY
  let pauseLoggedUs = Number.NEGATIVE_INFINITY

  /** Signals precede attempts: a signal that is not read in time is lost, a delivery is only late. */
  const mayBegin = () => !isFull() && isTrusted() && (scheduler.inFlight < IN_FLIGHT_WHEN_BEHIND || !isIntakeBehind())

  /** Begins all attempts that may begin now. */
  function run(): void {
    beginReserved()
    if (stopping && scheduler.inFlight === 0) drained.resolve()
    if (running || stopping || isFull() || steadyUs() < pausedToUs) return
    running = true
    try {
      loader.refill()
      const atUs = steadyUs()
      while (mayBegin()) {
        const slot = scheduler.take(atUs)
        if (slot === undefined) break
        send(slot)
      }
    } finally {
      running = false
    }
  }

  return {
    run,
    /** Runs in a turn of the event loop of its own, so that loading a backlog does not hold up everything else. */
    runSoon(): void {
      if (scheduled) return
      scheduled = true
      setImmediate(() => {
        scheduled = false
        run()
      })
    },
    /** Begins no attempt for a second: this machine could not send one, and others would fare no better. */
    pause(reason: string): void {
      const atUs = steadyUs()
      pausedToUs = atUs + PAUSE_US
      if (atUs < pauseLoggedUs + LOG_PAUSE_EVERY_US) return
      pauseLoggedUs = atUs
      log.error({ reason }, 'cannot send: attempts are retried every second, and none is counted')
    },
    /** Has to be called some 40 times a second: retries and probes become due, requests become slow. */
    tick(): void {
      scheduler.tick(steadyUs())
      loader.tick()
      run()
    },
    /** Begins no more attempts; resolves when those in flight have ended. */
    drain(): Promise<void> {
      stopping = true
      run()
      return drained.promise
    },
  }
}
