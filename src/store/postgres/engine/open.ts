import { Fault } from '../../../lib/fault.ts'
import { type DatabaseSource, databaseName } from '../../database-url.ts'
import { type Migrated, migrationSeconds } from '../../migrated.ts'
import initial from '../migrations/001.sql' with { type: 'text' }
import recordings from '../migrations/002.sql' with { type: 'text' }
import leaving from '../migrations/003.sql' with { type: 'text' }
import operatorFacts from '../migrations/004.sql' with { type: 'text' }
import pbxs from '../migrations/005.sql' with { type: 'text' }
import statuses from '../migrations/006.sql' with { type: 'text' }
import ownerRequests from '../migrations/007.sql' with { type: 'text' }
import formerRecordings from '../migrations/008.sql' with { type: 'text' }
import histories from '../migrations/009.sql' with { type: 'text' }
import leaseChanges from '../migrations/010.sql' with { type: 'text' }
import outages from '../migrations/011.sql' with { type: 'text' }
import flowsAndStates from '../migrations/021.sql' with { type: 'text' }
import callsAndPeople from '../migrations/025.sql' with { type: 'text' }
import popTokens from '../migrations/026.sql' with { type: 'text' }
import presetsOfNodes from '../migrations/027.sql' with { type: 'text' }
import { type Client, newClient, type Query } from './client.ts'
import { makeCallsByE164 } from './early-e164.ts'
import { makeCallFacts } from './early-facts.ts'
import { type EarlyWork, makeCallEnds, workBeforeMigrations } from './early-indexes.ts'
import { createPartitions } from './partitions.ts'
import { checkSessions } from './session-check.ts'
import { codeOf, databaseFault, databaseFaultKind } from './store-fault.ts'

type Migration = {
  /** The version of the store that it makes of the one before. */
  readonly to: number
  readonly text: string
  readonly usableFrom: number
  /** Its parts that take long in a large store, and would block the events of all nodes meanwhile. */
  readonly early: readonly EarlyWork[]
}

const ONE_BY_ONE = [
  initial,
  recordings,
  leaving,
  operatorFacts,
  pbxs,
  statuses,
  ownerRequests,
  formerRecordings,
  histories,
  leaseChanges,
  outages,
]

/**
 * `usableFrom`: the oldest version of the store that may be used by a program that knows no newer one. Nodes are
 * upgraded one at a time: so a migration leaves what the version before reads and writes as it was.
 */
const MIGRATIONS: readonly Migration[] = [
  ...ONE_BY_ONE.map((text, at) => ({ to: at + 1, text, usableFrom: 1, early: [] })),
  { to: 21, text: flowsAndStates, usableFrom: 1, early: [makeCallsByE164, makeCallEnds] },
  { to: 25, text: callsAndPeople, usableFrom: 1, early: [makeCallFacts] },
  { to: 26, text: popTokens, usableFrom: 1, early: [] },
  { to: 27, text: presetsOfNodes, usableFrom: 1, early: [] },
]

/** The version of the store that this program uses. */
const NEWEST_VERSION = MIGRATIONS.at(-1)?.to ?? 0

const LEAST_VERSION = 150_000
/** A migration may have to go through all rows. */
const MIGRATION_MS = 600_000
const AGAIN_MS = 500
/** A heartbeat may take a second, and is trusted for three. */
const LOCKED_AT_MOST_MS = 500
/** The SQLSTATE of a lock timeout. */
const LOCKED = '55P03'
/** A longer wait is reported. */
const REPORT_AFTER_MS = 2_000
/** Longer than a live server takes to answer: then the person who waits should know the reason. */
const ANSWERS_WITHIN_MS = 800
/** A copy may take hours: a service that starts meanwhile should not seem to hang. */
const COPY_WITHIN_MS = 60_000

export type PrepareOptions = {
  /** How long connecting to a server that does not answer is retried. */
  readonly withinMs?: number | undefined
  /** How long to wait for a copy into the database to end. */
  readonly copyWithinMs?: number | undefined
  /** The process keeps its connections for long: a pooler that shares them is refused. */
  readonly isService?: boolean
  /** Called once after the database was created or migrated. */
  readonly onMigrated?: ((migration: Migrated) => void) | undefined
  /** Called once with one sentence when this has to wait for another process. */
  readonly onWaiting?: ((message: string) => void) | undefined
  /** Called once with one sentence when the server has not answered within a second. */
  readonly onSilence?: ((message: string) => void) | undefined
}

/**
 * Creates the store in a database, or migrates it to this version; only one process does it, others wait.
 * @throws Fault when the database cannot be used, with what to do.
 */
export async function prepareDatabase(
  source: DatabaseSource,
  {
    withinMs = 0,
    copyWithinMs = COPY_WITHIN_MS,
    isService = false,
    onMigrated,
    onWaiting,
    onSilence,
  }: PrepareOptions = {},
): Promise<void> {
  const untilMs = performance.now() + withinMs
  const name = databaseName(source)
  const howLong = withinMs === 0 ? '' : `, for some ${withinMs / 1_000} s`
  const report = setTimeout(
    () => onSilence?.(`the database ${name} does not answer yet: waiting for it${howLong}`),
    ANSWERS_WITHIN_MS,
  )
  try {
    for (;;) {
      const client = newClient(source, { role: 'start', connections: 1, statementMs: MIGRATION_MS })
      try {
        await prepare(client, { name, copyWithinMs, onMigrated, onWaiting, onAnswer: () => clearTimeout(report) })
        if (isService) await requireOwnSessions(source)
        return
      } catch (error) {
        const mayWait = databaseFaultKind(error) === 'unreachable' && performance.now() < untilMs
        if (!mayWait) throw error
        await Bun.sleep(AGAIN_MS)
      } finally {
        await client.stop()
      }
    }
  } finally {
    clearTimeout(report)
  }
}

type Server = { version: number; isStandby: boolean; isReadOnly: boolean; encoding: string }

/** @throws Fault where a pooler gives each transaction another session, without settings and prepared statements. */
async function requireOwnSessions(source: DatabaseSource): Promise<void> {
  const { isShared } = await checkSessions(source, { role: 'start', statementMs: MIGRATION_MS })
  if (isShared) throw databaseFault('shared-session', databaseName(source))
}

type Preparing = Pick<PrepareOptions, 'onWaiting' | 'onMigrated'> & {
  readonly name: string
  readonly copyWithinMs: number
  /** Called when the server has answered. */
  readonly onAnswer: () => void
}

async function prepare(client: Client, preparing: Preparing): Promise<void> {
  const { name } = preparing
  const [server] = await client.query<Server>(
    `SELECT current_setting('server_version_num')::int AS version, pg_is_in_recovery() AS "isStandby",
       current_setting('transaction_read_only') = 'on' AS "isReadOnly", current_setting('server_encoding') AS encoding`,
  )
  if (server === undefined) throw databaseFault('unreachable', name)
  preparing.onAnswer()
  if (server.version < LEAST_VERSION)
    throw new Fault(
      'unavailable',
      `the server of the database ${name} is PostgreSQL ${Math.floor(server.version / 10_000)}: 15 or newer is needed`,
    )
  if (server.isStandby || server.isReadOnly) throw databaseFault('read-only', name)
  if (server.encoding !== 'UTF8')
    throw new Fault(
      'unavailable',
      `the database ${name} has the encoding ${server.encoding}: make one with createdb --encoding=UTF8`,
    )
  await makeVersionRow(client, name)
  await workBeforeMigrations(client, await earlyWorks(client.query, name))
  await migrateWhenFree(client, preparing)
}

const migrationsAfter = (version: number) => MIGRATIONS.filter(({ to }) => to > version)

/** @throws Fault for a version that no release had: no way leads on from it. */
function requireReleased(version: number, name: string): void {
  if (version === 0 || version > NEWEST_VERSION || MIGRATIONS.some(({ to }) => to === version)) return
  throw new Fault(
    'unavailable',
    `the database ${name} was written by a hookswitch that was never released (store ${version}): restore a backup of a release, or make another database with createdb`,
  )
}

/** Returns the early work for missing migrations; a store without tables needs none. */
async function earlyWorks(query: Query, name: string): Promise<EarlyWork[]> {
  const [row] = await query<{ version: number }>('SELECT version FROM hookswitch_store')
  const version = row?.version ?? 0
  requireReleased(version, name)
  return version === 0 ? [] : migrationsAfter(version).flatMap(({ early }) => early)
}

/** If two processes create it at the same moment, the later one finds it created. */
async function makeVersionRow(client: Client, name: string): Promise<void> {
  for (let isMade = false; !isMade; ) {
    try {
      await client.transaction(async (query) => {
        const [found] = await query<{ version: string | null; foreign: string | null }>(
          `SELECT to_regclass('public.hookswitch_store')::text AS version, to_regclass('public.accounts')::text AS foreign`,
        )
        if (found?.version === null && found.foreign !== null)
          throw new Fault(
            'unavailable',
            `the database ${name} is another program's: make one for hookswitch with createdb`,
          )
        await query(
          'CREATE TABLE IF NOT EXISTS hookswitch_store (id int PRIMARY KEY CHECK (id = 1), version int NOT NULL, usable_from int NOT NULL)',
        )
        await query(
          'INSERT INTO hookswitch_store (id, version, usable_from) VALUES (1, 0, 0) ON CONFLICT (id) DO NOTHING',
        )
      })
      isMade = true
    } catch (error) {
      if (!/^(23505|42P07|42710)/.test(codeOf(error))) throw error
    }
  }
}

/**
 * Other nodes keep running during a migration. A change of a table waits for the statements that use it, and blocks new
 * ones meanwhile: so it gives up soon, and the migration is tried again.
 */
async function migrateWhenFree(
  client: Client,
  { name, copyWithinMs, onMigrated, onWaiting }: Preparing,
): Promise<void> {
  const sinceMs = performance.now()
  let isReported = false
  for (;;) {
    try {
      const from = await client.transaction((query) => migrate(query, name))
      if (from < NEWEST_VERSION)
        onMigrated?.({ from, to: NEWEST_VERSION, seconds: migrationSeconds(sinceMs, performance.now()) })
      return
    } catch (error) {
      const waitedMs = performance.now() - sinceMs
      if (!codeOf(error).startsWith(LOCKED) || waitedMs > MIGRATION_MS) throw error
      const other = waitedMs > REPORT_AFTER_MS ? await findOther(client.query) : undefined
      if (other === 'copy' && waitedMs > copyWithinMs)
        throw new Fault('unavailable', `${WAITS_FOR.copy(name)}. Start this again when it has ended.`, { cause: error })
      if (other !== undefined && !isReported) {
        isReported = true
        onWaiting?.(`${WAITS_FOR[other](name)}: waiting for it to end`)
      }
      await Bun.sleep(AGAIN_MS)
    }
  }
}

const WAITS_FOR = {
  copy: (name: string) =>
    `hookswitch store copy is writing to the database ${name} (if it is stopped, nothing of it is kept)`,
  start: (name: string) => `another process is making or upgrading the tables of the database ${name}`,
} as const

/** Returns what another process with an exclusive lock on the tables is doing, as far as this user may see it. */
async function findOther(query: Query): Promise<keyof typeof WAITS_FOR | undefined> {
  const rows = await query<{ name: string }>(
    `SELECT application_name AS name FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
       AND xact_start IS NOT NULL AND (application_name = 'hookswitch copy'
         OR (application_name = 'hookswitch start' AND wait_event_type IS DISTINCT FROM 'Lock'))`,
  )
  if (rows.length === 0) return undefined
  return rows.some(({ name }) => name === 'hookswitch copy') ? 'copy' : 'start'
}

/**
 * The row is locked until all is done: a second node waits here, and finds nothing left to do. Returns the version that
 * was found.
 */
async function migrate(query: Query, name: string): Promise<number> {
  await query(`SET LOCAL lock_timeout = ${LOCKED_AT_MOST_MS}`)
  const [row] = await query<{ version: number; usableFrom: number }>(
    'SELECT version, usable_from AS "usableFrom" FROM hookswitch_store FOR UPDATE',
  )
  const version = row?.version ?? 0
  if (version > NEWEST_VERSION && (row?.usableFrom ?? 0) > NEWEST_VERSION)
    throw new Fault(
      'unavailable',
      `the database ${name} was written by a newer hookswitch (store ${version}): run that one, or newer`,
    )
  for (const { to, text, usableFrom } of migrationsAfter(version)) {
    await query(text)
    await query('UPDATE hookswitch_store SET version = $1::int, usable_from = $2::int', [to, usableFrom])
  }
  if (version === 0) await createPartitions(query, 0, 1)
  return version
}
