import { newFifo } from '../../lib/fifo.ts'
import { MILLISECOND } from '../../lib/time.ts'
import type { WebhookQueue } from './webhook-queue.ts'

/**
 * How many requests may be in flight, over all webhooks. Pure.
 *
 * Webhooks are in three classes: *good* (the last answer was fine, no request is slow), *unsure* (nothing is known yet,
 * or one is slow) and *hanging* (neither). The worse the class, the less of the capacity it may use: receivers that
 * hang never delay those that answer.
 */
export const CLASSES = ['good', 'unsure', 'hanging'] as const
export type Class = (typeof CLASSES)[number]

/** All requests in flight. */
const MAX_IN_FLIGHT: Readonly<Record<Class, number>> = { good: 1_024, unsure: 960, hanging: 512 }
/**
 * Requests that began lately. `fetch` keeps at most 64 idle connections in the whole process, and with more requests
 * at a time often connects anew: with 80 a delivery costs a sixth more processor time, with 128 a third.
 */
const MAX_QUICK: Readonly<Record<Class, number>> = { good: 64, unsure: 32, hanging: 16 }
/** Quick requests that a class may always have: else a few good webhooks with a backlog would shut out new ones. */
const RESERVED_QUICK: Readonly<Record<Class, number>> = { good: 0, unsure: 8, hanging: 4 }
/** A request is slow from this age on: it then counts only towards the total in flight. */
const SLOW_AFTER_US = 50 * MILLISECOND

/** Requests of a webhook beyond 16 begin only while fewer than these are in flight: half is left to the others. */
const MAX_WITH_EXTRA = 512

/** Trials of flows at a time, of one webhook and of all: they send nothing, but read the store and render templates. */
const MAX_TRIALS_OF_WEBHOOK = 4
const MAX_TRIALS = 64

/** The place of one request in flight: first quick, slow after 50 ms, then ended. */
export type Slot = {
  readonly queue: WebhookQueue
  /** The class of its webhook when it began; `trial`: it sends nothing, and takes no capacity from requests. */
  readonly from: Class | 'trial'
  readonly startedUs: number
  readonly phase: 'quick' | 'slow' | 'ended'
}

type State = { -readonly [name in keyof Slot]: Slot[name] }

export type Capacity = ReturnType<typeof createCapacity>

/** Creates the counts of requests in flight. */
export function createCapacity() {
  const begun = newFifo<Slot>()
  const ofWebhook = newWebhookCounts()
  const quickFrom: Record<Class, number> = { good: 0, unsure: 0, hanging: 0 }
  let inFlight = 0
  let quick = 0
  let trials = 0

  const countQuick = (from: Class, change: 1 | -1) => {
    quick += change
    quickFrom[from] += change
  }
  const countTrial = (queue: WebhookQueue, change: 1 | -1) => {
    trials += change
    ofWebhook(queue).trials += change
  }

  return {
    get inFlight() {
      return inFlight + trials
    },
    inFlightOf: (queue: WebhookQueue): number => ofWebhook(queue).inFlight,
    classOf(queue: WebhookQueue): Class {
      const { slow } = ofWebhook(queue)
      if (queue.breaker.proven) return slow === 0 ? 'good' : 'unsure'
      return slow === 0 ? 'unsure' : 'hanging'
    },
    /** Returns whether a webhook of this class may begin one more request. */
    allows: (of: Class): boolean =>
      inFlight < MAX_IN_FLIGHT[of] && (quick < MAX_QUICK[of] || quickFrom[of] < RESERVED_QUICK[of]),
    /** Returns whether a webhook may begin one more request beyond the window of its circuit breaker. */
    allowsExtra: (): boolean => inFlight < MAX_WITH_EXTRA,
    /** Returns whether one more request may be in flight at all. */
    allowsAny: (): boolean => inFlight < MAX_IN_FLIGHT.good,

    allowsTrial: (queue: WebhookQueue): boolean =>
      trials < MAX_TRIALS && ofWebhook(queue).trials < MAX_TRIALS_OF_WEBHOOK,

    /** Begins a request or a trial, whose slot is quick. Returns its slot. */
    begin<S extends Slot & { readonly phase: 'quick' }>(slot: S): S {
      const { queue, from } = slot
      if (from === 'trial') {
        countTrial(queue, 1)
        return slot
      }
      begun.push(slot)
      ofWebhook(queue).inFlight += 1
      inFlight += 1
      countQuick(from, 1)
      return slot
    },
    /** Ends a request or a trial. @throws Error when it has ended. */
    end(slot: Slot): void {
      const { queue, from, phase } = slot
      if (phase === 'ended') throw new Error(`a request to webhook ${queue.webhookId} has ended twice`)
      setPhase(slot, 'ended')
      if (from === 'trial') {
        countTrial(queue, -1)
        return
      }
      ofWebhook(queue).inFlight -= 1
      inFlight -= 1
      if (phase === 'slow') ofWebhook(queue).slow -= 1
      else countQuick(from, -1)
    },
    /** Finds the requests that have become slow, and frees their quick places. */
    tick(nowUs: number): void {
      for (let slot = begun.peek(); slot !== undefined; slot = begun.peek()) {
        if (slot.phase !== 'ended' && nowUs - slot.startedUs < SLOW_AFTER_US) return
        begun.shift()
        if (slot.phase === 'ended' || slot.from === 'trial') continue
        setPhase(slot, 'slow')
        ofWebhook(slot.queue).slow += 1
        countQuick(slot.from, -1)
      }
    },
  }
}

function setPhase(slot: Slot, phase: Slot['phase']): void {
  const state: State = slot
  state.phase = phase
}

/** Counts the requests in flight to each webhook. */
function newWebhookCounts() {
  const counts = new WeakMap<WebhookQueue, { inFlight: number; slow: number; trials: number }>()
  return (queue: WebhookQueue) => {
    const known = counts.get(queue)
    if (known !== undefined) return known
    const none = { inFlight: 0, slow: 0, trials: 0 }
    counts.set(queue, none)
    return none
  }
}
