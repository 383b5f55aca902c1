import type { Direction } from '../lib/call-enums.ts'
import type { EventFacts, EventFilter } from '../lib/event-filter.ts'
import type { EventKind, EventSwitch } from '../lib/event-kinds.ts'

// The data that the store takes and returns, the same for all engines. Times are integer microseconds; `…SteadyUs` is
// steady time.

/** The states of a delivery, by the number that is stored. */
export const DELIVERY_STATES = ['pending', 'delivered', 'failed', 'cancelled'] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]
/** Returns the number under which a state is stored. */
export const stateNumber = (state: DeliveryState): number => DELIVERY_STATES.indexOf(state)

export type UserRecord = {
  readonly id: number
  readonly accountId: number
  readonly type: number
  readonly name: string
  readonly email: string
  readonly createdUs: number
}
export type NewUser = {
  readonly account: string
  readonly type: number
  readonly name: string
  readonly email: string
  readonly passwordHash: string
  readonly atUs: number
}
/** Changes that an operator may make on the command line, to users and to webhooks. */
export type OperatorActEvent =
  | 'user_added'
  | 'user_removed'
  | 'user_password_set'
  | 'user_logged_out'
  | 'webhooks_replaced'
  | 'webhook_options_replaced'
  | 'secret_rotated'
/**
 * A change by an operator on the command line, which the service logs later. `by`: the system user who ran the
 * command.
 */
export type OperatorAct = {
  readonly event: OperatorActEvent
  /** The user who was changed; `null`: it was the account. */
  readonly email: string | null
  readonly account: string | null
  /** More fields of the log line, never a secret; `null`: none. */
  readonly facts: Readonly<Record<string, string | number>> | null
  readonly by: string
  readonly atUs: number
}
/** A token to add for a user whose password was checked against `passwordHash`. */
export type NewToken = {
  readonly userId: number
  readonly passwordHash: string
  readonly tokenHash: string
  /** The program that logs in (its User-Agent). */
  readonly client?: string | null
  readonly atUs: number
}
/** A token with a name. `madeWith`: the hash of the token that asks for it. */
export type NewNamedToken = {
  readonly userId: number
  readonly name: string
  readonly tokenHash: string
  readonly madeWith: string
  readonly atUs: number
}
export type TokenRecord = {
  readonly hash: string
  readonly name: string | null
  readonly client: string | null
  readonly createdUs: number
  readonly lastUsedUs: number | null
}
export type PasswordChange = NewToken & { readonly newPasswordHash: string; readonly revokeOthers: boolean }

/** A URL of an account's list with its switches. */
export type WebhookEntry = { url: string } & { [name in EventSwitch]: boolean }

export type ListReplacement = {
  readonly accountId: number
  readonly list: readonly WebhookEntry[]
  /** The list is replaced only if its entity tag is one of these; `null`: unconditionally. */
  readonly ifMatch: string | null
  /** One new secret for each entry of the list, used where its URL has none yet. */
  readonly secrets: readonly string[]
  readonly nowUs: number
}

export type SecretRecord = { readonly url: string; readonly secret: string; readonly previousUntilUs: number | null }
/** The options of a URL; `null`: all have their defaults. */
export type ListedOptions = { readonly url: string; readonly options: WebhookOptionsRecord | null }
export type SecretRotation = {
  readonly accountId: number
  readonly url: string
  readonly secret: string
  readonly nowUs: number
  readonly previousUntilUs: number
  /** Ends a secret that still signs beside the present one. */
  readonly force: boolean
}

/** The body of a webhook's requests instead of the default one. */
export type BodyOption =
  | { readonly preset: string; readonly parameters: Readonly<Record<string, string>> }
  | { readonly template: string; readonly contentType: string }

/** The options of one URL of an account; an absent one has its default. */
export type WebhookOptionsRecord = {
  readonly name: string | null
  readonly paused: boolean
  readonly filter: EventFilter | null
  /** Further request headers: secrets. */
  readonly headers: Readonly<Record<string, string>>
  readonly order: 'first_attempt' | 'strict'
  readonly maxPerSecond: number | null
  readonly body: BodyOption | null
  /** Kinds of event beyond the switches. */
  readonly events: readonly string[]
  /** When it was last no longer paused, in steady time: no delivery is older than this. `null`: it was never paused. */
  readonly resumedSteadyUs: number | null
}

/** Options to store. The value of a header that is `null` stays as it is stored. */
export type OptionsReplacement = {
  readonly accountId: number
  readonly url: string
  readonly options: Omit<WebhookOptionsRecord, 'headers' | 'resumedSteadyUs'> & {
    readonly headers: Readonly<Record<string, string | null>>
  }
  /** Wall time. */
  readonly nowUs: number
}
/**
 * `unlisted`: the URL is not in the list. `unknownHeaders`: there is no stored value of these, and nothing was changed.
 */
export type OptionsReplaced = WebhookOptionsRecord | 'unlisted' | { readonly unknownHeaders: readonly string[] }

/** A webhook as sending to it needs it. */
export type WebhookRecord = {
  readonly id: number
  readonly accountId: number
  readonly url: string
  readonly listed: boolean
  /** Of a URL that left the list: pending deliveries up to this id are still to be cancelled; 0: none. */
  readonly cancelledTo: number
  readonly secret: string | null
  /** The secret before, which signs too until `previousUntilUs` (wall time). */
  readonly previous: string | null
  readonly previousUntilUs: number | null
  /** `null`: all have their defaults. */
  readonly options: WebhookOptionsRecord | null
}

/** A webhook of a list with how many deliveries are pending for it, counted up to 10,000 of each kind. */
export type ListedWebhook = {
  readonly id: number
  readonly url: string
  readonly occurrence: number
  readonly pending: number
}

/**
 * A delivery's id is its event's id × 128 + its place among that event's deliveries: the highest place is 99, since a
 * list holds 100 webhooks at most.
 */
export const DELIVERIES_PER_EVENT = 128
/** Returns the id of a delivery's event. */
export const eventIdOf = (deliveryId: number): number => Math.floor(deliveryId / DELIVERIES_PER_EVENT)

/** An event to store. `body` is the request's body as it will be sent. */
export type NewEvent = {
  readonly uuid: string
  readonly callId: string
  readonly name: EventKind
  readonly sequence: number
  readonly atUs: number
  readonly body: string
  /** The fields that filters compare. Without them only webhooks without a filter get the event. */
  readonly facts?: EventFacts
}

/** A call whose record is complete. `record` is JSON: `{ call, stages, recordings }`. */
export type SavedCall = {
  readonly id: string
  readonly savedUs: number
  readonly direction: Direction
  readonly fromNumber: string | null
  readonly toNumber: string | null
  readonly record: string
}

/** The part of a batch for one account: emitted events, and calls whose record is complete. */
export type AccountBatch = {
  readonly accountId: number
  readonly events: readonly NewEvent[]
  readonly saved: readonly SavedCall[]
}

/** A recording, by the ids of its call and its own. */
export type RecordingRef = { readonly callId: string; readonly recordingId: string }

/**
 * `pending`: its file is awaited, or not copied yet. `saved`: it is complete. `failed`: it was given up. `erased`: its
 * call was erased, and its copy has to be deleted.
 */
export type RecordingState = 'pending' | 'saved' | 'failed' | 'erased'

/** A recording of a saved call, of a PBX whose files can be read. */
export type RecordingRecord = {
  readonly callId: string
  readonly id: string
  readonly accountId: number
  readonly pbx: string
  /** As the PBX reported it. */
  readonly path: string
  readonly state: RecordingState
  /** When its call was saved. */
  readonly sinceUs: number
  /** The sequence of the event that saved its call. */
  readonly sequence: number
  /** Why the last try failed. */
  readonly error: string | null
  readonly sizeBytes: number | null
  /** Of the PBX's file when it was saved: another one shows that it was written since. */
  readonly stamp: string | null
  /** Of the copy (hexadecimal); `null` if there is none. */
  readonly sha256: string | null
  readonly mediaType: string | null
  /** The name of the copy, below the place of the copies. */
  readonly copy: string | null
}

/** The place of a recording among those of its PBX. */
export type RecordingPosition = Pick<RecordingRecord, 'sinceUs' | 'callId' | 'id'>
export const FIRST_RECORDING: RecordingPosition = { sinceUs: 0, callId: '', id: '' }

/** All that happened at one PBX since the last commit. */
export type CallBatch = {
  readonly pbx: string
  readonly parts: readonly AccountBatch[]
  /** Live calls as they are now (JSON of a StoredCall), and the ids of those that are over. */
  readonly live: readonly { readonly id: string; readonly state: string }[]
  readonly removed: readonly string[]
  /** Recordings as they are now. Of those in the store only pending ones change. */
  readonly recordings?: readonly RecordingRecord[]
  readonly nowSteadyUs: number
}

/**
 * The id of a stored event, and its webhooks in the order of its deliveries. `null`: it was not stored, since no
 * webhook of its account asks for its kind.
 */
export type PlacedEvent = { readonly id: number | null; readonly webhookIds: readonly number[] }
export const NOT_STORED: PlacedEvent = { id: null, webhookIds: [] }

/** An event that is stored with its deliveries: all that sending it takes. */
export type StoredEvent = NewEvent & {
  readonly id: number
  readonly accountId: number
  /** When the schedule of its deliveries began. */
  readonly sinceSteadyUs: number
  readonly deliveries: readonly { readonly id: number; readonly webhookId: number }[]
}

/** Puts together a batch and the places of its events. */
export function storedEventsOf({ parts, nowSteadyUs }: CallBatch, placed: readonly PlacedEvent[]): StoredEvent[] {
  const events = parts.flatMap(({ accountId, events }) => events.map((event) => ({ ...event, accountId })))
  return events.flatMap((event, index) => {
    const place = placed[index]
    if (place === undefined || place.id === null) return []
    const { id, webhookIds } = place
    const deliveries = webhookIds.map((webhookId, at) => ({ id: id * DELIVERIES_PER_EVENT + at, webhookId }))
    return [{ ...event, id, sinceSteadyUs: nowSteadyUs, deliveries }]
  })
}

/** A pending delivery with all that sending it takes. */
export type PendingDelivery = {
  readonly id: number
  readonly accountId: number
  readonly webhookId: number
  readonly callId: string
  readonly event: EventKind
  readonly uuid: string
  readonly body: string
  /** When the event happened. */
  readonly atUs: number
  /** The number of its present schedule: each retry by hand begins another. */
  readonly generation: number
  /** When the present schedule began. */
  readonly sinceSteadyUs: number
  /** Attempts that count against the present schedule, and over all schedules. */
  readonly tries: number
  readonly attemptsMade: number
  /** Of a retry; `undefined`: never tried. */
  readonly dueSteadyUs: number | undefined
}

/** Untried deliveries that wait for no other one, and the last id that was read; `null`: there are none after these. */
export type StrictPart = { readonly deliveries: readonly PendingDelivery[]; readonly lastId: number | null }

/**
 * The outcomes of attempts, and the resulting states of their deliveries: arrays of the same length, one attempt at
 * each position.
 */
export type OutcomeBatch = {
  readonly deliveryIds: readonly number[]
  readonly generations: readonly number[]
  /** Numbers of DELIVERY_STATES. */
  readonly states: readonly number[]
  readonly tries: readonly number[]
  readonly attemptsMade: readonly number[]
  readonly dueSteadyUs: readonly (number | null)[]
  readonly endedUs: readonly (number | null)[]
  readonly attemptUs: readonly number[]
  readonly probes: readonly boolean[]
  readonly statuses: readonly (number | null)[]
  readonly durationsMs: readonly number[]
  readonly errors: readonly (string | null)[]
  readonly addresses: readonly (string | null)[]
  readonly responses: readonly (string | null)[]
}

/**
 * The result of a retry by hand. `unlisted`: its URL is no longer in the list. `erased`: its body was erased. A number:
 * its URL came back, but what was pending for that webhook when it left is not all cancelled yet; that has to be done
 * first, since it would be cancelled with it.
 */
export type RetryResult = 'unknown' | 'unlisted' | 'erased' | 'queued' | number
/** How many were made due, and from which id the next step reads (`null`: there is none). */
export type RetryStep = { readonly queued: number; readonly nextId: number | null }

export type DeliveryFilter = {
  /** `null`: of every account, for the operator. */
  readonly accountId: number | null
  readonly state?: DeliveryState | undefined
  readonly event?: string | undefined
  readonly url?: string | undefined
  /** Of one of these calls; an empty list matches nothing. */
  readonly callIds?: readonly string[] | undefined
  readonly sinceUs?: number | undefined
  readonly untilUs?: number | undefined
}

/** A delivery as the log shows it. */
export type DeliveryRow = {
  readonly id: number
  readonly accountId: number
  readonly uuid: string
  readonly event: EventKind
  readonly callId: string
  readonly url: string
  readonly state: DeliveryState
  readonly attemptsMade: number
  /** Wall time, of a retry. */
  readonly dueUs: number | null
  readonly createdUs: number
  readonly endedUs: number | null
}
export type AttemptRow = {
  readonly atUs: number
  /** Sent while the webhook was down: it counts against nothing. */
  readonly probe: boolean
  readonly status: number | null
  readonly durationMs: number
  readonly error: string | null
  readonly address: string | null
  readonly response: string | null
}
export type DeliveryDetail = DeliveryRow & { readonly body: string; readonly attempts: readonly AttemptRow[] }
/** The matches in a part of the log, and the id from which the next part is read; `null` if this was the last part. */
export type DeliveryPart = { readonly rows: readonly DeliveryRow[]; readonly nextId: number | null }
/** Which end of the log is read first: `newest` goes on below an id, `oldest` from an id on. */
export type LogOrder = 'newest' | 'oldest'

/** Which events of an account are read back. */
export type EventQuery = {
  readonly accountId: number
  /** Behind this event. */
  readonly afterId: number
  readonly limit: number
  /** Of one of these kinds, or of one call; `undefined`: of all. */
  readonly names?: readonly string[] | undefined
  readonly callId?: string | undefined
}
/** An event as it is read back. `body` is the default body, JSON. */
export type EventItem = {
  readonly id: number
  readonly uuid: string
  readonly name: string
  readonly callId: string
  readonly sequence: number
  readonly atUs: number
  readonly body: string
}
export type EventPart = {
  readonly items: readonly EventItem[]
  /** The last event that was read: the next part begins after it. */
  readonly lastId: number
  /** Whether there are no events after `lastId`. */
  readonly isEnd: boolean
}
/** The first event behind which none was deleted, and the newest; 0: there is none. */
export type EventBounds = { readonly oldestId: number; readonly newestId: number }

/** An event of a call with what became of it at each webhook. */
export type EventRow = {
  readonly uuid: string
  readonly name: string
  readonly sequence: number
  readonly atUs: number
  readonly body: string
  readonly deliveries: readonly DeliveryRow[]
}

export type CallFilter = {
  readonly direction?: Direction | undefined
  /** A number that the call was from or to. */
  readonly number?: string | undefined
  readonly sinceUs?: number | undefined
  readonly untilUs?: number | undefined
}
/** The position at which the page before ended. */
export type CallPosition = { readonly savedUs: number; readonly id: string }
export type CallRow = CallPosition & { readonly record: string }

/** The account that got a live call's start. */
export type LiveCallAccount = { readonly callId: string; readonly accountId: number; readonly account: string }

/** A PBX that left calls open, with an account that got the start of one. */
export type OrphanedPbx = { readonly pbx: string; readonly accountId: number; readonly account: string }

/** `steppedUs`: wall time less this is steady time. `pruneFromUs` (steady): nothing is pruned for its age before. */
export type SteppedClock = { readonly steppedUs: number; readonly pruneFromUs: number }

export type ErasedCounts = {
  /** Records deleted, and events whose bodies were emptied. */
  readonly calls: number
  readonly events: number
  /** Events that are still pending for a receiver: their bodies stay until they have ended. */
  readonly pending: number
}

/** How the deliveries of a store are, for `doctor`. */
export type StoreCondition = {
  /** Every URL in a list, once an account. */
  readonly webhooks: readonly { readonly account: string; readonly url: string }[]
  readonly failed: number
  /** Counted up to 10,000. */
  readonly pending: number
  readonly oldestPendingUs: number | undefined
  readonly newestEventUs: number | undefined
}

export type CommitCounts = { batches: number; writes: number; failed: number; lastMs: number; waiting: number }

/** The figures of one minute of a webhook; `webhookId` is 0 for what belongs to the account as a whole. */
export type MinuteFigures = {
  readonly accountId: number
  readonly webhookId: number
  /** Minutes since 1970. */
  readonly minute: number
  readonly events: number
  readonly delivered: number
  readonly failedAttempts: number
  readonly failedProbes: number
  /** Pairs of a latency's bucket and how many were in it. */
  readonly latencies: readonly number[]
}
