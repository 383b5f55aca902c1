import { Fault } from '../../../lib/fault.ts'

/** Why the database cannot be used. */
type DatabaseFaultKind =
  | 'unreachable'
  | 'wrong-password'
  | 'no-database'
  | 'read-only'
  | 'full'
  | 'not-allowed'
  | 'crowded'
  | 'slow'
  | 'no-tls'
  | 'left'
  | 'refused-setting'
  | 'shared-session'

/** Keyed by the start of the server's SQLSTATE, or of Bun's code for a broken connection. */
const KINDS: readonly (readonly [code: RegExp, kind: DatabaseFaultKind])[] = [
  [/^28/, 'wrong-password'],
  [/^3D000/, 'no-database'],
  [/^25006/, 'read-only'],
  [/^(53100|58030)/, 'full'],
  [/^(42P05|26000)/, 'shared-session'],
  [/^42501/, 'not-allowed'],
  [/^53300/, 'crowded'],
  [/^(57014|55P03|40001|40P01|53)/, 'slow'],
  [/^(08|57P|25P03)/, 'unreachable'],
  [/^ERR_POSTGRES_(TLS|SSL)|CERT|SELF_SIGNED|ALTNAME|VERIFY/, 'no-tls'],
  [
    /^(ERR_POSTGRES_(CONNECTION|IDLE|LIFETIME|UNEXPECTED_MESSAGE)|ERR_DEADLINE|ERR_NO_CONNECTION|ECONN|ETIMEDOUT|EPIPE)/,
    'unreachable',
  ],
]

const WHAT: Readonly<Record<DatabaseFaultKind, string>> = {
  unreachable: 'does not answer',
  'wrong-password': 'refuses this user or its password',
  'no-database': 'does not exist',
  'read-only': 'is a standby, or read-only',
  full: 'cannot be written: the disk of its server is full or reports an error',
  'not-allowed': 'may not be used by this user',
  crowded: 'has no connection left',
  slow: 'did not answer in time',
  'no-tls': 'cannot be reached with the TLS that was asked for',
  left: 'was reached on a server that another one has replaced',
  'refused-setting': 'is behind a pooler that refuses a setting of the connection',
  'shared-session': 'is behind a pooler that gives each transaction another session',
}

const TO_DO: Readonly<Record<DatabaseFaultKind, string>> = {
  unreachable: 'check that its server runs, and host and port in --database-url',
  'wrong-password': 'check user and password in --database-url',
  'no-database': 'create it with createdb, or name another in --database-url',
  'read-only': 'give the URL of the primary',
  full: 'free some space there; nothing is lost, and work resumes by itself',
  'not-allowed': 'make this user the owner of the database',
  crowded: 'raise max_connections of the server; each node uses up to 8',
  slow: 'check what else its server does; it is tried again',
  'no-tls':
    "check sslmode and sslrootcert in --database-url, and the server's certificate: without sslmode a server on another machine has to prove who it is; sslmode=require encrypts without proof, sslmode=disable sends the password in clear",
  left: 'nothing is read from it or written to it; it is tried again until the address leads to the new one',
  'refused-setting': 'add the setting to ignore_startup_parameters of PgBouncer',
  'shared-session': 'set pool_mode = session for it (PgBouncer), or give the address of the server itself',
}

/** The codes after which a statement is retried: it conflicted with another one and changed nothing. */
const AGAIN = /^(40001|40P01)/
/** Errors of the connection, not of the statement, which may have been executed. */
const BROKEN =
  /^(ERR_POSTGRES_(CONNECTION|IDLE|LIFETIME|UNEXPECTED_MESSAGE|EXPECTED|INVALID|UNKNOWN)|ERR_DEADLINE|08|57P0|25P03|ECONN|EPIPE|ETIMEDOUT)/

/** The server did not answer in time. */
export class DeadlineError extends Error {
  readonly code = 'ERR_DEADLINE'
}

/** No connection was available in time: nothing was sent. */
export class NoConnectionError extends Error {
  readonly code = 'ERR_NO_CONNECTION'
}

/** Returns the SQLSTATE of the server's error, else the code of the connection's error. */
export function codeOf(error: unknown): string {
  if (error instanceof Bun.SQL.PostgresError)
    return error.code === 'ERR_POSTGRES_SERVER_ERROR' ? String(error.errno ?? '') : error.code
  if (!(error instanceof Error)) return ''
  if ('code' in error && typeof error.code === 'string' && !(error instanceof Fault)) return error.code
  return codeOf(error.cause)
}

/** Returns whether transactions were in conflict, so that one has to be repeated. */
export const isConflict = (error: unknown): boolean => AGAIN.test(codeOf(error))
export const isBroken = (error: unknown): boolean => BROKEN.test(codeOf(error))
/** Returns whether the server has received nothing, because there was no connection. */
export const isUnsent = (error: unknown): boolean =>
  /^(ERR_NO_CONNECTION|ERR_POSTGRES_CONNECTION_(REFUSED|TIMEOUT|FAILED)|28|3D000|53300|57P03|ERR_POSTGRES_(TLS|SSL))/.test(
    codeOf(error),
  )

/** Returns the cause of an error about the database's availability; `undefined` for any other error. */
export function databaseFaultKind(error: unknown): DatabaseFaultKind | undefined {
  const code = codeOf(error)
  // PgBouncer gives this code to nearly everything, so its text decides.
  if (code === '08P01' && /startup parameter/.test(String(error))) return 'refused-setting'
  return KINDS.find(([pattern]) => pattern.test(code))?.[1]
}

/** Converts an error of the database to a Fault with the reason and what to do; returns other errors unchanged. */
export function asDatabaseFault(error: unknown, name: string): unknown {
  if (error instanceof Fault) return error
  const kind = databaseFaultKind(error)
  return kind === undefined ? error : databaseFault(kind, name, error)
}

/** Makes the Fault for a database that cannot be used, with what to do. */
export function databaseFault(kind: DatabaseFaultKind, name: string, cause?: unknown): Fault {
  // The reason of the server for a missing database repeats it.
  const hasReason = cause instanceof Error && !isConflict(cause) && kind !== 'no-database'
  const reason = hasReason ? ` (${cause.message})` : ''
  return new Fault('unavailable', `the database ${name} ${WHAT[kind]}${reason}: ${TO_DO[kind]}`, { cause })
}
