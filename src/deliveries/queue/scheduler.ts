import { newFifo } from '../../lib/fifo.ts'
import { type BreakerChange, MAX_WINDOW, recordOutcome } from '../../outbound/circuit-breaker.ts'
import { type Outcome, requestsOf } from '../../outbound/outcome.ts'
import { type Capacity, CLASSES, type Class, createCapacity, type Slot } from './capacity.ts'
import type { LoadedDelivery } from './delivery.ts'
import { noteEnded, noteFull, notePassed } from './extra-window.ts'
import {
  defer,
  mayBegin as mayBeginAt,
  mayTry,
  newSharedPace,
  nextOfShared,
  noteBegun,
  noteRequests,
  type SharedPace,
  setTiming,
  sharePace,
  suspend,
  type WebhookTiming,
} from './pace.ts'
import { createRunningTime, type RunningTime } from './running-time.ts'
import { newWebhookQueue, type WebhookQueue } from './webhook-queue.ts'

/** One attempt on a delivery that is in flight; or, where `from` is `trial`, a turn of its flow that sends nothing. */
export type AttemptSlot = Slot & {
  readonly delivery: LoadedDelivery
  readonly probe: boolean
  /** When it began, in the time in which this process ran. */
  readonly begunUs: number
}

/** Called after the circuit breaker of a webhook opened or closed, its owner paused it, or its queue was removed. */
type WebhookListener = (webhookId: number, change: BreakerChange | 'paused' | 'removed') => void

/**
 * Decides whose delivery is sent next. Pure: times are parameters, of the steady clock.
 *
 * Invariants: the webhooks of a class take turns, and so do the classes; a webhook has at most as many attempts in
 * flight as the window of its circuit breaker allows (1 to 16), in a healthy time up to 48 more, and one probe while
 * the breaker is open. Deliveries of a flow that must wait get a trial first, outside of these limits: an event that
 * begins no step is delivered at once.
 */
export type Scheduler = {
  /** How many requests are in flight: attempts and test requests. */
  readonly inFlight: number
  /** Returns the queue of a webhook; a new one is created. */
  queueOf(webhookId: number): WebhookQueue
  /** Returns the queue of a webhook, `undefined` if it has none. */
  find(webhookId: number): WebhookQueue | undefined
  queues(): Iterable<WebhookQueue>
  /** Sets when a webhook may be sent to, from now on. */
  setTiming(webhookId: number, timing: WebhookTiming): void
  /** Removes the queue of a webhook for which nothing is queued or in flight. */
  remove(webhookId: number): void
  /** Adds a delivery to the queue of its webhook. @throws Error when it is not queued. */
  add(delivery: LoadedDelivery, nowUs: number): void
  /** Makes a queued delivery the next of its webhook, even while that is down. */
  prioritize(delivery: LoadedDelivery, nowUs: number): void
  /** Begins the next attempt, or the next trial of a flow. Returns `undefined` if none may begin now. */
  take(nowUs: number): AttemptSlot | undefined
  /**
   * Ends an attempt. Its lane stays closed until `release`, so that the delivery can be queued again before.
   * `requests`: how many it made, of a flow; its pace counts these.
   */
  end(slot: AttemptSlot, outcome: Outcome, nowUs: number, requests?: number): void
  /** Lets no request to a webhook begin for a time; trials go on. */
  defer(webhookId: number, forUs: number, nowUs: number): void
  /** Ends an attempt that an error of this program interrupted, if it has not ended. Suspends its webhook for 1 s. */
  interrupt(slot: AttemptSlot, nowUs: number): void
  /** Opens the lane of a delivery whose attempt has ended. */
  release(delivery: LoadedDelivery, nowUs: number): void
  /**
   * Begins a request that is not a delivery, within the 16 or more of its webhook and the limit of all, but not the
   * window of its circuit breaker.
   * Returns `undefined` if the limits do not allow one more now.
   */
  reserve(webhookId: number, nowUs: number): Slot | undefined
  /** Ends such a request. Only a success affects the circuit breaker, and closes it. */
  endReserved(slot: Slot, outcome: Outcome, nowUs: number): void
  /** Notes that the receiver of a webhook works: another process had an answer from it. */
  noteAnswered(webhookId: number, nowUs: number): void
  /** Notices requests that became slow and probes that became due. Call it some 40 times a second. */
  tick(nowUs: number): void
  /** Calls back from now on, in the order of subscription. */
  subscribe(listener: WebhookListener): void
}

/** Creates a scheduler without queues. */
export function createScheduler(): Scheduler {
  const queues = newQueues()
  const { queueOf } = queues
  const capacity = createCapacity()
  const turns = newTurns(capacity, queues.find)
  const wide = new Set<WebhookQueue>()
  const running = createRunningTime()

  const judge = ({ webhookId, breaker }: WebhookQueue, outcome: Outcome, at: { probe: boolean; nowUs: number }) => {
    const change = recordOutcome(breaker, outcome, at)
    if (change !== undefined) queues.publish(webhookId, change)
  }

  return {
    get inFlight() {
      return capacity.inFlight
    },
    ...queues,
    queues: queues.all,
    add(delivery, nowUs) {
      const queue = queueOf(delivery.webhookId)
      queue.add(delivery)
      turns.add(queue, nowUs)
    },
    prioritize(delivery, nowUs) {
      const queue = queueOf(delivery.webhookId)
      queue.prioritize(delivery)
      turns.add(queue, nowUs)
    },
    take(nowUs) {
      // A request becomes slow in time, so that it gives way to others of a receiver that is slow but well.
      capacity.tick(nowUs)
      return takeNext({ turns, capacity, running }, nowUs)
    },
    end(slot, outcome, nowUs, requests = requestsOf(outcome)) {
      const { queue, begunUs } = slot
      capacity.end(slot)
      if (slot.from === 'trial') return
      const times = { startedUs: begunUs, nowUs: running.at(nowUs) }
      noteEnded(queue.extraWindow, { ...times, outcome, isAnyWaiting: queue.hasReady })
      if (queue.extraWindow.extra > 0) wide.add(queue)
      noteRequests(queue.pace, nowUs, requests)
      judge(queue, outcome, { probe: slot.probe, nowUs })
      if (outcome.kind === 'advanced') queue.noteGoesOn(slot.delivery)
    },
    defer: (webhookId, forUs, nowUs) => defer(queueOf(webhookId).pace, nowUs, forUs),
    interrupt(slot, nowUs) {
      if (slot.phase !== 'ended') capacity.end(slot)
      suspend(slot.queue.pace, nowUs)
    },
    release(delivery, nowUs) {
      const queue = queueOf(delivery.webhookId)
      queue.release(delivery)
      turns.add(queue, nowUs)
    },
    reserve(webhookId, nowUs) {
      const queue = queueOf(webhookId)
      const isAllowed = capacity.allowsAny() && capacity.inFlightOf(queue) < MAX_WINDOW + queue.extraWindow.extra
      if (!isAllowed) return undefined
      return capacity.begin({ queue, from: capacity.classOf(queue), startedUs: nowUs, phase: 'quick' })
    },
    endReserved(slot, outcome, nowUs) {
      capacity.end(slot)
      if (outcome.kind === 'delivered') judge(slot.queue, outcome, { probe: false, nowUs })
      turns.add(slot.queue, nowUs)
    },
    noteAnswered(webhookId, nowUs) {
      const queue = queues.find(webhookId)
      if (queue === undefined) return
      judge(queue, { kind: 'delivered', status: 200 }, { probe: false, nowUs })
      turns.add(queue, nowUs)
    },
    tick(nowUs) {
      capacity.tick(nowUs)
      running.tick(nowUs)
      for (const queue of wide) {
        const isIdle = queue.size === 0 && capacity.inFlightOf(queue) === 0
        notePassed(queue.extraWindow, { isIdle, nowUs: running.at(nowUs) })
        if (queue.extraWindow.extra === 0) wide.delete(queue)
      }
      turns.addAll(nowUs)
    },
  }
}

type Parts = {
  readonly turns: ReturnType<typeof newTurns>
  readonly capacity: Capacity
  readonly running: RunningTime
}

function takeNext({ turns, capacity, running }: Parts, nowUs: number): AttemptSlot | undefined {
  const begunUs = running.at(nowUs)
  for (let turn = turns.next(nowUs); turn !== undefined; turn = turns.next(nowUs)) {
    const { queue, from } = turn
    const delivery = queue.take()
    if (delivery === undefined) continue
    noteBegun(queue.pace, nowUs)
    const probe = queue.breaker.open !== undefined
    const slot = capacity.begin({ queue, delivery, from, startedUs: nowUs, begunUs, probe, phase: 'quick' })
    const window = queue.breaker.window + queue.extraWindow.extra
    if (capacity.inFlightOf(queue) >= window) noteFull(queue.extraWindow, begunUs)
    turns.add(queue, nowUs)
    return slot
  }
  const queue = turns.nextTrial(nowUs)
  const delivery = queue?.takeTrial()
  if (queue === undefined || delivery === undefined) return undefined
  turns.add(queue, nowUs)
  return capacity.begin({ queue, delivery, from: 'trial', startedUs: nowUs, begunUs, probe: false, phase: 'quick' })
}

/** The queues of all webhooks, and the subscribers to their changes. */
function newQueues() {
  const queues = new Map<number, WebhookQueue>()
  const sharedPaces = new Map<string, SharedPace>()
  const listeners: WebhookListener[] = []
  /** Returns the pace of this name, and forgets the paces that no webhook shares. */
  const sharedPaceOf = (name: string): SharedPace => {
    for (const [other, { members }] of sharedPaces) if (members.size === 0) sharedPaces.delete(other)
    const shared = sharedPaces.get(name) ?? newSharedPace()
    sharedPaces.set(name, shared)
    return shared
  }
  const publish: WebhookListener = (webhookId, change) => {
    for (const listener of listeners) listener(webhookId, change)
  }
  const queueOf = (webhookId: number): WebhookQueue => {
    const known = queues.get(webhookId)
    if (known !== undefined) return known
    const queue = newWebhookQueue(webhookId)
    queues.set(webhookId, queue)
    return queue
  }
  return {
    publish,
    subscribe: (listener: WebhookListener): void => void listeners.push(listener),
    all: () => queues.values(),
    find: (webhookId: number) => queues.get(webhookId),
    queueOf,
    setTiming(webhookId: number, timing: WebhookTiming): void {
      // The default needs no queue to be set.
      const { paused, maxPerSecond, hasFlow, sharedPace } = timing
      const isSet = paused || maxPerSecond !== null || hasFlow || sharedPace !== undefined
      const queue = isSet ? queueOf(webhookId) : queues.get(webhookId)
      if (queue === undefined) return
      const isNewlyPaused = setTiming(queue.pace, timing)
      sharePace(queue.pace, sharedPace === undefined ? undefined : sharedPaceOf(sharedPace))
      if (isNewlyPaused) publish(webhookId, 'paused')
    },
    remove(webhookId: number): void {
      const pace = queues.get(webhookId)?.pace
      if (pace !== undefined) sharePace(pace, undefined)
      queues.delete(webhookId)
      publish(webhookId, 'removed')
    },
  }
}

/** The webhook whose turn it is, and the class in which it has it. */
type Turn = { readonly queue: WebhookQueue; readonly from: Class }

/** The webhooks that may begin an attempt, in turn within a class; the classes take turns too. */
function newTurns(capacity: Capacity, find: (webhookId: number) => WebhookQueue | undefined) {
  const turnsOf = { good: newFifo<WebhookQueue>(), unsure: newFifo<WebhookQueue>(), hanging: newFifo<WebhookQueue>() }
  const members = new Set<WebhookQueue>()
  const forTrial = new Set<WebhookQueue>()
  /** The webhooks that have deliveries queued: no other can have a turn. */
  const filled = new Set<WebhookQueue>()
  let turn = 0

  const mayProbe = (queue: WebhookQueue, probeAtUs: number, nowUs: number): boolean =>
    capacity.inFlightOf(queue) === 0 && (queue.hasUrgent || nowUs >= probeAtUs)
  /** The one place that decides whether a webhook may begin an attempt now. */
  const mayBegin = (queue: WebhookQueue, nowUs: number): boolean => {
    const { breaker, pace } = queue
    const { window, open } = breaker
    if (queue.size === 0 || !mayBeginAt(pace, nowUs)) return false
    if (open !== undefined) return mayProbe(queue, open.probeAtUs, nowUs)
    const inFlight = capacity.inFlightOf(queue)
    if (inFlight >= pace.parallel) return false
    if (inFlight + queue.goingOn >= pace.parallel && !queue.hasGoingOn) return false
    return inFlight < window || (inFlight < window + queue.extraWindow.extra && capacity.allowsExtra())
  }
  const shift = (): Turn | undefined => {
    for (let step = 0; step < CLASSES.length; step += 1) {
      const from = CLASSES[(turn + step) % CLASSES.length] ?? 'good'
      const queue = capacity.allows(from) ? turnsOf[from].shift() : undefined
      if (queue === undefined) continue
      turn += 1
      members.delete(queue)
      return { queue, from }
    }
    return undefined
  }

  const add = (queue: WebhookQueue, nowUs: number): void => {
    if (queue.size > 0) filled.add(queue)
    if (queue.hasTrial) forTrial.add(queue)
    if (members.has(queue) || !mayBegin(queue, nowUs)) return
    members.add(queue)
    turnsOf[capacity.classOf(queue)].push(queue)
  }
  /** Returns whether a webhook not only may begin an attempt, but would: no other should wait for it in vain. */
  const wouldBegin = (queue: WebhookQueue, nowUs: number): boolean =>
    mayBegin(queue, nowUs) && queue.hasReady && capacity.allows(capacity.classOf(queue))
  /** Gives a turn to the webhook that is the next of those with a shared pace: else the same one might take it all. */
  const giveWay = (turn: Turn, nowUs: number): Turn => {
    const nextId = nextOfShared(turn.queue.pace, (webhookId) => {
      const other = find(webhookId)
      return other !== undefined && wouldBegin(other, nowUs)
    })
    const next = nextId === undefined ? undefined : find(nextId)
    if (next === undefined || next === turn.queue) return turn
    add(turn.queue, nowUs)
    return { queue: next, from: capacity.classOf(next) }
  }

  return {
    /** Adds a webhook at the end of its class, unless it may not begin an attempt or has its turn already. */
    add,
    /** Adds all webhooks that may begin an attempt by now. */
    addAll(nowUs: number): void {
      for (const queue of filled) {
        if (queue.size === 0) filled.delete(queue)
        else add(queue, nowUs)
      }
    },
    /**
     * Returns the webhook whose turn it is to begin a trial, if any. Webhooks that may not begin one are added again
     * later.
     */
    nextTrial(nowUs: number): WebhookQueue | undefined {
      for (const queue of forTrial) {
        forTrial.delete(queue)
        if (queue.hasTrial && mayTry(queue.pace, nowUs) && capacity.allowsTrial(queue)) return queue
      }
      return undefined
    },
    /** Returns the webhook whose turn it is, and the class in which it had it; `undefined` if none may begin. */
    next(nowUs: number): Turn | undefined {
      let turn = shift()
      while (turn !== undefined && !mayBegin(turn.queue, nowUs)) turn = shift()
      return turn?.queue.pace.shared === undefined ? turn : giveWay(turn, nowUs)
    },
  }
}
