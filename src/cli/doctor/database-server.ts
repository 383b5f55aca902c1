import { isLoopbackHost } from '../../lib/loopback-host.ts'
import { formatDuration, MILLISECOND } from '../../lib/time.ts'
import { type DatabaseSource, databaseName } from '../../store/database-url.ts'
import type { NodeRecord } from '../../store/operations/cluster.ts'
import type { ServerFacts } from '../../store/postgres/engine/server-facts.ts'
import { advice, type Diagnosis, ok, wrong } from './diagnosis.ts'

const SLOW_MS = 10
const CLOCK_TOLERANCE_MS = 5_000
const NODE_CLOCK_TOLERANCE_MS = 1_000

/** Judges the settings of a server. */
export function diagnoseServer(facts: ServerFacts, source: DatabaseSource): Diagnosis[] {
  const found = [
    ...diagnoseDurability(facts, source),
    ...diagnoseSessions(facts),
    ...(facts.mayCreate
      ? []
      : [
          wrong(
            'database',
            `${source.user} may not create tables, so the next version cannot start`,
            `ALTER DATABASE "${source.database}" OWNER TO "${source.user}"`,
          ),
        ]),
    ...(facts.isEncrypted || isLoopbackHost(source.host)
      ? []
      : [advice('database', 'the connection is not encrypted', 'add ?sslmode=verify-full to --database-url')]),
    ...(facts.roundTripMs <= SLOW_MS
      ? []
      : [
          advice(
            'database',
            `a round trip to it takes ${facts.roundTripMs.toFixed(1)} ms, and each commit waits for one`,
            'run the service nearer to its database',
          ),
        ]),
    ...(Math.abs(facts.clockAheadMs) <= CLOCK_TOLERANCE_MS
      ? []
      : [
          advice(
            'database',
            `its clock differs from the clock of this machine by ${formatDuration(Math.abs(facts.clockAheadMs))}`,
            'timedatectl set-ntp true   on both',
          ),
        ]),
  ]
  const trip = `a round trip takes ${facts.roundTripMs.toFixed(1)} ms`
  return [ok('database', `${databaseName(source)}: PostgreSQL ${facts.version}, ${trip}`), ...found]
}

/** Judges the clock of a node. */
export function diagnoseDatabaseClock(node: Pick<NodeRecord, 'address' | 'deadUs' | 'clockAheadUs'>): Diagnosis[] {
  const aheadMs = (node.clockAheadUs ?? 0) / MILLISECOND
  if (node.deadUs !== null || Math.abs(aheadMs) <= NODE_CLOCK_TOLERANCE_MS) return []
  const side = aheadMs > 0 ? 'ahead of' : 'behind'
  return [
    advice(
      'nodes',
      `the clock of ${node.address} is ${formatDuration(Math.abs(aheadMs))} ${side} the database's: times of its events are corrected`,
      'timedatectl set-ntp true   there',
    ),
  ]
}

/** Poolers may give a session to others, or keep its settings from it. */
function diagnoseSessions({ hasSharedSessions, ignoredSettings }: ServerFacts): Diagnosis[] {
  if (hasSharedSessions)
    return [
      wrong(
        'database',
        'a pooler in front of it gives each transaction another session: the service does not start',
        'pool_mode = session   (PgBouncer), or the address of the server itself in --database-url',
      ),
    ]
  if (ignoredSettings.length === 0) return []
  return [
    wrong(
      'database',
      `these session settings have no effect: ${ignoredSettings.join(', ')}`,
      'give the address of the server itself, or let the pooler in front of it pass SET on',
    ),
  ]
}

/** An acknowledged event must outlive a power cut of the server and, with standbys, its failover. */
function diagnoseDurability(facts: ServerFacts, { user }: DatabaseSource): Diagnosis[] {
  const off = (setting: string) =>
    wrong(
      'database',
      `${setting} is off: stored events can be lost when the server loses power`,
      `ALTER SYSTEM SET ${setting} = on; SELECT pg_reload_conf()`,
    )
  return [
    ...(facts.fsync === 'off' ? [off('fsync')] : []),
    ...(facts.fullPageWrites === 'off' ? [off('full_page_writes')] : []),
    ...(facts.synchronousCommit === 'off' ? [off('synchronous_commit')] : []),
    ...(facts.asynchronousStandbys === 0
      ? []
      : [
          advice(
            'database',
            `${facts.asynchronousStandbys} of its standbys are asynchronous: a failover to one loses the newest events`,
            'name one in synchronous_standby_names',
          ),
        ]),
    ...(facts.unknownStandbys === 0
      ? []
      : [
          advice(
            'database',
            `it has ${facts.unknownStandbys} standbys, and its user may not see whether they are synchronous: a failover to one that is not loses the newest events`,
            `GRANT pg_monitor TO "${user}"   and run this again`,
          ),
        ]),
  ]
}
