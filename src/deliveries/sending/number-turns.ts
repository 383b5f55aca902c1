import { type NowUs, SECOND } from '../../lib/time.ts'
import type { KeptValue } from '../../webhooks/flows/model.ts'

/** CRMs find a new contact by search only after a while, some after a minute. */
const REMEMBERED_US = 300 * SECOND
/** The most values that are remembered; the oldest are forgotten first. */
const MAX_REMEMBERED = 10_000

/**
 * Takes the requests that create a contact in turn, and remembers the ids of new contacts. Two calls of an unknown
 * number at the same time, or one after the other, would otherwise have two contacts.
 */
export type NumberTurns = {
  /** Runs `work` after all earlier work with the same key. `known`: the value that was noted for the key. */
  run<Result>(key: string, work: (known: KeptValue | undefined) => Promise<Result>): Promise<Result>
  /** Remembers a value for a few minutes. */
  note(key: string, value: KeptValue): void
}

export function createNumberTurns(nowUs: NowUs): NumberTurns {
  /** The end of the last work that has begun or waits, by key. */
  const last = new Map<string, Promise<void>>()
  /** Ordered by time. */
  const remembered = new Map<string, { readonly value: KeptValue; readonly untilUs: number }>()

  function knownOf(key: string): KeptValue | undefined {
    const found = remembered.get(key)
    return found === undefined || found.untilUs <= nowUs() ? undefined : found.value
  }

  return {
    async run(key, work) {
      const before = last.get(key)
      const { promise, resolve } = Promise.withResolvers<void>()
      last.set(key, promise)
      await before
      try {
        return await work(knownOf(key))
      } finally {
        if (last.get(key) === promise) last.delete(key)
        resolve()
      }
    },

    note(key, value) {
      const atUs = nowUs()
      remembered.delete(key)
      remembered.set(key, { value, untilUs: atUs + REMEMBERED_US })
      for (const [other, { untilUs }] of remembered) {
        if (untilUs > atUs && remembered.size <= MAX_REMEMBERED) break
        remembered.delete(other)
      }
    },
  }
}
