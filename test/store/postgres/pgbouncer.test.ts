import { describe, expect, test } from 'bun:test'
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { readServerFacts } from '../../../src/store/postgres/engine/server-facts.ts'
import { openNodeStores } from '../../../src/store/postgres/store.ts'
import { reservePort } from '../../help/ports.ts'
import { databaseSource, migratedDatabase, POSTGRES_MISSING, startPostgres } from '../../help/postgres.ts'
import { until } from '../../help/receiver.ts'

/** A pooler between the service and its server. */

const PGBOUNCER = Bun.which('pgbouncer') ?? Bun.which('pgbouncer', { PATH: '/usr/sbin:/usr/local/sbin' })
const NOBODY = 65_534

/** Starts a server and a PgBouncer in front of it. */
async function startPooler(mode: 'session' | 'transaction', settings: readonly string[] = []) {
  const cleaning = new AsyncDisposableStack()
  const server = await startPostgres({ password_encryption: 'md5' })
  cleaning.defer(server.stop)
  const database = await migratedDatabase(server)
  const { host, port, user, password } = databaseSource(database.url)
  const folder = mkdtempSync(join(tmpdir(), 'hookswitch-pgbouncer-'))
  cleaning.defer(() => rmSync(folder, { recursive: true, force: true }))
  const own = reservePort()
  const [users, ini] = [join(folder, 'users.txt'), join(folder, 'pgbouncer.ini')]
  writeFileSync(users, `"${user}" "${password}"\n`)
  const lines = [
    '[databases]',
    `* = host=${host} port=${port}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${own}`,
    'auth_type = plain',
    `auth_file = ${users}`,
    `pool_mode = ${mode}`,
    'unix_socket_dir =',
    ...settings,
  ]
  writeFileSync(ini, lines.join('\n'))
  const isRoot = process.getuid?.() === 0
  if (isRoot) {
    chmodSync(dirname(folder), statSync(dirname(folder)).mode | 0o011)
    for (const path of [folder, users, ini]) chownSync(path, NOBODY, NOBODY)
  }
  const asUser = isRoot ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--'] : []
  const pooler = Bun.spawn([...asUser, PGBOUNCER ?? '', '-q', ini], { stdio: ['ignore', 'ignore', 'ignore'] })
  cleaning.defer(async () => {
    pooler.kill()
    await pooler.exited
  })
  await until('the pooler listens', () =>
    Bun.connect({ hostname: '127.0.0.1', port: own, socket: { data() {} } }).then(
      (socket) => {
        socket.end()
        return true
      },
      () => false,
    ),
  )
  const url = new URL(database.url)
  url.port = `${own}`
  const source = databaseSource(`${url.href}?sslmode=disable`)
  return { source, [Symbol.asyncDispose]: () => cleaning.disposeAsync() }
}

const MISSING = POSTGRES_MISSING ?? (PGBOUNCER === null ? 'PgBouncer is not installed' : undefined)

describe.skipIf(MISSING !== undefined)(`PgBouncer${MISSING === undefined ? '' : ` (${MISSING})`}`, () => {
  test('in session mode passes everything on, hints too, without a setting of its own', async () => {
    await using pooler = await startPooler('session')
    const stores = await openNodeStores(pooler.source)
    let hints = 0
    const unlisten = stores.cluster.listen(() => {
      hints += 1
    })
    await stores.store.maintenance.writeProbe()
    await until('a hint arrives', async () => {
      await stores.cluster.nodeEnd('nobody')
      return hints > 0
    })
    const { hasSharedSessions, ignoredSettings } = await readServerFacts(pooler.source)
    expect([hasSharedSessions, ignoredSettings]).toEqual([false, []])
    await unlisten()
    await stores.stop()
    await stores.store.stop()
  })

  test.each([
    ['which gives the sessions out in turn', ['server_round_robin = 1']],
    ['which gives out the one that was used last', []],
  ])('in transaction mode is refused at once, with what to do: %s', async (_, settings) => {
    await using pooler = await startPooler('transaction', settings)
    const refused = await openNodeStores(pooler.source).then(() => 'opened', String)
    expect(refused).toMatch(/is behind a pooler that gives each transaction another session.*: set pool_mode = session/)
    const facts = await readServerFacts(pooler.source).then(({ hasSharedSessions }) => hasSharedSessions, String)
    expect(String(facts)).toMatch(/^true$|pool_mode = session/)
  })
})
