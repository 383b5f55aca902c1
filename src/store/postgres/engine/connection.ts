import type { ReservedSQL, SQL, SQLArrayParameter } from 'bun'
import { startDeadline } from '../../../lib/deadline.ts'
import type { DatabaseSource } from '../../database-url.ts'
import { codeOf, DeadlineError, isBroken } from './store-fault.ts'

export type Value = string | number | bigint | boolean | null | SQLArrayParameter
/** Runs one statement with `$1`, `$2`, … and returns its rows, their integers as numbers. `numeric` arrives as text. */
export type Query = <Row>(text: string, values?: readonly Value[]) => Promise<Row[]>

export type SessionOptions = {
  /** The name of Hookswitch's connections in the server's list. */
  readonly role: string
  /** How long the server may take for one statement. */
  readonly statementMs: number
  /** Settings of its sessions. */
  readonly session?: Readonly<Record<string, string>>
}

/** One connection with its session. Once it is lost, every statement fails: it never becomes another by itself. */
export type Connection = {
  readonly query: Query
  transaction<Result>(work: (query: Query) => Promise<Result>): Promise<Result>
  /** The system identifier and timeline of the server, `null` if it does not report them. */
  readonly history: string | null
  readonly isStandby: boolean
  readonly isClosed: () => boolean
  close(): void
}

export type Opening = {
  /** Rejects when there is no connection within some seconds. */
  readonly connection: Promise<Connection>
  abandon(): void
}

const CONNECT_WITHIN_S = 5
/** A server that has accepted a connection answers the first statements at once, or hangs. */
const SET_UP_WITHIN_MS = 5_000

/** Begins to open a connection. `onClosed`: called once when it is closed, by whichever side. */
export function openConnection(source: DatabaseSource, options: SessionOptions, onClosed: () => void): Opening {
  let isClosed = false
  const closed = () => {
    if (isClosed) return
    isClosed = true
    onClosed()
  }
  const sql = connect(source, options.role, closed)
  const close = () => {
    closed()
    void sql.close({ timeout: 0 }).catch(() => undefined)
  }

  async function open(): Promise<Connection> {
    // Bound to one connection: the pool itself would replace a lost one, by a session without its settings.
    const reserved = await sql.reserve()
    const query: Query = (text, values = []) => rowsOf(reserved, text, values)
    const server = await beforeDeadline(setUp(query, options), SET_UP_WITHIN_MS)
    return {
      ...server,
      query,
      transaction: (work) => reserved.begin((tx) => work((text, values = []) => rowsOf(tx, text, values))),
      isClosed: () => isClosed,
      close,
    }
  }
  const connection = open().catch((error: unknown) => {
    close()
    throw error
  })
  return { connection, abandon: close }
}

/**
 * Opens a pool of at most one connection, with nothing set: poolers refuse settings at the start of a connection,
 * except its name.
 */
export function connect(source: DatabaseSource, role: string, onClosed = () => {}): SQL {
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
    max: 1,
    connectionTimeout: CONNECT_WITHIN_S,
    onclose: onClosed,
    connection: { application_name: `hookswitch ${role}` },
  })
}

export function sessionSettings({ role, statementMs, session }: SessionOptions): Readonly<Record<string, string>> {
  return {
    application_name: `hookswitch ${role}`,
    statement_timeout: String(statementMs),
    search_path: 'public',
    // Conflicting statements wait for each other: under a stricter default of the database they would fail instead.
    default_transaction_isolation: 'read committed',
    // A transaction that a session leaves open by mistake would block all others.
    idle_in_transaction_session_timeout: '30000',
    ...session,
  }
}

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`

async function setUp(query: Query, options: SessionOptions): Promise<Pick<Connection, 'history' | 'isStandby'>> {
  const set = Object.entries(sessionSettings(options)).map(
    ([name, value]) => `set_config('${name}', ${quoted(value)}, false)`,
  )
  await query(`SELECT ${set.join(', ')}`)
  const [server] = await query<{ isStandby: boolean }>('SELECT pg_is_in_recovery() AS "isStandby"')
  const isStandby = server?.isStandby ?? false
  return { isStandby, history: isStandby ? null : await historyOf(query) }
}

const TIMELINE = 'left(pg_walfile_name(pg_current_wal_lsn()), 8)'
/** Some databases lack these functions, and some users may not call the first. */
const HISTORIES = [
  `(SELECT system_identifier::text FROM pg_control_system()) || '/' || ${TIMELINE}`,
  `'/' || ${TIMELINE}`,
]

async function historyOf(query: Query): Promise<string | null> {
  for (const history of HISTORIES) {
    try {
      const [row] = await query<{ history: string }>(`SELECT ${history} AS history`)
      return row?.history ?? null
    } catch (error) {
      if (isBroken(error) || codeOf(error) === '') throw error
    }
  }
  return null
}

/** Text cannot hold a NUL there. */
export const clean = (text: string): string => (text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text)

/** Sends every integer as the type of most columns, whatever its size, so that a statement is prepared once. */
function boundValue(value: Value): Value {
  if (typeof value === 'string') return clean(value)
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value
}

async function rowsOf<Row>(connection: SQL | ReservedSQL, text: string, values: readonly Value[]): Promise<Row[]> {
  const given = values.map(boundValue)
  const rows = await connection.unsafe<Row[]>(text, given)
  for (const row of rows) toNumbers(row)
  return [...rows]
}

/** Converts the integers of a row to numbers: all integers of the store fit. */
function toNumbers(row: unknown): void {
  // The driver returns each row as a plain object.
  const fields = row as Record<string, unknown>
  for (const name in fields) {
    const value = fields[name]
    if (typeof value === 'bigint') fields[name] = Number(value)
  }
}

/** Returns the result of work, or rejects with DeadlineError. */
export async function beforeDeadline<Result>(work: Promise<Result>, ms: number): Promise<Result> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const deadline = startDeadline(ms, () => reject(new DeadlineError(`no answer within ${ms} ms`)))
  // After the deadline nobody receives the error.
  work.catch(() => undefined)
  try {
    return await Promise.race([work, late])
  } finally {
    deadline.cancel()
  }
}
