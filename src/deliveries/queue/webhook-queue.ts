import { newFifo } from '../../lib/fifo.ts'
import { type CircuitBreaker, newCircuitBreaker } from '../../outbound/circuit-breaker.ts'
import {
  hasFirstAttempt,
  headMayNeedNone,
  insertDelivery,
  isReady,
  isUnused,
  type Lane,
  newLane,
  openLane,
  removeDeliveries,
  takeFirst,
  takeUrgent,
} from './call-lane.ts'
import { beginAttempt, beginTrial, type LoadedDelivery } from './delivery.ts'
import { type ExtraWindow, newExtraWindow } from './extra-window.ts'
import { newPace, type Pace } from './pace.ts'

/**
 * The queued deliveries of one webhook, in a lane for each call. Pure.
 *
 * Invariants: a lane has one delivery in flight at most, and the lowest id goes first; lanes with a first attempt are
 * served before lanes that have retries alone; lanes of a kind take turns. In its lane a retry precedes first attempts
 * with a higher id, so that a backlog is sent in the order of its events. Urgent deliveries precede all others, and
 * after them the deliveries whose flow goes on: calls that have begun end first.
 */
export type WebhookQueue = {
  readonly webhookId: number
  readonly breaker: CircuitBreaker
  /** How many more may be in flight than the circuit breaker allows. */
  readonly extraWindow: ExtraWindow
  /** Whether and how fast it may be sent to. */
  readonly pace: Pace
  /** How many deliveries are queued; those in flight are not counted. */
  readonly size: number
  /** Whether an urgent delivery is queued, and its lane is open. */
  readonly hasUrgent: boolean
  /** Whether a delivery can be taken: one is queued, and its lane is open. */
  readonly hasReady: boolean
  /** The number of deliveries between two steps of their flow, which `parallel` counts as in flight. */
  readonly goingOn: number
  /** Whether a delivery between two steps can be taken. */
  readonly hasGoingOn: boolean
  /** Notes that the flow of a delivery goes on after the step that has just ended. */
  noteGoesOn(delivery: LoadedDelivery): void
  /** Adds a delivery. @throws Error when it is not queued. */
  add(delivery: LoadedDelivery): void
  /** Makes a delivery the next, after first attempts of its call that precede it; nothing if it is not queued here. */
  prioritize(delivery: LoadedDelivery): void
  /** Whether a delivery of a flow can be taken for a trial. */
  readonly hasTrial: boolean
  /** Begins the next attempt, and closes its lane until `release`. Returns `undefined` if no delivery can be taken. */
  take(): LoadedDelivery | undefined
  /** Begins the next trial of a flow, and closes its lane until `release`; `undefined`: no delivery can be taken. */
  takeTrial(): LoadedDelivery | undefined
  /** Opens the lane of a delivery that was taken. To queue the delivery again, add it before. */
  release(delivery: LoadedDelivery): void
  /** Removes queued deliveries that match, and returns them. */
  remove(matches: (delivery: LoadedDelivery) => boolean): LoadedDelivery[]
  /** Returns the ids of the queued deliveries, lowest first. */
  ids(): number[]
}

/** Returns an empty queue with a closed circuit breaker. */
export function newWebhookQueue(webhookId: number): WebhookQueue {
  const lanes = new Map<string, Lane>()
  const rotation = newRotation()
  const breaker = newCircuitBreaker()
  const urgent = newUrgent(lanes)
  const goingOn = newGoingOn(lanes)
  const pace = newPace(webhookId)
  /** Lanes whose next delivery a trial may end. A webhook without a flow has none. */
  const forTrial = new Set<Lane>()
  let size = 0

  const takeNext = (): LoadedDelivery | undefined => {
    const lane = rotation.next()
    return lane === undefined ? undefined : takeFirst(lane)
  }
  const laneOf = (callId: string): Lane => {
    const known = lanes.get(callId)
    if (known !== undefined) return known
    const lane = newLane(callId)
    lanes.set(callId, lane)
    return lane
  }
  const removeUnused = (lane: Lane) => {
    if (isUnused(lane)) lanes.delete(lane.callId)
  }
  const noteTrial = (lane: Lane) => {
    if (pace.hasFlow && headMayNeedNone(lane)) forTrial.add(lane)
    else if (forTrial.size > 0) forTrial.delete(lane)
  }
  const noteTaken = (delivery: LoadedDelivery) => {
    urgent.remove((one) => one === delivery)
    goingOn.remove(delivery)
    size -= 1
    const lane = forTrial.size > 0 ? lanes.get(delivery.callId) : undefined
    if (lane !== undefined) forTrial.delete(lane)
  }

  return {
    webhookId,
    breaker,
    extraWindow: newExtraWindow(),
    pace,
    get size() {
      return size
    },
    get hasUrgent() {
      return urgent.isReady()
    },
    get hasReady() {
      return urgent.isReady() || rotation.hasNext()
    },
    get hasTrial() {
      return forTrial.size > 0
    },
    get goingOn() {
      return goingOn.count()
    },
    get hasGoingOn() {
      return goingOn.isReady()
    },
    noteGoesOn: goingOn.add,
    add(delivery) {
      const lane = laneOf(delivery.callId)
      insertDelivery(lane, delivery)
      size += 1
      rotation.add(lane)
      noteTrial(lane)
    },
    prioritize(delivery) {
      if (lanes.get(delivery.callId)?.queued.includes(delivery)) urgent.add(delivery)
    },
    take() {
      const delivery = urgent.take() ?? goingOn.take() ?? takeNext()
      if (delivery === undefined) return undefined
      noteTaken(delivery)
      beginAttempt(delivery)
      return delivery
    },
    takeTrial() {
      const [lane] = forTrial
      const delivery = lane && takeFirst(lane)
      if (delivery === undefined) return undefined
      noteTaken(delivery)
      beginTrial(delivery)
      return delivery
    },
    release(delivery) {
      const lane = lanes.get(delivery.callId)
      if (lane?.current !== delivery) return
      openLane(lane, delivery)
      rotation.add(lane)
      noteTrial(lane)
      removeUnused(lane)
    },
    remove(matches) {
      const removed = [...lanes.values()].flatMap((lane) => {
        const ofLane = removeDeliveries(lane, matches)
        noteTrial(lane)
        removeUnused(lane)
        return ofLane
      })
      urgent.remove(matches)
      size -= removed.length
      return removed
    },
    ids: () => [...lanes.values()].flatMap(({ queued }) => queued.map(({ id }) => id)).sort((a, b) => a - b),
  }
}

/** The urgent deliveries of some lanes, in the order in which they became urgent. */
function newUrgent(lanes: ReadonlyMap<string, Lane>) {
  let deliveries: LoadedDelivery[] = []
  const next = () => deliveries.find(({ callId }) => lanes.get(callId)?.current === undefined)
  const remove = (matches: (delivery: LoadedDelivery) => boolean) => {
    if (deliveries.length > 0) deliveries = deliveries.filter((delivery) => !matches(delivery))
  }
  return {
    remove,
    /** Returns whether an urgent delivery has an open lane. */
    isReady: (): boolean => next() !== undefined,
    add(delivery: LoadedDelivery): void {
      if (!deliveries.includes(delivery)) deliveries.push(delivery)
    },
    /** Takes the next whose lane is open, or the first attempt that precedes it in its call. */
    take(): LoadedDelivery | undefined {
      const delivery = next()
      const lane = delivery && lanes.get(delivery.callId)
      if (delivery === undefined || lane === undefined) return undefined
      remove((one) => one === delivery)
      return takeUrgent(lane, delivery)
    },
  }
}

/** The deliveries between two steps of their flow, in the order in which their last steps ended. */
function newGoingOn(lanes: ReadonlyMap<string, Lane>) {
  const deliveries = new Set<LoadedDelivery>()
  const laneOf = ({ phase, callId }: LoadedDelivery): Lane | undefined => {
    const lane = phase === 'queued' ? lanes.get(callId) : undefined
    return lane !== undefined && isReady(lane) ? lane : undefined
  }
  /** Its end may come without a further step: its webhook was changed, or its account has another owner. */
  const forgetEnded = (): void => {
    for (const delivery of deliveries) if (!MAY_GO_ON.has(delivery.phase)) deliveries.delete(delivery)
  }
  return {
    add: (delivery: LoadedDelivery): void => void deliveries.add(delivery),
    remove: (delivery: LoadedDelivery): void => void deliveries.delete(delivery),
    count(): number {
      if (deliveries.size > 0) forgetEnded()
      return deliveries.size
    },
    isReady: (): boolean => deliveries.size > 0 && [...deliveries].some((one) => laneOf(one) !== undefined),
    /** Takes the first delivery of the lane of the first whose lane is open. */
    take(): LoadedDelivery | undefined {
      for (const delivery of deliveries) {
        const lane = laneOf(delivery)
        if (lane !== undefined) return takeFirst(lane)
      }
      return undefined
    },
  }
}
const MAY_GO_ON: ReadonlySet<LoadedDelivery['phase']> = new Set(['in flight', 'recording', 'queued'])

/** Lanes in turn, those with a first attempt first. A lane that is not ready when its turn comes is skipped. */
function newRotation() {
  const waiting = { first: newFifo<Lane>(), retries: newFifo<Lane>() }

  function nextOf(kind: 'first' | 'retries'): Lane | undefined {
    for (let lane = waiting[kind].shift(); lane !== undefined; lane = waiting[kind].shift()) {
      lane.turns[kind] = false
      if (isReady(lane)) return lane
    }
    return undefined
  }
  /** Skips the lanes that are not ready, as `nextOf` does: they are added again when they are. */
  function hasNextOf(kind: 'first' | 'retries'): boolean {
    for (let lane = waiting[kind].peek(); lane !== undefined; lane = waiting[kind].peek()) {
      if (isReady(lane)) return true
      lane.turns[kind] = false
      waiting[kind].shift()
    }
    return false
  }

  return {
    /** Adds a lane at the end, unless it is not ready or has its turn already. */
    add(lane: Lane): void {
      if (!isReady(lane)) return
      const kind = hasFirstAttempt(lane) ? 'first' : 'retries'
      if (lane.turns[kind]) return
      lane.turns[kind] = true
      waiting[kind].push(lane)
    },
    /** Returns the next ready lane, if any. */
    next: (): Lane | undefined => nextOf('first') ?? nextOf('retries'),
    hasNext: (): boolean => hasNextOf('first') || hasNextOf('retries'),
  }
}
