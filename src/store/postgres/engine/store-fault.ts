import { SQL } from 'bun'
import { Fault } from '../../../lib/fault.ts'

/** Why the database cannot be used. */
export type DatabaseFaultKind =
  | 'unreachable'
  | 'wrong-password'
  | 'no-database'
  | 'read-only'
  | 'full'
  | 'not-allowed'
  | 'crowded'
  | 'slow'
  | 'no-tls'

/** By the beginning of the server's SQLSTATE, or of the code that Bun gives to what happened to the connection. */
const KINDS: readonly (readonly [code: RegExp, kind: DatabaseFaultKind])[] = [
  [/^28/, 'wrong-password'],
  [/^3D000/, 'no-database'],
  [/^25006/, 'read-only'],
  [/^(53100|58030)/, 'full'],
  [/^42501/, 'not-allowed'],
  [/^53300/, 'crowded'],
  [/^(57014|55P03|40001|40P01|53)/, 'slow'],
  [/^(08|57P)/, 'unreachable'],
  [/^ERR_POSTGRES_(TLS|SSL)|CERT|SELF_SIGNED|ALTNAME|VERIFY/, 'no-tls'],
  [/^(ERR_POSTGRES_(CONNECTION|IDLE|LIFETIME|UNEXPECTED_MESSAGE)|ERR_DEADLINE|ECONN|ETIMEDOUT|EPIPE)/, 'unreachable'],
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
}

const TO_DO: Readonly<Record<DatabaseFaultKind, string>> = {
  unreachable: 'see that its server runs, and host and port in --database-url',
  'wrong-password': 'see user and password in --database-url',
  'no-database': 'make it with createdb, or name another in --database-url',
  'read-only': 'give the URL of the primary',
  full: 'make room there, and it goes on; nothing of it is lost',
  'not-allowed': 'make this user the owner of the database',
  crowded: 'raise max_connections of the server; each node uses up to 12',
  slow: 'see what else its server does; it is tried again',
  'no-tls': "see sslmode and sslrootcert in --database-url, and the server's certificate",
}

/** The codes with which a statement is tried again: it met another, and nothing of it was kept. */
const AGAIN = /^(40001|40P01)/
/** What happened to the connection, not to the statement: it may have been carried out. */
const BROKEN =
  /^(ERR_POSTGRES_(CONNECTION|IDLE|LIFETIME|UNEXPECTED_MESSAGE|EXPECTED|INVALID|UNKNOWN)|ERR_DEADLINE|08|57P0|ECONN|EPIPE|ETIMEDOUT)/

/** The server had not answered when the time was over. */
export class DeadlineError extends Error {
  readonly code = 'ERR_DEADLINE'
}

/** Returns the SQLSTATE of what the server said, else the code of what happened to the connection. */
export function codeOf(error: unknown): string {
  if (error instanceof SQL.PostgresError)
    return error.code === 'ERR_POSTGRES_SERVER_ERROR' ? String(error.errno ?? '') : error.code
  if (!(error instanceof Error)) return ''
  if ('code' in error && typeof error.code === 'string' && !(error instanceof Fault)) return error.code
  return codeOf(error.cause)
}

export const isConflict = (error: unknown): boolean => AGAIN.test(codeOf(error))
export const isBroken = (error: unknown): boolean => BROKEN.test(codeOf(error))
/** Whether the server had been told nothing: there was no connection. */
export const isUnsent = (error: unknown): boolean =>
  /^(ERR_POSTGRES_CONNECTION_(REFUSED|TIMEOUT|FAILED)|28|3D000|53300|57P03|ERR_POSTGRES_(TLS|SSL))/.test(codeOf(error))

/** Returns what is behind an error of the database; `undefined` if it is none of its availability. */
export function databaseFaultKind(error: unknown): DatabaseFaultKind | undefined {
  const code = codeOf(error)
  return KINDS.find(([pattern]) => pattern.test(code))?.[1]
}

/** Returns a Fault that says what is behind an error and what to do; what has another cause is given back as it is. */
export function asDatabaseFault(error: unknown, name: string): unknown {
  if (error instanceof Fault) return error
  const kind = databaseFaultKind(error)
  return kind === undefined ? error : databaseFault(kind, name, error)
}

export function databaseFault(kind: DatabaseFaultKind, name: string, cause?: unknown): Fault {
  const reason = cause instanceof Error && !isConflict(cause) ? ` (${cause.message})` : ''
  return new Fault('unavailable', `the database ${name} ${WHAT[kind]}${reason}: ${TO_DO[kind]}`, { cause })
}
