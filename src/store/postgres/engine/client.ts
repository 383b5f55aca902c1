import type { SQL, SQLArrayParameter } from 'bun'
import { type DatabaseSource, databaseName } from '../../../lib/database-url.ts'
import { asDatabaseFault, codeOf, DeadlineError, isBroken, isConflict } from './store-fault.ts'

export type Value = string | number | bigint | boolean | null | SQLArrayParameter
/** Runs one statement with `$1`, `$2`, … and returns its rows, their integers as numbers. `numeric` arrives as text. */
export type Query = <Row>(text: string, values?: readonly Value[]) => Promise<Row[]>

/**
 * Connections to the database for one purpose. What fails for want of the database rejects with Fault `unavailable`.
 */
export type Client = {
  /** Runs one statement, which may have been carried out even if it rejects. */
  readonly query: Query
  /** Runs a statement that changes nothing: tried again once when its connection was lost. */
  readonly read: Query
  /**
   * Runs several statements as one, again when they met another. For what is rare: it takes a round trip more at each
   * end.
   */
  transaction<Result>(work: (query: Query) => Promise<Result>): Promise<Result>
  stop(): Promise<void>
}

export type ClientOptions = {
  /** The name of our connections in the server's list. */
  readonly role: string
  readonly connections: number
  /** How long the server may take for one statement. */
  readonly statementMs: number
  /** Settings of its sessions. */
  readonly session?: Readonly<Record<string, string>>
  /** Called after each connection that is not the first: the server may have been away meanwhile. */
  readonly onReconnected?: (() => void) | undefined
}

/** A server that is there keeps `statement_timeout` itself; one that is not is given up after this more. */
const GRACE_MS = 1_000
const CONNECT_WITHIN_S = 5
/** How often what met another is tried again. */
const TRIES = 8

/** Opens connections as they are needed. */
export function newClient(source: DatabaseSource, options: ClientOptions): Client {
  const { statementMs } = options
  const name = databaseName(source)
  let isFirst = true
  const onConnected = () => {
    if (!isFirst) options.onReconnected?.()
    isFirst = false
  }
  let current = connect(source, options, onConnected)
  let stopped = false

  /** A pool whose connections died may stay dead: another takes its place, at once. */
  function replace(broken: SQL): void {
    if (broken !== current || stopped) return
    current = connect(source, options, onConnected)
    void broken.close({ timeout: 0 }).catch(() => undefined)
  }
  async function on<Result>(work: (connection: SQL) => Promise<Result>, withinMs: number): Promise<Result> {
    const used = current
    try {
      return await before(work(used), withinMs)
    } catch (error) {
      if (isBroken(error)) replace(used)
      throw error
    }
  }
  const run: Query = (text, values = []) => on((connection) => rowsOf(connection, text, values), statementMs + GRACE_MS)

  return {
    query: (text, values) => faulty(name, () => run(text, values)),
    read: (text, values) =>
      faulty(name, async () => {
        try {
          return await run(text, values)
        } catch (error) {
          if (!isBroken(error) || error instanceof DeadlineError) throw error
          return await run(text, values)
        }
      }),
    transaction: (work) =>
      faulty(name, () =>
        again(() =>
          on(
            (connection) => connection.begin((tx) => work((text, values = []) => rowsOf(tx, text, values))),
            statementMs * 2,
          ),
        ),
      ),
    async stop() {
      stopped = true
      await current.close({ timeout: 1 }).catch(() => undefined)
    },
  }
}

/** Opens connections with the settings of a role. */
export function connect(source: DatabaseSource, options: ClientOptions, onConnected = () => {}): SQL {
  const { role, connections, statementMs, session } = options
  const { host, port, user, password, database, tls, caFile } = source
  // `Bun.SQL`, since an import of it would load Bun's client of databases at the start of every command.
  return new Bun.SQL({
    adapter: 'postgres',
    // Otherwise `int8` would arrive as text.
    bigint: true,
    hostname: host,
    port,
    username: user,
    password,
    database,
    // Without it the environment could turn the proof of the server's certificate off.
    tls: tls !== 'verify-full' ? tls : { rejectUnauthorized: true, ...(caFile && { ca: Bun.file(caFile) }) },
    max: connections,
    connectionTimeout: CONNECT_WITHIN_S,
    onconnect: (error) => {
      if (error === null) onConnected()
    },
    connection: {
      ...{ application_name: `hookswitch ${role}`, statement_timeout: statementMs, search_path: 'public' },
      // Statements that meet others wait for them: where the database's default is stricter they would fail instead.
      default_transaction_isolation: 'read committed',
      // A transaction that a session leaves open by mistake would block all others.
      ...{ idle_in_transaction_session_timeout: 30_000, ...session },
    },
  })
}

/** Text cannot hold a NUL there. */
const clean = (text: string): string => (text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text)

async function rowsOf<Row>(connection: SQL, text: string, values: readonly Value[]): Promise<Row[]> {
  const given = values.map((value) => (typeof value === 'string' ? clean(value) : value))
  const rows = await connection.unsafe<Row[]>(text, given)
  for (const row of rows) toNumbers(row)
  return [...rows]
}

/** Converts the integers of a row: none in the store is beyond what a number holds. */
function toNumbers(row: unknown): void {
  const fields = row as Record<string, unknown>
  for (const name in fields) {
    const value = fields[name]
    if (typeof value === 'bigint') fields[name] = Number(value)
  }
}

async function before<Result>(work: Promise<Result>, withinMs: number): Promise<Result> {
  let timer: Timer | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DeadlineError(`no answer within ${withinMs} ms`)), withinMs)
  })
  // An error after the deadline has no receiver any more.
  work.catch(() => undefined)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Runs again what met another and was undone for it. */
export async function again<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await work()
    } catch (error) {
      if (!isConflict(error) || tried === TRIES) throw error
      await Bun.sleep(tried * tried)
    }
  }
}

async function faulty<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw asDatabaseFault(error, name)
  }
}

/** Returns a parameter for an array of texts. */
export const texts = (values: readonly (string | null)[]): SQLArrayParameter =>
  Bun.sql.array(
    values.map((value) => (value === null ? null : clean(value))),
    'TEXT',
  )
/** Returns a parameter for an array of a type. */
export const arrayOf = (
  type: 'TEXT' | 'BIGINT' | 'BOOLEAN',
  items: readonly (string | number | boolean | null)[],
): SQLArrayParameter =>
  Bun.sql.array(
    items.map((item) => (typeof item === 'string' ? clean(item) : item)),
    type,
  )
/** Returns a parameter for an array of bigints. */
export const bigints = (values: readonly (number | null)[]): SQLArrayParameter => Bun.sql.array([...values], 'BIGINT')
/** Returns a parameter for an array of integers. */
export const ints = (values: readonly (number | null)[]): SQLArrayParameter => Bun.sql.array([...values], 'INT')
/** Returns a parameter for an array of booleans. */
export const booleans = (values: readonly boolean[]): SQLArrayParameter => Bun.sql.array([...values], 'BOOLEAN')

/** Returns the SQLSTATE behind a Fault or an error of the database. */
export const sqlStateOf = codeOf
