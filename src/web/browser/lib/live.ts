import type { EventBody } from '../../../calls/event.ts'
import type { Call, Delivery, LiveCall, Overview, Stage } from './resources.ts'

/**
 * The picture that the Live view shows: a snapshot of the server, moved on by each message of the stream. Pure.
 *
 * A call that ended stays for a moment, marked, so that the reader sees it end. The feed holds the newest events first, each with
 * what became of its deliveries; it is bounded, so a busy system costs a page no more than a quiet one.
 */
export type BoardCall = LiveCall & { readonly endedAtMs: number | null }

export type FeedItem = {
  readonly id: string
  readonly name: string
  readonly at: string
  readonly callId: string
  /** `null` for an event that was stored before the page was opened: only its deliveries are known. */
  readonly body: EventBody | null
  readonly deliveries: readonly Delivery[]
}

export type Live = {
  readonly calls: ReadonlyMap<string, BoardCall>
  readonly feed: readonly FeedItem[]
}

export const EMPTY_LIVE: Live = { calls: new Map(), feed: [] }

const FEED_LENGTH = 120
const ENDED_STAYS_MS = 6_000

export type LiveMessage =
  | { kind: 'snapshot'; overview: Overview }
  | { kind: 'history'; deliveries: readonly Delivery[] }
  | { kind: 'call'; call: Call }
  | { kind: 'event'; body: EventBody }
  | { kind: 'delivery'; delivery: Delivery }
  | { kind: 'tick' }

export function move(live: Live, message: LiveMessage, nowMs: number): Live {
  switch (message.kind) {
    case 'snapshot':
      return {
        ...live,
        calls: new Map(message.overview.calls.map((item) => [item.call.id, { ...item, endedAtMs: null }])),
      }
    case 'history':
      return { ...live, feed: history(live.feed, message.deliveries) }
    case 'call':
      return { ...live, calls: withCall(live.calls, message.call, null, nowMs) }
    case 'event':
      return { calls: withEvent(live.calls, message.body, nowMs), feed: withItem(live.feed, message.body) }
    case 'delivery':
      return { ...live, feed: withDelivery(live.feed, message.delivery) }
    case 'tick':
      return { ...live, calls: withoutEnded(live.calls, nowMs) }
  }
}

function withCall(calls: Live['calls'], call: Call, pbx: string | null, nowMs: number): Live['calls'] {
  const held = calls.get(call.id)
  if (held === undefined && call.state === 'ended') return calls
  const endedAtMs = call.state === 'ended' ? (held?.endedAtMs ?? nowMs) : null
  return new Map(calls).set(call.id, {
    pbx: pbx ?? held?.pbx ?? '',
    call,
    stages: held?.stages ?? [],
    endedAtMs,
  })
}

function withEvent(calls: Live['calls'], body: EventBody, nowMs: number): Live['calls'] {
  const { data } = body
  const next = new Map(withCall(calls, data.call, data.pbx, nowMs))
  const held = next.get(data.call.id)
  if (held !== undefined && 'stage' in data)
    next.set(data.call.id, { ...held, stages: withStage(held.stages, data.stage) })
  if (held !== undefined && 'stages' in data) next.set(data.call.id, { ...held, stages: data.stages })
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
  const index = stages.findIndex((held) => held.id === stage.id)
  return index < 0 ? [...stages, stage] : stages.with(index, stage)
}

function withoutEnded(calls: Live['calls'], nowMs: number): Live['calls'] {
  const over = [...calls.values()].filter((held) => held.endedAtMs !== null && nowMs - held.endedAtMs > ENDED_STAYS_MS)
  if (over.length === 0) return calls
  const next = new Map(calls)
  for (const held of over) next.delete(held.call.id)
  return next
}

function withItem(feed: Live['feed'], body: EventBody): Live['feed'] {
  const { data } = body
  const before = feed.find((item) => item.id === data.id)
  const item: FeedItem = {
    id: data.id,
    name: data.name,
    at: body.time,
    callId: data.call.id,
    body,
    deliveries: before?.deliveries ?? [],
  }
  if (before !== undefined) return feed.map((held) => (held === before ? item : held))
  return [item, ...feed].slice(0, FEED_LENGTH)
}

function withDelivery(feed: Live['feed'], delivery: Delivery): Live['feed'] {
  const index = feed.findIndex((item) => item.id === delivery.event_id)
  const item = feed[index]
  if (item === undefined) return feed
  return feed.with(index, { ...item, deliveries: mergeDelivery(item.deliveries, delivery) })
}

function mergeDelivery(deliveries: readonly Delivery[], delivery: Delivery): readonly Delivery[] {
  const index = deliveries.findIndex((held) => held.id === delivery.id)
  return index < 0 ? [...deliveries, delivery] : deliveries.with(index, delivery)
}

/** What the log knows of the events before the page was opened goes below what the stream brought. */
function history(feed: Live['feed'], deliveries: readonly Delivery[]): Live['feed'] {
  const byEvent = new Map(feed.map((item) => [item.id, item]))
  for (const delivery of deliveries) {
    const held = byEvent.get(delivery.event_id)
    const before: FeedItem = held ?? {
      id: delivery.event_id,
      name: delivery.event,
      at: delivery.created_at,
      callId: delivery.call_id,
      body: null,
      deliveries: [],
    }
    byEvent.set(delivery.event_id, { ...before, deliveries: mergeDelivery(before.deliveries, delivery) })
  }
  return [...byEvent.values()].sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0)).slice(0, FEED_LENGTH)
}
