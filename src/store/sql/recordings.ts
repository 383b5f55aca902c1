import { sql } from 'drizzle-orm'
import type { RecordingPosition, RecordingState, RecordingStore } from '../operations/recordings.ts'
import { type Declarations, read, write } from './operation.ts'
import { select, selectFirst } from './select.ts'
import { all, among, first, run, tableOf, texts, type Work } from './statement.ts'
import { recordings } from './tables.ts'

const behind = ({ sinceUs, callId, id }: RecordingPosition) =>
  sql`(since, call_id, id) > (${sinceUs}, ${callId}, ${id})`
const OLDEST_FIRST = sql`ORDER BY since, call_id, id`

function* countStates(): Work<Record<RecordingState, number>> {
  const counts = { pending: 0, saved: 0, failed: 0, erased: 0 }
  const rows = yield* all<{ state: RecordingState; count: number }>(sql`
    SELECT state, count(*) AS count FROM recordings GROUP BY state`)
  for (const { state, count } of rows) counts[state] = count
  return counts
}

function* addLinkKey(key: string): Work<string> {
  yield* run(sql`INSERT INTO recording_key (id, key) VALUES (1, ${key}) ON CONFLICT DO NOTHING`)
  return (yield* getLinkKey()) ?? key
}

function* getLinkKey(): Work<string | undefined> {
  return (yield* first<{ key: string }>(sql`SELECT key FROM recording_key`))?.key
}

/** The operations on recordings of saved calls, and on the key of their links. */
export const RECORDINGS: Declarations<RecordingStore> = {
  recordingGet: read(({ callId, recordingId }) =>
    selectFirst(recordings, sql`WHERE call_id = ${callId} AND id = ${recordingId}`),
  ),
  recordingListOfCalls: read((callIds) =>
    select(recordings, sql`WHERE call_id ${among(texts(callIds))} ORDER BY call_id, id`),
  ),
  recordingListPending: read(({ pbx, after, limit }) =>
    select(
      recordings,
      sql`WHERE state = 'pending' AND pbx = ${pbx} AND ${behind(after)} ${OLDEST_FIRST} LIMIT ${limit}`,
    ),
  ),
  recordingListPendingPbxs: read(function* () {
    const rows = yield* all<{ pbx: string }>(sql`
      SELECT pbx FROM recordings WHERE state = 'pending' GROUP BY pbx ORDER BY min(since)`)
    return rows.map(({ pbx }) => pbx)
  }),
  recordingListTroubled: read((limit) =>
    select(
      recordings,
      sql`WHERE state IN ('pending', 'failed') AND error IS NOT NULL ORDER BY since DESC, call_id, id LIMIT ${limit}`,
    ),
  ),
  recordingListErased: read(({ after, limit }) =>
    select(recordings, sql`WHERE state = 'erased' AND ${behind(after)} ${OLDEST_FIRST} LIMIT ${limit}`),
  ),
  recordingListExpired: read(({ beforeUs, after, limit }) =>
    select(
      recordings,
      sql`WHERE state <> 'erased' AND since < ${beforeUs} AND ${behind(after)} ${OLDEST_FIRST} LIMIT ${limit}`,
    ),
  ),
  recordingListNewestCopies: read((limit) =>
    select(
      recordings,
      sql`WHERE state = 'saved' AND copy IS NOT NULL ORDER BY since DESC, call_id DESC, id DESC LIMIT ${limit}`,
    ),
  ),
  recordingListUndeleted: read((limit) =>
    select(recordings, sql`WHERE state IN ('saved', 'erased') AND error IS NOT NULL ${OLDEST_FIRST} LIMIT ${limit}`),
  ),
  recordingSetErrors: write(
    ({ callIds, ids, errors }) =>
      run(sql`
        UPDATE recordings SET error = r.error
        FROM ${tableOf('r', { call_id: texts(callIds), id: texts(ids), error: texts(errors) })}
        WHERE recordings.call_id = r.call_id AND recordings.id = r.id`),
    { isQuiet: true },
  ),
  recordingCount: read(countStates),
  recordingErase: write(
    (callIds) => run(sql`UPDATE recordings SET state = 'erased' WHERE call_id ${among(texts(callIds))}`),
    { isQuiet: true },
  ),
  recordingDelete: write(
    ({ callIds, ids }) =>
      run(sql`
        DELETE FROM recordings WHERE (call_id, id) IN
          (SELECT call_id, id FROM ${tableOf('r', { call_id: texts(callIds), id: texts(ids) })})`),
    { isQuiet: true },
  ),
  linkKeyGet: read(getLinkKey),
  linkKeyAdd: write(addLinkKey, { isQuiet: true }),
  linkKeyReplace: write((key) =>
    run(sql`INSERT INTO recording_key (id, key) VALUES (1, ${key}) ON CONFLICT (id) DO UPDATE SET key = excluded.key`),
  ),
}
