import type { StoredEvent } from '../../store/operations/calls.ts'
import type { PendingDelivery } from '../../store/operations/queue.ts'
import type { NextStep } from './retry-policy.ts'

/**
 * A pending delivery in memory. Pure, and the only code that changes it: every move is asserted.
 *
 *   stored ── loadDelivery, newDelivery ──→ queued      in the lane of its call
 *   queued ── beginAttempt ───────────────→ in flight   one attempt is made
 *        └─── beginTrial ─────────────────→ in flight   its flow is played until it would send a request
 *   in flight ── endAttempt, endStep ─────→ recording   its outcome is being written to the store
 *            ├── cancelAttempt ───────────→ queued      nothing was sent
 *            └── interruptAttempt ────────→ evicted     an error of this program ended it
 *   recording ── finishRecording ─────────→ scheduled   it is retried when it is due
 *            ├────────────────────────────→ queued      it was never tried, its flow goes on, or its webhook is
 *            │                                          down, so that it may be a probe
 *            └────────────────────────────→ done        it is delivered or failed
 *   scheduled ── requeue ─────────────────→ queued      it is due, or its webhook goes down
 *   any of these ── evict ────────────────→ evicted     it is left to the store, and loaded again if still pending;
 *                                                       in flight or recording, when that has ended (`plan`)
 *
 * Invariants: one attempt at a time; at most one outcome that is not recorded; done and evicted are final, the delivery
 * is no longer in memory then. `dueUs` is undefined until it has been tried in its present schedule; a failed probe is
 * no try.
 */
type Phase = 'queued' | 'in flight' | 'recording' | 'scheduled' | 'done' | 'evicted'

/**
 * After recording: schedule it; leave it to the store rather than schedule it, since its row may have changed; queue
 * it, since its webhook was down meanwhile and it may be a probe; evict it. A plan is only replaced by one further
 * right.
 */
type Plan = 'schedule' | 'reload' | 'queue' | 'evict'
const PLANS: readonly Plan[] = ['schedule', 'reload', 'queue', 'evict']

export type LoadedDelivery = Omit<PendingDelivery, 'dueSteadyUs' | 'sinceSteadyUs'> & {
  /** When its present schedule began, and when its retry is due, in steady time. */
  readonly sinceUs: number
  readonly dueUs: number | undefined
  readonly phase: Phase
  /** Its state after the last attempt. */
  readonly state: NextStep['state']
  /** The move that is planned for when its outcome is recorded, if it is still pending. */
  readonly plan: Plan
  /** A trial of its flow has begun: whatever comes after it takes its turn as other deliveries do. */
  readonly hadTrial: boolean
}

type State = { -readonly [name in keyof LoadedDelivery]: LoadedDelivery[name] }

const MOVES: Readonly<Record<Phase, readonly Phase[]>> = {
  queued: ['in flight', 'evicted'],
  'in flight': ['recording', 'queued', 'evicted'],
  recording: ['scheduled', 'queued', 'done', 'evicted'],
  scheduled: ['queued', 'evicted'],
  done: [],
  evicted: [],
}

function move(state: State, to: Phase): void {
  if (!MOVES[state.phase].includes(to)) throw new Error(`delivery ${state.id} cannot go from ${state.phase} to ${to}`)
  state.phase = to
  if (to === 'queued') state.plan = 'schedule'
}

function assertPhase({ id, phase }: LoadedDelivery, expected: Phase, action: string): void {
  if (phase !== expected) throw new Error(`cannot ${action} delivery ${id}: it is ${phase}, not ${expected}`)
}

/** Returns a delivery that was read from the store: queued. */
export function loadDelivery(pending: PendingDelivery): LoadedDelivery {
  const { id, accountId, webhookId, callId, event, uuid, body, atUs } = pending
  const { generation, sinceSteadyUs, tries, attemptsMade, dueSteadyUs } = pending
  return {
    id,
    accountId,
    webhookId,
    callId,
    event,
    uuid,
    body,
    atUs,
    generation,
    sinceUs: sinceSteadyUs,
    tries,
    attemptsMade,
    dueUs: dueSteadyUs,
    phase: 'queued',
    state: 'pending',
    plan: 'schedule',
    hadTrial: false,
  }
}

/** Returns a delivery of an event that was just stored: queued, on its first schedule. */
export function newDelivery(event: StoredEvent, { id, webhookId }: StoredEvent['deliveries'][number]): LoadedDelivery {
  const { accountId, uuid, callId, name, atUs, sinceSteadyUs, body } = event
  return {
    id,
    accountId,
    webhookId,
    callId,
    event: name,
    uuid,
    body,
    atUs,
    generation: 1,
    sinceUs: sinceSteadyUs,
    tries: 0,
    attemptsMade: 0,
    dueUs: undefined,
    phase: 'queued',
    state: 'pending',
    plan: 'schedule',
    hadTrial: false,
  }
}

/** Begins an attempt: queued → in flight. @throws Error from any other phase. */
export function beginAttempt(delivery: LoadedDelivery): void {
  move(delivery, 'in flight')
}

/** Begins a trial of its flow, which sends nothing: queued → in flight. @throws Error from any other phase. */
export function beginTrial(delivery: LoadedDelivery): void {
  const state: State = delivery
  move(state, 'in flight')
  state.hadTrial = true
}

/** Returns whether a trial may show that it needs no request: no request was made, and no trial. */
export const mayNeedNone = ({ hadTrial, tries, attemptsMade }: LoadedDelivery): boolean =>
  !hadTrial && tries === 0 && attemptsMade === 0

/**
 * Cancels an attempt that was never sent: in flight → queued, or evicted if that was requested. Returns the phase.
 * @throws Error from any other phase.
 */
export function cancelAttempt(delivery: LoadedDelivery): Phase {
  assertPhase(delivery, 'in flight', 'cancel the attempt on')
  move(delivery, delivery.plan === 'evict' ? 'evicted' : 'queued')
  return delivery.phase
}

/**
 * Ends an attempt after an error of this program: in flight → evicted. In any other phase it is as `evict`. Returns the
 * phase. @throws Error when it is done or evicted.
 */
export function interruptAttempt(delivery: LoadedDelivery): Phase {
  if (delivery.phase !== 'in flight') return evict(delivery)
  move(delivery, 'evicted')
  return delivery.phase
}

/**
 * Ends an attempt that counts: in flight → recording, in its `next` state. `requests`: how many it made, of a flow.
 * @throws Error from any other phase.
 */
export function endAttempt(delivery: LoadedDelivery, next: NextStep, requests = 1): void {
  const state: State = delivery
  move(state, 'recording')
  state.tries += 1
  state.attemptsMade += requests
  state.state = next.state
  if (next.state === 'pending') state.dueUs = next.dueUs
}

/**
 * Ends a step of a flow after which the delivery goes on: in flight → recording, and queued after that. It counts
 * against no schedule.
 * @throws Error from any other phase.
 */
export function endStep(delivery: LoadedDelivery, requests: number): void {
  const state: State = delivery
  move(state, 'recording')
  state.attemptsMade += requests
  planAfterRecording(delivery, 'queue')
}

/**
 * Ends a probe that failed: in flight → recording. It counts as no attempt: the delivery is as before unless it
 * expired.
 * @throws Error from any other phase.
 */
export function endFailedProbe(delivery: LoadedDelivery, { expired }: { expired: boolean }): void {
  const state: State = delivery
  move(state, 'recording')
  if (expired) state.state = 'failed'
}

/** The facts that decide the phase of a delivery after its outcome was recorded. */
type Circumstances = {
  /** Its row was changed while it was in flight (cancelled, retried by hand): memory is out of date. */
  readonly superseded: boolean
  /** The circuit breaker of its webhook is open: the next probe may be for this delivery, due or not. */
  readonly webhookDown: boolean
  /** One more may be scheduled. */
  readonly maySchedule: boolean
}

/** Finishes recording: → done, scheduled, queued or evicted. Returns the phase. @throws Error from any other phase. */
export function finishRecording(delivery: LoadedDelivery, now: Circumstances): Phase {
  assertPhase(delivery, 'recording', 'finish the recording of')
  move(delivery, phaseAfterRecording(delivery, now))
  return delivery.phase
}

function phaseAfterRecording({ state, plan, dueUs }: LoadedDelivery, now: Circumstances): Phase {
  if (now.superseded) return 'evicted'
  if (state !== 'pending') return 'done'
  if (plan === 'evict') return 'evicted'
  if (plan === 'queue' || now.webhookDown || dueUs === undefined) return 'queued'
  return plan === 'schedule' && now.maySchedule ? 'scheduled' : 'evicted'
}

/** Queues a scheduled delivery. @throws Error from any other phase. */
export function requeue(delivery: LoadedDelivery): void {
  assertPhase(delivery, 'scheduled', 'requeue')
  move(delivery, 'queued')
}

/**
 * Moves a queued or scheduled delivery to evicted. One that is in flight or recording is marked: it is evicted when
 * that has ended. Returns the phase. @throws Error when it is done or evicted.
 */
export function evict(delivery: LoadedDelivery): Phase {
  const state: State = delivery
  if (state.phase === 'in flight' || state.phase === 'recording') state.plan = 'evict'
  else move(state, 'evicted')
  return state.phase
}

/** Changes the plan of a delivery that is being recorded. @throws Error from any other phase. */
export function planAfterRecording(delivery: LoadedDelivery, plan: Plan): void {
  assertPhase(delivery, 'recording', 'plan the end of the recording of')
  const state: State = delivery
  if (PLANS.indexOf(plan) > PLANS.indexOf(state.plan)) state.plan = plan
}
