import type { NowUs } from '../../lib/time.ts'
import type { PendingDelivery, StoredEvent } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'
import type { Lanes } from './scheduler.ts'
import { itemOf, type Loading, type Source } from './source.ts'
import type { Receivers } from './webhook-cache.ts'
import type { Item } from './webhook-queue.ts'

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
const CLAIMS_AT_A_TIME = 4

export type FeedOptions = {
  readonly queue: Store['queue']
  readonly lanes: Lanes
  readonly receivers: Receivers
  readonly steadyUs: NowUs
  /** Something was taken in, or is left to read. */
  readonly onLoaded: () => void
  readonly onFailed: (error: unknown) => void
}

export type Feed = ReturnType<typeof createFeed>

/**
 * Fills the lanes from the table, and keeps what is in memory bounded.
 *
 * Invariants, for each webhook: what was never tried and has an id up to `cursor` is in memory or over; beyond, there is something on
 * disk when `more`, else nothing. An id is in memory once (`held`), from when it is taken in until its outcome is on disk. Retries are in
 * memory when they are due or failed lately; the first of the others is due at `retryUs`.
 */
export function createFeed({ queue, lanes, receivers, steadyUs, onLoaded, onFailed }: FeedOptions) {
  const sources = new Map<number, Source>()
  const held = new Map<number, Item>()
  /** Those that may have something on disk to read now. */
  const hungry = new Set<Source>()
  let loads = 0
  let bytes = 0

  const sourceOf = (webhookId: number): Source => {
    const known = sources.get(webhookId)
    if (known !== undefined) return known
    const source: Source = { webhookId, cursor: 0, more: true, retryUs: 0, later: [], held: 0, loading: undefined }
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
    source.loading?.released.add(item.id)
    if (item.dueUs !== undefined) source.retryUs = Math.min(source.retryUs ?? item.dueUs, item.dueUs)
    else if (!item.leaving) {
      source.cursor = Math.min(source.cursor, item.id - 1)
      source.more = true
      if (source.loading !== undefined) source.loading.stale = true
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

  /** Takes in what was read and is still so. Returns false if something of it is to be read again. */
  function takeIn(source: Source, found: readonly PendingDelivery[], { released }: Loading): boolean {
    const [afterId, now] = [cancelledTo(source), steadyUs()]
    for (const pending of found)
      if (pending.id > afterId && !held.has(pending.id) && !released.has(pending.id)) hold(itemOf(pending), source, now)
    return !found.some(({ id }) => released.has(id))
  }

  async function loadDue(source: Source, loading: Loading): Promise<void> {
    const { webhookId } = source
    const dueSteadyUs = steadyUs()
    const due = await queue.deliveryGetDue({ webhookId, dueSteadyUs, limit: RETRY_CLAIM })
    if (loading.stale) return
    const wanted = due.filter(({ id }) => id > cancelledTo(source) && !held.has(id))
    const free = Math.max(0, room(source))
    const whole = takeIn(source, wanted.slice(0, free), loading)
    if (!whole || due.length === RETRY_CLAIM || wanted.length > free) {
      source.retryUs = dueSteadyUs
      return
    }
    // What is released from here on says itself when it is due.
    source.retryUs = undefined
    const next = await queue.deliveryGetNextDue({ webhookId, fromSteadyUs: dueSteadyUs })
    if (next !== undefined) source.retryUs = Math.min(source.retryUs ?? next, next)
  }

  async function loadUntried(source: Source, loading: Loading): Promise<void> {
    const limit = Math.min(CLAIM, room(source))
    if (!source.more || limit <= 0) return
    const afterId = Math.max(source.cursor, cancelledTo(source))
    const untried = await queue.deliveryGetUntried({ webhookId: source.webhookId, afterId, limit })
    if (loading.stale) return
    takeIn(source, untried, loading)
    source.cursor = Math.max(source.cursor, untried.at(-1)?.id ?? 0)
    source.more = untried.length === limit || loading.moreStored
  }

  async function load(source: Source): Promise<void> {
    const loading: Loading = { stale: false, moreStored: false, released: new Set() }
    source.loading = loading
    loads += 1
    try {
      if (receivers.get(source.webhookId) === undefined) await receivers.load([source.webhookId])
      if (receivers.get(source.webhookId) === undefined) {
        // Nothing refers to it any more.
        source.more = false
        source.retryUs = undefined
        return
      }
      if (isDue(source)) await loadDue(source, loading)
      if (!loading.stale) await loadUntried(source, loading)
    } finally {
      source.loading = undefined
      loads -= 1
    }
  }

  return {
    webhookIds: () => [...sources.keys()],

    /** Takes in what was just stored without reading it again, unless older ones wait on disk. */
    offer({ accountId, deliveries, uuid, callId, name, atUs, sinceSteadyUs: sinceUs, body }: StoredEvent): void {
      const now = steadyUs()
      for (const { id, webhookId } of deliveries) {
        const source = sourceOf(webhookId)
        if (id <= source.cursor) continue
        if (
          source.more ||
          source.loading !== undefined ||
          room(source) <= 0 ||
          receivers.get(webhookId) === undefined
        ) {
          source.more = true
          if (source.loading !== undefined) source.loading.moreStored = true
          hungry.add(source)
          continue
        }
        source.cursor = id
        const fresh = { generation: 1, tries: 0, attemptsMade: 0, dueUs: undefined, unrecorded: 0, leaving: false }
        hold({ id, accountId, webhookId, callId, event: name, uuid, body, atUs, sinceUs, ...fresh }, source, now)
      }
    },

    /** Begins to read for those that need it, as much as a turn of the event loop may take. */
    refill(): void {
      for (const source of hungry) {
        if (loads >= CLAIMS_AT_A_TIME) return
        hungry.delete(source)
        if (source.loading !== undefined || (!source.more && !isDue(source))) continue
        if (room(source) < most(source) / 2) continue
        load(source).then(
          () => {
            if (source.more || isDue(source)) hungry.add(source)
            onLoaded()
          },
          (error) => {
            hungry.add(source)
            onFailed(error)
          },
        )
      }
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
    async urge(id: number): Promise<void> {
      const pending = held.has(id) ? undefined : await queue.deliveryGetPending(id)
      const item = held.get(id) ?? (pending === undefined ? undefined : itemOf(pending))
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
    look(by: 'us' | 'others', active: readonly number[]): void {
      let leaving = false
      for (const webhookId of active) sourceOf(webhookId)
      for (const source of sources.values()) {
        for (const item of source.later.splice(0)) leave(item)
        const gone = cancelledTo(source)
        const line = lanes.line(source.webhookId)
        for (const item of line.drop(({ id }) => id <= gone)) leave(item)
        if (gone > 0) leaving = true
        if (by === 'others') for (const item of line.drop(({ unrecorded }) => unrecorded === 0)) letGo(item)
        source.more = true
        // Due now, as far as is known: reading says when it truly is.
        source.retryUs = 0
        if (source.loading !== undefined) source.loading.stale = true
        hungry.add(source)
      }
      // What is under way is cancelled on disk now: if it fails it is not tried again, however long writing that down takes.
      for (const item of leaving ? held.values() : [])
        if (item.id <= cancelledTo(sourceOf(item.webhookId))) item.leaving = true
    },

    /** Forgets the webhooks that have left the list and of which nothing is here any more. @returns which. */
    forgetLeft(): number[] {
      const left = [...sources.values()].filter(({ webhookId, held, loading }) => {
        if (loading !== undefined) return false
        const receiver = receivers.get(webhookId)
        return held === 0 && receiver?.listed !== true && (receiver?.cancelledTo ?? 0) === 0
      })
      for (const source of left) {
        sources.delete(source.webhookId)
        hungry.delete(source)
        lanes.forget(source.webhookId)
        receivers.forget(source.webhookId)
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
