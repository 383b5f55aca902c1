import type { NowUs } from '../../lib/time.ts'
import type { Inbox } from '../connection/inbox.ts'
import { bornIn, type Item, type Listing } from '../connection/inbox-entry.ts'
import type { EslDialogue } from './commands.ts'
import type { EslFrame } from './decoder.ts'

/**
 * Asks what is up, as two replies: the channels, and which of them are bridged; and what time it is there. The first list goes before all that waits, a later
 * one to where its first reply came.
 */
export function createLists(
  dialogue: EslDialogue,
  inbox: Inbox<Item<EslFrame>>,
  nowUs: NowUs,
): { next(): Promise<boolean> } {
  let first = true
  return {
    async next() {
      const isFirst = first
      first = false
      const listing: Listing<EslFrame> = { rows: undefined, arrivedUs: nowUs() }
      const began = (): void => {
        // What comes while the second reply is awaited is later than the list.
        inbox.hold(true)
        if (isFirst) inbox.unshift(listing)
        else inbox.push(listing)
      }
      const [clock, ...replies] = await Promise.all([
        dialogue.ask('api strmicroepoch'),
        dialogue.ask('api show channels as json', began),
        dialogue.ask('api show calls as json'),
      ])
      const rows = replies.filter((reply) => reply?.body.trimStart().startsWith('{'))
      const whole = rows.length === replies.length
      if (whole) {
        listing.rows = [...rows, clock].filter((row) => row !== undefined)
        listing.born = bornIn(inbox.waiting(), ({ event }) =>
          event?.name === 'CHANNEL_CREATE' ? event.get('Unique-ID') : undefined,
        )
      }
      inbox.hold(false)
      return whole
    },
  }
}
