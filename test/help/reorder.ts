import type { EslFrame } from '../../src/pbx/esl/decoder.ts'
import type { EslEvent } from '../../src/pbx/esl/event.ts'
import type { Random } from './random.ts'

export type TimedFrame = { readonly frame: EslFrame; readonly atUs: number }

/**
 * Returns the sender of an event: FreeSWITCH keeps the order of events of a leg, a queue member or a conference, but
 * not between them.
 */
const senderOf = (event: EslEvent): string =>
  event.get('Unique-ID') || event.get('CC-Member-Session-UUID') || event.get('Conference-Name') || event.name

/**
 * Returns the frames in another order that could have happened: each up to `maxDelayUs` later, and the frames of one
 * sender still in order.
 */
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
