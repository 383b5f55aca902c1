import type { NowUs } from '../../lib/time.ts'
import type { Inbox } from '../connection/inbox.ts'
import { bornIn, type Item, type Listing } from '../connection/inbox-entry.ts'
import type { Dialogue, ListWatch } from './actions.ts'
import type { AmiFrame } from './decoder.ts'

/** `Status` tells more (who was dialled); the other one is for a user that may not ask for it. */
const LISTS = ['Status', 'CoreShowChannels'] as const

/**
 * Asks what is up, and puts the answer into the inbox: the first list before all that waits, each later one where it began. While
 * a list comes in, the inbox is held.
 */
export function createLists(
  dialogue: Dialogue,
  inbox: Inbox<Item<AmiFrame>>,
  nowUs: NowUs,
): { next(): Promise<boolean> } {
  let first = true
  const born = () =>
    bornIn(inbox.waiting(), (frame) => (frame.name === 'Newchannel' ? frame.get('Uniqueid') : undefined))

  function watchFirst(): ListWatch {
    return { began() {}, whole: (list) => inbox.unshift({ ...list, arrivedUs: nowUs(), born: born() }) }
  }
  function watchLater(): ListWatch {
    let listing: Listing<AmiFrame> | undefined
    return {
      began() {
        listing = { rows: undefined, arrivedUs: nowUs() }
        inbox.hold(true)
        inbox.push(listing)
      },
      whole({ rows, unsure }) {
        if (listing !== undefined) Object.assign(listing, { rows, unsure, born: born() })
      },
    }
  }

  return {
    async next() {
      const isFirst = first
      first = false
      for (const name of LISTS) {
        const reply = await dialogue.list({ Action: name }, isFirst ? watchFirst() : watchLater())
        if (!isFirst) inbox.hold(false)
        if (reply.kind === 'rows') return true
        if (reply.kind === 'partial' || reply.kind === 'silent') return false
      }
      return false
    },
  }
}
