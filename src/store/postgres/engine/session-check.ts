import { type DatabaseSource, databaseName } from '../../database-url.ts'
import { texts } from './client.ts'
import { type Connection, openConnection, type SessionOptions, sessionSettings } from './connection.ts'
import { asDatabaseFault } from './store-fault.ts'

/** The properties of Hookswitch's sessions: a pooler in between may share them, or set other values. */
type SessionFacts = {
  /** A session serves other connections too, between transactions. */
  readonly isShared: boolean
  /** The settings that have no effect although they were set. */
  readonly ignored: readonly string[]
}

/** No other program's setting has this name. */
const MARK = 'hookswitch.connection'

/**
 * Opens two connections and checks that their sessions have the requested settings. @throws Fault `unavailable` when
 * the database cannot be used.
 */
export async function checkSessions(source: DatabaseSource, options: SessionOptions): Promise<SessionFacts> {
  const openings = [1, 2].map(() => openConnection(source, options, () => undefined))
  try {
    const [one, other] = await Promise.all(openings.map(({ connection }) => connection))
    if (one === undefined || other === undefined) throw new Error('there are no connections')
    return { isShared: await isShared(one, other), ignored: await ignoredBy(one, options) }
  } catch (error) {
    throw asDatabaseFault(error, databaseName(source))
  } finally {
    for (const { abandon } of openings) abandon()
  }
}

/** How often a connection is asked for its mark: a pooler that uses sessions in turn has used all of them by then. */
const ASKED_AGAIN = 4

/**
 * The second connection keeps a session in a transaction. If that is the session that the first has marked, or the
 * first has another session now or later, sessions are shared.
 */
async function isShared(one: Connection, other: Connection): Promise<boolean> {
  const mark = crypto.randomUUID()
  const markOf = async ({ query }: Pick<Connection, 'query'>) => {
    const [row] = await query<{ mark: string | null }>(`SELECT current_setting('${MARK}', true) AS mark`)
    return row?.mark ?? ''
  }
  await one.query(`SELECT set_config('${MARK}', $1, false)`, [mark])
  if (await other.transaction(async (query) => (await markOf({ query })) === mark || (await markOf(one)) !== mark))
    return true
  for (let asked = 0; asked < ASKED_AGAIN; asked += 1) if ((await markOf(one)) !== mark) return true
  return false
}

async function ignoredBy({ query }: Connection, options: SessionOptions): Promise<string[]> {
  const wanted = sessionSettings(options)
  const rows = await query<{ name: string; setting: string }>(
    'SELECT name, setting FROM pg_settings WHERE name = ANY($1::text[])',
    [texts(Object.keys(wanted))],
  )
  const found = new Map(rows.map(({ name, setting }) => [name, setting]))
  return Object.entries(wanted).flatMap(([name, value]) => (found.get(name) === value ? [] : [name]))
}
