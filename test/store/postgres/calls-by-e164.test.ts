import { expect, test } from 'bun:test'
import { SQL } from 'bun'
import { newClient } from '../../../src/store/postgres/engine/client.ts'
import { makeCallsByE164 } from '../../../src/store/postgres/engine/early-e164.ts'
import { workBeforeMigrations } from '../../../src/store/postgres/engine/early-indexes.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { databaseOfVersion, databaseSource, POSTGRES_MISSING } from '../../help/postgres.ts'

const E164 = '+4930123456'

test.skipIf(POSTGRES_MISSING !== undefined)(
  'calls that version 0.2.0 saved are found by their numbers in E.164, but for records that Postgres cannot read',
  async () => {
    await using database = await databaseOfVersion(11)
    const saved = (id: string, from: object, to: object) => ({
      id,
      record: JSON.stringify({ call: { from, to } }),
    })
    const phone = { number: '101', e164: null }
    const records = [
      saved('from', { number: '030123456', e164: E164 }, phone),
      saved('to', phone, { number: '030123456', e164: E164 }),
      saved('with a NUL', { number: '030123456', e164: E164, name: '\0' }, phone),
      saved('of no country', { number: '030123456', e164: null }, phone),
      { ...saved('of the first version', phone, phone), record: '{}' },
    ]
    const sql = new SQL({ url: database.url, max: 1 })
    for (const { id, record } of records)
      await sql`INSERT INTO calls VALUES (${id}, 1, 1, 'inbound', '030123456', '101', ${record})`
    // What a run that was killed leaves behind.
    await sql.unsafe('ALTER TABLE calls ADD COLUMN from_e164 text, ADD COLUMN to_e164 text')
    await sql.unsafe('CREATE INDEX calls_by_to_e164 ON calls (to_e164)')
    await sql.unsafe(`UPDATE pg_index SET indisvalid = FALSE WHERE indexrelid = 'calls_by_to_e164'::regclass`)
    const clients = [0, 1].map(() =>
      newClient(databaseSource(database.url), { role: 'start', connections: 1, statementMs: 60_000 }),
    )
    await Promise.all(clients.map((client) => workBeforeMigrations(client, [makeCallsByE164])))
    for (const client of clients) await client.stop()
    const indexes = async () => [
      ...(await sql.unsafe(
        `SELECT indexrelid::regclass::text AS name, indnkeyatts::int AS keys, indisvalid AS valid, indexrelid::int AS id
         FROM pg_index WHERE indexrelid::regclass::text LIKE 'calls\\_by\\_%e164' ORDER BY 1`,
      )),
    ]
    const made = await indexes()
    expect(made).toMatchObject(
      ['calls_by_from_e164', 'calls_by_to_e164'].map((name) => ({ name, keys: 5, valid: true })),
    )
    const store = await openPostgresStore(databaseSource(database.url))
    expect(await indexes()).toEqual(made)
    await sql.close()
    const ofNumber = (number: string) => store.calls.callListIdsOfNumber({ accountId: 1, number, limit: 9 })
    expect((await ofNumber(E164)).toSorted()).toEqual(['from', 'to'])
    expect(await ofNumber('030123456')).toHaveLength(records.length)
    await store.stop()
  },
)
