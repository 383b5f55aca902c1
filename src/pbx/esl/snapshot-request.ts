import type { NowUs } from '../../lib/time.ts'
import type { Inbox } from '../connection/inbox.ts'
import { createdIn, framesIn, type InboxEntry, type SnapshotEntry } from '../connection/inbox-entry.ts'
import type { TenantRule } from '../source/pbx-url.ts'
import type { Commands } from './commands.ts'
import type { EslFrame } from './decoder.ts'
import { requestQueues } from './queue-request.ts'
import { requestTenants } from './tenant-request.ts'

type Options = {
  readonly nowUs: NowUs
  readonly tenants?: TenantRule | undefined
  /** Waits until FreeSWITCH's lists have what happened before now. */
  readonly listsCatchUp: () => Promise<void>
}

/**
 * Returns a function that requests the channels, the bridged pairs and the clock of a FreeSWITCH, and puts them into
 * the inbox: the first snapshot before all waiting entries, each later one at the place of its list of channels.
 * Resolves with whether the lists were complete.
 *
 * FreeSWITCH writes its lists some 100 ms later than its events. What happened just before the connection is in no
 * event, so the first lists are requested once they must have it: events that come meanwhile wait, and the snapshot is
 * put back to the moment of the first request.
 */
export function createSnapshotRequest(
  commands: Commands,
  { nowUs, tenants, listsCatchUp }: Options,
): (inbox: Inbox<InboxEntry<EslFrame>>) => Promise<boolean> {
  let isFirst = true
  return async (inbox) => {
    const wasFirst = isFirst
    const place = wasFirst ? inbox.unshift : inbox.push
    isFirst = false
    const entry: SnapshotEntry<EslFrame> = { rows: undefined, arrivedUs: nowUs() }
    let isPaused = false
    const asked = commands.send('api strmicroepoch')
    if (wasFirst) await listsCatchUp()
    const [clock, ...lists] = await Promise.all([
      asked,
      commands.send('api show channels as json', () => {
        // Events that arrive while the second list is awaited are later than the snapshot.
        inbox.pause()
        isPaused = true
        place(entry)
      }),
      commands.send('api show calls as json'),
    ])
    const rows = lists.filter((reply) => reply?.body.trimStart().startsWith('{'))
    const isComplete = rows.length === lists.length
    if (isComplete) {
      const shown = await Promise.all([requestTenants(commands, tenants, rows[0]), requestQueues(commands, rows[0])])
      entry.rows = [...rows, ...shown, clock].filter((row) => row !== undefined)
      const waiting = inbox.waiting()
      const earlier = wasFirst ? framesIn(waiting) : undefined
      entry.about = { created: createdIn(waiting, createdBy), earlier }
    }
    if (isPaused) inbox.resume()
    return isComplete
  }
}

/** Returns the channel that an event creates. */
export function createdBy(frame: EslFrame): string | undefined {
  const { event } = frame
  const id = event?.name === 'CHANNEL_CREATE' ? event.get('Unique-ID') : undefined
  frame.forget?.()
  return id
}
