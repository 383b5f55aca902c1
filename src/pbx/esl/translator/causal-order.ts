import type { EslEvent } from '../event.ts'

/**
 * Puts the events of legs into their causal order. FreeSWITCH tells the events of each leg from a thread of its own,
 * so that those of two legs overtake each other: a phone is dialled before the leg that dials it is made, a leg ends
 * before it began. An event that needs something which was not told of yet (a leg that is made, a caller who is in a
 * queue, a leg that is out of another bridge) is held until it is, and with it all that comes of the same leg.
 *
 * free → (something is missing) held → (it is told of, or its patience, in arrival time, is over) handed on
 */
export type CausalOrder<Result> = {
  /** Takes an event; returns what was handed on: this one, and those that waited for it. */
  take(event: EslEvent, arrivedUs: number): Result[]
  /** Hands on what waits no longer: legs that are known by now, and time that is over. */
  release(nowUs: number): Result[]
}

/** What an event needs: its name, whether it is there, and for how long it is worth waiting for. */
export type Need = { readonly name: string; readonly isMet: () => boolean; readonly patienceUs: number }

type Options<Result> = {
  /** The leg that an event is of, and what it needs. */
  readonly needsOf: (event: EslEvent) => { readonly own: string; readonly needs: readonly Need[] }
  readonly handle: (event: EslEvent, arrivedUs: number) => Result[]
}

type Held = { readonly event: EslEvent; readonly arrivedUs: number; readonly own: string; needs: readonly Need[] }

/** Some 20 MB. More than that is no disorder but a loss. */
const MAX_HELD = 2_000
/** What nobody was told of in time: nothing waits for it again. */
const MAX_GIVEN_UP = 10_000

export function createCausalOrder<Result>({ needsOf, handle }: Options<Result>): CausalOrder<Result> {
  const held: Held[] = []
  /** What was handed on while another event failed: it comes with the next. */
  let results: Result[] = []
  const givenUp = new Set<string>()

  const isMissing = (need: Need): boolean => !need.isMet() && !givenUp.has(need.name)

  function giveUp(one: Held, nowUs: number): void {
    const waitedUs = nowUs - one.arrivedUs
    if (givenUp.size >= MAX_GIVEN_UP) givenUp.clear()
    // A clock that was set back must not make anything wait for longer.
    const isOver = (need: Need): boolean => waitedUs >= need.patienceUs || waitedUs < 0 || held.length > MAX_HELD
    for (const need of one.needs) if (isOver(need) && !need.isMet()) givenUp.add(need.name)
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
    for (const one of held) giveUp(one, nowUs)
    for (let one = nextFree(); one !== undefined; one = nextFree()) results.push(...handle(one.event, one.arrivedUs))
  }

  function handedOn(): Result[] {
    const all = results
    results = []
    return all
  }

  return {
    take(event, arrivedUs) {
      const { own, needs } = needsOf(event)
      if (held.length === 0 && results.length === 0 && !needs.some(isMissing)) return handle(event, arrivedUs)
      held.push({ event, arrivedUs, own, needs })
      handOn(arrivedUs)
      return handedOn()
    },
    release(nowUs) {
      handOn(nowUs)
      return handedOn()
    },
  }
}
