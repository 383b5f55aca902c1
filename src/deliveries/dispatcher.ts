import type { Log } from '../lib/log.ts'
import { MILLISECOND, type NowUs, SECOND, nowUs as wallUs } from '../lib/time.ts'
import { type DeliveryState, stateNumber } from '../store/records.ts'
import type { Store } from '../store/store.ts'
import { createAdmissions, type Dismiss } from './admissions.ts'
import { type Change, isLongDown } from './circuit-breaker.ts'
import type { Clock } from './clock.ts'
import type { Emitter } from './emitter.ts'
import { cancelWhatLeft, failWhatAged } from './expiry.ts'
import { type Observer, silent } from './observer.ts'
import { createOutageNotices } from './outage-notices.ts'
import { createRecorder, type Recorded } from './outcome-writer.ts'
import { createFeed } from './queue/loader.ts'
import { createLanes, type Flight } from './queue/scheduler.ts'
import { createReceivers } from './queue/webhook-cache.ts'
import type { Item } from './queue/webhook-queue.ts'
import { DEFAULT_SCHEDULE_MS, failureOf, next, statusOf, wholeScheduleUs } from './retry-policy.ts'
import type { Attempt, Attempted } from './sending/attempt.ts'

export type DispatcherOptions = {
  readonly store: Pick<Store, 'queue' | 'webhooks'>
  readonly emitter: Emitter
  readonly attempt: Attempt
  readonly log: Log
  readonly scheduleMs?: readonly number[]
  readonly observer?: Observer
  /** Told when a webhook has been down for long, and when it is back after that. */
  readonly onOutage?: (url: string, state: 'down' | 'up') => void
  /** Returns whether what the PBXs sent waits to be handled: then fewer attempts begin. */
  readonly isIntakeBehind?: () => boolean
  readonly clock: Clock
  readonly nowUs?: NowUs
  readonly random?: () => number
}

/** How a webhook does, for whoever shows it. */
export type WebhookHealth = { readonly state: 'unknown' | 'up' | 'down'; readonly downForMs: number | undefined }

export type Dispatcher = {
  /** Waits until there is room for a request to a webhook that is no delivery, before deliveries. A success closes its circuit breaker. */
  admit(webhookId: number): Promise<Dismiss>
  health(webhookId: number): WebhookHealth
  readonly inFlight: number
  /** How many webhooks are down, and how many of them for 5 minutes or more. */
  down(): { now: number; long: number }
  /** Begins no more attempts; resolves when those under way have ended and are on disk. */
  stop(): Promise<void>
}

/** How often the clock is looked at: for retries, probes, and what takes long. */
const TICK_MS = 25
/** How long nothing is sent when this machine has nothing to send with. */
const PAUSE_US = SECOND
const SAY_UNSENT_US = 60 * SECOND
/** How often it is seen to that what has to end without an attempt ends. */
const CARE_MS = 5_000
/** Attempts at a time while the inboxes are filling: each answer takes a turn of the event loop from them. */
const IN_FLIGHT_WHEN_BEHIND = 4
/** How soon a list that could not be read is read again. */
const LOOK_AGAIN_MS = 1_000

/**
 * Sends what waits. The table is the queue; lanes are an index over it, which `feed` fills; `recorder` writes what came of it.
 */
export function startDispatcher(options: DispatcherOptions): Dispatcher {
  const { store, emitter, attempt, log, scheduleMs = DEFAULT_SCHEDULE_MS, observer = silent, onOutage } = options
  const { nowUs = wallUs, clock, random = Math.random, isIntakeBehind = () => false } = options
  const { queue } = store
  const { steadyUs } = clock
  const lanes = createLanes()
  const receivers = createReceivers(store.webhooks, nowUs)
  const feed = createFeed({ queue, lanes, receivers, steadyUs, onLoaded, onFailed })
  const recorder = createRecorder({ queue, log, recorded })
  const admissions = createAdmissions({ lanes, steadyUs, dismissed })
  const maxAgeUs = wholeScheduleUs(scheduleMs)
  const caretaker = { queue, lanes, feed, receivers, nowUs, steadyUs, maxAgeUs, ended: endedUntried }
  const urlOf = (webhookId: number) => receivers.get(webhookId)?.target.plain ?? ''
  const outages = createOutageNotices({ queues: lanes.lines, urlOf, steadyUs, log, onOutage })
  let stopping = false
  let pumping = false
  let pumpScheduled = false
  /** Since attempts could not begin lately, the next do then. */
  let pausedToUs = 0
  let saidUnsentUs = Number.NEGATIVE_INFINITY
  let idle: (() => void) | undefined

  function recorded(items: readonly Item[], overtaken: readonly number[]): void {
    for (const item of items) feed.settled(item, overtaken.length > 0 && overtaken.includes(item.id))
    if (emitter.listenerCount('deliveries') > 0)
      emitter.emit(
        'deliveries',
        items.map(({ id }) => id),
      )
    if (overtaken.length > 0) forgetLeft()
    pump()
  }

  function dismissed(webhookId: number, change: Change): void {
    if (change !== undefined) changed(change, webhookId)
    if (stopping && lanes.inFlight === 0) idle?.()
    pump()
  }

  function forgetLeft(): void {
    for (const webhookId of feed.forgetLeft()) {
      outages.forget(webhookId)
      observer.left(webhookId)
    }
  }

  function endedUntried(ids: readonly number[], state: 'failed' | 'cancelled'): void {
    observer.dropped(ids.length, state)
    emitter.emit('deliveries', ids)
  }

  function pump(): void {
    admissions.begin()
    if (pumping || stopping || recorder.congested() || steadyUs() < pausedToUs) return
    pumping = true
    try {
      feed.refill()
      const atUs = steadyUs()
      while (mayBegin()) {
        const flight = lanes.take(atUs)
        if (flight === undefined) break
        launch(flight)
      }
    } finally {
      pumping = false
    }
  }

  /** Reading and tracking come before sending: what a PBX says and nobody reads is lost, what waits to be sent is only late. */
  const mayBegin = () => !recorder.congested() && (lanes.inFlight < IN_FLIGHT_WHEN_BEHIND || !isIntakeBehind())

  /** In a turn of the event loop of its own: reading a backlog must not hold up everything else. */
  function onLoaded(): void {
    if (pumpScheduled) return
    pumpScheduled = true
    setImmediate(() => {
      pumpScheduled = false
      pump()
    })
  }

  function onFailed(error: unknown): void {
    log.warn({ err: error }, 'cannot read pending deliveries: the store is unavailable, will retry')
  }

  function launch(flight: Flight): void {
    const { item } = flight
    const receiver = receivers.get(item.webhookId)
    if (receiver === undefined)
      throw new Error(`delivery ${item.id} is for webhook ${item.webhookId}, which is unknown`)
    const atUs = nowUs()
    const timestampS = Math.floor(atUs / SECOND)
    const signature = receiver.sign(item.uuid, timestampS, item.body)
    observer.started(item, flight.startedUs - item.sinceUs)
    attempt({ target: receiver.target, id: item.uuid, timestampS, signature, body: item.body }).then((attempted) => {
      land(flight, atUs, attempted)
      pump()
    })
  }

  function land(flight: Flight, atUs: number, attempted: Attempted): void {
    const { item, line, probe } = flight
    const { outcome } = attempted
    if (outcome.kind === 'unsent') {
      putBack(flight, outcome.reason)
      return
    }
    // Clocks are read once for all that follows from one answer.
    const [endedUs, landedUs] = [nowUs(), steadyUs()]
    const change = lanes.ended(flight, outcome, landedUs)
    const stillDown = probe && line.health.down !== undefined
    const ended = stillDown ? probed(item, landedUs) : attemptedOnce(item, attempted, landedUs)
    recorder.add(item, recordOf(item, ended, { attempted, atUs, endedUs, probe: stillDown }))
    const url = receivers.get(item.webhookId)?.target.plain ?? ''
    const waitedUs = landedUs - item.sinceUs
    observer.ended({ delivery: item, url, attempted, state: ended.state, probe: stillDown, atUs: endedUs, waitedUs })
    feed.landed(item, ended.state === 'pending')
    lanes.release(flight, landedUs)
    if (change !== undefined) changed(change, item.webhookId)
    if (ended.state === 'failed') sayFailed(item, attempted)
    if (stopping && lanes.inFlight === 0) idle?.()
  }

  /** What could not be sent for a reason of our own is as if it had never begun; others would fare no better just now. */
  function putBack(flight: Flight, reason: string): void {
    const atUs = steadyUs()
    if (atUs >= saidUnsentUs + SAY_UNSENT_US) {
      saidUnsentUs = atUs
      log.error({ reason }, 'attempts cannot begin: they are tried again every second, and none is counted')
    }
    pausedToUs = atUs + PAUSE_US
    lanes.ended(flight, { kind: 'unsent', reason }, atUs)
    feed.putBack(flight.item)
    lanes.release(flight, atUs)
    if (stopping && lanes.inFlight === 0) idle?.()
  }

  /** A probe that failed counts against nothing: only age ends its delivery. */
  function probed(item: Item, landedUs: number): Verdict {
    const aged = landedUs - item.sinceUs > maxAgeUs
    return { state: aged ? 'failed' : 'pending' }
  }

  function attemptedOnce(item: Item, { outcome }: Attempted, landedUs: number): Verdict {
    item.tries += 1
    item.attemptsMade += 1
    const then = next(item.tries, outcome, landedUs, random(), scheduleMs)
    if (then.state !== 'retry') return { state: then.state }
    item.dueUs = then.atUs
    return { state: 'pending' }
  }

  function sayFailed(item: Item, { outcome }: Attempted): void {
    const answer = failureOf(outcome) ?? statusOf(outcome)
    const url = receivers.get(item.webhookId)?.target.plain
    const facts = { webhook: item.webhookId, url, delivery: item.id, event: item.uuid, call: item.callId, answer }
    log.warn(facts, 'a delivery has failed for good: hookswitch delivery retry sends it again')
  }

  function changed(change: 'went down' | 'came back', webhookId: number): void {
    const receiver = receivers.get(webhookId)
    const facts = { webhook: webhookId, url: receiver?.target.plain }
    if (change === 'went down') {
      log.warn(facts, 'webhook is down: it is probed, what waits for it spends no attempts')
      feed.wentDown(webhookId)
    } else {
      log.info(facts, 'webhook is back: what waited for it drains')
      outages.closed(webhookId)
    }
  }

  const cancel = () => {
    cancelWhatLeft(caretaker).then(forgetLeft, (error) => log.warn({ err: error }, 'cancelling waits for the store'))
  }
  const look = async (by: 'us' | 'others') => {
    const active = await store.webhooks.webhookListActive()
    await receivers.refresh(active)
    feed.look(by, active)
    cancel()
    pump()
  }
  const lookOrSay = async (by: 'us' | 'others'): Promise<void> => {
    try {
      await look(by)
    } catch (error) {
      log.warn({ err: error }, 'cannot read the webhooks: the store is unavailable, will retry')
      setTimeout(lookOrSay, LOOK_AGAIN_MS, by)
    }
  }
  const own = () => void lookOrSay('us')
  const due = async (ids: readonly number[] = []) => {
    await lookOrSay('us')
    for (const id of ids) await feed.urge(id).catch(onFailed)
    pump()
  }
  const foreign = () => void lookOrSay('others')
  emitter.on('stored', (stored) => {
    for (const event of stored) feed.offer(event)
    pump()
  })
  emitter.on('webhooks', own).on('due', due).on('foreign', foreign)
  const ticker = setInterval(() => {
    clock.look()
    lanes.tick(steadyUs())
    feed.tick()
    lanes.wake(steadyUs())
    pump()
  }, TICK_MS)
  const carer = setInterval(() => {
    cancel()
    outages.look()
    failWhatAged(caretaker).catch((error) => log.warn({ err: error }, 'ageing waits for the store'))
  }, CARE_MS)
  own()

  return {
    admit: admissions.admit,
    health(webhookId) {
      const health = lanes.known(webhookId)?.health
      const down = health?.down
      if (down !== undefined) return { state: 'down', downForMs: (steadyUs() - down.sinceUs) / MILLISECOND }
      return { state: health?.proven ? 'up' : 'unknown', downForMs: undefined }
    },
    down() {
      const lines = [...lanes.lines()].filter(({ health }) => health.down !== undefined)
      return { now: lines.length, long: lines.filter(({ health }) => isLongDown(health, steadyUs())).length }
    },
    get inFlight() {
      return lanes.inFlight
    },
    async stop() {
      stopping = true
      admissions.stop()
      clearInterval(carer)
      emitter.off('webhooks', own).off('due', due).off('foreign', foreign)
      const { promise, resolve } = Promise.withResolvers<void>()
      idle = resolve
      if (lanes.inFlight > 0) await promise
      clearInterval(ticker)
      await recorder.stop()
    },
  }
}

type Verdict = { readonly state: Exclude<DeliveryState, 'cancelled'> }

/** What is written of an attempt, and of its delivery then. */
function recordOf(
  item: Item,
  { state }: Verdict,
  { attempted, atUs, endedUs, probe }: { attempted: Attempted; atUs: number; endedUs: number; probe: boolean },
): Recorded {
  const { outcome, durationMs, address, response } = attempted
  return {
    state: stateNumber(state),
    dueSteadyUs: state === 'pending' ? (item.dueUs ?? null) : null,
    endedUs: state === 'pending' ? null : endedUs,
    attemptUs: atUs,
    probe,
    status: statusOf(outcome),
    durationMs,
    error: failureOf(outcome),
    address,
    response,
  }
}
