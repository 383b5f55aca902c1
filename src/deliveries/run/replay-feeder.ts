import type { Ownership } from '../../cluster/cluster.ts'
import type { Log } from '../../lib/log.ts'
import { startPeriodic } from '../../lib/periodic.ts'
import type { NowUs } from '../../lib/time.ts'
import type { Replay, ReplayedEvent } from '../../store/operations/replays.ts'
import type { Store } from '../../store/store.ts'

/**
 * Queues the events of replays, in their order. A call has one delivery of a replay pending at a time, so that its
 * events arrive in their order with any webhook; and a replay has few, so that new events wait behind few of them, none
 * expires before its turn, and memory holds little of a million. What is stored of a replay is its next event: after a
 * restart it goes on there, and leaves out what ended since it began.
 */

/** The pending deliveries of a replay. */
const MAX_PENDING = 64
/** The events that are read ahead: events of calls with a pending replay wait here. */
const MAX_READ_AHEAD = 512
const FEED_MS = 200
/** Another process may have added a replay. */
const LIST_MS = 5_000

type ReplayFeederOptions = {
  readonly store: { readonly [group in 'replays' | 'webhooks' | 'log']: Store[group] }
  readonly ownership: Pick<Ownership, 'ownsAccount'>
  readonly steadyUs: NowUs
  readonly log: Log
  /** Returns the events that the filter of a webhook, as it is now, lets through. */
  readonly wantedOf: (webhookId: number, events: readonly ReplayedEvent[]) => Promise<readonly ReplayedEvent[]>
  /** Called after deliveries became due. */
  readonly onDue: () => void
  readonly everyMs?: number
}

/** The memory of a replay. */
type Feed = {
  readonly replay: Replay
  readonly waiting: ReplayedEvent[]
  /** The pending deliveries, with their events. */
  readonly pending: Map<number, ReplayedEvent>
  readTo: number
  isRead: boolean
  /** As it is stored. */
  nextEventId: number
}

/** Starts to feed the replays of the accounts that this process sends for. `wake` looks for new ones at once. */
export function startReplayFeeder(options: ReplayFeederOptions): { wake(): void; stop(): Promise<void> } {
  const { store, ownership, log, everyMs = FEED_MS } = options
  const feeds = new Map<number, Feed>()
  let listAgainIn = 0

  async function list(): Promise<void> {
    const listed = (await store.replays.replayList()).filter(({ accountId }) => ownership.ownsAccount(accountId))
    const present = new Map(listed.map((replay) => [replay.webhookId, replay]))
    for (const [webhookId, { replay }] of feeds)
      if (present.get(webhookId)?.createdUs !== replay.createdUs) feeds.delete(webhookId)
    for (const replay of listed) if (!feeds.has(replay.webhookId)) feeds.set(replay.webhookId, newFeed(replay))
  }

  const periodic = startPeriodic(everyMs, async (stopped) => {
    try {
      listAgainIn -= everyMs
      if (listAgainIn <= 0) {
        await list()
        listAgainIn = LIST_MS
      }
      for (const feed of feeds.values()) {
        if (stopped()) return
        if (await feedOnce(feed, options)) feeds.delete(feed.replay.webhookId)
      }
    } catch (err) {
      log.debug({ err }, 'cannot queue past events, will retry')
    }
  })
  return {
    wake() {
      listAgainIn = 0
    },
    stop: periodic.stop,
  }
}

const newFeed = (replay: Replay): Feed => ({
  replay,
  waiting: [],
  pending: new Map(),
  readTo: replay.nextEventId - 1,
  isRead: false,
  nextEventId: replay.nextEventId,
})

/** Queues what may be queued now. Returns whether the replay is over. */
async function feedOnce(feed: Feed, options: ReplayFeederOptions): Promise<boolean> {
  const { store, log } = options
  const { replay, pending, waiting } = feed
  await removeEnded(feed, store.log)
  await readAhead(feed, options)
  const queued = await queueNext(feed, options)
  if (queued === 'unlisted' || (feed.isRead && waiting.length === 0 && pending.size === 0)) {
    await store.replays.replayRemove(replay)
    const facts = { webhook: replay.webhookId, account: replay.accountId }
    if (queued === 'unlisted') log.warn(facts, 'the replay of past events ends: the URL has left the list')
    else log.info(facts, 'the replay of past events is complete')
    return true
  }
  const open = [...pending.values(), ...waiting].map(({ eventId }) => eventId)
  const nextEventId = Math.min(feed.readTo + 1, ...open)
  if (nextEventId > feed.nextEventId) {
    await store.replays.replayAdvance({ ...replay, nextEventId })
    feed.nextEventId = nextEventId
  }
  return false
}

/** Forgets pending deliveries that have ended, or were deleted. */
async function removeEnded({ pending }: Feed, log: Pick<Store['log'], 'deliveryGetMany'>): Promise<void> {
  if (pending.size === 0) return
  const rows = await log.deliveryGetMany([...pending.keys()])
  const open = new Set(rows.filter(({ state }) => state === 'pending').map(({ id }) => id))
  for (const id of [...pending.keys()]) if (!open.has(id)) pending.delete(id)
}

async function readAhead(feed: Feed, { store, wantedOf }: ReplayFeederOptions): Promise<void> {
  const { replay, waiting } = feed
  // One part at a time, so that nobody waits long: the next round reads the next one.
  if (feed.isRead || waiting.length >= MAX_READ_AHEAD) return
  const part = await store.replays.replayRead({ ...replay, afterId: feed.readTo, endId: replay.endEventId })
  waiting.push(...(await wantedOf(replay.webhookId, part.events)))
  feed.readTo = part.lastId
  feed.isRead = part.isEnd
}

async function queueNext(feed: Feed, { store, steadyUs, onDue }: ReplayFeederOptions): Promise<'unlisted' | undefined> {
  const { replay, waiting, pending } = feed
  const busy = new Set([...pending.values()].map(({ callId }) => callId))
  const next: ReplayedEvent[] = []
  const left: ReplayedEvent[] = []
  for (const event of waiting) {
    if (busy.has(event.callId) || pending.size + next.length >= MAX_PENDING) left.push(event)
    // Its own delivery is still pending: the following ones wait for it.
    else if (event.pendingId !== null) pending.set(event.pendingId, event)
    else next.push(event)
    busy.add(event.callId)
  }
  if (next.length > 0) {
    const eventIds = next.map(({ eventId }) => eventId)
    const { webhookId } = replay
    const queued = await store.replays.replayQueue({ webhookId, eventIds, nowSteadyUs: steadyUs() })
    if (queued === 'unlisted') return 'unlisted'
    if (queued === 'leaving') return undefined
    for (const event of next) {
      const id = queued.get(event.eventId)
      if (id !== undefined) pending.set(id, event)
    }
    onDue()
  }
  waiting.splice(0, waiting.length, ...left)
  return undefined
}
