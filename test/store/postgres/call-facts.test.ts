import { expect, test } from 'bun:test'
import { SQL } from 'bun'
import { newClient } from '../../../src/store/postgres/engine/client.ts'
import { makeCallFacts } from '../../../src/store/postgres/engine/early-facts.ts'
import { workBeforeMigrations } from '../../../src/store/postgres/engine/early-indexes.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { databaseOfVersion, databaseSource, POSTGRES_MISSING } from '../../help/postgres.ts'

const ANNA = { number: '101', name: 'Anna', extension: '101' }
const CALLER = { number: '030123456', name: 'Müller', extension: null }
const MANY = 2_500

test.skipIf(POSTGRES_MISSING !== undefined)(
  'calls that an earlier version saved get their facts before the migration, also if several nodes start at once',
  async () => {
    await using database = await databaseOfVersion(21)
    const saved = (id: string, savedUs: number, call: object) => ({
      id,
      savedUs,
      record: JSON.stringify({ call }),
    })
    const answered = { from: CALLER, to: ANNA, answered_by: ANNA, result: 'answered', missed: false }
    const missed = { from: CALLER, to: ANNA, answered_by: null, result: 'no_answer', missed: true }
    const records = [
      saved('answered', 5, answered),
      saved('missed', 4, missed),
      saved('with a NUL', 3, { ...missed, from: { ...CALLER, name: '\0' } }),
      { ...saved('of the first version', 2, {}), record: '{}' },
    ]
    const others = Array.from({ length: MANY }, (_, at) => saved(`other ${at}`, 1, missed))
    const sql = new SQL({ url: database.url, max: 1 })
    await sql`
      INSERT INTO calls SELECT id, 1, saved_at, 'inbound', ${CALLER.number}, ${ANNA.number}, record
      FROM json_to_recordset(${JSON.stringify([...records, ...others].map(({ savedUs, ...one }) => ({ ...one, saved_at: savedUs })))}::text::json)
        AS r(id text, saved_at bigint, record text)`
    // What a run that was killed leaves behind.
    await sql.unsafe('ALTER TABLE calls ADD COLUMN pbx text')
    const clients = [0, 1].map(() =>
      newClient(databaseSource(database.url), { role: 'start', connections: 1, statementMs: 60_000 }),
    )
    await Promise.all(clients.map((client) => workBeforeMigrations(client, [makeCallFacts])))
    for (const client of clients) await client.stop()
    const [{ valid }] = await sql.unsafe(
      `SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = 'calls_by_facts'::regclass`,
    )
    expect(valid).toBe(true)
    const [{ unfilled }] = await sql.unsafe('SELECT count(*)::int AS unfilled FROM calls WHERE who IS NULL')
    expect(unfilled).toBe(0)
    await sql.close()
    const store = await openPostgresStore(databaseSource(database.url))
    const rows = await store.calls.callScan({ accountId: 1, after: undefined, limit: 4 })
    const facts = { direction: 'inbound', pbx: null } as const
    const who = (names: string, by = '') => `  101 ${by} \n 030123456 101 \n${names}`
    expect(rows).toEqual([
      { ...facts, id: 'answered', savedUs: 5, result: 'answered', missed: false, who: who('Müller\nAnna', '101') },
      { ...facts, id: 'missed', savedUs: 4, result: 'no_answer', missed: true, who: who('Müller\nAnna') },
      { ...facts, id: 'with a NUL', savedUs: 3, result: 'no_answer', missed: true, who: who('\ufffd\nAnna') },
      { ...facts, id: 'of the first version', savedUs: 2, result: null, missed: false, who: expect.any(String) },
    ])
    await store.stop()
  },
)
