import type { EventKind } from '../../events/kinds.ts'

// Past events that are sent to a webhook as if they had just occurred.

/** Which past events of an account a webhook is sent. Times are the wall clock's. */
export type ReplayQuery = {
  readonly accountId: number
  readonly webhookId: number
  /** Of the events: `sinceUs` is included, `untilUs` is not. */
  readonly sinceUs: number
  readonly untilUs: number
  readonly kinds: readonly EventKind[]
  /** Whether events are sent that were delivered before. */
  readonly again: boolean
  /** A delivery that ended later is one of this replay, so that none is made twice. */
  readonly createdUs: number
}

/** A replay that goes on. */
export type Replay = ReplayQuery & {
  /** All events before this one are queued or left out. */
  readonly nextEventId: number
  /** The last event that may belong to it. */
  readonly endEventId: number
}

/** An event that a replay has to send. */
export type ReplayedEvent = {
  readonly eventId: number
  readonly callId: string
  readonly name: EventKind
  readonly sequence: number
  /** The pending delivery of this event to this webhook, or `null`. */
  readonly pendingId: number | null
}

/** A part of the events: the next one begins after `lastId`. */
export type ReplayPart = {
  readonly events: readonly ReplayedEvent[]
  readonly lastId: number
  readonly isEnd: boolean
}

export type ReplayStore = {
  /** Returns the first event of an account from a time on, and the last one before another, with an hour to spare. */
  replayGetBounds(query: Pick<ReplayQuery, 'accountId' | 'sinceUs' | 'untilUs'>): Promise<{
    readonly firstId: number
    readonly endId: number
  }>
  /**
   * Returns events that have no delivery to the webhook, one that is pending, or one that ended without success before
   * the replay (with `again`: in any way), in the order of their ids, from a part of the events after an id.
   */
  replayRead(query: ReplayQuery & { readonly afterId: number; readonly endId: number }): Promise<ReplayPart>
  /**
   * Queues events for a webhook, on new schedules that are due at once. Returns the deliveries by the events; events
   * that were erased or deleted are left out. `unlisted`: the webhook has left its list. `leaving`: its old deliveries
   * are still to be cancelled.
   */
  replayQueue(request: {
    readonly webhookId: number
    readonly eventIds: readonly number[]
    readonly nowSteadyUs: number
  }): Promise<ReadonlyMap<number, number> | 'unlisted' | 'leaving'>
  /** Adds a replay. Returns false if its webhook has one. */
  replayAdd(replay: Replay): Promise<boolean>
  /** Returns all replays, in the order of their webhooks. */
  replayList(): Promise<Replay[]>
  /** Notes that all events before one are queued or left out. */
  replayAdvance(step: Pick<Replay, 'webhookId' | 'createdUs' | 'nextEventId'>): Promise<void>
  /** Removes a replay. */
  replayRemove(replay: Pick<Replay, 'webhookId' | 'createdUs'>): Promise<void>
}
