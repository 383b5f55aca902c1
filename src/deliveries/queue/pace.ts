import { SECOND } from '../../lib/time.ts'

/** The owner's settings: whether the webhook is paused, and its most requests a second. */
export type WebhookTiming = {
  readonly paused: boolean
  readonly maxPerSecond: number | null
  /** The most attempts in flight, where the owner sets it. */
  readonly parallel?: number | undefined
  /** The name of the pace that it shares with others; left out: it has its own alone. */
  readonly sharedPace?: string | undefined
  /** It has a flow: some of its deliveries may need no request. */
  readonly hasFlow?: boolean
}

/**
 * The rate limit of a webhook: nothing while its owner pauses it, else a number of attempts a second, with a burst of
 * one second's worth. Pure, and the only code that changes it. It delays attempts, and never changes their order.
 *
 * Each attempt moves `nextUs` forward by the interval of the rate; an attempt may begin while `nextUs` is ahead of the
 * clock by less than the burst.
 */
export type Pace = {
  readonly webhookId: number
  /** The owner has paused it. */
  readonly isPaused: boolean
  /** `null`: no limit. */
  readonly maxPerSecond: number | null
  readonly nextUs: number
  /** Nothing begins before this: an error of this program interrupted an attempt. */
  readonly suspendedUntilUs: number
  /** No request is sent before this: there was no authorization, or no time for templates. */
  readonly deferredUntilUs: number
  readonly parallel: number
  readonly hasFlow: boolean
  readonly shared: SharedPace | undefined
}

/** The common pace of several webhooks: their slowest pace. Waiting webhooks are served in turn. */
export type SharedPace = {
  /** The webhook whose last attempt began the longest ago is the first. */
  readonly members: Map<Pace, number | null>
  /** `null`: none of them has a limit. */
  readonly maxPerSecond: number | null
  readonly nextUs: number
}

type State = { -readonly [name in keyof Pace]: Pace[name] }
type SharedState = { -readonly [name in keyof SharedPace]: SharedPace[name] }

/** The pause after an internal error, which may recur with each attempt. */
const SUSPENSION_US = SECOND

export const newPace = (webhookId: number): Pace => ({
  webhookId,
  isPaused: false,
  maxPerSecond: null,
  nextUs: Number.NEGATIVE_INFINITY,
  suspendedUntilUs: Number.NEGATIVE_INFINITY,
  deferredUntilUs: Number.NEGATIVE_INFINITY,
  parallel: Number.POSITIVE_INFINITY,
  hasFlow: false,
  shared: undefined,
})

/** Sets the timing, from now on. Returns whether that has paused the webhook. */
export function setTiming(
  pace: Pace,
  { paused, maxPerSecond, parallel = Number.POSITIVE_INFINITY, hasFlow = false }: WebhookTiming,
): boolean {
  const state: State = pace
  state.parallel = parallel
  state.hasFlow = hasFlow
  const wasPaused = state.isPaused
  state.isPaused = paused
  state.maxPerSecond = maxPerSecond
  return paused && !wasPaused
}

export const newSharedPace = (): SharedPace => ({
  members: new Map(),
  maxPerSecond: null,
  nextUs: Number.NEGATIVE_INFINITY,
})

/** Lets a webhook share a pace, from now on; `undefined`: it has its own alone. */
export function sharePace(pace: Pace, shared: SharedPace | undefined): void {
  const state: State = pace
  if (state.shared !== undefined && state.shared !== shared) {
    state.shared.members.delete(pace)
    setSmallest(state.shared)
  }
  state.shared = shared
  if (shared === undefined) return
  shared.members.set(pace, pace.maxPerSecond)
  setSmallest(shared)
}

function setSmallest(shared: SharedPace): void {
  const limits = [...shared.members.values()].filter((limit) => limit !== null)
  const state: SharedState = shared
  state.maxPerSecond = limits.length === 0 ? null : Math.min(...limits)
}

/** Lets nothing begin for a second. */
export function suspend(pace: Pace, nowUs: number): void {
  const state: State = pace
  state.suspendedUntilUs = nowUs + SUSPENSION_US
}

/** Lets no request begin for a time. */
export function defer(pace: Pace, nowUs: number, forUs: number): void {
  const state: State = pace
  state.deferredUntilUs = Math.max(state.deferredUntilUs, nowUs + forUs)
}

/** Returns whether a trial of a flow may begin, which sends nothing. */
export const mayTry = ({ hasFlow, isPaused, suspendedUntilUs }: Pace, nowUs: number): boolean =>
  hasFlow && !isPaused && nowUs >= suspendedUntilUs

export function mayBegin(pace: Pace, nowUs: number): boolean {
  if (pace.isPaused || nowUs < pace.suspendedUntilUs || nowUs < pace.deferredUntilUs) return false
  return isWithin(pace, nowUs) && (pace.shared === undefined || isWithin(pace.shared, nowUs))
}

type Limit = { readonly maxPerSecond: number | null; readonly nextUs: number }

function isWithin({ maxPerSecond, nextUs }: Limit, nowUs: number): boolean {
  if (maxPerSecond === null) return true
  const intervalUs = SECOND / maxPerSecond
  const burstUs = Math.max(1, maxPerSecond) * intervalUs
  return nextUs <= nowUs + burstUs - intervalUs
}

/** Notes that an attempt begins. */
export function noteBegun(pace: Pace, nowUs: number): void {
  count(pace, nowUs, 1)
  if (pace.shared === undefined) return
  count(pace.shared, nowUs, 1)
  // A map keeps the order of insertion: the others come first now.
  pace.shared.members.delete(pace)
  pace.shared.members.set(pace, pace.maxPerSecond)
}

/**
 * Returns the webhook whose turn it is, of those that share a limit with this one and could begin an attempt now;
 * `undefined`: there is no such limit, or none could. One that could not begin delays no other.
 */
export function nextOfShared({ shared }: Pace, couldBegin: (webhookId: number) => boolean): number | undefined {
  if (shared === undefined || shared.maxPerSecond === null) return undefined
  for (const { webhookId } of shared.members.keys()) if (couldBegin(webhookId)) return webhookId
  return undefined
}

/** Corrects the count of an attempt that made another number of requests than one. */
export function noteRequests(pace: Pace, nowUs: number, requests: number): void {
  if (requests === 1) return
  count(pace, nowUs, requests - 1)
  if (pace.shared !== undefined) count(pace.shared, nowUs, requests - 1)
}

function count(limit: Limit, nowUs: number, requests: number): void {
  if (limit.maxPerSecond === null) return
  const state: { nextUs: number } = limit
  const fromUs = requests > 0 ? Math.max(limit.nextUs, nowUs) : limit.nextUs
  state.nextUs = fromUs + (requests * SECOND) / limit.maxPerSecond
}
