import { newFifo } from '../../lib/fifo.ts'
import { type Health, newHealth } from '../circuit-breaker.ts'

/** A delivery that waits in memory, with all that sending it takes. */
export type Item = {
  readonly id: number
  readonly accountId: number
  readonly webhookId: number
  readonly callId: string
  readonly event: string
  readonly uuid: string
  readonly body: string
  /** When the event happened. */
  readonly atUs: number
  /** The number of the present schedule, and when it began in steady time. */
  readonly generation: number
  readonly sinceUs: number
  tries: number
  attemptsMade: number
  /** Of a retry, in steady time; `undefined`: never tried. */
  dueUs: number | undefined
  /** Attempts whose outcome is not on disk yet. */
  unrecorded: number
  /** Leaves memory as soon as its outcomes are on disk. */
  leaving: boolean
}

type Lane = { readonly callId: string; items: Item[]; busy: boolean; queuedFresh: boolean; queuedRetry: boolean }

/**
 * What waits in memory for one webhook: a lane for each call. Pure.
 *
 * Invariants: of a lane one item is under way at most, and the lowest id goes first; lanes with a first attempt come before lanes
 * that have retries alone; lanes of a kind take turns. A retry of a lane that has first attempts behind it goes ahead of them: so
 * a backlog drains in the order of its events.
 */
export type Line = ReturnType<typeof newLine>

export function newLine(webhookId: number) {
  const lanes = new Map<string, Lane>()
  const fresh = newFifo<Lane>()
  const retries = newFifo<Lane>()
  const health: Health = newHealth()
  /** Those that wait and were asked for by hand: they go before all others. */
  let urged: Item[] = []

  const queue = (lane: Lane) => {
    if (lane.busy || lane.items.length === 0) return
    if (lane.items.some((item) => item.dueUs === undefined)) {
      if (!lane.queuedFresh) fresh.push(lane)
      lane.queuedFresh = true
    } else {
      if (!lane.queuedRetry) retries.push(lane)
      lane.queuedRetry = true
    }
  }
  const runnable = (): Lane | undefined => {
    for (let lane = fresh.shift(); lane !== undefined; lane = fresh.shift()) {
      lane.queuedFresh = false
      if (!lane.busy && lane.items.length > 0) return lane
    }
    for (let lane = retries.shift(); lane !== undefined; lane = retries.shift()) {
      lane.queuedRetry = false
      if (!lane.busy && lane.items.length > 0) return lane
    }
    return undefined
  }
  /** The first of its call that was never tried goes before an item that was asked for. */
  const beforeOf = (lane: Lane, { id }: Item) =>
    lane.items.findIndex((one) => one.id === id || (one.dueUs === undefined && one.id < id))
  const takeUrged = (): [Lane, Item | undefined] | undefined => {
    const item = urged.find(({ callId }) => lanes.get(callId)?.busy === false)
    const lane = item === undefined ? undefined : lanes.get(item.callId)
    if (item === undefined || lane === undefined) return undefined
    urged = urged.filter((one) => one !== item)
    return [lane, lane.items.splice(beforeOf(lane, item), 1)[0]]
  }
  const takeNext = (): [Lane | undefined, Item | undefined] => {
    const lane = runnable()
    return [lane, lane?.items.shift()]
  }
  const forget = (lane: Lane) => {
    if (!lane.busy && lane.items.length === 0) lanes.delete(lane.callId)
  }

  return {
    webhookId,
    health,
    running: 0,
    slow: 0,
    /** Items that wait in lanes, those under way not counted. */
    waiting: 0,

    add(item: Item): void {
      let lane = lanes.get(item.callId)
      if (lane === undefined) {
        lane = { callId: item.callId, items: [], busy: false, queuedFresh: false, queuedRetry: false }
        lanes.set(item.callId, lane)
      }
      const last = lane.items.at(-1)
      if (last === undefined || last.id < item.id) lane.items.push(item)
      else lane.items = [...lane.items, item].sort((one, other) => one.id - other.id)
      this.waiting += 1
      queue(lane)
    },

    /**
     * Lets an item that waits go next. Those of its call that were never tried keep their place before it: the first of them goes in
     * its stead.
     */
    urge(item: Item): void {
      if (lanes.get(item.callId)?.items.includes(item) && !urged.includes(item)) urged.push(item)
    },
    get isUrged(): boolean {
      return urged.length > 0
    },

    /** Takes the next item, and keeps its call's others back until `free`. */
    take(): Item | undefined {
      const [lane, item] = takeUrged() ?? takeNext()
      if (lane === undefined || item === undefined) return undefined
      if (urged.length > 0) urged = urged.filter((one) => one !== item)
      lane.busy = true
      this.waiting -= 1
      return item
    },

    /** The attempt on this item of a call has ended. Whatever is put back has to be put back before. */
    free(callId: string): void {
      const lane = lanes.get(callId)
      if (lane === undefined) return
      lane.busy = false
      queue(lane)
      forget(lane)
    },

    /** Drops what is `unwanted`. @returns what was dropped. */
    drop(unwanted: (item: Item) => boolean): Item[] {
      const dropped: Item[] = []
      for (const lane of lanes.values()) {
        const kept = lane.items.filter((item) => !unwanted(item))
        if (kept.length === lane.items.length) continue
        dropped.push(...lane.items.filter(unwanted))
        lane.items = kept
        forget(lane)
      }
      if (urged.length > 0) urged = urged.filter((item) => !unwanted(item))
      this.waiting -= dropped.length
      return dropped
    },

    /** The ids that wait, lowest first. */
    ids(): number[] {
      return [...lanes.values()].flatMap((lane) => lane.items.map((item) => item.id)).sort((one, other) => one - other)
    },
  }
}
