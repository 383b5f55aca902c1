import type { EslEvent } from './event.ts'

/**
 * Puts the events of legs into their causal order. FreeSWITCH tells the events of each leg from a thread of its own, so that those of
 * two legs overtake each other: a phone is dialled before the leg that dials it is made, a leg ends before it began. An event that needs
 * a leg which was not told of yet is held until it is, and with it all that comes of the same leg.
 *
 * free → (a leg is missing) held → (it is told of, or `PATIENCE_US` of arrival time are over) handed on
 */
export type CausalOrder<Result> = {
  /** Takes an event; returns what was handed on: this one, and those that waited for it. */
  take(event: EslEvent, arrivedUs: number): Result[]
  /** Hands on what waits no longer: legs that are known by now, and time that is over. */
  release(nowUs: number): Result[]
}

type Options<Result> = {
  /** The leg that an event is of, and the legs that it needs: an empty id is none. */
  readonly legsOf: (event: EslEvent) => { readonly own: string; readonly needs: readonly string[] }
  readonly isKnown: (leg: string) => boolean
  readonly handle: (event: EslEvent, arrivedUs: number) => Result[]
}

type Held = { readonly event: EslEvent; readonly arrivedUs: number; readonly own: string; readonly needs: string[] }

/** Ten times what a busy FreeSWITCH was seen to take. */
const PATIENCE_US = 1_000_000
/** Some 20 MB. More than that is no disorder but a loss. */
const MAX_HELD = 2_000
/** Legs that nobody was told of in time: nothing waits for them again. */
const MAX_GIVEN_UP = 10_000

export function createCausalOrder<Result>({ legsOf, isKnown, handle }: Options<Result>): CausalOrder<Result> {
  const held: Held[] = []
  /** What was handed on while another event failed: it comes with the next. */
  let results: Result[] = []
  const givenUp = new Set<string>()

  const isMissing = (leg: string): boolean => leg !== '' && !isKnown(leg) && !givenUp.has(leg)

  /** A clock that was set back must not make anything wait for longer. */
  const isOver = (one: Held, nowUs: number): boolean =>
    nowUs - one.arrivedUs >= PATIENCE_US || nowUs < one.arrivedUs || held.length > MAX_HELD

  const giveUp = (one: Held): void => {
    if (givenUp.size >= MAX_GIVEN_UP) givenUp.clear()
    for (const leg of one.needs) if (!isKnown(leg)) givenUp.add(leg)
  }

  /** Takes out the first event that waits for nothing. */
  function nextFree(): Held | undefined {
    const behind = new Set<string>()
    const at = held.findIndex((one) => {
      const isFree = !behind.has(one.own) && !one.needs.some(isMissing)
      if (one.own !== '') behind.add(one.own)
      return isFree
    })
    return at < 0 ? undefined : held.splice(at, 1)[0]
  }

  /** Hands on, in the order of arrival, until nothing more is free. What fails costs itself alone. */
  function handOn(nowUs: number): void {
    for (const one of held) if (isOver(one, nowUs)) giveUp(one)
    for (let one = nextFree(); one !== undefined; one = nextFree()) results.push(...handle(one.event, one.arrivedUs))
  }

  function handedOn(): Result[] {
    const all = results
    results = []
    return all
  }

  return {
    take(event, arrivedUs) {
      const { own, needs } = legsOf(event)
      if (held.length === 0 && results.length === 0 && !needs.some(isMissing)) return handle(event, arrivedUs)
      held.push({ event, arrivedUs, own, needs: needs.filter((leg) => leg !== '') })
      handOn(arrivedUs)
      return handedOn()
    },
    release(nowUs) {
      handOn(nowUs)
      return handedOn()
    },
  }
}
