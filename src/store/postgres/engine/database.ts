import { randomUUID } from 'node:crypto'
import { type DatabaseSource, databaseName } from '../../../lib/database-url.ts'
import type { Fence } from '../../operations/cluster.ts'
import type { CommitCounts } from '../../store.ts'
import { type Client, newClient, type Query } from './client.ts'
import { requireLeases } from './fence.ts'
import { startChangeWatch } from './foreign-changes.ts'

/** The store's connections, each kind for one purpose: what is slow holds up nothing that is not. */
export type Database = {
  /** How messages name it. */
  readonly name: string
  /** This process, as the tables know it. */
  readonly writer: string
  /** The node, as the figures of a minute know it. */
  readonly node: string
  /** Reads use indexes, regardless of the server's estimates of the tables' sizes. */
  readonly read: Query
  /** Of the group commits: one connection each, so that they are made in their order. */
  readonly events: Client
  readonly outcomes: Client
  /** For what may take minutes. */
  readonly maintenance: Client
  /** Runs statements as one. Under a fence it rejects with LeaseLost if one of its leases was taken over. */
  transaction<Result>(work: (query: Query) => Promise<Result>, fence?: Fence): Promise<Result>
  /** Runs a transaction whose changes other processes may have cached: they are notified within a second. */
  change<Result>(work: (query: Query) => Promise<Result>): Promise<Result>
  onForeignChange(listener: () => void): void
  readonly commits: CommitCounts
  stop(drained: () => Promise<void>): Promise<void>
}

/**
 * Statements are planned once for each connection. One that was planned while a table was empty must not read it all
 * when it is large.
 */
export const BY_INDEX = { enable_seqscan: 'off', enable_hashjoin: 'off', enable_mergejoin: 'off', jit: 'off' }
const BY_INDEX_AND_HASH = { enable_seqscan: 'off', plan_cache_mode: 'force_generic_plan', jit: 'off' }

/**
 * A node that freezes in the middle of a transaction keeps its locks: for so long nobody could take its leases over.
 * One that is alive is never idle within a transaction for a second, except when its event loop is blocked.
 */
const OF_NODES = { idle_in_transaction_session_timeout: '2000' }

const STATEMENT_MS = 5_000
const MAINTENANCE_MS = 600_000

/** Opens the connections to a database. @throws Fault when it cannot be used. */
export function openDatabase(source: DatabaseSource, node: string): Database {
  const writer = randomUUID()
  const open = (role: string, connections: number, session: Record<string, string> = {}, statementMs = STATEMENT_MS) =>
    newClient(source, { role, connections, statementMs, session: { ...OF_NODES, ...session } })
  const reads = open('reads', 4, BY_INDEX)
  const writes = open('writes', 3)
  const events = open('events', 1, BY_INDEX_AND_HASH)
  // A crash of the server undoes some tenths of a second of them. So after each new connection all that is pending is
  // read again, and what was undone is sent again, as if it had been in flight.
  const outcomes = newClient(source, {
    ...{ role: 'outcomes', connections: 1, statementMs: STATEMENT_MS },
    session: { ...OF_NODES, ...BY_INDEX_AND_HASH, synchronous_commit: 'off' },
    onReconnected: () => changes.notify(),
  })
  const maintenance = open('maintenance', 1, {}, MAINTENANCE_MS)
  const changes = startChangeWatch({ read: outcomes.read, writer })
  return {
    name: databaseName(source),
    writer,
    node,
    read: reads.read,
    events,
    outcomes,
    maintenance,
    transaction: (work, fence) =>
      writes.transaction(async (query) => {
        if (fence !== undefined) await requireLeases(query, fence)
        return work(query)
      }),
    change: (work) =>
      writes.transaction(async (query) => {
        const result = await work(query)
        await changes.note(query)
        return result
      }),
    onForeignChange: changes.onForeignChange,
    commits: { batches: 0, writes: 0, failed: 0, lastMs: 0, waiting: 0 },
    async stop(drained) {
      await changes.stop()
      await drained()
      for (const client of [reads, writes, events, outcomes, maintenance]) await client.stop()
    },
  }
}
