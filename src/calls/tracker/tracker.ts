import type { CallEvent, CallRecord, Call as CallView, Stage as StageView } from '../../events/bodies.ts'
import type { NewId } from '../../lib/id.ts'
import { newTimers } from '../../lib/timers.ts'
import type { Signal } from '../signal.ts'
import { applySignal } from './apply-signal.ts'
import { emitDue, emitDueInSteps } from './emit/emit.ts'
import { limitLive, MAX_CALLS } from './resync/live-limits.ts'
import { applySnapshot } from './resync/snapshot.ts'
import type { StoredCall } from './resync/takeover.ts'
import { callPayload, stagesPayload } from './state/payload.ts'
import { wakeDue } from './state/registry.ts'
import type { TrackerState } from './state/state.ts'

/**
 * Turns signals into call events. Pure but for its own state: no clock, no random, no I/O.
 *
 * Each signal changes the state of channels (`applySignal`); then the events of the affected calls are emitted
 * (`emitDue`) in a fixed order, once their facts are complete. So an event never depends on the order in which a PBX
 * sends its reports, only on the facts that are known when it is due.
 *
 * Invariants, for any input: `sequence` counts up without gaps; a call emits call_started once, as the first event,
 * call_ended at most once, and call_saved once after it; a stage emits dial_started and dial_answered at most once, and
 * dial_ended once, as its last event.
 */

type Tracked = {
  readonly events: readonly CallEvent[]
  /** Arrival time at which a tick is needed, `null` if nothing waits. */
  readonly tickAtUs: number | null
  /** Errors: each costs its signal, or one call's events at that moment, and nothing else. */
  readonly faults: readonly unknown[]
}

export type Changes = {
  readonly changed: readonly StoredCall[]
  readonly removed: readonly string[]
  /** Calls that ended inside another: they have a record, but no call_saved. */
  readonly merged: readonly { readonly account: string; readonly record: CallRecord }[]
  /** Tenant values of unassigned calls; `null` if the call shows none. */
  readonly withoutAccount: readonly (string | null)[]
}

/** Returns the initial state of a tracker. */
export function newTracker(pbx: string, account: string | null, newId: NewId): TrackerState {
  return {
    pbx,
    account,
    tenants: null,
    calls: new Map(),
    channels: new Map(),
    byLinkedId: new Map(),
    bridges: new Map(),
    conferences: new Map(),
    extensions: new Set(),
    earlyEnds: new Map(),
    pendingLinks: [],
    onHold: new Set(),
    parked: new Set(),
    consultations: new Map(),
    unplaced: new Set(),
    dirty: new Set(),
    heardOf: new Map(),
    timers: newTimers(),
    changed: new Set(),
    removed: new Set(),
    parting: [],
    withoutAccount: [],
    merged: [],
    signalsUntilLimit: 0,
    endedEarly: 0,
    maxCalls: MAX_CALLS,
    unfollowed: new Set(),
    notFollowed: 0,
    boot: null,
    heardUs: null,
    lostUs: null,
    connectedArrivedUs: null,
    connectedSeq: 0,
    closeAtOnce: false,
    seq: 0,
    nowUs: 0,
    wakeUs: Number.POSITIVE_INFINITY,
    atUs: 0,
    newId,
    toE164: () => null,
  }
}

/**
 * Applies a signal; returns the events that are due and when the tracker needs a tick. Never throws: errors are in
 * `faults`.
 */
export function track(state: TrackerState, signal: Signal): Tracked {
  if (signal.kind === 'snapshot') return trackAtOnce(trackSnapshot(state, signal))
  begin(state, signal)
  const faults: unknown[] = []
  try {
    applySignal(state, signal)
    limitLive(state, signal)
  } catch (error) {
    faults.push(error)
  }
  const events = emitDue(state, faults)
  return { events, tickAtUs: tickAtUsOf(state), faults }
}

/**
 * Applies a snapshot in small steps, each of some microseconds, and yields the events that are due; the result has no
 * further ones. Other work may run between two steps, but no other signal or tick may be applied before the last one.
 */
export function* trackSnapshot(
  state: TrackerState,
  signal: Extract<Signal, { kind: 'snapshot' }>,
): Generator<readonly CallEvent[], Tracked> {
  begin(state, signal)
  const faults: unknown[] = []
  try {
    for (const _ of applySnapshot(state, signal)) yield NO_EVENTS
    limitLive(state, signal)
  } catch (error) {
    faults.push(error)
  }
  yield* emitDueInSteps(state, faults)
  return { events: NO_EVENTS, tickAtUs: tickAtUsOf(state), faults }
}

/** Applies a tick in small steps, as a snapshot: after a takeover the events of thousands of calls may be due. */
export function* trackTick(
  state: TrackerState,
  signal: Extract<Signal, { kind: 'tick' }>,
): Generator<readonly CallEvent[], Tracked> {
  begin(state, signal)
  const faults: unknown[] = []
  yield* emitDueInSteps(state, faults)
  return { events: NO_EVENTS, tickAtUs: tickAtUsOf(state), faults }
}

const NO_EVENTS: readonly CallEvent[] = []

function trackAtOnce(steps: Generator<readonly CallEvent[], Tracked>): Tracked {
  const events: CallEvent[] = []
  for (;;) {
    const step = steps.next()
    if (step.done === true) return { ...step.value, events }
    for (const event of step.value) events.push(event)
  }
}

function begin(state: TrackerState, signal: Signal): void {
  state.nowUs = Math.max(state.nowUs, signal.arrivedUs)
  state.seq += 1
  state.atUs = signal.atUs
  wakeDue(state)
}

function tickAtUsOf(state: TrackerState): number | null {
  const linkDueUs = state.pendingLinks[0]?.dueUs ?? null
  const wakeUs = state.timers.earliest()
  return linkDueUs !== null && (wakeUs === null || linkDueUs < wakeUs) ? linkDueUs : wakeUs
}

/** Returns whether `takeChanges` would return anything. */
export const hasChanges = ({ changed, removed }: TrackerState): boolean => changed.size > 0 || removed.size > 0

/** Calls that are left for the next time. */
type Left = Pick<ReadonlySet<string>, 'has' | 'size'>

const NONE: Left = new Set()

/** The calls that have to be taken, and the most others. Calls that are part of each other are always taken. */
type Taken = { readonly callIds: ReadonlySet<string>; readonly most: number }

/**
 * Takes the live calls whose stored state is out of date, and the ids of calls that are gone. Calls in `left`, and
 * those beyond `taken`, stay for the next time.
 */
export function takeChanges(
  state: TrackerState,
  left: Left = NONE,
  { callIds, most }: Taken = { callIds: new Set(), most: Number.POSITIVE_INFINITY },
): Changes {
  const changed: StoredCall[] = []
  let others = 0
  for (const id of state.changed) {
    if (left.has(id)) continue
    const call = state.calls.get(id)
    // A call without an emitted event need not survive a crash, unless another call ended inside it.
    const isKept = call !== undefined && call.account !== null && (call.emitted || call.mergedFrom.length > 0)
    const isAlone = isKept && call.mergedFrom.length === 0 && call.mergedInto === null && !callIds.has(id)
    if (isAlone && others >= most) continue
    if (isAlone) others += 1
    state.changed.delete(id)
    if (isKept) changed.push({ call, channels: call.channels.flatMap((one) => state.channels.get(one) ?? []) })
  }
  const removed = [...state.removed].filter((id) => !left.has(id))
  const merged = state.merged.splice(0)
  state.merged.push(...merged.filter(({ record }) => left.has(record.call.id)))
  keepOnly(state.removed, left)
  return {
    changed,
    removed,
    merged: merged.filter(({ record }) => !left.has(record.call.id)),
    withoutAccount: state.withoutAccount.splice(0),
  }
}

function keepOnly(ids: Set<string>, left: Left): void {
  if (left.size === 0) ids.clear()
  else for (const id of [...ids]) if (!left.has(id)) ids.delete(id)
}

/** A live call, as receivers would see it now. `call` and `stages` are made when they are read. */
export type LiveCall = {
  readonly id: string
  readonly pbx: string
  readonly account: string
  readonly call: CallView
  readonly stages: StageView[]
}

/** Yields the live calls of these accounts. */
export function* liveCalls(
  state: TrackerState,
  isMine: (account: string) => boolean = () => true,
): Generator<LiveCall> {
  for (const call of state.calls.values())
    if (call.emitted && !call.ended && call.account !== null && isMine(call.account))
      yield {
        id: call.id,
        pbx: state.pbx,
        account: call.account,
        get call() {
          return callPayload(state, call)
        },
        get stages() {
          return stagesPayload(call)
        },
      }
}
