import type { CallEventBody, EventBody } from '../../../events/bodies.ts'
import { isOfCall } from '../../../events/event-subject.ts'
import type { Call, Delivery, LiveCall, Overview, Party, Stage } from './resources.ts'

/**
 * The state that the live view shows: a snapshot from the server, kept up to date by each message of the stream. Pure.
 *
 * A call that ended stays for a moment, marked, so that the reader sees it end. The feed has the newest events first,
 * each with its deliveries; its length is bounded, so that a busy system does not slow the page down.
 */
export type LiveCallEntry = LiveCall & {
  readonly endedAtMs: number | null
  /** Who has put the other party on hold, `null` if that is not known; absent: nobody. */
  readonly heldBy?: Party | null
}

export type FeedEvent = {
  readonly id: string
  readonly name: string
  readonly at: string
  /** `null` for an event of a phone, trunk, agent or queue. */
  readonly callId: string | null
  /** `null` for an event that was stored before the page was opened: only its deliveries are known. */
  readonly body: EventBody | null
  readonly deliveries: readonly Delivery[]
}

export type LiveState = {
  readonly calls: ReadonlyMap<string, LiveCallEntry>
  readonly feed: readonly FeedEvent[]
}

export const EMPTY_LIVE_STATE: LiveState = { calls: new Map(), feed: [] }

const FEED_LENGTH = 120
const ENDED_STAYS_MS = 6_000

export type LiveMessage =
  | { kind: 'snapshot'; overview: Overview }
  | { kind: 'history'; deliveries: readonly Delivery[] }
  | { kind: 'call'; call: Call }
  | { kind: 'event'; body: EventBody }
  | { kind: 'delivery'; delivery: Delivery }
  | { kind: 'tick' }

/** Returns the state after a message. */
export function applyLiveMessage(state: LiveState, message: LiveMessage, nowMs: number): LiveState {
  switch (message.kind) {
    case 'snapshot':
      return {
        ...state,
        calls: new Map(message.overview.calls.map((item) => [item.call.id, { ...item, endedAtMs: null }])),
      }
    case 'history':
      return { ...state, feed: withHistory(state.feed, message.deliveries) }
    case 'call':
      return { ...state, calls: withCall(state.calls, message.call, null, nowMs) }
    case 'event':
      return {
        calls: isOfCall(message.body) ? withEvent(state.calls, message.body, nowMs) : state.calls,
        feed: withFeedEvent(state.feed, message.body),
      }
    case 'delivery':
      return { ...state, feed: withDelivery(state.feed, message.delivery) }
    case 'tick':
      return { ...state, calls: withoutEnded(state.calls, nowMs) }
  }
}

type Calls = LiveState['calls']
type Feed = LiveState['feed']

function withCall(calls: Calls, call: Call, pbx: string | null, nowMs: number): Calls {
  const before = calls.get(call.id)
  if (before === undefined && call.state === 'ended') return calls
  const endedAtMs = call.state === 'ended' ? (before?.endedAtMs ?? nowMs) : null
  return new Map(calls).set(call.id, {
    pbx: pbx ?? before?.pbx ?? '',
    call,
    stages: before?.stages ?? [],
    endedAtMs,
    ...(before?.heldBy === undefined ? {} : { heldBy: before.heldBy }),
  })
}

function withEvent(calls: Calls, body: CallEventBody, nowMs: number): Calls {
  const { data } = body
  const next = new Map(withCall(calls, data.call, data.pbx, nowMs))
  const entry = next.get(data.call.id)
  if (entry !== undefined && data.name === 'call_held') next.set(data.call.id, { ...entry, heldBy: data.by })
  if (entry !== undefined && data.name === 'call_resumed') {
    const { heldBy: _, ...resumed } = entry
    next.set(data.call.id, resumed)
  }
  if (entry !== undefined && 'stage' in data && data.stage !== null)
    next.set(data.call.id, { ...entry, stages: withStage(entry.stages, data.stage) })
  if (entry !== undefined && 'stages' in data) next.set(data.call.id, { ...entry, stages: data.stages })
  if ('transfer' in data && data.transfer.other_call_id !== null) {
    const other = next.get(data.transfer.other_call_id)
    const into = next.get(data.call.id)
    if (other !== undefined) next.set(other.call.id, { ...other, endedAtMs: other.endedAtMs ?? nowMs })
    // Unfinished stages of the merged call go on in this one, with their ids.
    if (other !== undefined && into !== undefined)
      next.set(into.call.id, {
        ...into,
        stages: other.stages.filter((stage) => stage.ended_at === null).reduce(withStage, into.stages),
      })
  }
  return next
}

function withStage(stages: readonly Stage[], stage: Stage): Stage[] {
  const index = stages.findIndex((known) => known.id === stage.id)
  return index < 0 ? [...stages, stage] : stages.with(index, stage)
}

function withoutEnded(calls: Calls, nowMs: number): Calls {
  const expired = [...calls.values()].filter(
    (entry) => entry.endedAtMs !== null && nowMs - entry.endedAtMs > ENDED_STAYS_MS,
  )
  if (expired.length === 0) return calls
  const next = new Map(calls)
  for (const entry of expired) next.delete(entry.call.id)
  return next
}

function withFeedEvent(feed: Feed, body: EventBody): Feed {
  const { data } = body
  const before = feed.find((event) => event.id === data.id)
  const event: FeedEvent = {
    id: data.id,
    name: data.name,
    at: body.time,
    callId: isOfCall(body) ? body.data.call.id : null,
    body,
    deliveries: before?.deliveries ?? [],
  }
  if (before !== undefined) return feed.map((known) => (known === before ? event : known))
  return [event, ...feed].slice(0, FEED_LENGTH)
}

function withDelivery(feed: Feed, delivery: Delivery): Feed {
  const index = feed.findIndex((event) => event.id === delivery.event_id)
  const event = feed[index]
  if (event === undefined) return feed
  return feed.with(index, { ...event, deliveries: mergeDelivery(event.deliveries, delivery) })
}

function mergeDelivery(deliveries: readonly Delivery[], delivery: Delivery): readonly Delivery[] {
  const index = deliveries.findIndex((known) => known.id === delivery.id)
  return index < 0 ? [...deliveries, delivery] : deliveries.with(index, delivery)
}

/** Returns whether a delivery was read before a change of it that the stream brought. */
function isBefore(read: Delivery, known: Delivery): boolean {
  if (read.attempts_made !== known.attempts_made) return read.attempts_made < known.attempts_made
  return read.state === 'pending' && known.state !== 'pending'
}

/** Puts deliveries from before the opening of the page below the deliveries of the stream. */
function withHistory(feed: Feed, deliveries: readonly Delivery[]): Feed {
  const byEvent = new Map(feed.map((event) => [event.id, event]))
  for (const delivery of deliveries) {
    const before: FeedEvent = byEvent.get(delivery.event_id) ?? {
      id: delivery.event_id,
      name: delivery.event,
      at: delivery.created_at,
      callId: delivery.call_id,
      body: null,
      deliveries: [],
    }
    const known = before.deliveries.find(({ id }) => id === delivery.id)
    const isOutdated = known !== undefined && isBefore(delivery, known)
    if (!isOutdated)
      byEvent.set(delivery.event_id, { ...before, deliveries: mergeDelivery(before.deliveries, delivery) })
  }
  return [...byEvent.values()].sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0)).slice(0, FEED_LENGTH)
}
