import type { NowUs } from '../../lib/time.ts'
import type { Inbox } from '../connection/inbox.ts'
import { createdIn, framesIn, type InboxEntry, type SnapshotEntry } from '../connection/inbox-entry.ts'
import type { Actions } from './actions.ts'
import { GROUP_VARIABLES, SHAPES } from './events.ts'
import type { AmiFrame } from './frame.ts'

/** `Status` has more facts (the dialled party); the other list is for a user without permission for it. */
const LISTS = ['Status', 'CoreShowChannels'] as const

type AmiInbox = Inbox<InboxEntry<AmiFrame>>

/**
 * Returns a function that requests the list of channels and puts it into the inbox: the first list before all waiting
 * entries, each later one at its place in the stream, so that a channel that ends during the list stays ended. Resolves
 * with whether the list was complete. The rows of Status have the channel variable `variable` and the variables of
 * groups.
 */
export function createSnapshotRequest(
  actions: Actions,
  nowUs: NowUs,
  variable?: string | null,
): (inbox: AmiInbox) => Promise<boolean> {
  const variables = [...(variable ? [variable] : []), ...GROUP_VARIABLES].join(',')
  const actionOf = (name: (typeof LISTS)[number]) =>
    name === 'Status' ? { Action: name, Variables: variables } : { Action: name }
  let isFirst = true
  return async (inbox) => {
    const request = isFirst ? requestFirst : requestLater
    isFirst = false
    for (const name of LISTS) {
      const kind = await request(name, inbox)
      if (kind === 'rows') return true
      if (kind === 'partial' || kind === 'unanswered') return false
    }
    return false
  }

  /** Requires that the session has paused the inbox. */
  async function requestFirst(name: (typeof LISTS)[number], inbox: AmiInbox) {
    const reply = await actions.list(actionOf(name))
    const waiting = inbox.waiting()
    if (reply.kind === 'rows')
      inbox.unshift({
        rows: reply.rows,
        arrivedUs: nowUs(),
        about: {
          uncertain: reply.uncertain,
          created: createdIn(waiting, createdBy),
          earlier: framesIn(waiting),
          earlierUs: waiting.find(isOfCall)?.arrivedUs,
        },
      })
    return reply.kind
  }
  async function requestLater(name: (typeof LISTS)[number], inbox: AmiInbox) {
    let entry: SnapshotEntry<AmiFrame> | undefined
    const reply = await actions.list(actionOf(name), {
      began() {
        entry = { rows: undefined, arrivedUs: nowUs() }
        inbox.pause()
        inbox.push(entry)
      },
    })
    if (entry === undefined) return reply.kind
    if (reply.kind === 'rows')
      Object.assign(entry, {
        rows: reply.rows,
        about: { uncertain: reply.uncertain, created: createdIn(inbox.waiting(), createdBy) },
      })
    inbox.resume()
    return reply.kind
  }
}

const isOfCall = (entry: InboxEntry<AmiFrame>): boolean => 'frame' in entry && SHAPES.has(entry.frame.name)

/** Returns the channel that an event creates. */
export const createdBy = (frame: AmiFrame): string | undefined =>
  frame.name === 'Newchannel' ? frame.get('Uniqueid') : undefined
