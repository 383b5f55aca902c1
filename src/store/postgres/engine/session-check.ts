import { type DatabaseSource, databaseName } from '../../../lib/database-url.ts'
import { texts } from './client.ts'
import { type Connection, openConnection, type SessionOptions, sessionSettings } from './connection.ts'
import { asDatabaseFault } from './store-fault.ts'

/** How the sessions of our connections are: a pooler between may give them away, or set other values. */
type SessionFacts = {
  /** A session serves other connections too, between transactions. */
  readonly isShared: boolean
  /** The settings that are not in force although they were set. */
  readonly ignored: readonly string[]
}

/** Nobody else's setting has this name. */
const MARK = 'hookswitch.connection'

/**
 * Opens two connections and checks that their sessions have the settings that were asked for.
 * @throws Fault `unavailable` when the database cannot be used.
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

/** Times that a connection is asked for its mark: a pooler that gives sessions out in turn has had all by then. */
const ASKED_AGAIN = 4

/**
 * The second connection keeps a session in a transaction: if it is the one that the first has marked, or the first has
 * another one then or later, sessions are given away.
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
