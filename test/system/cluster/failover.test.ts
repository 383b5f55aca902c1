import { describe, expect, test } from 'bun:test'
import { createLeaseKeeper } from '../../../src/cluster/lease-keeper.ts'
import { forSwitches } from '../../../src/events/kinds.ts'
import { createLog } from '../../../src/lib/log.ts'
import { steadyUs } from '../../../src/lib/time.ts'
import { openNodeStores } from '../../../src/store/postgres/store.ts'
import { lastingSql } from '../../help/cluster-parts.ts'
import { databaseSource, migratedDatabase, POSTGRES_MISSING, startPostgres } from '../../help/postgres.ts'
import { until } from '../../help/receiver.ts'
import { storeEvents } from '../../help/store.ts'
import { startTcpProxy } from '../../help/tcp-proxy.ts'

/** A promoted standby beside a primary that still answers on open connections, as behind a virtual address. */

/** It ends a test that hangs. */
const LIMIT_MS = 900_000

const LOG = createLog('silent')

/** Starts a primary, its standby, and a way to them that leads new connections to one of the two. */
async function startServers() {
  const cleaning = new AsyncDisposableStack()
  const primary = await startPostgres({ wal_level: 'replica' })
  cleaning.defer(primary.stop)
  const database = await migratedDatabase(primary)
  const standby = await primary.standby()
  cleaning.defer(standby.stop)
  const portOf = (url: string) => Number(new URL(url).port)
  const proxy = startTcpProxy({ hostname: '127.0.0.1', port: portOf(primary.url) })
  cleaning.defer(() => proxy.stop())
  const at = (url: string) => {
    const own = new URL(database.url)
    own.port = `${portOf(url)}`
    const sql = lastingSql(own.href)
    cleaning.defer(sql.stop)
    return sql
  }
  const [old, promoted] = [at(primary.url), at(standby.url)]
  const url = new URL(database.url)
  url.port = `${proxy.port}`
  return {
    old,
    promoted,
    source: databaseSource(url.href),
    /** Promotes the standby. New connections lead to it. */
    async failOver(): Promise<void> {
      const [{ lsn } = { lsn: '' }] = await old.ask<{ lsn: string }>('SELECT pg_current_wal_lsn()::text AS lsn')
      await until('the standby has all', async () => {
        const [row] = await promoted.ask<{ has: boolean }>(`SELECT pg_last_wal_replay_lsn() >= '${lsn}' AS has`)
        return row?.has === true
      })
      await promoted.ask('SELECT pg_promote()')
      proxy.leadTo({ hostname: '127.0.0.1', port: portOf(standby.url) })
    },
    leadBack: () => proxy.leadTo({ hostname: '127.0.0.1', port: portOf(primary.url) }),
    [Symbol.asyncDispose]: () => cleaning.disposeAsync(),
  }
}

const rolesOn = async (sql: ReturnType<typeof lastingSql>) =>
  (
    await sql.ask<{ role: string }>(`SELECT DISTINCT substr(application_name, 12) AS role FROM pg_stat_activity
      WHERE application_name LIKE 'hookswitch %' AND application_name <> 'hookswitch maintenance' ORDER BY 1`)
  ).map(({ role }) => role)
const ALL_ROLES = ['cluster', 'events', 'hints', 'outcomes', 'reads', 'writes']

/** Starts a node without PBXs, and uses every role that it has in the database. */
async function startNode({ source }: Awaited<ReturnType<typeof startServers>>) {
  const cleaning = new AsyncDisposableStack()
  const stores = await openNodeStores(source)
  cleaning.defer(stores.store.stop)
  cleaning.defer(stores.stop)
  const keeper = createLeaseKeeper({
    cluster: stores.cluster,
    version: '1',
    pbxs: [],
    canWatch: () => false,
    log: LOG,
    elapsedUs: steadyUs,
  })
  let replaced = 0
  let foreign = 0
  const changes: boolean[] = []
  stores.onReplaced(() => {
    replaced += 1
    keeper.databaseReplaced()
  })
  stores.store.onForeignChange(() => {
    foreign += 1
  })
  keeper.onChange(() => void changes.push(keeper.isTrusted()))
  cleaning.defer(keeper.stop)
  await keeper.join('http://node')
  const list = [{ url: 'https://one.example/', ...forSwitches(() => true) }]
  await stores.store.webhooks.listReplace({ accountId: 1, list, ifMatch: null, nowUs: 1, secrets: ['whsec_x'] })
  let events = 0
  const storeOne = async () => {
    events += 1
    const event = { uuid: `${events}`, callId: `${events}`, name: 'call_saved' as const, sequence: 1, atUs: events }
    await storeEvents(stores.store, [{ ...event, body: '{}' }])
    return event.uuid
  }
  await storeOne()
  await stores.store.accounts.userCount()
  await until('it owns its account', () => keeper.ownsAccount(1))
  return {
    keeper,
    storeOne,
    replaced: () => replaced,
    foreign: () => foreign,
    changes,
    [Symbol.asyncDispose]: () => cleaning.disposeAsync(),
  }
}

describe.skipIf(POSTGRES_MISSING !== undefined)('a failover in which the old primary still answers', () => {
  test.each(['outcomes', 'cluster', 'none'])(
    'replaces all connections at once where one was lost: %s',
    async (role) => {
      await using servers = await startServers()
      await using node = await startNode(servers)
      await until('all roles are connected', async () => Bun.deepEquals(await rolesOn(servers.old), ALL_ROLES))
      await servers.failOver()
      const before = node.foreign()
      // Without a lost connection, the connection that is made every two seconds shows that the address leads
      // elsewhere.
      await servers.old.ask(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hookswitch ${role}'`,
      )
      // The roles that are not used by themselves are used now; the first use may find the connection lost.
      await until('the old one is left', async () => {
        await node.storeOne().catch(() => undefined)
        return node.replaced() > 0
      })
      await until('no connection to it is left', async () => (await rolesOn(servers.old)).length === 0)
      expect(node.foreign()).toBeGreaterThan(before)
      // Work that depends on its leases had to begin again, and does.
      expect(node.changes).toContain(false)
      await until('it owns its account there', () => node.keeper.ownsAccount(1))
      const uuid = await node.storeOne()
      expect(await servers.promoted.ask(`SELECT uuid FROM events WHERE uuid = '${uuid}'`)).toEqual([{ uuid }])
      expect(await servers.old.ask(`SELECT uuid FROM events WHERE uuid = '${uuid}'`)).toEqual([])
      expect(node.replaced()).toBe(1)

      const eventsOfOld = await servers.old.counts()
      servers.leadBack()
      await servers.promoted.ask(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hookswitch events'`,
      )
      await until('its events have no connection', async () => {
        const answer = await node.storeOne().catch(String)
        return String(answer).includes('was reached on a server that another one has replaced')
      })
      expect(await servers.old.counts()).toEqual(eventsOfOld)
    },
    LIMIT_MS,
  )
})
