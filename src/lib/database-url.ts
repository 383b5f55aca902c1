/** How the connection to a database is encrypted: `verify-full` is the only one that nobody in between can read. */
const TLS_MODES = ['disable', 'prefer', 'require', 'verify-full'] as const

/** Where a Postgres database is and how to log in there. */
export type DatabaseSource = {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database: string
  readonly tls: (typeof TLS_MODES)[number]
  /** A file of certificates to trust in place of the system's, for `verify-full`. */
  readonly caFile: string | undefined
}

const DEFAULT_PORT = 5432
const PARAMETERS = ['sslmode', 'sslrootcert']

/** Returns how messages name a database: without user and password. */
export const databaseName = ({ host, port, database }: DatabaseSource): string =>
  `${database} on ${host.includes(':') ? `[${host}]` : host}:${port}`

type Parsed = { readonly database: DatabaseSource } | { readonly wrong: string }

/** Reads `postgres://user:password@host:5432/database?sslmode=verify-full`. What is `wrong` is said without the password. */
export function parseDatabaseUrl(text: string): Parsed {
  if (!URL.canParse(text)) return { wrong: 'is not a URL like postgres://user:password@host/database' }
  const url = new URL(text)
  if (url.protocol !== 'postgres:' && url.protocol !== 'postgresql:')
    return { wrong: `starts with ${url.protocol}// where postgres:// is wanted` }
  if (url.hostname === '') return { wrong: 'names no host: postgres://user:password@host/database' }
  const [user, password, database] = [url.username, url.password, url.pathname.slice(1)].map(decoded)
  if (user === undefined || password === undefined || database === undefined)
    return { wrong: 'has a % that is not percent-encoding: write it as %25' }
  if (user === '') return { wrong: 'names no user: postgres://user:password@host/database' }
  if (database === '' || database.includes('/')) return { wrong: 'names no database: postgres://…@host/database' }
  const unknown = [...url.searchParams.keys()].find((key) => !PARAMETERS.includes(key))
  if (unknown !== undefined) return { wrong: `has the parameter ${unknown}, which is none of ${PARAMETERS.join(', ')}` }
  const mode = url.searchParams.get('sslmode') ?? 'prefer'
  const tls = TLS_MODES.find((one) => one === mode)
  if (tls === undefined) return { wrong: `has sslmode=${mode}, which is none of ${TLS_MODES.join(', ')}` }
  const caFile = url.searchParams.get('sslrootcert') ?? undefined
  if (caFile !== undefined && tls !== 'verify-full')
    return { wrong: 'has sslrootcert, which is used with sslmode=verify-full only' }
  const host = url.hostname.replace(/^\[|\]$/g, '')
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
