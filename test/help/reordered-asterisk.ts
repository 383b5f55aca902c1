import type { Block } from './asterisk-recording.ts'
import type { Random } from './random.ts'

// Asterisk sends its events in the order in which its threads publish them: on a busy machine, events of unrelated
// channels overtake each other.

/** The longest time by which events of different channels overtake each other. */
const MAX_DELAY_MS = 20

const CHANNEL_ID = /^\w*Uniqueid: (\S+)/gm

const LINKED_ID = /^Linkedid: (\S+)/gm

/** Returns the events as they could have arrived too: each later by some time, those that share a channel in order. */
export function reordered(blocks: readonly Block[], random: Random): Block[] {
  const lastOf = new Map<string, number>()
  let answeredMs = 0
  const delayed = blocks.map(({ text, atMs }) => {
    const ids = [...text.matchAll(CHANNEL_ID)].map(([, id = '']) => id)
    // Answers, and events of no channel, stay where they are.
    const isFixed = ids.length === 0 || text.includes('ActionID: ')
    const laterMs = isFixed ? 0 : random.int(MAX_DELAY_MS)
    // Who makes a channel has published what came before it.
    const makers = text.startsWith('Event: Newchannel') ? [...text.matchAll(LINKED_ID)].map(([, id = '']) => id) : []
    const arrivalMs = Math.max(atMs + laterMs, answeredMs, ...[...ids, ...makers].map((id) => lastOf.get(id) ?? 0))
    for (const id of ids) lastOf.set(id, arrivalMs)
    if (isFixed) answeredMs = arrivalMs
    return { text, atMs: arrivalMs }
  })
  return delayed.toSorted((a, b) => a.atMs - b.atMs)
}
