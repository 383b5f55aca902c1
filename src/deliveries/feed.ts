import type { Tx } from '../db/mutation.ts'
import type { NowUs } from '../lib/time.ts'
import { claimFresh, claimOne, claimRetries, nextRetryUs, webhookIds } from './claim-store.ts'
import type { Lanes } from './lanes.ts'
import type { Item } from './line.ts'
import type { Stored } from './outbox.ts'
import type { Receivers } from './receivers.ts'

/**
 * Fills the lanes from the table, and keeps what is in memory bounded.
 *
 * Invariants, for each webhook: what was never tried and has an id up to `cursor` is in memory or over; beyond, there is something on
 * disk when `more`, else nothing. An id is in memory once (`held`), from when it is taken in until its outcome is on disk. Retries are in
 * memory when they are due or failed lately; the first of the others is due at `retryUs`.
 */
type Source = {
  readonly webhookId: number
  cursor: number
  more: boolean
  /** In steady time; `undefined`: none waits on disk alone. */
  retryUs: number | undefined
  /** Retries in memory that are not due yet. */
  later: Item[]
  /** Its items in memory: those that wait, and those under way. */
  held: number
}

/** In memory for one webhook: a burst of a second, so that what is stored is hardly ever read again before it is sent. */
const MAX_WAITING = 1_024
/** Of a webhook that is down: heads enough of different calls for its probes. */
const MAX_WAITING_WHEN_DOWN = 64
const MAX_LATER = 64
const CLAIM = 128
/** Those in memory are read along with the others: so it is more than they can be. */
const RETRY_CLAIM = MAX_WAITING + MAX_LATER + CLAIM
/** All bodies in memory; what is down gets half. Beyond, every webhook still has what it sends next. */
const MAX_BYTES = 64 * 1024 * 1024
const ALWAYS = 2
/** Reading must not hold up the event loop: a claim takes about a millisecond. */
const CLAIMS_A_TURN = 4

export type FeedOptions = {
  readonly read: Tx
  readonly lanes: Lanes
  readonly receivers: Receivers
  readonly steadyUs: NowUs
}

export type Feed = ReturnType<typeof createFeed>

export function createFeed({ read, lanes, receivers, steadyUs }: FeedOptions) {
  const sources = new Map<number, Source>()
  const held = new Map<number, Item>()
  /** Those that may have something on disk to read now. */
  const hungry = new Set<Source>()
  let bytes = 0

  const sourceOf = (webhookId: number): Source => {
    const known = sources.get(webhookId)
    if (known !== undefined) return known
    const source: Source = { webhookId, cursor: 0, more: true, retryUs: 0, later: [], held: 0 }
    sources.set(webhookId, source)
    hungry.add(source)
    return source
  }
  const most = (source: Source): number => {
    const down = lanes.line(source.webhookId).health.down !== undefined
    if (bytes > (down ? MAX_BYTES / 2 : MAX_BYTES)) return ALWAYS
    return down ? MAX_WAITING_WHEN_DOWN : MAX_WAITING
  }
  const room = (source: Source): number => most(source) - lanes.line(source.webhookId).waiting
  const cancelledTo = (source: Source): number => receivers.get(source.webhookId)?.cancelledTo ?? 0

  const hold = (item: Item, source: Source, atUs: number) => {
    held.set(item.id, item)
    source.held += 1
    bytes += item.body.length
    lanes.add(item, atUs)
  }
  /** Leaves an item to the disk, where it is found again if it still waits. */
  const letGo = (item: Item) => {
    if (held.get(item.id) !== item) return
    held.delete(item.id)
    bytes -= item.body.length
    const source = sourceOf(item.webhookId)
    source.held -= 1
    if (item.dueUs !== undefined) source.retryUs = Math.min(source.retryUs ?? item.dueUs, item.dueUs)
    else if (!item.leaving) {
      source.cursor = Math.min(source.cursor, item.id - 1)
      source.more = true
    }
  }
  const leave = (item: Item) => {
    item.leaving = true
    if (item.unrecorded === 0) letGo(item)
  }
  /** On disk it stands otherwise than here: whatever it is there is read anew. */
  const forget = (item: Item) => {
    const source = sourceOf(item.webhookId)
    source.later = source.later.filter((one) => one !== item)
    lanes.line(item.webhookId).drop((one) => one === item)
    leave(item)
    source.retryUs = 0
    hungry.add(source)
  }
  const isDue = ({ retryUs }: Source) => retryUs !== undefined && retryUs <= steadyUs()

  /** Reads a claim's worth. @returns whether there may be more to read. */
  function claim(source: Source): boolean {
    const free = room(source)
    if (free < most(source) / 2) return false
    const { webhookId } = source
    const afterId = cancelledTo(source)
    const now = steadyUs()
    const takeIn = (items: readonly Item[]) => {
      for (const item of items) if (item.id > afterId && !held.has(item.id)) hold(item, source, now)
    }
    if (isDue(source)) {
      const due = claimRetries(read, webhookId, now, RETRY_CLAIM)
      const wanted = due.filter(({ id }) => id > afterId && !held.has(id))
      takeIn(wanted.slice(0, free))
      const more = due.length === RETRY_CLAIM || wanted.length > free
      source.retryUs = more ? now : nextRetryUs(read, webhookId, now)
    }
    const wanted = Math.min(CLAIM, room(source))
    if (source.more && wanted > 0) {
      const fresh = claimFresh(read, webhookId, Math.max(source.cursor, afterId), wanted)
      takeIn(fresh)
      source.cursor = Math.max(source.cursor, fresh.at(-1)?.id ?? 0)
      source.more = fresh.length === wanted
    }
    return source.more || isDue(source)
  }

  return {
    webhookIds: () => [...sources.keys()],

    /** Takes in what was just stored without reading it again, unless older ones wait on disk. */
    offer({ deliveries, uuid, callId, name, atUs, sinceUs, body }: Stored): void {
      const now = steadyUs()
      for (const { id, webhookId } of deliveries) {
        const source = sourceOf(webhookId)
        if (id <= source.cursor) continue
        if (source.more || room(source) <= 0) {
          source.more = true
          hungry.add(source)
          continue
        }
        source.cursor = id
        const fresh = { tries: 0, attemptsMade: 0, dueUs: undefined, unrecorded: 0, leaving: false }
        hold({ id, webhookId, callId, event: name, uuid, body, atUs, sinceUs, ...fresh }, source, now)
      }
    },

    /** Reads for those that need it, as much as a turn of the event loop may take. @returns whether there is more. */
    refill(): 'more' | 'enough' {
      let left = CLAIMS_A_TURN
      for (const source of hungry) {
        if (left === 0) return 'more'
        hungry.delete(source)
        if (!source.more && !isDue(source)) continue
        if (room(source) < most(source) / 2) continue
        left -= 1
        if (claim(source)) hungry.add(source)
      }
      return 'enough'
    },

    /** An attempt on an item ended; its outcome will be on disk at `settled`. */
    landed(item: Item, pending: boolean): void {
      item.unrecorded += 1
      const source = sourceOf(item.webhookId)
      if (!pending) item.dueUs = undefined
      if (!pending || item.leaving) leave(item)
      else if (lanes.line(item.webhookId).health.down !== undefined) lanes.add(item, steadyUs())
      else if (source.later.length < MAX_LATER) source.later.push(item)
      else leave(item)
    },
    /** A delivery was made due by hand: of a webhook that is down it is sent next, which would probe another otherwise. */
    urge(id: number): void {
      const item = held.get(id) ?? claimOne(read, id)
      if (item === undefined || lanes.known(item.webhookId)?.health.down === undefined) return
      const source = sourceOf(item.webhookId)
      if (id <= cancelledTo(source)) return
      if (!held.has(id)) hold(item, source, steadyUs())
      lanes.urge(item, steadyUs())
    },

    /** An attempt on an item did not begin: it waits as before. */
    putBack(item: Item): void {
      if (item.leaving) leave(item)
      else lanes.add(item, steadyUs())
    },
    settled(item: Item, overtaken: boolean): void {
      item.unrecorded -= 1
      if (overtaken) forget(item)
      else if (item.leaving && item.unrecorded === 0) letGo(item)
      const source = sourceOf(item.webhookId)
      if (source.more) hungry.add(source)
    },

    /** Every call that waits is a head for a probe, also where a retry was not due; memory is given back. */
    wentDown(webhookId: number): void {
      const source = sourceOf(webhookId)
      for (const item of source.later.splice(0)) lanes.add(item, steadyUs())
      const line = lanes.line(webhookId)
      const lastKept = line.ids()[MAX_WAITING_WHEN_DOWN - 1] ?? Number.POSITIVE_INFINITY
      for (const item of line.drop(({ id, unrecorded }) => id > lastKept && unrecorded === 0)) letGo(item)
    },

    /**
     * Reads anew what may be on disk: the table or the list changed in a way that no nudge tells. When it was another process that
     * changed it, nothing that waits in memory is believed.
     */
    look(by: 'us' | 'others'): void {
      let leaving = false
      for (const webhookId of webhookIds(read)) sourceOf(webhookId)
      for (const source of sources.values()) {
        for (const item of source.later.splice(0)) leave(item)
        const gone = cancelledTo(source)
        const line = lanes.line(source.webhookId)
        for (const item of line.drop(({ id }) => id <= gone)) leave(item)
        if (gone > 0) leaving = true
        if (by === 'others') for (const item of line.drop(({ unrecorded }) => unrecorded === 0)) letGo(item)
        source.more = true
        source.retryUs = nextRetryUs(read, source.webhookId, 0)
        hungry.add(source)
      }
      // What is under way is cancelled on disk now: if it fails it is not tried again, however long writing that down takes.
      for (const item of leaving ? held.values() : [])
        if (item.id <= cancelledTo(sourceOf(item.webhookId))) item.leaving = true
    },

    /** Forgets the webhooks that have left the list and of which nothing is here any more. @returns which. */
    forgetLeft(): number[] {
      const left = [...sources.values()].filter(({ webhookId, held }) => {
        const receiver = receivers.get(webhookId)
        return held === 0 && receiver?.listed !== true && (receiver?.cancelledTo ?? 0) === 0
      })
      for (const source of left) {
        sources.delete(source.webhookId)
        hungry.delete(source)
        lanes.forget(source.webhookId)
      }
      return left.map(({ webhookId }) => webhookId)
    },

    /** Looks at the clock: what is due is taken in. */
    tick(): void {
      const now = steadyUs()
      for (const source of sources.values()) {
        if (source.later.length > 0) {
          const due = source.later.filter(({ dueUs = 0 }) => dueUs <= now)
          if (due.length > 0) source.later = source.later.filter(({ dueUs = 0 }) => dueUs > now)
          for (const item of due) lanes.add(item, steadyUs())
        }
        if (source.more || isDue(source)) hungry.add(source)
      }
    },
  }
}
