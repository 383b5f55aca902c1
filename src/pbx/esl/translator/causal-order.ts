import { SECOND } from '../../../lib/time.ts'
import type { EslEvent } from '../event.ts'

/**
 * Puts the events of legs into their causal order. FreeSWITCH sends the events of each leg from a thread of its own, so
 * events of two legs overtake each other: a phone is dialled before the dialling leg exists, a leg ends before it
 * began. An event with an unmet prerequisite (a leg that exists, a caller in a queue, a leg that has left its bridge)
 * waits for it, and so do all later events of the same leg.
 *
 * free → (a prerequisite is not met) waiting → (it is met, or its timeout, in arrival time, is over) released
 */
type CausalOrder<Result> = {
  /** Takes an event; returns the results of all released events: this one, and events that waited for it. */
  take(event: EslEvent, arrivedUs: number): Result[]
  /** Releases the events whose prerequisites are met by now, or have timed out; returns their results. */
  release(nowUs: number): Result[]
  /** Returns the events that wait. */
  waiting(): EslEvent[]
}

/** A fact that must be known before an event can be understood, and the time for which the event waits for it. */
export type Prerequisite = { readonly name: string; readonly isMet: () => boolean; readonly timeoutUs: number }

/** The leg of an event, and the event's prerequisites. */
export type EventOrder = { readonly own: string; readonly prerequisites: readonly Prerequisite[] }

type Options<Result> = {
  readonly orderOf: (event: EslEvent) => EventOrder
  readonly handle: (event: EslEvent, arrivedUs: number) => Result[]
}

type Waiting = EventOrder & { readonly event: EslEvent; readonly arrivedUs: number }

/** An event that arrived this much later than now shows that the clock was set back. */
const SET_BACK_US = SECOND

/** Some 20 MB. A longer queue means lost events, not disorder. */
const MAX_WAITING = 2_000
/** Prerequisites that timed out: no event waits for them again. */
const MAX_TIMED_OUT = 10_000

/** Returns an order without waiting events. */
export function createCausalOrder<Result>({ orderOf, handle }: Options<Result>): CausalOrder<Result> {
  const waiting: Waiting[] = []
  /** Results of events that were released before another one failed: they are returned with the next. */
  let results: Result[] = []
  const timedOut = new Set<string>()

  const isMissing = (prerequisite: Prerequisite): boolean => !prerequisite.isMet() && !timedOut.has(prerequisite.name)

  function timeOut({ arrivedUs, prerequisites }: Waiting, nowUs: number): void {
    const waitedUs = nowUs - arrivedUs
    if (timedOut.size >= MAX_TIMED_OUT) timedOut.clear()
    for (const { name, timeoutUs, isMet } of prerequisites) {
      // A clock that was set back must not extend a wait.
      const isOver = waitedUs >= timeoutUs || waitedUs < -SET_BACK_US || waiting.length > MAX_WAITING
      if (isOver && !isMet()) timedOut.add(name)
    }
  }

  /** Removes and returns the first event without an unmet prerequisite. */
  function nextFree(): Waiting | undefined {
    const behind = new Set<string>()
    const at = waiting.findIndex(({ own, prerequisites }) => {
      const isFree = !behind.has(own) && !prerequisites.some(isMissing)
      if (own !== '') behind.add(own)
      return isFree
    })
    return at < 0 ? undefined : waiting.splice(at, 1)[0]
  }

  /**
   * Processes free events in the order of arrival until no event is free. If `handle` fails at an event, only that
   * one is lost.
   */
  function handleFree(nowUs: number): Result[] {
    for (const one of waiting) timeOut(one, nowUs)
    for (let one = nextFree(); one !== undefined; one = nextFree()) results.push(...handle(one.event, one.arrivedUs))
    const all = results
    results = []
    return all
  }

  return {
    take(event, arrivedUs) {
      const { own, prerequisites } = orderOf(event)
      const isAlone = waiting.length === 0 && results.length === 0
      if (isAlone && !prerequisites.some(isMissing)) return handle(event, arrivedUs)
      waiting.push({ event, arrivedUs, own, prerequisites })
      return handleFree(arrivedUs)
    },
    release: handleFree,
    waiting: () => waiting.map(({ event }) => event),
  }
}
