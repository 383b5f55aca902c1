import { MILLISECOND, type NowUs, SECOND } from '../lib/time.ts'
import type { KeptValue } from './model.ts'

/** CRMs find a new contact by search only after a while, some after a minute. */
const REMEMBERED_US = 300 * SECOND
/** The most values that are remembered; the oldest are forgotten first. */
const MAX_REMEMBERED = 10_000
/** How long a CRM that did not answer in time may still take to create the contact: no other call looks before. */
const SETTLING_US = 5 * SECOND

/**
 * Takes the requests that create a contact in turn, and remembers the ids of new contacts. Two calls of an unknown
 * number at the same time, or one after the other, would otherwise have two contacts. After a request whose answer was
 * lost, each other call looks for the contact once more.
 */
export type NumberTurns = {
  /** Runs `work` after all earlier work with the same key. */
  run<Result>(place: Place, work: (state: NumberState) => Promise<Result>): Promise<Result>
  /** Remembers a value for a few minutes. */
  note(key: string, value: KeptValue): void
  /** Remembers that this delivery has created a contact, which each other call now finds when it looks once more. */
  noteCreated(place: Place): void
  /** Remembers that a request of this delivery was lost; the delivery itself looks again without being asked to. */
  noteDoubt(place: Place): void
}

type Place = { readonly key: string; readonly deliveryId: number }
/** `known`: the value that was noted; `isInDoubt`: a request was lost since this delivery has looked. */
type NumberState = { readonly known: KeptValue | undefined; readonly isInDoubt: boolean }
type Doubt = { readonly sinceUs: number; readonly haveLooked: Set<number> }

export function createNumberTurns({
  nowUs,
  pause,
}: {
  readonly nowUs: NowUs
  readonly pause: (ms: number) => Promise<void>
}): NumberTurns {
  /** The end of the last work that has begun or waits, by key. */
  const last = new Map<string, Promise<void>>()
  /** Ordered by time. */
  const remembered = new Map<string, { readonly value: KeptValue; readonly untilUs: number }>()
  /** Ordered by time. */
  const doubts = new Map<string, Doubt>()

  function knownOf(key: string): KeptValue | undefined {
    const found = remembered.get(key)
    return found === undefined || found.untilUs <= nowUs() ? undefined : found.value
  }

  /** Returns whether the delivery has to look again; it counts as having looked then. */
  async function isInDoubt({ key, deliveryId }: Place): Promise<boolean> {
    const doubt = doubts.get(key)
    if (doubt === undefined || doubt.haveLooked.has(deliveryId)) return false
    doubt.haveLooked.add(deliveryId)
    const restUs = doubt.sinceUs + SETTLING_US - nowUs()
    if (restUs > 0) await pause(restUs / MILLISECOND)
    return true
  }

  function noteDoubt({ key, deliveryId }: Place, sinceUs: number): void {
    doubts.delete(key)
    doubts.set(key, { sinceUs, haveLooked: new Set([deliveryId]) })
    forgetOldest(doubts, (one) => one.sinceUs + REMEMBERED_US <= sinceUs)
  }

  return {
    async run(place, work) {
      const { key } = place
      const before = last.get(key)
      const { promise, resolve } = Promise.withResolvers<void>()
      last.set(key, promise)
      await before
      try {
        const known = knownOf(key)
        return await work({ known, isInDoubt: known === undefined && (await isInDoubt(place)) })
      } finally {
        if (last.get(key) === promise) last.delete(key)
        resolve()
      }
    },

    note(key, value) {
      const atUs = nowUs()
      doubts.delete(key)
      remembered.delete(key)
      remembered.set(key, { value, untilUs: atUs + REMEMBERED_US })
      forgetOldest(remembered, ({ untilUs }) => untilUs <= atUs)
    },

    noteCreated: (place) => noteDoubt(place, nowUs() - SETTLING_US),
    noteDoubt: (place) => noteDoubt(place, nowUs()),
  }
}

/** Deletes the first entries that are over, and those beyond the bound. */
function forgetOldest<Value>(entries: Map<string, Value>, isOver: (value: Value) => boolean): void {
  for (const [key, value] of entries) {
    if (!isOver(value) && entries.size <= MAX_REMEMBERED) break
    entries.delete(key)
  }
}
