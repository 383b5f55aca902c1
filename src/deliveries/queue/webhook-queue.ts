import { newFifo } from '../../lib/fifo.ts'
import { type CircuitBreaker, newCircuitBreaker } from '../circuit-breaker.ts'
import { beginAttempt, type LoadedDelivery } from './delivery.ts'
import {
  hasFirstAttempt,
  insertDelivery,
  isReady,
  isUnused,
  type Lane,
  newLane,
  openLane,
  removeDeliveries,
  takeFirst,
  takeUrgent,
} from './lane.ts'
import { newPace, type Pace } from './pace.ts'

/**
 * The queued deliveries of one webhook, in a lane for each call. Pure.
 *
 * Invariants: a lane has one delivery in flight at most, and the lowest id goes first; lanes with a first attempt are served before lanes
 * that have retries alone; lanes of a kind take turns. In its lane a retry precedes first attempts with a higher id, so that a backlog drains
 * in the order of its events. Urgent deliveries precede all others.
 */
export type WebhookQueue = {
  readonly webhookId: number
  readonly breaker: CircuitBreaker
  /** How fast its owner wants it to be sent to. */
  readonly pace: Pace
  /** Its owner wants nothing to be sent for now. */
  isPaused: boolean
  /** How many deliveries are queued; those in flight are not counted. */
  readonly size: number
  /** Whether an urgent delivery is queued, and its lane is open. */
  readonly hasUrgent: boolean
  /** Adds a delivery. @throws Error when it is not queued. */
  add(delivery: LoadedDelivery): void
  /** Makes a queued delivery the next, after first attempts of its call that precede it; one that is not queued here is left alone. */
  prioritize(delivery: LoadedDelivery): void
  /** Begins the attempt on the next delivery, and closes its lane until `release`. Returns `undefined` if none can be taken. */
  take(): LoadedDelivery | undefined
  /** Opens the lane of a delivery that was taken. One that is queued again has to be added before, or the next of its call precedes it. */
  release(delivery: LoadedDelivery): void
  /** Removes queued deliveries that match, and returns them. */
  remove(matches: (delivery: LoadedDelivery) => boolean): LoadedDelivery[]
  /** Returns the ids of the queued deliveries, lowest first. */
  ids(): number[]
}

/** Returns an empty queue with a closed circuit breaker. */
export function newWebhookQueue(webhookId: number): WebhookQueue {
  const laneOf = new Map<string, Lane>()
  const rotation = newRotation()
  const breaker = newCircuitBreaker()
  let urgent: LoadedDelivery[] = []
  let size = 0

  const nextUrgent = () => urgent.find(({ callId }) => laneOf.get(callId)?.current === undefined)
  const takeNextUrgent = (): LoadedDelivery | undefined => {
    const next = nextUrgent()
    const lane = next === undefined ? undefined : laneOf.get(next.callId)
    if (next === undefined || lane === undefined) return undefined
    // A first attempt that precedes it in its call goes in its place.
    urgent = urgent.filter((one) => one !== next)
    return takeUrgent(lane, next)
  }
  const takeNext = (): LoadedDelivery | undefined => {
    const lane = rotation.next()
    return lane === undefined ? undefined : takeFirst(lane)
  }
  const removeUnused = (lane: Lane) => {
    if (isUnused(lane)) laneOf.delete(lane.callId)
  }

  return {
    webhookId,
    breaker,
    pace: newPace(),
    isPaused: false,
    get size() {
      return size
    },
    get hasUrgent() {
      return nextUrgent() !== undefined
    },
    add(delivery) {
      let lane = laneOf.get(delivery.callId)
      if (lane === undefined) {
        lane = newLane(delivery.callId)
        laneOf.set(delivery.callId, lane)
      }
      insertDelivery(lane, delivery)
      size += 1
      rotation.add(lane)
    },
    prioritize(delivery) {
      if (laneOf.get(delivery.callId)?.queued.includes(delivery) && !urgent.includes(delivery)) urgent.push(delivery)
    },
    take() {
      const delivery = takeNextUrgent() ?? takeNext()
      if (delivery === undefined) return undefined
      if (urgent.length > 0) urgent = urgent.filter((one) => one !== delivery)
      size -= 1
      beginAttempt(delivery)
      return delivery
    },
    release(delivery) {
      const lane = laneOf.get(delivery.callId)
      if (lane?.current !== delivery) return
      openLane(lane, delivery)
      rotation.add(lane)
      removeUnused(lane)
    },
    remove(matches) {
      const removed = [...laneOf.values()].flatMap((lane) => {
        const ofLane = removeDeliveries(lane, matches)
        removeUnused(lane)
        return ofLane
      })
      if (urgent.length > 0) urgent = urgent.filter((delivery) => !matches(delivery))
      size -= removed.length
      return removed
    },
    ids: () => [...laneOf.values()].flatMap(({ queued }) => queued.map(({ id }) => id)).sort((a, b) => a - b),
  }
}

/** Lanes in turn, those with a first attempt before those that have retries alone. A lane may stand in both, and is skipped when not ready. */
function newRotation() {
  const first = { lanes: newFifo<Lane>(), members: new Set<Lane>() }
  const retries = { lanes: newFifo<Lane>(), members: new Set<Lane>() }
  return {
    /** Adds a lane at the end, unless it is not ready or has its turn already. */
    add(lane: Lane): void {
      if (!isReady(lane)) return
      const turns = hasFirstAttempt(lane) ? first : retries
      if (turns.members.has(lane)) return
      turns.members.add(lane)
      turns.lanes.push(lane)
    },
    /** Returns the next lane that is ready; `undefined` if there is none. */
    next(): Lane | undefined {
      for (const turns of [first, retries])
        for (let lane = turns.lanes.shift(); lane !== undefined; lane = turns.lanes.shift()) {
          turns.members.delete(lane)
          if (isReady(lane)) return lane
        }
      return undefined
    },
  }
}
