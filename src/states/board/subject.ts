import type { Agent, Phone, Queue, Trunk } from '../../events/states.ts'

/** A phone, trunk, agent or queue of an account: its present state, and its last emitted one. */
export type Subject = {
  readonly id: string
  readonly account: string | null
  /** Its present state. */
  present: Present
  /** Its last emitted state; before the first one, the state that counts as known. */
  emitted: Present
  /** When the compared part of its state last changed: on the wall clock, and on the steady clock. */
  changedUs: number
  changedSteadyUs: number
  /** When any part of its state last changed, and whether a list showed this change. */
  touchedUs: number
  touchedResync: boolean
  /** A list after a connection showed the last change. */
  resync: boolean
  /** When its last change was emitted (on the steady clock), and the time in that event. */
  emittedSteadyUs: number
  emittedAtUs: number
  /** It is gone, and is dropped once this was emitted. */
  isGone: boolean
}

/** A subject in the form in which it is stored. */
export type StoredSubject = Pick<Subject, 'id' | 'account' | 'present' | 'emitted'>

/** Returns a subject whose last change was at this time; `isListed`: a list showed it. */
export const newSubject = (
  { id, account, present, emitted }: StoredSubject,
  { atUs, steadyUs, isListed }: { readonly atUs: number; readonly steadyUs: number; readonly isListed: boolean },
): Subject => ({
  id,
  account,
  present,
  emitted,
  changedUs: atUs,
  changedSteadyUs: steadyUs,
  touchedUs: atUs,
  touchedResync: isListed,
  resync: isListed,
  emittedSteadyUs: Number.NEGATIVE_INFINITY,
  emittedAtUs: 0,
  isGone: false,
})

/** The state of a subject, by kind. */
export type Present =
  | { readonly kind: 'phone'; readonly state: Phone }
  | { readonly kind: 'trunk'; readonly state: Trunk }
  | { readonly kind: 'agent'; readonly state: Agent }
  /** `longest_wait` is 0 here, since it changes all the time. */
  | { readonly kind: 'queue'; readonly state: Queue; readonly waitingSinceUs: number | null }

/** A change that is emitted. */
export type Change = {
  readonly id: string
  readonly account: string
  readonly present: Present
  readonly atUs: number
  readonly resync: boolean
  /** Receivers have no use for it after a day. */
  readonly isShortLived: boolean
}

/** How long the state of a phone or trunk has to be stable: changes of a flapping one are not emitted. */
const STABLE_US = 5_000_000
/** At most one change of a queue is emitted in this time. */
const QUEUE_PACE_US = 1_000_000

/** Returns the compared part of a state: only its changes count, and may have to be stable before they are emitted. */
export function comparedOf(one: Present): string {
  switch (one.kind) {
    case 'phone': {
      const { state, contacts, device } = one.state
      return `${state} ${contacts} ${device === 'unknown'}`
    }
    case 'trunk':
      return `${one.state.state} ${one.state.reason}`
    case 'agent':
      return `${one.state.state} ${one.state.reason}`
    case 'queue': {
      const { waiting, available, busy, paused } = one.state
      return `${waiting} ${available} ${busy} ${paused}`
    }
  }
}

/** A change that is due now, or the time at which one may be; `null` if nothing has changed. */
type Due = { readonly present: Present; readonly isShortLived: boolean } | { readonly atSteadyUs: number } | null

export function dueOf(subject: Subject, steadyUs: number): Due {
  const { present, emitted } = subject
  if (comparedOf(present) !== comparedOf(emitted)) {
    const atSteadyUs = dueSteadyUs(subject)
    if (steadyUs >= atSteadyUs) return { present, isShortLived: present.kind === 'agent' }
    return deviceChange(present, emitted) ?? { atSteadyUs }
  }
  return deviceChange(present, emitted)
}

/**
 * Returns a change of a phone's device (ringing, in use), which is emitted at once even if its state is not stable yet.
 */
function deviceChange(present: Present, emitted: Present): { present: Present; isShortLived: boolean } | null {
  if (present.kind !== 'phone' || emitted.kind !== 'phone') return null
  const { device } = present.state
  if (device === emitted.state.device || device === 'unknown' || emitted.state.device === 'unknown') return null
  return { present: { kind: 'phone', state: { ...emitted.state, device } }, isShortLived: true }
}

function dueSteadyUs({ present, changedSteadyUs, emittedSteadyUs }: Subject): number {
  switch (present.kind) {
    case 'phone':
    case 'trunk':
      return changedSteadyUs + STABLE_US
    case 'agent':
      return Number.NEGATIVE_INFINITY
    case 'queue':
      return emittedSteadyUs + QUEUE_PACE_US
  }
}

/** Returns the state of a subject before anything was reported of it. */
export function initialState(one: Present): Present {
  switch (one.kind) {
    case 'phone':
      return { kind: 'phone', state: { ...one.state, state: 'unregistered', device: 'unknown', contacts: 0 } }
    case 'trunk':
      return { kind: 'trunk', state: { ...one.state, state: 'unknown', reason: null } }
    case 'agent':
      return { kind: 'agent', state: { ...one.state, state: 'logged_out', reason: null } }
    case 'queue': {
      const nothing = { waiting: 0, longest_wait: 0, available: 0, busy: 0, paused: 0 }
      return { kind: 'queue', state: { ...one.state, ...nothing }, waitingSinceUs: null }
    }
  }
}
