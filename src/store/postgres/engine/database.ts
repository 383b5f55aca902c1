import { randomUUID } from 'node:crypto'
import { startPeriodic } from '../../../lib/periodic.ts'
import { type CommitWatch, createCommitWatch } from '../../commit-watch.ts'
import { type DatabaseSource, databaseName } from '../../database-url.ts'
import type { Fence } from '../../operations/cluster.ts'
import type { CommitCounts } from '../../store.ts'
import { type Client, type ClientOptions, newClient, type Query } from './client.ts'
import { requireLeases } from './fence.ts'
import { startChangeWatch } from './foreign-changes.ts'
import { type History, newHistory } from './history.ts'

/** A failed write is tried again within seconds, unless its caller has given up. */
const FORGET_MS = 20_000

/** The store's connections, each kind for one purpose, so that slow work does not delay fast work. */
export type Database = {
  /** The name of the database in messages. */
  readonly name: string
  /** This process, as the tables know it. */
  readonly writer: string
  /** The node, as the figures of a minute know it. */
  readonly node: string
  /** Reads use indexes, regardless of the server's estimates of the tables' sizes. */
  readonly read: Query
  /** One connection for each kind of group commit, so that commits are made in their order. */
  readonly events: Client
  readonly outcomes: Client
  /** Statements that may take minutes have their own. */
  readonly maintenance: Client
  /** Runs statements as one. Under a fence it rejects with LeaseLost if one of its leases was taken over. */
  transaction<Result>(work: (query: Query) => Promise<Result>, fence?: Fence): Promise<Result>
  /** Runs a transaction whose changes other processes may have cached: they are notified within a second. */
  change<Result>(work: (query: Query) => Promise<Result>): Promise<Result>
  onForeignChange(listener: () => void): void
  /** Calls back when another history of the database is in use: everything that was read before is out of date. */
  onReplaced(listener: () => void): void
  readonly commits: CommitCounts
  readonly eventCommits: CommitWatch
  readonly outcomeCommits: CommitWatch
  stop(drained: () => Promise<void>): Promise<void>
}

/**
 * Statements are planned once for each connection. A statement that was planned for an empty table must not scan it
 * when it is large; nor may one that needs the next rows of an index read and sort all of them.
 */
export const BY_INDEX = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
}
const BY_INDEX_AND_HASH = { enable_seqscan: 'off', plan_cache_mode: 'force_generic_plan', jit: 'off' }

/**
 * A node that freezes in a transaction keeps its locks, and nobody can take its leases over. A live node is never idle
 * in a transaction for a second, unless its event loop is blocked. A command holds no lease, and a loaded machine may
 * hold it up for longer.
 */
const OF_NODES = { idle_in_transaction_session_timeout: '2000' }

const STATEMENT_MS = 5_000
const MAINTENANCE_MS = 600_000
/** How often a node checks whether a new connection leads to another server. */
const PROBE_EVERY_MS = 2_000

type DatabaseOptions = {
  /** The node, as the figures of a minute know it. */
  readonly node: string
  /**
   * Limits for a node that keeps running: it leaves a server that was replaced within seconds, even if that server
   * still answers.
   */
  readonly history?: History | undefined
}

/** Opens the connections to a database. @throws Fault when it cannot be used. */
export function openDatabase(source: DatabaseSource, options: DatabaseOptions): Database {
  const writer = randomUUID()
  const name = databaseName(source)
  const history = options.history ?? newHistory(name)
  const limits = options.history === undefined ? {} : OF_NODES
  const open = (role: string, rest: Partial<ClientOptions> = {}) =>
    newClient(source, {
      role,
      connections: 1,
      statementMs: STATEMENT_MS,
      history,
      ...rest,
      session: { ...limits, ...rest.session },
    })
  const reads = open('reads', { connections: 2, session: BY_INDEX })
  const writes = open('writes')
  const events = open('events', { session: BY_INDEX_AND_HASH })
  // A crash of the server undoes the last tenths of a second of them. So after each new connection all pending
  // deliveries are read again, and undone ones are sent again, as if they had been in flight.
  const outcomes = open('outcomes', {
    session: { ...BY_INDEX_AND_HASH, synchronous_commit: 'off' },
    onReconnected: () => changes.notify(),
  })
  const maintenance = open('maintenance', { statementMs: MAINTENANCE_MS, isBrief: true })
  const changes = startChangeWatch({ read: outcomes.read, writer })
  const unlisten = history.onReplaced(() => changes.notify())
  // Each time over a new connection, its only statement.
  const probe =
    options.history &&
    startPeriodic(PROBE_EVERY_MS, async () => {
      // Other statements report that the database is away.
      await maintenance.query('SELECT 1').catch(() => undefined)
    })
  return {
    name,
    writer,
    node: options.node,
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
    onReplaced: (listener) => void history.onReplaced(listener),
    commits: { batches: 0, writes: 0, failed: 0, lastMs: 0, waiting: 0 },
    eventCommits: createCommitWatch({ forgetMs: FORGET_MS }),
    outcomeCommits: createCommitWatch({ forgetMs: FORGET_MS }),
    async stop(drained) {
      unlisten()
      await probe?.stop()
      await changes.stop()
      await drained()
      for (const client of [reads, writes, events, outcomes, maintenance]) await client.stop()
    },
  }
}
