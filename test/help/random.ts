/** Random numbers that a seed repeats (mulberry32). */
export type Random = {
  /** 0 to below 1. */
  next(): number
  /** 0 to below `below`. */
  int(below: number): number
  chance(probability: number): boolean
  pick<T>(list: readonly T[]): T
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const int = (below: number): number => Math.floor(next() * below)
  return {
    next,
    int,
    chance: (probability) => next() < probability,
    pick(list) {
      const one = list[int(list.length)]
      if (one === undefined) throw new Error('there is nothing to pick from')
      return one
    },
  }
}
