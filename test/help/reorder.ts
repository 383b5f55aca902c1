import type { EslFrame } from '../../src/pbx/esl/decoder.ts'
import type { EslEvent } from '../../src/pbx/esl/event.ts'
import type { Random } from './random.ts'

export type TimedFrame = { readonly frame: EslFrame; readonly atUs: number }

/** What sends an event: FreeSWITCH sends those of a leg, a queue member or a conference in their order, regardless of the others. */
const senderOf = (event: EslEvent): string =>
  event.get('Unique-ID') || event.get('CC-Member-Session-UUID') || event.get('Conference-Name') || event.name

/** Returns the frames as they could have arrived too: each up to `maxDelayUs` later, those of one sender still in their order. */
export function reorder(frames: readonly TimedFrame[], random: Random, maxDelayUs: number): TimedFrame[] {
  const lastOf = new Map<string, number>()
  const delayed = frames.map(({ frame, atUs }) => {
    if (frame.event === undefined) return { frame, atUs }
    const sender = senderOf(frame.event)
    const arrivalUs = Math.max(atUs + random.int(maxDelayUs), lastOf.get(sender) ?? 0)
    lastOf.set(sender, arrivalUs)
    return { frame, atUs: arrivalUs }
  })
  return delayed.toSorted((a, b) => a.atUs - b.atUs)
}
