import { type LoadedDelivery, mayNeedNone } from './delivery.ts'

/**
 * The queued deliveries of one call to one webhook, the lowest id first: so its events arrive in their order. Pure.
 *
 * Invariant: at most one delivery has been taken (`current`) and not released; until then the lane is closed.
 */
export type Lane = {
  readonly callId: string
  readonly queued: LoadedDelivery[]
  readonly current: LoadedDelivery | undefined
  /**
   * Its turns in the rotation of its webhook. Flags, since a set of lanes would take a tenth of the time of a delivery.
   */
  readonly turns: { first: boolean; retries: boolean }
}

type State = { -readonly [name in keyof Lane]: Lane[name] }

export const newLane = (callId: string): Lane => ({
  callId,
  queued: [],
  current: undefined,
  turns: { first: false, retries: false },
})

/** Returns whether a delivery of the lane may be taken. */
export const isReady = ({ queued, current }: Lane): boolean => current === undefined && queued.length > 0

/** Returns whether the lane is open and empty, so that it can be removed. */
export const isUnused = ({ queued, current }: Lane): boolean => current === undefined && queued.length === 0

/** Returns whether a first attempt is queued: such lanes are served before those that have retries alone. */
export const hasFirstAttempt = ({ queued }: Lane): boolean => queued.some(({ dueUs }) => dueUs === undefined)

/** Returns whether the lane is open, and a trial may show that its lowest delivery needs no request. */
export const headMayNeedNone = ({ queued: [head], current }: Lane): boolean =>
  current === undefined && head !== undefined && mayNeedNone(head)

/** Inserts a delivery by its id. @throws Error when it is not queued. */
export function insertDelivery(lane: Lane, delivery: LoadedDelivery): void {
  if (delivery.phase !== 'queued') throw new Error(`delivery ${delivery.id} is ${delivery.phase}: no lane takes it`)
  const last = lane.queued.at(-1)
  lane.queued.push(delivery)
  if (last !== undefined && last.id > delivery.id) lane.queued.sort((one, other) => one.id - other.id)
}

/** Takes the lowest delivery, and closes the lane. Returns `undefined` if it is empty. */
export function takeFirst(lane: Lane): LoadedDelivery | undefined {
  const state: State = lane
  state.current = lane.queued.shift()
  return state.current
}

/** Takes an urgent delivery, or the first untried delivery if its id is lower: only retries are overtaken. */
export function takeUrgent(lane: Lane, { id }: LoadedDelivery): LoadedDelivery | undefined {
  const state: State = lane
  const index = lane.queued.findIndex((one) => one.id === id || (one.dueUs === undefined && one.id < id))
  const [delivery] = index === -1 ? [] : lane.queued.splice(index, 1)
  state.current = delivery
  return delivery
}

/** Opens the lane if `delivery` is the one taken from it. */
export function openLane(lane: Lane, delivery: LoadedDelivery): void {
  const state: State = lane
  if (lane.current === delivery) state.current = undefined
}

/** Removes the deliveries that match. Returns them. */
export function removeDeliveries(lane: Lane, matches: (delivery: LoadedDelivery) => boolean): LoadedDelivery[] {
  const removed = lane.queued.filter(matches)
  const state: State = lane
  if (removed.length > 0) state.queued = lane.queued.filter((delivery) => !matches(delivery))
  return removed
}
