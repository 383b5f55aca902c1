import type { Query } from './client.ts'
import { type EarlyWork, makeIndex } from './early-indexes.ts'
import { codeOf } from './store-fault.ts'

/** The calls of one statement: their rows are locked for some 100 ms. */
const CALLS = 1_000
const LOCKED_AT_MOST_MS = 500
const AGAIN_MS = 500
/** The SQLSTATE of a lock timeout. */
const LOCKED = '55P03'

/** Postgres cannot read every JSON text that the program writes: a name may have an escaped NUL. */
const E164_OF = `CREATE OR REPLACE FUNCTION pg_temp.e164_of(record text, party text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN record::json #>> ARRAY['call', party, 'e164'];
EXCEPTION WHEN data_exception THEN
  RETURN NULL;
END
$$`

const FILL = `
  WITH part AS (SELECT id FROM calls WHERE id > $1 ORDER BY id LIMIT ${CALLS}),
  filled AS (
    UPDATE calls SET from_e164 = pg_temp.e164_of(record, 'from'), to_e164 = pg_temp.e164_of(record, 'to')
    WHERE id IN (SELECT id FROM part) AND from_e164 IS NULL AND to_e164 IS NULL AND strpos(record, '"e164":"') > 0)
  SELECT max(id) AS last FROM part`

/**
 * Makes the columns of numbers in E.164, fills them for the calls that are stored, some at a time, and makes their
 * indexes. The migration would lock the table against all nodes until each record has been read.
 */
export const makeCallsByE164: EarlyWork = async ({ query, transaction }) => {
  await addColumnsOfCalls(transaction, ['from_e164 text', 'to_e164 text'])
  await query(E164_OF)
  for (let after: string | null = ''; after !== null; ) {
    const [row]: { last: string | null }[] = await query<{ last: string | null }>(FILL, [after])
    after = row?.last ?? null
  }
  for (const column of ['from_e164', 'to_e164'])
    await makeIndex(query, {
      table: 'calls',
      name: `calls_by_${column}`,
      on: `(account_id, ${column}, direction, saved_at, id) WHERE ${column} IS NOT NULL`,
    })
}

/** Adds columns to the calls. Waits in the way of all other statements for a moment only, and tries again. */
export async function addColumnsOfCalls(transaction: Transaction, columns: readonly string[]): Promise<void> {
  const added = columns.map((column) => `ADD COLUMN IF NOT EXISTS ${column}`).join(', ')
  for (;;) {
    try {
      await transaction(async (query) => {
        await query(`SET LOCAL lock_timeout = ${LOCKED_AT_MOST_MS}`)
        await query(`ALTER TABLE calls ${added}`)
      })
      return
    } catch (error) {
      if (!codeOf(error).startsWith(LOCKED)) throw error
      await Bun.sleep(AGAIN_MS)
    }
  }
}

type Transaction = (work: (query: Query) => Promise<void>) => Promise<void>
