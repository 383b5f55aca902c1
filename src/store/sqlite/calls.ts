import type { CallBatch, PlacedEvent, SubjectRow } from '../operations/calls.ts'
import type { RecordingRecord } from '../operations/recordings.ts'
import { mutation, type Tx } from './engine/mutation.ts'
import { prepared } from './engine/prepared.ts'
import { storeEvents } from './events.ts'

/** Stores events, live calls and records in one commit, so that they agree after a crash. */
export const storeBatch = mutation('calls.batchStore', (tx: Tx, batch: CallBatch): PlacedEvent[] => {
  const { pbx, live, removed, parts, recordings = [], subjects = [], nowSteadyUs } = batch
  const putLive = prepared<never, [string, string, string]>(
    tx,
    'INSERT INTO live_calls (pbx, id, state) VALUES (?, ?, ?) ON CONFLICT (pbx, id) DO UPDATE SET state = excluded.state',
  )
  for (const call of live) putLive.run(pbx, call.id, call.state)
  const dropLive = prepared<never, [string, string]>(tx, 'DELETE FROM live_calls WHERE pbx = ? AND id = ?')
  for (const id of removed) dropLive.run(pbx, id)
  const putCall = prepared<never, [string, number, number, string, string | null, string | null, string]>(
    tx,
    'INSERT OR REPLACE INTO calls (id, account_id, saved_at, direction, from_number, to_number, record) VALUES (?, ?, ?, ?, ?, ?, ?)',
  )
  putRecordings(tx, recordings)
  putSubjects(tx, pbx, subjects)
  return parts.flatMap(({ accountId, events, saved }) => {
    for (const call of saved) {
      putCall.run(call.id, accountId, call.savedUs, call.direction, call.fromNumber, call.toNumber, call.record)
    }
    return storeEvents(tx, { accountId, events, nowSteadyUs })
  })
})

/** Stores the states of phones, trunks, agents and queues; removes those without one. */
function putSubjects(tx: Tx, pbx: string, subjects: readonly SubjectRow[]): void {
  if (subjects.length === 0) return
  const put = prepared<never, [string, string, string]>(
    tx,
    `INSERT INTO subject_states (pbx, id, state) VALUES (?, ?, ?)
     ON CONFLICT (pbx, id) DO UPDATE SET state = excluded.state`,
  )
  const drop = prepared<never, [string, string]>(tx, 'DELETE FROM subject_states WHERE pbx = ? AND id = ?')
  for (const { id, state } of subjects) {
    if (state === null) drop.run(pbx, id)
    else put.run(pbx, id, state)
  }
}

/** Stores recordings as they are now. A recording that is not pending stays as it is. */
function putRecordings(tx: Tx, recordings: readonly RecordingRecord[]): void {
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
