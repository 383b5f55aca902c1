import { expect, test } from 'bun:test'
import { SQL } from 'bun'
import { newClient } from '../../../src/store/postgres/engine/client.ts'
import { makeCallEnds, workBeforeMigrations } from '../../../src/store/postgres/engine/early-indexes.ts'
import { prepareDatabase } from '../../../src/store/postgres/engine/open.ts'
import { databaseOfVersion, databaseSource, POSTGRES_MISSING } from '../../help/postgres.ts'

const INDEXES = `SELECT c.relname AS name, c.relfilenode::int AS file, x.indisvalid AS valid,
    EXISTS (SELECT 1 FROM pg_inherits i WHERE i.inhrelid = c.oid) AS attached
  FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid WHERE c.relname LIKE 'events\\_%\\_by\\_call\\_end' ORDER BY 1`
type Index = { name: string; file: number; valid: boolean; attached: boolean }

test.skipIf(POSTGRES_MISSING !== undefined)(
  'the index of call ends is made before its migration, which takes it over as it is',
  async () => {
    await using database = await databaseOfVersion(11)
    const sql = new SQL({ url: database.url, max: 1 })
    const source = databaseSource(database.url)
    const clients = [0, 1].map(() => newClient(source, { role: 'start', connections: 1, statementMs: 60_000 }))
    const indexes = async (): Promise<Index[]> => [...(await sql.unsafe(INDEXES))]
    expect(await indexes()).toEqual([])
    // What a run that was killed leaves behind.
    await sql.unsafe(`CREATE INDEX events_0_by_call_end ON events_0 (call_id)`)
    await sql.unsafe(`UPDATE pg_index SET indisvalid = FALSE WHERE indexrelid = 'events_0_by_call_end'::regclass`)
    const [unfinished] = await indexes()
    await Promise.all(clients.map((client) => workBeforeMigrations(client, [makeCallEnds])))
    const made = await indexes()
    expect(made.map(({ name, valid, attached }) => ({ name, valid, attached }))).toEqual(
      ['events_0_by_call_end', 'events_1_by_call_end'].map((name) => ({ name, valid: true, attached: false })),
    )
    expect(made[0]?.file).not.toBe(unfinished?.file)
    await prepareDatabase(source)
    expect(await indexes()).toEqual(made.map((index) => ({ ...index, attached: true })))
    for (const client of clients) await client.stop()
    await sql.close()
  },
)
