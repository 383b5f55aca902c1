import { type DatabaseSource, databaseName } from '../database-url.ts'
import type { ClusterStore } from '../operations/cluster.ts'
import type { StatusStore } from '../operations/statuses.ts'
import { GROUPS } from '../sql/groups.ts'
import type { Store } from '../store.ts'
import { createClusterStore } from './cluster.ts'
import { newClient } from './engine/client.ts'
import { type Database, openDatabase } from './engine/database.ts'
import { type Hints, openHints } from './engine/hints.ts'
import { type History, newHistory } from './engine/history.ts'
import { type PrepareOptions, prepareDatabase } from './engine/open.ts'
import { runOperations } from './engine/run-operations.ts'
import { openEventCommits } from './events.ts'
import { createLogStore } from './log.ts'
import { createMaintenanceStore } from './maintenance.ts'
import { openOutcomeCommits } from './outcomes.ts'
import { OWNER_REQUESTS } from './owner-requests.ts'
import { createQueueStore } from './queue.ts'
import { createStatusStore } from './statuses.ts'

export type PostgresOptions = PrepareOptions & {
  /** The key of this process's figures, so that processes do not overwrite each other's. */
  readonly node?: string | undefined
}

/** A heartbeat that takes longer is late anyway. */
const HEARTBEAT_MS = 1_000

/** A node with 100 deliveries a second then writes ten outcomes with one statement. */
const OUTCOME_INTERVAL_MS = 100

/** Combines the operations of a store over its database. */
function storeOver(db: Database): Store {
  const events = openEventCommits(db)
  const outcomes = openOutcomeCommits(db)
  return {
    accounts: runOperations(db, GROUPS.accounts),
    webhooks: runOperations(db, GROUPS.webhooks),
    queue: {
      ...createQueueStore(db, outcomes),
      ...runOperations(db, OWNER_REQUESTS),
      ...runOperations(db, GROUPS.queue),
    },
    flows: runOperations(db, GROUPS.flows),
    calls: { batchStore: (batch, fence) => events.push({ batch, fence }), ...runOperations(db, GROUPS.calls) },
    callRequests: runOperations(db, GROUPS.callRequests),
    recordings: runOperations(db, GROUPS.recordings),
    pbxs: runOperations(db, GROUPS.pbxs),
    log: { ...createLogStore(db), ...runOperations(db, GROUPS.log) },
    statistics: runOperations(db, GROUPS.statistics),
    audit: runOperations(db, GROUPS.audit),
    authorizations: runOperations(db, GROUPS.authorizations),
    contacts: runOperations(db, GROUPS.contacts),
    outages: runOperations(db, GROUPS.outages),
    replays: runOperations(db, GROUPS.replays),
    maintenance: { ...createMaintenanceStore(db), ...runOperations(db, GROUPS.maintenance) },
    onForeignChange: db.onForeignChange,
    commits: db.commits,
    outcomeIntervalMs: OUTCOME_INTERVAL_MS,
    areCommitsFailing: () => db.eventCommits.isFailing() || db.outcomeCommits.isFailing(),
    stop: () =>
      db.stop(async () => {
        await events.drained()
        await outcomes.drained()
      }),
  }
}

/**
 * Opens the store in a Postgres database; creates it if it does not exist. @throws Fault when the database cannot be
 * used, with what to do.
 */
export async function openPostgresStore(source: DatabaseSource, options: PostgresOptions = {}): Promise<Store> {
  await prepareDatabase(source, options)
  return storeOver(openDatabase(source, { node: options.node ?? '' }))
}

/** Opens a connection of its own for nodes and leases: a commit that takes long must not delay a heartbeat. */
export function openClusterStore(
  source: DatabaseSource,
  { hints, history }: { readonly hints?: Hints; readonly history?: History } = {},
): ClusterStore & { stop(): Promise<void> } {
  const client = newClient(source, { role: 'cluster', connections: 1, statementMs: HEARTBEAT_MS, history })
  return { ...createClusterStore(client, hints), stop: client.stop }
}

/** The parts of a cluster node in a database, over connections that always lead to the same server. */
export type NodeStores = {
  readonly store: Store
  readonly cluster: ClusterStore
  readonly statuses: StatusStore
  /** Calls back when all connections were replaced by connections to another server. */
  readonly onReplaced: History['onReplaced']
  /** Stops everything but the store, which stops last. */
  stop(): Promise<void>
}

/**
 * Opens the store for a node of a cluster; creates a missing one.
 * @throws Fault as `openPostgresStore` does.
 */
export async function openNodeStores(source: DatabaseSource, options: PostgresOptions = {}): Promise<NodeStores> {
  await prepareDatabase(source, { ...options, isService: true })
  const history = newHistory(databaseName(source))
  const db = openDatabase(source, { node: options.node ?? '', history })
  const hints = openHints(source, history)
  const cluster = openClusterStore(source, { hints, history })
  return {
    store: storeOver(db),
    cluster,
    // A status is soon replaced by the next, so like outcomes it does not wait for the disk.
    statuses: createStatusStore(db.outcomes, hints),
    onReplaced: history.onReplaced,
    async stop() {
      await cluster.stop()
      await hints.stop()
    },
  }
}
