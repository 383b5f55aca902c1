import type { Fence } from './cluster-store.ts'
import type {
  CallBatch,
  CallFilter,
  CallPosition,
  CallRow,
  CommitCounts,
  DeliveryDetail,
  DeliveryFilter,
  DeliveryPart,
  DeliveryRow,
  ErasedCounts,
  EventBounds,
  EventPart,
  EventQuery,
  EventRow,
  ListedOptions,
  ListedWebhook,
  ListReplacement,
  LiveCallAccount,
  LogOrder,
  MinuteFigures,
  NewNamedToken,
  NewToken,
  NewUser,
  OperatorAct,
  OptionsReplaced,
  OptionsReplacement,
  OrphanedPbx,
  OutcomeBatch,
  PasswordChange,
  PendingDelivery,
  PlacedEvent,
  RecordingPosition,
  RecordingRecord,
  RecordingRef,
  RecordingState,
  RetryResult,
  RetryStep,
  SecretRecord,
  SecretRotation,
  SteppedClock,
  StoreCondition,
  StrictPart,
  TokenRecord,
  UserRecord,
  WebhookEntry,
  WebhookRecord,
} from './records.ts'

/**
 * The one interface to persistence; records.ts has what it takes and returns. Beneath it is an engine.
 *
 * For every operation:
 * - It rejects with Fault `unavailable` when the store cannot be reached, or not be written: then nothing of it was
 * kept.
 * - A write resolves when it is durable; all of one operation is written, or nothing.
 * - Ids of accounts, users and webhooks are unique in the store; those of events and deliveries in their account, where
 * they grow in the
 *   order in which events were stored: none becomes visible after one with a higher id.
 * - Nothing that is returned is cached: it was committed when it was read.
 * - What an owner writes may be given a fence: it rejects with LeaseLost, and writes nothing, if a lease of it was
 * taken over.
 */
export type Store = {
  readonly accounts: AccountStore
  readonly webhooks: WebhookStore
  readonly queue: QueueStore
  readonly calls: CallStore
  readonly recordings: RecordingStore
  readonly log: LogStore
  readonly statistics: StatisticsStore
  readonly maintenance: MaintenanceStore
  /** Calls back, within a second, after another process changed the store: what was cached of it is stale. */
  onForeignChange(listener: () => void): void
  /** Counts of group commits since the start, for the metrics. */
  readonly commits: Readonly<CommitCounts>
  /** Commits what was asked for before, then closes. */
  stop(): Promise<void>
}

export type AccountStore = {
  /** Creates a user, and its account if that is new. Returns its id, or `undefined` if the e-mail address is taken. */
  userCreate(user: NewUser): Promise<{ id: number } | undefined>
  /** Returns all users with their accounts' names, in id order. */
  userList(): Promise<(UserRecord & { account: string })[]>
  /** Returns how many users there are. */
  userCount(): Promise<number>
  /** Returns whose token has this hash, and when it was last used, or `undefined`. */
  userGetByToken(tokenHash: string): Promise<{ user: UserRecord; lastUsedUs: number | null } | undefined>
  /** Returns a user with its password hash, or `undefined`. */
  userGetPassword(email: string): Promise<(UserRecord & { passwordHash: string }) | undefined>
  /** Sets the password of a user; its tokens stay. Returns false if there is no such user. */
  userSetPassword(change: { email: string; passwordHash: string }): Promise<boolean>
  /** Sets the type of a user; its tokens stay. Returns false if there is no such user. */
  userSetType(change: { email: string; type: number }): Promise<boolean>
  /** Sets the password and adds a token if the password is still the one that was checked; else returns false. */
  userChangePasswordIfUnchanged(change: PasswordChange): Promise<boolean>
  /** Deletes a user and its tokens. Returns false if there is no such user. */
  userDelete(email: string): Promise<boolean>
  /** Adds a token if the user's password is still the one that was checked; else returns false. */
  tokenAddIfPasswordUnchanged(token: NewToken): Promise<boolean>
  /** Adds a named token; returns false if the token that asks for it was revoked meanwhile. */
  tokenAddNamed(token: NewNamedToken): Promise<boolean>
  /** Returns the tokens of a user, those that were used last first, at most `limit`. */
  tokenList(userId: number, limit: number): Promise<TokenRecord[]>
  /** Notes when a token was used. */
  tokenSetUsed(used: { tokenHash: string; atUs: number }): Promise<void>
  /** Deletes the token of a user whose hash begins with `id`. Returns false if there is none. */
  tokenDeleteOwn(own: { userId: number; id: string }): Promise<boolean>
  /** Deletes a token, if there is one with this hash. */
  tokenDelete(tokenHash: string): Promise<void>
  /** Deletes all tokens of a user. Returns how many, or `undefined` if there is no such user. */
  tokenDeleteOfUser(email: string): Promise<number | undefined>
  /** Notes what an operator did to a user, whom it may have deleted. */
  operatorActAdd(act: OperatorAct): Promise<void>
  /**
   * Returns what operators did since this was last asked, the oldest first, and deletes it: so one service logs each
   * once.
   */
  operatorActTake(): Promise<OperatorAct[]>
  /** Returns the id of an account, or `undefined`. */
  accountGetId(name: string): Promise<number | undefined>
  /** Returns the name of an account, or `undefined`. */
  accountGetName(id: number): Promise<string | undefined>
}

export type WebhookStore = {
  /** Returns an account's list in its order. */
  listGet(accountId: number): Promise<WebhookEntry[]>
  /**
   * Replaces an account's list, or nothing of it and returns false if the list is not one that `ifMatch` names. A
   * webhook that stays keeps its id; what is pending for one that leaves is to be cancelled
   * (`queue.deliveryCancelUnlisted`).
   */
  listReplace(replacement: ListReplacement): Promise<boolean>
  /** Returns the secret of each URL of the list, in the list's order, each URL once. */
  secretList(accountId: number): Promise<SecretRecord[]>
  /**
   * Gives a URL of the list a new secret; the one before signs too until `previousUntilUs`. Returns `unlisted` if the
   * URL is not in the list, or until when (microseconds) an earlier secret still signs, in which case nothing is
   * changed unless it is forced.
   */
  secretRotate(rotation: SecretRotation): Promise<'rotated' | 'unlisted' | number>
  /** Returns the options of each URL of the list, in the list's order, each URL once. */
  optionsList(accountId: number): Promise<ListedOptions[]>
  /**
   * Replaces the options of a URL of the list. Returns them as they are stored; or `unlisted`, or the headers whose
   * value should stay and that have none: then nothing is changed. Options are kept as long as the URL's secret.
   */
  optionsReplace(replacement: OptionsReplacement): Promise<OptionsReplaced>
  /** Returns webhooks by id; ids that are unknown are left out. */
  webhookGetMany(ids: readonly number[]): Promise<WebhookRecord[]>
  /** Returns the first webhook of the list with this URL, or `undefined`. */
  webhookGetByUrl(accountId: number, url: string): Promise<WebhookRecord | undefined>
  /** Returns the webhooks of an account's list in order, with how many deliveries are pending for each. */
  webhookListWithPending(accountId: number): Promise<ListedWebhook[]>
  /**
   * Returns the ids of the webhooks for which something may be pending: those of a list, and those whose leaving is not
   * complete.
   */
  webhookListActive(): Promise<number[]>
}

export type QueueStore = {
  /**
   * Returns deliveries of a webhook that were never tried, above an id, in id order, at most `limit`, however many are
   * pending.
   */
  deliveryGetUntried(query: { webhookId: number; afterId: number; limit: number }): Promise<PendingDelivery[]>
  /**
   * Like `deliveryGetUntried`, without the deliveries that have to wait in a strict order: those with an earlier
   * delivery of their call that is pending on its first schedule. Reads the next `limit`. Returns the last id that it
   * read, or `null` if there were fewer.
   */
  deliveryGetUntriedStrict(query: { webhookId: number; afterId: number; limit: number }): Promise<StrictPart>
  /**
   * Returns for each of these calls its first delivery that is pending for a webhook on its first schedule. Calls
   * without one are omitted.
   */
  deliveryGetFirstOfCalls(query: { webhookId: number; callIds: readonly string[] }): Promise<PendingDelivery[]>
  /**
   * Returns retries of a webhook that are due, the longest due first, those due together in id order, at most `limit`.
   */
  deliveryGetDue(query: { webhookId: number; dueSteadyUs: number; limit: number }): Promise<PendingDelivery[]>
  /** Returns a delivery that is pending, or `undefined`. */
  deliveryGetPending(id: number): Promise<PendingDelivery | undefined>
  /** Returns when the next retry of a webhook is due, from a time on, or `undefined` if none is scheduled. */
  deliveryGetNextDue(query: { webhookId: number; fromSteadyUs: number }): Promise<number | undefined>
  /**
   * Records the outcome of attempts. A failure counts only against the schedule (`generation`) in which it was tried:
   * of a delivery that was cancelled or retried by hand meanwhile only the attempt is logged. Returns the ids of those.
   */
  deliveryRecordOutcomes(batch: OutcomeBatch, fence?: Fence): Promise<number[]>
  /**
   * Cancels pending deliveries of a webhook that were stored before its URL left, at most `limit`. Returns their ids;
   * none: complete.
   */
  deliveryCancelUnlisted(step: { webhookId: number; nowUs: number; limit: number }, fence?: Fence): Promise<number[]>
  /** Fails pending deliveries of a webhook whose schedule began before a time, at most `limit`. Returns their ids. */
  deliveryFailExpired(
    step: { webhookId: number; beforeSteadyUs: number; nowUs: number; limit: number },
    fence?: Fence,
  ): Promise<number[]>
  /**
   * Makes a delivery due at once: a pending one on its schedule, any other on a new one. `accountId` `null`: whosever
   * it is.
   */
  deliveryRetry(retry: { accountId: number | null; id: number; nowSteadyUs: number }): Promise<RetryResult>
  /**
   * Retries what matches of a part of the log, from an id on, the oldest first; or nothing, and returns a webhook's id
   * as `deliveryRetry`.
   */
  deliveryRetryMatching(step: {
    filter: DeliveryFilter
    fromId: number
    nowSteadyUs: number
    limit: number
  }): Promise<RetryStep | number>
  /** Returns how many deliveries are pending, counted up to 1,000,000 of each kind. */
  pendingCount(): Promise<number>
  /** Returns since when the oldest pending delivery of a webhook is pending, or `undefined` if none is. */
  pendingGetOldest(webhookId: number): Promise<number | undefined>
}

export type CallStore = {
  /**
   * Stores events with one delivery for each webhook whose switch is on and whose filter matches, live calls, call
   * records and recordings, in one commit. Returns where the events are, in their order, part by part. If it rejects
   * because an answer was lost, the same batch can be given again: it is stored once.
   */
  batchStore(batch: CallBatch, fence?: Fence): Promise<PlacedEvent[]>
  /** Returns the live calls of a PBX as they were stored last, each the JSON of a StoredCall. */
  liveCallList(pbx: string): Promise<string[]>
  /** Returns whose each live call of a PBX is: the account that got its start. */
  liveCallListAccounts(pbx: string): Promise<LiveCallAccount[]>
  /** Returns the PBXs that left calls open and are none of these. */
  orphanedPbxList(watched: readonly string[]): Promise<OrphanedPbx[]>
  /** Returns saved calls of an account that match, newest first, below a position, at most `limit`. */
  callList(query: {
    accountId: number
    filter: CallFilter
    after: CallPosition | undefined
    limit: number
  }): Promise<CallRow[]>
  /** Returns the ids of saved calls of an account that are from or to a number, newest first, at most `limit`. */
  callListIdsOfNumber(query: { accountId: number; number: string; limit: number }): Promise<string[]>
  /**
   * Returns those ids of calls with events that end in a text (in any case), of a part of all, below an id and the
   * newest first, and below which id the rest is; `null`: that was all. A part takes a few milliseconds.
   */
  callIdListEndingIn(query: { ending: string; beforeId: string }): Promise<{ ids: string[]; nextId: string | null }>
  /** Returns the record of a saved call (JSON), or `undefined`. */
  callGet(accountId: number, id: string): Promise<string | undefined>
  /** Returns what is known of a PBX beside its calls (JSON), as it was set last; `undefined` if nothing is. */
  pbxMemoryGet(pbx: string): Promise<string | undefined>
  /** Replaces what is known of a PBX. */
  pbxMemorySet(pbx: string, memory: string, fence?: Fence): Promise<void>
}

export type RecordingStore = {
  /** Returns a recording of a saved call, or `undefined`. New ones and changes come with `calls.batchStore`. */
  recordingGet(ref: RecordingRef): Promise<RecordingRecord | undefined>
  /** Returns the recordings of calls, in the order of their calls' ids and their own. */
  recordingListOfCalls(callIds: readonly string[]): Promise<RecordingRecord[]>
  /** Returns the pending recordings of a PBX behind a position, the oldest first, at most `limit`. */
  recordingListPending(query: { pbx: string; after: RecordingPosition; limit: number }): Promise<RecordingRecord[]>
  /** Returns recordings that are pending or failed and of which a try failed, the newest first, at most `limit`. */
  recordingListTroubled(limit: number): Promise<RecordingRecord[]>
  /** Returns recordings whose call was erased, or saved before a time, at most `limit`. */
  recordingListExpired(query: { beforeUs: number; limit: number }): Promise<RecordingRecord[]>
  /** Returns how many recordings are in each state. */
  recordingCount(): Promise<Record<RecordingState, number>>
  /** Marks all recordings of calls as erased. */
  recordingErase(callIds: readonly string[]): Promise<void>
  /** Forgets recordings: arrays of one length, one at each position. */
  recordingDelete(keys: { callIds: readonly string[]; ids: readonly string[] }): Promise<void>
  /** Returns the key that signs links to recordings, or `undefined` if there is none yet. */
  linkKeyGet(): Promise<string | undefined>
  /** Stores a key if there is none. Returns the one that there is then. */
  linkKeyAdd(key: string): Promise<string>
  /** Replaces the key: all links that it signed end. */
  linkKeyReplace(key: string): Promise<void>
}

export type LogStore = {
  /**
   * Returns deliveries that match of a part of the log, at most `limit`. Reading a part takes a few milliseconds,
   * regardless of the filter.
   */
  deliveryList(query: { filter: DeliveryFilter; fromId: number; limit: number; order: LogOrder }): Promise<DeliveryPart>
  /**
   * Returns a delivery with its body and its attempts, the oldest first, or `undefined`. `accountId` `null`: whosever
   * it is.
   */
  deliveryGet(accountId: number | null, id: number): Promise<DeliveryDetail | undefined>
  /** Returns deliveries as they are now; ids that are unknown are left out. */
  deliveryGetMany(ids: readonly number[]): Promise<DeliveryRow[]>
  /** Returns the events of a call in order of `sequence`, each with its deliveries, at most 500. */
  eventListOfCall(accountId: number, callId: string): Promise<EventRow[]>
  /**
   * Returns events of an account that match of a part of all behind one, in the order in which they were stored, at
   * most `limit`; those of erased calls are left out. Reading a part takes a few milliseconds, regardless of the
   * filter.
   */
  eventRead(query: EventQuery): Promise<EventPart>
  /** Returns behind which event none of an account was deleted, and which is its newest. */
  eventGetBounds(accountId: number): Promise<EventBounds>
  /** Returns the newest event of each of these accounts that has one. */
  eventGetNewest(accountIds: readonly number[]): Promise<ReadonlyMap<number, number>>
}

export type StatisticsStore = {
  /**
   * Saves figures of some minutes in place of those that were saved of the same, and deletes all of minutes before one.
   */
  minuteSave(step: { figures: readonly MinuteFigures[]; beforeMinute: number }): Promise<void>
  /** Returns the figures of one minute (counted since 1970) of all accounts. */
  minuteGet(minute: number): Promise<MinuteFigures[]>
}

export type MaintenanceStore = {
  /** Writes one row: rejects when the store cannot be written. */
  writeProbe(): Promise<void>
  /**
   * Returns how far the wall clock was set since the store was made, from when pruning may go on, the latest steady
   * time that is known (0: none), and when the newest event was stored.
   */
  clockGet(): Promise<SteppedClock & { readonly lastSteadyUs: number; readonly newestEventUs: number | undefined }>
  /** Stores how far the wall clock was set. */
  clockSet(clock: SteppedClock): Promise<void>
  /**
   * Deletes deliveries that ended before the given times with their attempts, and events without deliveries, of the
   * next `limit` events above an id. Returns how many, and the last event that was checked (`null`: the others are too
   * young).
   */
  deliveryPrune(step: {
    afterId: number
    deliveredBeforeUs: number
    failedBeforeUs: number
    nowUs: number
    limit: number
  }): Promise<{ lastId: number | null; pruned: number }>
  /**
   * Deletes webhooks that left their list and to which no delivery refers any more, at most `limit`. Returns how many.
   */
  webhookPrune(limit: number): Promise<number>
  /** Deletes secrets whose URL left its list before a time, at most `limit`. Returns how many. */
  secretPrune(step: { beforeUs: number; limit: number }): Promise<number>
  /** Deletes call records saved before a time, at most `limit`. Returns how many. */
  callPrune(step: { beforeUs: number; limit: number }): Promise<number>
  /** Returns the calls of which a record or an event's body holds a number as a whole string. */
  callListWithNumber(number: string): Promise<string[]>
  /** Deletes the records of calls and empties the bodies of their events that have ended. Returns the counts. */
  callErase(ids: readonly string[]): Promise<ErasedCounts>
  /** Removes a number from the stored live calls. Returns the number of calls that contained it. */
  liveCallErase(number: string): Promise<number>
  /** Returns all that is wrong with what is kept, a sentence each with some ids; empty when it is whole. */
  verify(): Promise<string[]>
  /** Returns what is damaged in the store's files; empty when they are readable throughout. */
  fileFaults(): Promise<string[]>
  /** Returns how the deliveries are, with those that failed since a time. */
  conditionGet(sinceUs: number): Promise<StoreCondition>
}
