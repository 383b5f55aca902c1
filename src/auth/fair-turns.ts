import { Fault } from '../lib/fault.ts'

/** The source of some work: a network, and a user of it. */
export type TurnSource = { readonly network: string; readonly user: string }

type FairTurnsOptions = {
  /** How much work runs at a time. */
  readonly atOnce: number
  /** How much work may wait; more is refused. */
  readonly maxWaiting: number
}

/** Runs work in turn. @throws Fault `too_many_requests` when too much waits. */
type FairTurns = <Result>(source: TurnSource, work: () => Promise<Result>) => Promise<Result>

/**
 * Creates turns for work with one bound over all sources. The next turn goes to the network with the least work
 * running, and there of the user with the least; of equals, the one that has waited longest. So one source that sends
 * much at once delays the others by the end of one running work.
 */
export function createFairTurns({ atOnce, maxWaiting }: FairTurnsOptions): FairTurns {
  const running = createCounts()
  const waiting: { readonly source: TurnSource; readonly begin: () => void }[] = []
  let total = 0

  function begin(source: TurnSource): void {
    total += 1
    for (const key of keysOf(source)) running.change(key, 1)
  }
  function end(source: TurnSource): void {
    total -= 1
    for (const key of keysOf(source)) running.change(key, -1)
    const loads = waiting.map((one) => keysOf(one.source).map(running.of))
    const next = loads.reduce((best, load, at) => (isLess(load, loads[best] ?? load) ? at : best), 0)
    const [chosen] = waiting.splice(next, 1)
    if (chosen === undefined) return
    begin(chosen.source)
    chosen.begin()
  }

  return async (source, work) => {
    if (total < atOnce) begin(source)
    else {
      if (waiting.length >= maxWaiting)
        throw new Fault('too_many_requests', 'Too many passwords are being checked. Try again soon.', {
          headers: { 'retry-after': '10' },
        })
      await new Promise<void>((resolve) => waiting.push({ source, begin: resolve }))
    }
    try {
      return await work()
    } finally {
      end(source)
    }
  }
}

const keysOf = ({ network, user }: TurnSource): readonly [network: string, user: string] => [
  network,
  `${network} ${user}`,
]

const isLess = (
  [network = 0, user = 0]: readonly number[],
  [thanNetwork = 0, thanUser = 0]: readonly number[],
): boolean => network < thanNetwork || (network === thanNetwork && user < thanUser)

/** Counts by key; keys at zero take no memory. */
function createCounts() {
  const counts = new Map<string, number>()
  const of = (key: string): number => counts.get(key) ?? 0
  return {
    of,
    change(key: string, by: 1 | -1): void {
      const count = of(key) + by
      if (count === 0) counts.delete(key)
      else counts.set(key, count)
    },
  }
}
