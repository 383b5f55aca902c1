import { describe, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { Fault } from '../../../src/lib/fault.ts'
import { prepareDatabase } from '../../../src/store/postgres/engine/open.ts'
import { asDatabaseFault } from '../../../src/store/postgres/engine/store-fault.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { databaseSource, emptyDatabase, migratedDatabase, POSTGRES_MISSING } from '../../help/postgres.ts'
import { until } from '../../help/receiver.ts'
import { batch } from '../../help/store.ts'

/** An error of the server, as the client gives it. */
const ofServer = (errno: string, message: string) =>
  new SQL.PostgresError(message, { code: 'ERR_POSTGRES_SERVER_ERROR', errno, detail: '', hint: '', severity: 'ERROR' })
const ofClient = (code: string, message: string) =>
  new SQL.PostgresError(message, { code, detail: '', hint: '', severity: 'ERROR' })

test.each([
  ['a full disk', ofServer('53100', 'could not extend file'), /cannot be written: the disk of its server is full/],
  ['a standby', ofServer('25006', 'cannot execute INSERT'), /is a standby, or read-only .*give the URL of the primary/],
  ['a wrong password', ofServer('28P01', 'password authentication failed'), /refuses this user or its password/],
  ['no database', ofServer('3D000', 'database "x" does not exist'), /does not exist: .*createdb/],
  ['no connection left', ofServer('53300', 'too many clients already'), /has no connection left .*max_connections/],
  ['no privilege', ofServer('42501', 'permission denied'), /may not be used by this user/],
  ['a server that shuts down', ofServer('57P01', 'terminating connection'), /does not answer/],
  ['a server that starts', ofServer('57P03', 'the database system is starting up'), /does not answer/],
  ['no server', ofClient('ERR_POSTGRES_CONNECTION_REFUSED', 'Failed to connect'), /does not answer/],
  ['a statement without an answer', ofServer('57014', 'canceling statement'), /did not answer in time/],
  [
    'a pooler that refuses a setting',
    ofServer('08P01', 'unsupported startup parameter: jit'),
    /ignore_startup_parameters/,
  ],
  ['a pooler without a server', ofServer('08P01', 'server login has been failing'), /does not answer/],
  ['a pooler that shares sessions', ofServer('42P05', 'prepared statement "P0" already exists'), /pool_mode = session/],
  ['no TLS', ofClient('ERR_POSTGRES_TLS_NOT_AVAILABLE', 'Server does not support SSL'), /check sslmode/],
])('%s is reported in one line with what to do', (_, error, expected) => {
  const fault = asDatabaseFault(error, 'calls on db:5432')
  expect(fault).toBeInstanceOf(Fault)
  const { code, message } = fault instanceof Fault ? fault : new Fault('internal', '')
  expect(code).toBe('unavailable')
  expect(message).toMatch(expected)
  expect(message).toStartWith('the database calls on db:5432 ')
  expect(message).not.toContain('\n')
})

test('an error in a statement is not a fault of the database', () => {
  const error = ofServer('23505', 'duplicate key')
  expect(asDatabaseFault(error, 'x')).toBe(error)
})

describe.skipIf(POSTGRES_MISSING !== undefined)('a database', () => {
  test('whose tables are locked is reported as not writable until events are stored again', async () => {
    await using database = await migratedDatabase()
    const store = await openPostgresStore(databaseSource(database.url))
    await store.maintenance.writeProbe()
    const sql = new SQL({ url: database.url, max: 1 })
    const isEnough = Promise.withResolvers<void>()
    const isLocked = Promise.withResolvers<void>()
    const locking = sql.begin(async (tx) => {
      await tx`LOCK TABLE events`
      isLocked.resolve()
      await isEnough.promise
    })
    await isLocked.promise
    const event = { uuid: '1', callId: '1', name: 'call_saved' as const, sequence: 1, atUs: 1, body: '{}' }
    const given = batch({ events: [event] })
    const storing = store.calls.batchStore(given).catch(() => undefined)
    const refused = () => store.maintenance.writeProbe().then(() => '', String)
    await until('it is noticed', async () => (await refused()).includes('the last commit to the database'))
    isEnough.resolve()
    await locking
    await storing
    await store.calls.batchStore(given)
    await store.maintenance.writeProbe()
    await sql.close()
    await store.stop()
  })

  test('is refused at the start if it can only be read', async () => {
    await using database = await emptyDatabase()
    const sql = new SQL({ url: database.url, max: 1 })
    const name = new URL(database.url).pathname.slice(1)
    await sql.unsafe(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    await sql.close()
    const refused = await prepareDatabase(databaseSource(database.url)).catch((error: unknown) => String(error))
    expect(refused).toContain('is a standby, or read-only: give the URL of the primary')
  })
})
