import type { RecordingRecord, RecordingRef, RecordingState, RecordingStore } from '../operations/recordings.ts'
import type { Database } from './engine/database.ts'
import { mutation, type Tx } from './engine/mutation.ts'
import { prepared } from './engine/prepared.ts'

const COLUMNS = `call_id AS callId, id, account_id AS accountId, pbx, path, state, since AS sinceUs, sequence, error,
  size AS sizeBytes, stamp, sha256, media_type AS mediaType, copy`

/**
 * Stores recordings as they are now. Runs inside the mutation of the caller. One that is pending no more stays as it
 * is.
 */
export function putRecordings(tx: Tx, recordings: readonly RecordingRecord[]): void {
  const put = prepared<never, (string | number | null)[]>(
    tx,
    `INSERT INTO recordings
       (call_id, id, account_id, pbx, path, state, since, sequence, error, size, stamp, sha256, media_type, copy)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (call_id, id) DO UPDATE SET state = excluded.state, error = excluded.error, size = excluded.size,
       stamp = excluded.stamp, sha256 = excluded.sha256, media_type = excluded.media_type, copy = excluded.copy
     WHERE recordings.state = 'pending'`,
  )
  for (const one of recordings) {
    const { callId, id, accountId, pbx, path, state, sinceUs, sequence } = one
    const { error, sizeBytes, stamp, sha256, mediaType, copy } = one
    put.run(
      callId,
      id,
      accountId,
      pbx,
      path,
      state,
      sinceUs,
      sequence,
      error,
      sizeBytes,
      stamp,
      sha256,
      mediaType,
      copy,
    )
  }
}

export const eraseRecordings = mutation('recordings.recordingErase', (tx: Tx, callIds: readonly string[]): void => {
  prepared<never, [string]>(
    tx,
    "UPDATE recordings SET state = 'erased' WHERE call_id IN (SELECT value FROM json_each(?))",
  ).run(JSON.stringify(callIds))
})

export const deleteRecordings = mutation(
  'recordings.recordingDelete',
  (tx: Tx, { callIds, ids }: { readonly callIds: readonly string[]; readonly ids: readonly string[] }): void => {
    const drop = prepared<never, [string, string]>(tx, 'DELETE FROM recordings WHERE call_id = ? AND id = ?')
    callIds.forEach((callId, at) => {
      drop.run(callId, ids[at] ?? '')
    })
  },
)

type Errors = {
  readonly callIds: readonly string[]
  readonly ids: readonly string[]
  readonly errors: readonly string[]
}

export const setErrors = mutation('recordings.recordingSetErrors', (tx: Tx, { callIds, ids, errors }: Errors): void => {
  const set = prepared<never, [string, string, string]>(
    tx,
    'UPDATE recordings SET error = ? WHERE call_id = ? AND id = ?',
  )
  callIds.forEach((callId, at) => {
    set.run(errors[at] ?? '', callId, ids[at] ?? '')
  })
})

export const addLinkKey = mutation('recordings.linkKeyAdd', (tx: Tx, key: string): string => {
  prepared<never, [string]>(tx, 'INSERT INTO recording_key (id, key) VALUES (1, ?) ON CONFLICT DO NOTHING').run(key)
  return prepared<{ key: string }, []>(tx, 'SELECT key FROM recording_key').get()?.key ?? key
})

export const replaceLinkKey = mutation('recordings.linkKeyReplace', (tx: Tx, key: string): void => {
  prepared<never, [string]>(tx, 'INSERT OR REPLACE INTO recording_key (id, key) VALUES (1, ?)').run(key)
})

/** Creates the operations on recordings of saved calls, and on the key of their links. */
export function createRecordingStore({ read, commit }: Database): RecordingStore {
  const select = <Values extends (string | number)[]>(condition: string) =>
    prepared<RecordingRecord, Values>(read, `SELECT ${COLUMNS} FROM recordings ${condition}`)
  return {
    recordingGet: async ({ callId, recordingId }: RecordingRef) =>
      select<[string, string]>('WHERE call_id = ? AND id = ?').get(callId, recordingId) ?? undefined,
    recordingListOfCalls: async (callIds) =>
      select<[string]>('WHERE call_id IN (SELECT value FROM json_each(?)) ORDER BY call_id, id').all(
        JSON.stringify(callIds),
      ),
    recordingListPending: async ({ pbx, after: { sinceUs, callId, id }, limit }) =>
      select<[string, number, string, string, number]>(
        `WHERE state = 'pending' AND pbx = ? AND (since, call_id, id) > (?, ?, ?) ORDER BY since, call_id, id LIMIT ?`,
      ).all(pbx, sinceUs, callId, id, limit),
    recordingListPendingPbxs: async () =>
      prepared<{ pbx: string }, []>(
        read,
        "SELECT pbx FROM recordings WHERE state = 'pending' GROUP BY pbx ORDER BY min(since)",
      )
        .all()
        .map(({ pbx }) => pbx),
    recordingListTroubled: async (limit) =>
      select<[number]>(
        `WHERE state IN ('pending', 'failed') AND error IS NOT NULL ORDER BY since DESC, call_id, id LIMIT ?`,
      ).all(limit),
    recordingListErased: async ({ after: { sinceUs, callId, id }, limit }) =>
      select<[number, string, string, number]>(
        `WHERE state = 'erased' AND (since, call_id, id) > (?, ?, ?) ORDER BY since, call_id, id LIMIT ?`,
      ).all(sinceUs, callId, id, limit),
    recordingListExpired: async ({ beforeUs, after: { sinceUs, callId, id }, limit }) =>
      select<[number, number, string, string, number]>(
        `WHERE state <> 'erased' AND since < ? AND (since, call_id, id) > (?, ?, ?) ORDER BY since, call_id, id LIMIT ?`,
      ).all(beforeUs, sinceUs, callId, id, limit),
    recordingListUndeleted: async (limit) =>
      select<[number]>(
        `WHERE state IN ('saved', 'erased') AND error IS NOT NULL ORDER BY since, call_id, id LIMIT ?`,
      ).all(limit),
    recordingSetErrors: (errors) => commit(setErrors, errors),
    recordingCount: async () => {
      const counts = { pending: 0, saved: 0, failed: 0, erased: 0 }
      const rows = prepared<{ state: RecordingState; count: number }, []>(
        read,
        'SELECT state, count(*) AS count FROM recordings GROUP BY state',
      ).all()
      for (const { state, count } of rows) counts[state] = count
      return counts
    },
    recordingErase: (callIds) => commit(eraseRecordings, callIds),
    recordingDelete: (keys) => commit(deleteRecordings, keys),
    linkKeyGet: async () => prepared<{ key: string }, []>(read, 'SELECT key FROM recording_key').get()?.key,
    linkKeyAdd: (key) => commit(addLinkKey, key),
    linkKeyReplace: (key) => commit(replaceLinkKey, key),
  }
}
