import type { AccountStore } from './operations/accounts.ts'
import type { AuditStore } from './operations/audit.ts'
import type { AuthorizationStore } from './operations/authorizations.ts'
import type { CallRequestStore } from './operations/call-requests.ts'
import type { CallStore } from './operations/calls.ts'
import type { ContactStore } from './operations/contacts.ts'
import type { FlowStore } from './operations/flows.ts'
import type { LogStore } from './operations/log.ts'
import type { MaintenanceStore } from './operations/maintenance.ts'
import type { OutageStore } from './operations/outages.ts'
import type { PbxStore } from './operations/pbxs.ts'
import type { QueueStore } from './operations/queue.ts'
import type { RecordingStore } from './operations/recordings.ts'
import type { ReplayStore } from './operations/replays.ts'
import type { StatisticsStore } from './operations/statistics.ts'
import type { WebhookStore } from './operations/webhooks.ts'

/**
 * The one interface to persistence, in groups: operations/ has each group with its data. Beneath it is an engine. Times
 * are integer microseconds; `…SteadyUs` is steady time.
 *
 * For every operation:
 * - It rejects with Fault `unavailable` when the store cannot be reached or written: then nothing was written. Only if
 *   the connection was lost before the answer came, the result is unknown: `batchStore` and `deliveryRecordOutcomes`
 *   can then be repeated, and are written once.
 * - A write resolves when it is durable; an operation is written as a whole, or not at all.
 * - Ids of accounts, users and webhooks are unique in the store; ids of events and deliveries in their account, where
 *   they grow in the order in which events were stored: an id becomes visible before every higher id.
 * - Results are not cached: they were committed when they were read.
 * - A write of an owner may have a fence: it rejects with LeaseLost, and writes nothing, if one of its leases was taken
 *   over.
 */
export type Store = {
  readonly accounts: AccountStore
  readonly audit: AuditStore
  readonly authorizations: AuthorizationStore
  readonly contacts: ContactStore
  readonly webhooks: WebhookStore
  readonly queue: QueueStore
  readonly flows: FlowStore
  readonly calls: CallStore
  readonly callRequests: CallRequestStore
  readonly recordings: RecordingStore
  readonly pbxs: PbxStore
  readonly log: LogStore
  readonly statistics: StatisticsStore
  readonly maintenance: MaintenanceStore
  readonly outages: OutageStore
  readonly replays: ReplayStore
  /**
   * Calls back, within a second, after another node changed the database: cached rows are then stale. Never on SQLite,
   * whose file has one process that writes.
   */
  onForeignChange(listener: () => void): void
  /**
   * The least time between the beginnings of two writes of a few outcomes, in milliseconds. Each write of a shared
   * database costs all nodes, and nobody waits for an outcome.
   */
  readonly outcomeIntervalMs: number
  /** Counts of group commits since the start, for the metrics. */
  readonly commits: Readonly<CommitCounts>
  /** Returns whether group commits fail at present because the store cannot be written, or have no answer. */
  areCommitsFailing(): boolean
  /** Commits all writes that were requested before, then closes. */
  stop(): Promise<void>
}

export type CommitCounts = { batches: number; writes: number; failed: number; lastMs: number; waiting: number }
