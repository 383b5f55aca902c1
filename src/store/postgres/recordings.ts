import type { RecordingRecord, RecordingState, RecordingStore } from '../operations/recordings.ts'
import { texts } from './engine/client.ts'
import type { Database } from './engine/database.ts'

const COLUMNS = `call_id AS "callId", id, account_id::float8 AS "accountId", pbx, path, state, since::float8 AS "sinceUs", sequence,
  error, size::float8 AS "sizeBytes", stamp, sha256, media_type AS "mediaType", copy`

/**
 * Returns the part of a statement that stores recordings as they are now, by the numbers of its parameters: of each its
 * job (int[]), and itself as JSON (text[]). One that is pending no more stays as it is.
 */
export const RECORDED = (jobs: number, rows: number, condition: string): string => `
recorded AS (
  INSERT INTO recordings (call_id, id, account_id, pbx, path, state, since, sequence, error, size, stamp, sha256, media_type, copy)
  SELECT o.j->>'callId', o.j->>'id', (o.j->>'accountId')::bigint, o.j->>'pbx', o.j->>'path', o.j->>'state',
    (o.j->>'sinceUs')::bigint, (o.j->>'sequence')::int, o.j->>'error', (o.j->>'sizeBytes')::bigint, o.j->>'stamp', o.j->>'sha256',
    o.j->>'mediaType', o.j->>'copy'
  FROM unnest($${jobs}::int[], $${rows}::text[]) AS r(job, row) CROSS JOIN LATERAL (SELECT r.row::json AS j) AS o ${condition}
  ON CONFLICT (call_id, id) DO UPDATE SET state = excluded.state, error = excluded.error, size = excluded.size,
    stamp = excluded.stamp, sha256 = excluded.sha256, media_type = excluded.media_type, copy = excluded.copy
  WHERE recordings.state = 'pending'),`

/** Creates the operations on recordings of saved calls, and on the key of their links. */
export function createRecordingStore({ read, change, transaction }: Database): RecordingStore {
  const select = (condition: string, values: Parameters<typeof read>[1]) =>
    read<RecordingRecord>(`SELECT ${COLUMNS} FROM recordings ${condition}`, values)
  return {
    recordingGet: async ({ callId, recordingId }) =>
      (await select('WHERE call_id = $1 AND id = $2', [callId, recordingId]))[0],
    recordingListOfCalls: (callIds) => select('WHERE call_id = ANY($1::text[]) ORDER BY call_id, id', [texts(callIds)]),
    recordingListPending: ({ pbx, after: { sinceUs, callId, id }, limit }) =>
      select(
        `WHERE state = 'pending' AND pbx = $1 AND (since, call_id, id) > ($2::bigint, $3, $4)
         ORDER BY since, call_id, id LIMIT $5::int`,
        [pbx, sinceUs, callId, id, limit],
      ),
    async recordingListPendingPbxs() {
      const rows = await read<{ pbx: string }>(
        "SELECT pbx FROM recordings WHERE state = 'pending' GROUP BY pbx ORDER BY min(since)",
      )
      return rows.map(({ pbx }) => pbx)
    },
    recordingListTroubled: (limit) =>
      select(
        `WHERE state IN ('pending', 'failed') AND error IS NOT NULL ORDER BY since DESC, call_id, id LIMIT $1::int`,
        [limit],
      ),
    recordingListErased: ({ after: { sinceUs, callId, id }, limit }) =>
      select(
        `WHERE state = 'erased' AND (since, call_id, id) > ($1::bigint, $2, $3) ORDER BY since, call_id, id LIMIT $4::int`,
        [sinceUs, callId, id, limit],
      ),
    recordingListExpired: ({ beforeUs, after: { sinceUs, callId, id }, limit }) =>
      select(
        `WHERE state <> 'erased' AND since < $1::bigint AND (since, call_id, id) > ($2::bigint, $3, $4)
         ORDER BY since, call_id, id LIMIT $5::int`,
        [beforeUs, sinceUs, callId, id, limit],
      ),
    recordingListUndeleted: (limit) =>
      select(`WHERE state IN ('saved', 'erased') AND error IS NOT NULL ORDER BY since, call_id, id LIMIT $1::int`, [
        limit,
      ]),
    recordingSetErrors: ({ callIds, ids, errors }) =>
      transaction(async (query) => {
        await query(
          `UPDATE recordings r SET error = k.error FROM unnest($1::text[], $2::text[], $3::text[]) AS k(call_id, id, error)
           WHERE r.call_id = k.call_id AND r.id = k.id`,
          [texts(callIds), texts(ids), texts(errors)],
        )
      }),
    recordingCount: async () => {
      const counts = { pending: 0, saved: 0, failed: 0, erased: 0 }
      const rows = await read<{ state: RecordingState; count: number }>(
        'SELECT state, count(*)::float8 AS count FROM recordings GROUP BY state',
      )
      for (const { state, count } of rows) counts[state] = count
      return counts
    },
    recordingErase: (callIds) =>
      transaction(async (query) => {
        await query(`UPDATE recordings SET state = 'erased' WHERE call_id = ANY($1::text[])`, [texts(callIds)])
      }),
    recordingDelete: ({ callIds, ids }) =>
      transaction(async (query) => {
        await query(
          `DELETE FROM recordings r USING unnest($1::text[], $2::text[]) AS k(call_id, id)
           WHERE r.call_id = k.call_id AND r.id = k.id`,
          [texts(callIds), texts(ids)],
        )
      }),
    linkKeyGet: async () => (await read<{ key: string }>('SELECT key FROM recording_key'))[0]?.key,
    linkKeyAdd: (key) =>
      transaction(async (query) => {
        await query('INSERT INTO recording_key (id, key) VALUES (1, $1) ON CONFLICT DO NOTHING', [key])
        const [row] = await query<{ key: string }>('SELECT key FROM recording_key')
        return row?.key ?? key
      }),
    linkKeyReplace: (key) =>
      change(async (query) => {
        await query(
          'INSERT INTO recording_key (id, key) VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET key = excluded.key',
          [key],
        )
      }),
  }
}
