import type { DatabaseSource } from '../../database-url.ts'
import { newClient } from './client.ts'
import { BY_INDEX } from './database.ts'
import { checkSessions } from './session-check.ts'

/** The settings and state of a server that decide how much can be lost and how fast it is. */
export type ServerFacts = {
  readonly version: string
  readonly fsync: string
  readonly synchronousCommit: string
  readonly fullPageWrites: string
  readonly isStandby: boolean
  readonly mayCreate: boolean
  readonly hasStore: boolean
  readonly isEncrypted: boolean
  /** Standbys that may lack acknowledged commits. */
  readonly asynchronousStandbys: number
  /** Standbys whose state this user may not see. */
  readonly unknownStandbys: number
  /** A pooler gives each transaction another session. */
  readonly hasSharedSessions: boolean
  /** Session settings that have no effect. */
  readonly ignoredSettings: readonly string[]
  /** The server's clock minus this machine's clock. */
  readonly clockAheadMs: number
  /** The median time of a statement that does nothing. */
  readonly roundTripMs: number
}

const STATEMENT_MS = 5_000
const ROUND_TRIPS = 20

type Row = Omit<ServerFacts, 'clockAheadMs' | 'roundTripMs' | 'hasSharedSessions' | 'ignoredSettings'> & {
  readonly clockMs: number
}

/** Asks a server for its settings and times it. @throws Fault `unavailable` when it cannot be used. */
export async function readServerFacts(source: DatabaseSource): Promise<ServerFacts> {
  const client = newClient(source, { role: 'doctor', connections: 1, statementMs: STATEMENT_MS })
  try {
    const [row] = await client.query<Row>(
      `SELECT split_part(current_setting('server_version'), ' ', 1) AS version, current_setting('fsync') AS fsync,
         current_setting('synchronous_commit') AS "synchronousCommit", current_setting('full_page_writes') AS "fullPageWrites",
         pg_is_in_recovery() AS "isStandby", has_schema_privilege('public', 'CREATE') AS "mayCreate",
         to_regclass('public.hookswitch_store') IS NOT NULL AS "hasStore",
         coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS "isEncrypted",
         (SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'async')::int AS "asynchronousStandbys",
         (SELECT count(*) FROM pg_stat_replication WHERE sync_state IS NULL)::int AS "unknownStandbys",
         (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "clockMs"`,
    )
    if (row === undefined) throw new Error('the server answered with no row')
    const { clockMs, ...facts } = row
    const clockAheadMs = clockMs - Date.now()
    const times: number[] = []
    for (let n = 0; n < ROUND_TRIPS; n += 1) {
      const startedMs = performance.now()
      await client.query('SELECT 1')
      times.push(performance.now() - startedMs)
    }
    const roundTripMs = times.toSorted((one, other) => one - other)[ROUND_TRIPS / 2] ?? 0
    const sessions = await checkSessions(source, { role: 'doctor', statementMs: STATEMENT_MS, session: BY_INDEX })
    return {
      ...facts,
      clockAheadMs,
      roundTripMs,
      hasSharedSessions: sessions.isShared,
      ignoredSettings: sessions.ignored,
    }
  } finally {
    await client.stop()
  }
}
