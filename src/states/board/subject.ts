import type { Agent, Phone, Queue, Trunk } from '../model.ts'

/** A phone, trunk, agent or queue of an account: what it is, and what its receivers were told of it last. */
export type Subject = {
  readonly id: string
  readonly account: string | null
  /** What it is now. */
  present: Present
  /** What was told last, and counts as known where nothing was. */
  told: Present
  /** When what is compared came to be as it is: on the wall clock, and on the steady clock. */
  changedUs: number
  changedSteadyUs: number
  /** When anything of it changed, and whether a list showed that. */
  touchedUs: number
  touchedResync: boolean
  /** It changed so while the PBX was asked for its lists. */
  resync: boolean
  /** When something was told last, on the steady clock, and the time that it was told with. */
  toldSteadyUs: number
  toldAtUs: number
  /** It is not there any more, and is forgotten once that is told. */
  isGone: boolean
}

/** The state of a subject, with the kind that it is. */
export type Present =
  | { readonly kind: 'phone'; readonly state: Phone }
  | { readonly kind: 'trunk'; readonly state: Trunk }
  | { readonly kind: 'agent'; readonly state: Agent }
  /** Its `longest_wait` is 0, since it changes all the time. */
  | { readonly kind: 'queue'; readonly state: Queue; readonly waitingSinceUs: number | null }

/** A change that is told: `state` as it is told. */
export type Change = {
  readonly id: string
  readonly account: string
  readonly told: Present
  readonly atUs: number
  readonly resync: boolean
  /** It is of no use after a day. */
  readonly isShortLived: boolean
}

/** A phone or trunk that flaps is not told. */
const STABLE_US = 5_000_000
/** At most one change of a queue in this time. */
const QUEUE_PACE_US = 1_000_000

/** Returns the parts of a state that have to stay for a while before they are told, or are compared at all. */
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

/** A change to tell now, or the time at which one may be due; `null` if nothing has changed. */
type Due = { readonly told: Present; readonly isShortLived: boolean } | { readonly atSteadyUs: number } | null

/** Returns what is due of a subject. */
export function dueOf(subject: Subject, steadyUs: number): Due {
  const { present, told } = subject
  if (comparedOf(present) !== comparedOf(told)) {
    const atSteadyUs = dueSteadyUs(subject)
    if (steadyUs >= atSteadyUs) return { told: present, isShortLived: present.kind === 'agent' }
    return ringingOf(present, told) ?? { atSteadyUs }
  }
  return ringingOf(present, told)
}

/** What a phone does is told at once, also while its state has yet to stay. */
function ringingOf(present: Present, told: Present): { told: Present; isShortLived: boolean } | null {
  if (present.kind !== 'phone' || told.kind !== 'phone') return null
  const { device } = present.state
  if (device === told.state.device || device === 'unknown' || told.state.device === 'unknown') return null
  return { told: { kind: 'phone', state: { ...told.state, device } }, isShortLived: true }
}

function dueSteadyUs({ present, changedSteadyUs, toldSteadyUs }: Subject): number {
  switch (present.kind) {
    case 'phone':
    case 'trunk':
      return changedSteadyUs + STABLE_US
    case 'agent':
      return Number.NEGATIVE_INFINITY
    case 'queue':
      return toldSteadyUs + QUEUE_PACE_US
  }
}

/** Returns the state that a subject counts as having been in before anything was known of it. */
export function before(one: Present): Present {
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
