import { isLoopbackHost } from '../lib/loopback-host.ts'

/** How the connection to a database is encrypted. Only `verify-full` also proves that the server is the right one. */
const TLS_MODES = ['disable', 'prefer', 'require', 'verify-full'] as const

/** The address of a Postgres database and the login for it. */
export type DatabaseSource = {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database: string
  readonly tls: (typeof TLS_MODES)[number]
  /** The file of certificates that `verify-full` trusts instead of the system's. */
  readonly caFile: string | undefined
}

const DEFAULT_PORT = 5432
const PARAMETERS = ['sslmode', 'sslrootcert']

/** Returns the name of a database for messages, without user and password. */
export const databaseName = ({ host, port, database }: DatabaseSource): string =>
  `${database} on ${host.includes(':') ? `[${host}]` : host}:${port}`

type Parsed = { readonly database: DatabaseSource } | { readonly wrong: string }

/**
 * Parses `postgres://user:password@host:5432/database?sslmode=verify-full`; without `sslmode` a server on another
 * machine must prove its identity. Returns the source, or the problem of the URL without its password.
 */
export function parseDatabaseUrl(text: string): Parsed {
  if (!URL.canParse(text))
    return {
      wrong:
        'is not a URL like postgres://user:password@host/database: write /, ?, # and @ in a password as %2F, %3F, %23 and %40',
    }
  const url = new URL(text)
  if (url.protocol !== 'postgres:' && url.protocol !== 'postgresql:')
    return { wrong: `starts with ${url.protocol}//: use postgres://` }
  if (url.hostname === '') return { wrong: 'has no host: give it as postgres://user:password@host/database' }
  const [user, password, database] = [url.username, url.password, url.pathname.slice(1)].map(decoded)
  if (user === undefined || password === undefined || database === undefined)
    return { wrong: 'has a % that is not percent-encoding: write it as %25' }
  if (user === '') return { wrong: 'has no user: give it as postgres://user:password@host/database' }
  if (database === '' || database.includes('/'))
    return { wrong: 'has no database: give it as postgres://…@host/database' }
  const unknown = [...url.searchParams.keys()].find((key) => !PARAMETERS.includes(key))
  if (unknown !== undefined) return { wrong: `has the unknown parameter ${unknown}: use ${PARAMETERS.join(', ')}` }
  const host = url.hostname.replace(/^\[|\]$/g, '')
  // `prefer` would send the password to any server that answers, even in clear text.
  const mode = url.searchParams.get('sslmode') ?? (isLoopbackHost(host) ? 'prefer' : 'verify-full')
  const tls = TLS_MODES.find((one) => one === mode)
  if (tls === undefined) return { wrong: `has sslmode=${mode}: use ${TLS_MODES.join(', ')}` }
  const caFile = url.searchParams.get('sslrootcert') ?? undefined
  if (caFile !== undefined && tls !== 'verify-full')
    return { wrong: 'has sslrootcert, which needs sslmode=verify-full' }
  const port = url.port === '' ? DEFAULT_PORT : Number(url.port)
  return { database: { host, port, user, password, database, tls, caFile } }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
