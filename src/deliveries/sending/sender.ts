import { callIdOf } from '../../events/kinds.ts'
import type { MakeTurn, TurnAttempted, TurnRecord } from '../../flows/flows.ts'
import type { Log } from '../../lib/log.ts'
import { MILLISECOND, type NowUs, SECOND } from '../../lib/time.ts'
import { type AbortGroup, newAbortGroup } from '../../outbound/abort-group.ts'
import { failureOf, type Outcome, statusOf } from '../../outbound/outcome.ts'
import { traceparentOf } from '../../outbound/trace-context.ts'
import { stateNumber } from '../../store/operations/delivery-state.ts'
import type { FlowTurn } from '../../store/operations/flows.ts'
import { endAttempt, endFailedProbe, endStep, type LoadedDelivery } from '../queue/delivery.ts'
import type { LoadedDeliveries } from '../queue/loaded-deliveries.ts'
import { maxAgeUsOf, nextStep } from '../queue/retry-policy.ts'
import type { AttemptSlot, Scheduler } from '../queue/scheduler.ts'
import type { Attempt } from './attempt.ts'
import { attemptFor } from './custom-attempt.ts'
import type { Observer } from './observer.ts'
import type { OutcomeRecord, OutcomeWriter } from './outcome-writer.ts'
import type { WebhookCache } from './webhook-cache.ts'

type SenderOptions = {
  readonly attempt: Attempt
  readonly makeTurn: MakeTurn
  readonly webhooks: WebhookCache
  readonly scheduler: Scheduler
  readonly loaded: LoadedDeliveries
  readonly outcomes: OutcomeWriter
  readonly observer: Observer
  readonly log: Log
  readonly scheduleMs: readonly number[]
  readonly random: () => number
  readonly nowUs: NowUs
  readonly steadyUs: NowUs
  /** Called when this machine could not send: the delivery is queued as before. */
  readonly onUnsent: (reason: string) => void
  /** Called when an attempt has ended and its outcome was applied. */
  readonly onEnded: () => void
  /** Called when an internal error at the end of an attempt makes the memory untrustworthy. */
  readonly fail: (error: unknown) => void
}

export type Sender = {
  /** Makes an attempt. Never throws: an error affects this attempt alone, and its delivery is sent again. */
  send(slot: AttemptSlot): void
  /** Returns the number of attempts that an internal error interrupted. */
  interrupted(): number
  /** Aborts the attempts in flight for an account: they do not count. */
  abort(accountId: number): void
  /** Aborts the requests of flows that are in flight, which may take longer than other attempts. */
  abortFlows(): void
  /** Aborts all attempts in flight; resolves when they have ended. */
  abortAll(): Promise<void>
}

/** The shortest pause between two logged errors, which may recur with each attempt. */
const ERROR_LOG_US = 5 * SECOND

/** Creates the sender: it signs a delivery, makes the attempt, and applies the outcome. */
export function createSender(options: SenderOptions): Sender {
  const { webhooks, scheduler, loaded, outcomes, observer, log, scheduleMs, random } = options
  const { nowUs, steadyUs, onUnsent, onEnded } = options
  const maxAgeUs = maxAgeUsOf(scheduleMs)
  const isExpired = ({ sinceUs, webhookId }: LoadedDelivery, atSteadyUs: number): boolean =>
    atSteadyUs - Math.max(sinceUs, webhooks.resumedUs(webhookId)) > maxAgeUs
  const groups = newAbortGroups()
  const flows = newAbortGroups()
  const interruptions = createInterruptions(options)
  const begin = createBeginning(options, { groups, flows })
  const running = createRunning({ begin, end, onError: interruptions.note, onEnded })

  function end(slot: AttemptSlot, atUs: number, attempted: TurnAttempted): void {
    const { delivery } = slot
    const { outcome, turn } = attempted
    // The clocks are read once per answer.
    const [endedUs, endedSteadyUs] = [nowUs(), steadyUs()]
    const isTrial = slot.from === 'trial'
    scheduler.end(slot, outcome, endedSteadyUs, turn?.requests)
    if (outcome.kind === 'deferred' && !isTrial)
      scheduler.defer(delivery.webhookId, outcome.afterMs * MILLISECOND, endedSteadyUs)
    const isUndone = outcome.kind === 'unsent' || outcome.kind === 'aborted' || (isTrial && outcome.kind !== 'skipped')
    if (isUndone || (outcome.kind === 'deferred' && (turn?.requests ?? 0) === 0)) {
      loaded.attemptCancelled(delivery)
      if (outcome.kind === 'unsent') onUnsent(outcome.reason)
      return
    }
    const waitedUs = endedSteadyUs - delivery.sinceUs
    if (isTrial) observer.started(delivery, slot.startedUs - delivery.sinceUs)
    const probe = slot.probe && slot.queue.breaker.open !== undefined && outcome.kind !== 'skipped'
    if (outcome.kind === 'advanced' || outcome.kind === 'deferred') endStep(delivery, turn?.requests ?? 1)
    // A failed probe does not count as a try: only age ends the delivery.
    else if (probe) endFailedProbe(delivery, { expired: isExpired(delivery, endedSteadyUs) })
    else
      endAttempt(
        delivery,
        nextStep(delivery.tries + 1, outcome, { nowUs: endedSteadyUs, random: random(), scheduleMs }),
        turn?.requests,
      )
    if (turn === undefined) outcomes.add(delivery, recordOf(delivery, attempted, { atUs, endedUs, probe }))
    else outcomes.addTurn(delivery, turnOf(delivery, turn, { endedUs, probe }))
    const url = webhooks.urlOf(delivery.webhookId)
    observer.ended({ delivery, url, attempted, state: delivery.state, probe, atUs: endedUs, waitedUs })
    loaded.attemptEnded(delivery)
    if (delivery.state === 'failed') logFailed(log, delivery, { url, outcome })
  }

  return {
    send: (slot) => running.start(slot, nowUs()),
    abort(accountId) {
      groups.abort(accountId)
      flows.abort(accountId)
    },
    abortFlows: flows.abortAll,
    interrupted: interruptions.count,
    async abortAll() {
      groups.abortAll()
      flows.abortAll()
      await running.none()
    },
  }
}

/** Makes the function that begins an attempt: it signs the delivery as its webhook is now. */
function createBeginning(
  { attempt, makeTurn, webhooks, observer }: SenderOptions,
  { groups, flows }: { groups: AbortGroups; flows: AbortGroups },
) {
  return (slot: AttemptSlot, atUs: number): Promise<TurnAttempted> => {
    const { id, accountId, webhookId, uuid, callId, body, sinceUs } = slot.delivery
    const webhook = webhooks.get(webhookId)
    if (webhook === undefined) throw new Error(`delivery ${id} is queued, but its webhook ${webhookId} is not cached`)
    const timestampS = Math.floor(atUs / SECOND)
    const isTrial = slot.from === 'trial'
    if (!isTrial) observer.started(slot.delivery, slot.startedUs - sinceUs)
    if (webhook.flow !== undefined)
      return makeTurn(webhook.flow, slot.delivery, { group: flows.of(accountId), isTrial })
    const group = groups.of(accountId)
    const sent = {
      id: uuid,
      timestampS,
      traceparent: traceparentOf(callIdOf({ name: slot.delivery.event, callId }) ?? uuid),
      body,
      group,
    }
    return attemptFor(attempt, webhook, sent)
  }
}

function logFailed(log: Log, delivery: LoadedDelivery, { url, outcome }: { url: string; outcome: Outcome }): void {
  const facts = { ...factsOf(delivery), url, answer: failureOf(outcome) ?? statusOf(outcome) }
  log.warn(facts, 'delivery has failed for good: send it again with `hookswitch delivery retry`')
}

type RunningOptions = {
  readonly begin: (slot: AttemptSlot, atUs: number) => Promise<TurnAttempted>
  readonly end: (slot: AttemptSlot, atUs: number, attempted: TurnAttempted) => void
  readonly onError: (slot: AttemptSlot, error: unknown) => void
  readonly onEnded: () => void
}

/** Creates the set of running attempts. An internal error in one of them goes to `onError`. */
function createRunning({ begin, end, onError, onEnded }: RunningOptions) {
  let count = 0
  let ending: PromiseWithResolvers<void> | undefined

  function noteEnded(): void {
    count -= 1
    if (count === 0) ending?.resolve()
    onEnded()
  }
  function conclude(slot: AttemptSlot, atUs: number, attempted: TurnAttempted): void {
    try {
      end(slot, atUs, attempted)
    } catch (error) {
      onError(slot, error)
    }
    noteEnded()
  }
  function interrupt(slot: AttemptSlot, error: unknown): void {
    onError(slot, error)
    noteEnded()
  }

  return {
    start(slot: AttemptSlot, atUs: number): void {
      try {
        const attempting = begin(slot, atUs)
        count += 1
        attempting.then(
          (attempted) => conclude(slot, atUs, attempted),
          (error) => interrupt(slot, error),
        )
      } catch (error) {
        onError(slot, error)
      }
    },
    /** Resolves when no attempt is running. */
    async none(): Promise<void> {
      if (count === 0) return
      ending ??= Promise.withResolvers<void>()
      await ending.promise
    },
  }
}

const factsOf = ({ id, webhookId, uuid, callId }: LoadedDelivery) => ({
  webhook: webhookId,
  delivery: id,
  event: uuid,
  call: callId,
})

/** Creates the handler of attempts that an internal error interrupted: their deliveries are left to the store. */
function createInterruptions({ scheduler, loaded, log, steadyUs, fail }: SenderOptions) {
  let count = 0
  let loggedUs = Number.NEGATIVE_INFINITY

  function note(slot: AttemptSlot, error: unknown): void {
    const atUs = steadyUs()
    count += 1
    try {
      scheduler.interrupt(slot, atUs)
      loaded.attemptInterrupted(slot.delivery)
    } catch (another) {
      fail(another)
    }
    if (atUs - loggedUs < ERROR_LOG_US) return
    loggedUs = atUs
    log.error(
      { ...factsOf(slot.delivery), err: error },
      'an internal error interrupted an attempt: the delivery is read from the store and sent again; please report it',
    )
  }
  return {
    count: () => count,
    note,
  }
}

type AbortGroups = ReturnType<typeof newAbortGroups>

/** The attempts of each account, which are aborted together. */
function newAbortGroups() {
  const groups = new Map<number, AbortGroup>()
  return {
    of(accountId: number): AbortGroup {
      const known = groups.get(accountId)
      if (known !== undefined) return known
      const group = newAbortGroup()
      groups.set(accountId, group)
      return group
    },
    abort(accountId: number): void {
      groups.get(accountId)?.abort()
      groups.delete(accountId)
    },
    abortAll(): void {
      for (const group of groups.values()) group.abort()
      groups.clear()
    },
  }
}

/** Returns the row of an attempt, and the new state of its delivery. */
function recordOf(
  { state, dueUs }: LoadedDelivery,
  { outcome, durationMs, address, response }: TurnAttempted,
  { atUs, endedUs, probe }: { atUs: number; endedUs: number; probe: boolean },
): OutcomeRecord {
  return {
    state: stateNumber(state),
    dueSteadyUs: state === 'pending' ? (dueUs ?? null) : null,
    endedUs: state === 'pending' ? null : endedUs,
    atUs,
    probe,
    status: statusOf(outcome),
    durationMs,
    error: failureOf(outcome),
    address,
    response,
  }
}

/** Returns a turn of a flow, and the new state of its delivery. */
function turnOf(
  { id, webhookId, callId, generation, state, tries, attemptsMade, dueUs }: LoadedDelivery,
  { attempts, progress, kept, forgotten }: TurnRecord,
  { endedUs, probe }: { endedUs: number; probe: boolean },
): FlowTurn {
  return {
    deliveryId: id,
    webhookId,
    callId,
    generation,
    state: stateNumber(state),
    tries,
    attemptsMade,
    dueSteadyUs: state === 'pending' ? (dueUs ?? null) : null,
    endedUs: state === 'pending' ? null : endedUs,
    attempts: probe ? attempts.map((attempt) => ({ ...attempt, probe })) : attempts,
    progress,
    kept,
    forgotten,
    nowUs: endedUs,
  }
}
