import type { RecordingRecord } from '../operations/recordings.ts'
import type { Tx } from './engine/mutation.ts'
import { prepared } from './engine/prepared.ts'

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
