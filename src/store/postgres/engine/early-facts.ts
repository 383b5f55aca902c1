import type { Query } from './client.ts'
import { addColumnsOfCalls } from './early-e164.ts'
import { type EarlyWork, makeIndex } from './early-indexes.ts'

/** The calls of one statement: their rows are locked for some 100 ms. */
const CALLS = 1_000

/** Postgres cannot read each JSON text that the program writes: a name may have an escaped NUL, or half a character. */
const PART_OF = `CREATE OR REPLACE FUNCTION pg_temp.part_of(record text, VARIADIC path text[]) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN coalesce(record::json #>> path, '');
EXCEPTION WHEN data_exception THEN
  BEGIN
    RETURN coalesce(regexp_replace(record, '\\\\u(0000|d[89a-f][0-9a-f]{2})', '\\\\ufffd', 'g')::json #>> path, '');
  EXCEPTION WHEN data_exception THEN
    RETURN '';
  END;
END
$$`
const part = (...path: string[]) => `pg_temp.part_of(record, ${path.map((one) => `'${one}'`).join(', ')})`

/** The same facts as SQLite's columns have: those who took part are the caller, the called one, and who answered. */
const FILL = `
  WITH part AS (SELECT id FROM calls WHERE id > $1 ORDER BY id LIMIT ${CALLS}),
  filled AS (
    UPDATE calls SET result = nullif(${part('call', 'result')}, ''), missed = ${part('call', 'missed')} = 'true',
      who = concat(' ', ${part('call', 'from', 'extension')}, ' ', ${part('call', 'to', 'extension')}, ' ',
        ${part('call', 'answered_by', 'extension')}, E' \\n ', ${part('call', 'from', 'number')}, ' ',
        ${part('call', 'to', 'number')}, E' \\n', ${part('call', 'from', 'name')}, E'\\n', ${part('call', 'to', 'name')})
    WHERE id IN (SELECT id FROM part) AND who IS NULL)
  SELECT max(id) AS last FROM part`

/**
 * Makes the columns of the facts of calls, fills them for the calls that are stored, some at a time, and makes their
 * index. The migration would lock the table against all nodes until each record has been read.
 */
export const makeCallFacts: EarlyWork = async ({ query, transaction }) => {
  await addColumnsOfCalls(transaction, ['pbx text', 'result text', 'missed boolean', 'who text'])
  await query(PART_OF)
  await fill(query)
  await makeIndex(query, { table: 'calls', name: 'calls_by_facts', on: '(account_id, (saved_at + 0), id)' })
}

async function fill(query: Query): Promise<void> {
  for (let after: string | null = ''; after !== null; ) {
    const [row]: { last: string | null }[] = await query<{ last: string | null }>(FILL, [after])
    after = row?.last ?? null
  }
}
