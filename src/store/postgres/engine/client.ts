import type { SQLArrayParameter } from 'bun'
import { newFifo } from '../../../lib/fifo.ts'
import { type DatabaseSource, databaseName } from '../../database-url.ts'
import {
  beforeDeadline,
  type Connection,
  clean,
  type Opening,
  openConnection,
  type Query,
  type SessionOptions,
} from './connection.ts'
import type { History } from './history.ts'
import {
  asDatabaseFault,
  DeadlineError,
  databaseFault,
  isBroken,
  isConflict,
  NoConnectionError,
} from './store-fault.ts'

export type { Query, Value } from './connection.ts'

/** Connections to the database for one purpose. A query rejects with Fault `unavailable` if the database is away. */
export type Client = {
  /** Runs one statement, which may have been carried out even if it rejects. */
  readonly query: Query
  /** Runs a statement that changes nothing: tried again once when its connection was lost. */
  readonly read: Query
  /**
   * Runs several statements in one transaction, and again after a conflict with another one. Only for rare work: it
   * costs an extra round trip at each end.
   */
  transaction<Result>(work: (query: Query) => Promise<Result>): Promise<Result>
  stop(): Promise<void>
}

export type ClientOptions = SessionOptions & {
  /** The most connections; they are opened on demand. */
  readonly connections: number
  /** The history that all clients of a process share. Without it this client may be connected to any server. */
  readonly history?: History | undefined
  /** Closes each connection after its use. */
  readonly isBrief?: boolean
  /** Called after each connection but the first: the server may have been away meanwhile. */
  readonly onReconnected?: (() => void) | undefined
}

/** A live server applies `statement_timeout` itself; a dead one is given up after this additional time. */
const GRACE_MS = 1_000
/** Retries of a transaction that was undone by a conflict with another. */
const TRIES = 8
/** Statements that are running when a client stops have this long to end. */
const STOP_WITHIN_MS = 1_000

/** Makes a client without a connection. A connection serves one statement or transaction at a time, in their order. */
export function newClient(source: DatabaseSource, options: ClientOptions): Client {
  const { statementMs } = options
  const name = databaseName(source)
  const pool = newPool(source, options)

  async function use<Result>(work: (connection: Connection) => Promise<Result>, withinMs: number): Promise<Result> {
    const connection = await pool.acquire(statementMs + GRACE_MS)
    try {
      const result = await beforeDeadline(work(connection), withinMs)
      options.history?.answered()
      return result
    } catch (error) {
      // The others of the pool are probably lost too.
      if (isBroken(error)) pool.drop(connection)
      throw error
    } finally {
      pool.release(connection)
    }
  }
  const run: Query = (text, values) => use(({ query }) => query(text, values), statementMs + GRACE_MS)

  return {
    query: (text, values) => withDatabaseFault(name, () => run(text, values)),
    read: (text, values) =>
      withDatabaseFault(name, async () => {
        try {
          return await run(text, values)
        } catch (error) {
          if (!isBroken(error) || error instanceof DeadlineError) throw error
          return await run(text, values)
        }
      }),
    transaction: (work) =>
      withDatabaseFault(name, () => retryConflicts(() => use(({ transaction }) => transaction(work), statementMs * 2))),
    stop: pool.stop,
  }
}

type Waiter = { resolve(connection: Connection): void; reject(error: unknown): void; isOver: boolean }

/** Makes the pool of one client. */
function newPool(source: DatabaseSource, options: ClientOptions) {
  const { connections: most, history, isBrief = false } = options
  const waiters = newFifo<Waiter>()
  const idle = new Set<Connection>()
  const busy = new Set<Connection>()
  const openings = new Set<Opening>()
  let isFirst = true
  let isStopped = false
  const unlisten = history?.onReplaced(() => {
    for (const connection of [...idle, ...busy]) connection.close()
  })

  function forget(connection: Connection): void {
    idle.delete(connection)
    busy.delete(connection)
  }
  function nextWaiter(): Waiter | undefined {
    for (let next = waiters.shift(); next !== undefined; next = waiters.shift()) if (!next.isOver) return next
    return undefined
  }
  function offer(connection: Connection): void {
    forget(connection)
    if (connection.isClosed()) {
      openForWaiters()
      return
    }
    const next = nextWaiter()
    if (next !== undefined) {
      busy.add(connection)
      next.resolve(connection)
    } else if (isBrief || isStopped) connection.close()
    else idle.add(connection)
  }
  function openForWaiters(): void {
    if (waiters.size === 0 || isStopped || idle.size + busy.size + openings.size >= most) return
    let opened: Connection | undefined
    const opening = openConnection(source, options, () => opened && forget(opened))
    openings.add(opening)
    opening.connection
      .then((connection) => {
        openings.delete(opening)
        accept(connection)
        opened = connection
        offer(connection)
      })
      .catch((error: unknown) => {
        openings.delete(opening)
        // Other open connections serve the waiting queries.
        if (idle.size + busy.size + openings.size > 0) return
        for (let next = nextWaiter(); next !== undefined; next = nextWaiter()) next.reject(error)
      })
  }
  /** @throws Fault when the server is not the one that all clients of this process use. */
  function accept(connection: Connection): void {
    try {
      if (history !== undefined && connection.isStandby) throw databaseFault('read-only', databaseName(source))
      history?.arrived(connection.history)
    } catch (error) {
      connection.close()
      throw error
    }
    if (!isFirst) options.onReconnected?.()
    isFirst = false
  }

  return {
    /** Waits for a connection. Nothing was sent to the server if this rejects. */
    async acquire(withinMs: number): Promise<Connection> {
      if (isStopped) throw new NoConnectionError('the client was stopped')
      const [free] = idle
      if (free !== undefined) {
        idle.delete(free)
        busy.add(free)
        return free
      }
      const { promise, resolve, reject } = Promise.withResolvers<Connection>()
      const waiter: Waiter = { resolve, reject, isOver: false }
      waiters.push(waiter)
      openForWaiters()
      const timer = setTimeout(() => {
        // A connection that arrives now must not be given to it: nobody would release it.
        waiter.isOver = true
        reject(new NoConnectionError(`no connection within ${withinMs} ms`))
        // The route to the server may have changed.
        for (const opening of openings) opening.abandon()
      }, withinMs)
      try {
        return await promise
      } finally {
        clearTimeout(timer)
        waiter.isOver = true
      }
    },
    /** Closes a lost connection, and all idle ones. */
    drop(connection: Connection): void {
      connection.close()
      for (const one of idle) one.close()
    },
    release: offer,
    async stop(): Promise<void> {
      isStopped = true
      unlisten?.()
      for (let next = nextWaiter(); next !== undefined; next = nextWaiter())
        next.reject(new NoConnectionError('the client was stopped'))
      for (const one of idle) one.close()
      for (const opening of openings) opening.abandon()
      for (const untilMs = performance.now() + STOP_WITHIN_MS; busy.size > 0 && performance.now() < untilMs; )
        await Bun.sleep(1)
      for (const one of busy) one.close()
    },
  }
}

/** Repeats a transaction that was undone by a conflict with another. */
export async function retryConflicts<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await work()
    } catch (error) {
      if (!isConflict(error) || tried === TRIES) throw error
      await Bun.sleep(tried * tried)
    }
  }
}

async function withDatabaseFault<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw asDatabaseFault(error, name)
  }
}

export const texts = (values: readonly (string | null)[]): SQLArrayParameter =>
  Bun.sql.array(
    values.map((value) => (value === null ? null : clean(value))),
    'TEXT',
  )
export const arrayOf = (
  type: 'TEXT' | 'BIGINT' | 'BOOLEAN',
  items: readonly (string | number | boolean | null)[],
): SQLArrayParameter =>
  Bun.sql.array(
    items.map((item) => (typeof item === 'string' ? clean(item) : item)),
    type,
  )
export const bigints = (values: readonly (number | null)[]): SQLArrayParameter => Bun.sql.array([...values], 'BIGINT')
export const ints = (values: readonly (number | null)[]): SQLArrayParameter => Bun.sql.array([...values], 'INT')
export const booleans = (values: readonly boolean[]): SQLArrayParameter => Bun.sql.array([...values], 'BOOLEAN')
