import { newFifo } from '../../lib/fifo.ts'
import { MILLISECOND } from '../../lib/time.ts'
import type { WebhookQueue } from './webhook-queue.ts'

/**
 * How many requests may be in flight, over all webhooks. Pure.
 *
 * Webhooks are in three classes: *good* (the last answer was fine, no request is slow), *unsure* (nothing is known yet, or one is slow) and
 * *hanging* (neither). The worse the class, the less of the capacity it may use: receivers that hang never hold up those that answer.
 */
export const CLASSES = ['good', 'unsure', 'hanging'] as const
export type Class = (typeof CLASSES)[number]

/** All requests in flight. */
const MAX_IN_FLIGHT: Readonly<Record<Class, number>> = { good: 1_024, unsure: 960, hanging: 512 }
/** Requests that began lately: more than 128 active requests halve the throughput of `fetch`, and 64 was the best. */
const MAX_QUICK: Readonly<Record<Class, number>> = { good: 64, unsure: 32, hanging: 16 }
/** Quick requests that a class may have in any case: a few good webhooks with a backlog would shut out those that are new, or probed. */
const RESERVED_QUICK: Readonly<Record<Class, number>> = { good: 0, unsure: 8, hanging: 4 }
/** From then on a request is slow: it uses nothing but its place among all in flight. */
const SLOW_AFTER_US = 50 * MILLISECOND

/** The place of one request in flight: first quick, slow after 50 ms, then ended. */
export type Slot = {
  readonly queue: WebhookQueue
  /** The class of its webhook when it began. */
  readonly from: Class
  readonly startedUs: number
  readonly phase: 'quick' | 'slow' | 'ended'
}

type State = { -readonly [name in keyof Slot]: Slot[name] }

export type Capacity = ReturnType<typeof createCapacity>

/** Creates the counts of requests in flight. */
export function createCapacity() {
  const begun = newFifo<Slot>()
  const counts = new WeakMap<WebhookQueue, { inFlight: number; slow: number }>()
  const quickFrom: Record<Class, number> = { good: 0, unsure: 0, hanging: 0 }
  let inFlight = 0
  let quick = 0

  const countsOf = (queue: WebhookQueue) => {
    const known = counts.get(queue)
    if (known !== undefined) return known
    const none = { inFlight: 0, slow: 0 }
    counts.set(queue, none)
    return none
  }
  const noLongerQuick = ({ from }: Slot) => {
    quick -= 1
    quickFrom[from] -= 1
  }

  return {
    get inFlight() {
      return inFlight
    },
    /** Returns how many requests to a webhook are in flight. */
    inFlightOf: (queue: WebhookQueue): number => countsOf(queue).inFlight,
    /** Returns the class of a webhook now. */
    classOf(queue: WebhookQueue): Class {
      const { slow } = countsOf(queue)
      if (queue.breaker.proven) return slow === 0 ? 'good' : 'unsure'
      return slow === 0 ? 'unsure' : 'hanging'
    },
    /** Returns whether a webhook of this class may begin one more request. */
    hasRoom: (of: Class): boolean =>
      inFlight < MAX_IN_FLIGHT[of] && (quick < MAX_QUICK[of] || quickFrom[of] < RESERVED_QUICK[of]),
    /** Returns whether one more request may be in flight at all. */
    hasRoomInFlight: (): boolean => inFlight < MAX_IN_FLIGHT.good,

    /** Begins a request. */
    begin<S extends Omit<Slot, 'phase'>>(request: S): S & Slot {
      const slot: S & Slot = { ...request, phase: 'quick' }
      begun.push(slot)
      countsOf(slot.queue).inFlight += 1
      inFlight += 1
      quick += 1
      quickFrom[slot.from] += 1
      return slot
    },
    /** Ends a request. @throws Error when it has ended. */
    end(slot: Slot): void {
      if (slot.phase === 'ended') throw new Error(`a request to webhook ${slot.queue.webhookId} has ended twice`)
      const ofWebhook = countsOf(slot.queue)
      ofWebhook.inFlight -= 1
      inFlight -= 1
      if (slot.phase === 'slow') ofWebhook.slow -= 1
      else noLongerQuick(slot)
      const state: State = slot
      state.phase = 'ended'
    },
    /** Finds the requests that have become slow: they no longer use the place of a quick one. */
    tick(nowUs: number): void {
      for (let slot = begun.peek(); slot !== undefined; slot = begun.peek()) {
        if (slot.phase !== 'ended' && nowUs - slot.startedUs < SLOW_AFTER_US) return
        begun.shift()
        if (slot.phase === 'ended') continue
        const state: State = slot
        state.phase = 'slow'
        countsOf(slot.queue).slow += 1
        noLongerQuick(slot)
      }
    },
  }
}
