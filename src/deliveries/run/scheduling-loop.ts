import type { Ownership } from '../../cluster/cluster.ts'
import type { Log } from '../../lib/log.ts'
import { type NowUs, SECOND } from '../../lib/time.ts'
import type { Clock } from '../../store/clock.ts'
import type { Reservations } from '../queue/reservations.ts'
import type { AttemptSlot, Scheduler } from '../queue/scheduler.ts'
import type { OutcomeWriter } from '../sending/outcome-writer.ts'
import type { Loader } from './loader.ts'
import type { Guard } from './run-guard.ts'

/** The pause after this machine could not send an attempt. */
const PAUSE_US = SECOND
const LOG_PAUSE_EVERY_US = 60 * SECOND
/** Attempts in flight while signals are behind: each answer takes a turn of the event loop from them. */
const IN_FLIGHT_WHEN_BEHIND = 4

type SchedulingLoopOptions = {
  readonly scheduler: Pick<Scheduler, 'inFlight' | 'take' | 'tick'>
  readonly loader: Pick<Loader, 'refill' | 'tick'>
  /** Begins an attempt; `run` has to be called when it has ended. */
  readonly send: (slot: AttemptSlot) => void
  readonly reservations: Pick<Reservations, 'beginPending'>
  readonly outcomes: Pick<OutcomeWriter, 'isFull'>
  /** Returns whether signals from PBXs are queued: then fewer attempts begin. */
  readonly isIntakeBehind?: (() => boolean) | undefined
  /** While the ownership of accounts is in doubt no attempt begins. */
  readonly ownership: Pick<Ownership, 'isTrusted'>
  readonly clock: Pick<Clock, 'steadyUs' | 'check'>
  readonly guard: Guard
  readonly log: Log
}

/** Creates the loop that begins attempts, as long as there are deliveries and the limits allow it. */
export function createSchedulingLoop(options: SchedulingLoopOptions) {
  const { scheduler, loader, send, reservations, outcomes, ownership, clock, guard, log } = options
  const { isIntakeBehind = () => false } = options
  const { steadyUs } = clock
  const pause = newPause(steadyUs, log)
  const drained = Promise.withResolvers<void>()
  let running = false
  let scheduled = false
  let stopping = false

  /** Signals precede attempts: an unread signal is lost, a delayed delivery is only late. */
  const mayBegin = () =>
    !outcomes.isFull() && ownership.isTrusted() && (scheduler.inFlight < IN_FLIGHT_WHEN_BEHIND || !isIntakeBehind())

  /** Begins all attempts that may begin now. */
  const run = guard((): void => {
    reservations.beginPending()
    if (stopping && scheduler.inFlight === 0) drained.resolve()
    if (running || stopping || outcomes.isFull() || pause.isOn()) return
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
  })

  return {
    run,
    /** Runs in a later turn of the event loop, so that loading a backlog does not delay everything else. */
    runSoon(): void {
      if (scheduled) return
      scheduled = true
      setImmediate(() => {
        scheduled = false
        run()
      })
    },
    /** Begins no attempt for a second: this machine could not send one, and would fail again. */
    pause: pause.begin,
    /** Notices that retries and probes are due and that requests are slow. Call it some 40 times a second. */
    tick(): void {
      clock.check()
      scheduler.tick(steadyUs())
      loader.tick()
      run()
    },
    /** Stops beginning attempts. Resolves when all attempts in flight have ended. */
    drain(): Promise<void> {
      stopping = true
      run()
      return drained.promise
    },
  }
}

/** A pause of a second, which is logged once a minute at most. */
function newPause(steadyUs: NowUs, log: Log) {
  let untilUs = Number.NEGATIVE_INFINITY
  let loggedUs = Number.NEGATIVE_INFINITY
  return {
    // Called at each answer: so the clock is not read before the first pause.
    isOn: (): boolean => untilUs !== Number.NEGATIVE_INFINITY && steadyUs() < untilUs,
    begin(reason: string): void {
      const atUs = steadyUs()
      untilUs = atUs + PAUSE_US
      if (atUs < loggedUs + LOG_PAUSE_EVERY_US) return
      loggedUs = atUs
      log.error({ reason }, 'cannot send: attempts are retried every second, and none is counted')
    },
  }
}
