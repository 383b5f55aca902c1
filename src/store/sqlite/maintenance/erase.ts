import { Database as Sqlite } from 'bun:sqlite'
import type { ErasedCounts } from '../../operations/maintenance.ts'
import { DELIVERIES_PER_EVENT } from '../../operations/queue.ts'
import { withoutNumber } from '../../without-number.ts'
import { mutation, type Tx } from '../engine/mutation.ts'
import { prepared } from '../engine/prepared.ts'
import { IS_ERASED } from '../events.ts'

/**
 * Erasing a number affects every call that contains it. The record is deleted. Of its events remains what the log needs
 * (which event, when, delivered or not). A live call continues with an unknown party.
 */

/** A number as JSON contains it: a whole string, so that longer numbers do not match. */
const quoted = (number: string) => JSON.stringify(number)

/**
 * Returns the calls whose record or event bodies contain a number. It is a read, so that no write waits for it, however
 * large the store is.
 */
export function findCallsOf(tx: Tx, number: string): string[] {
  const rows = prepared<{ id: string }, [string, string]>(
    tx,
    `SELECT id FROM calls WHERE instr(record, ?) > 0
     UNION SELECT DISTINCT call_id AS id FROM events WHERE instr(body, ?) > 0`,
  ).all(quoted(number), quoted(number))
  return rows.map(({ id }) => id)
}

/** Erases calls by id. Call it with a few ids, so that no commit takes long. */
export const eraseCalls = mutation('maintenance.callErase', (tx: Tx, ids: readonly string[]): ErasedCounts => {
  const dropCall = prepared<never, [string]>(tx, 'DELETE FROM calls WHERE id = ?')
  const eventsOf = prepared<{ id: number; pending: number }, [string]>(
    tx,
    `SELECT id, EXISTS (SELECT 1 FROM deliveries d WHERE d.state = 0
       AND d.id >= events.id * ${DELIVERIES_PER_EVENT} AND d.id < (events.id + 1) * ${DELIVERIES_PER_EVENT}) AS pending
     FROM events WHERE call_id = ? AND NOT ${IS_ERASED}`,
  )
  const emptyBody = prepared<never, [number]>(
    tx,
    // Which call a call was merged into is what proves that it ended.
    `UPDATE events SET body = json_object('erased', json('true'), 'data', json_object('transfer',
       CASE WHEN json_extract(body, '$.data.transfer.other_call_id') IS NULL THEN NULL
       ELSE json_object('other_call_id', json_extract(body, '$.data.transfer.other_call_id')) END)) WHERE id = ?`,
  )
  const emptyAnswers = prepared<never, [number, number]>(
    tx,
    'UPDATE attempts SET response = NULL WHERE delivery_id >= ? AND delivery_id < ? AND response IS NOT NULL',
  )
  const erased = { calls: 0, events: 0, pending: 0 }
  for (const callId of ids) {
    erased.calls += dropCall.run(callId).changes
    for (const { id, pending } of eventsOf.all(callId)) {
      if (pending === 1) erased.pending += 1
      else {
        emptyBody.run(id)
        emptyAnswers.run(id * DELIVERIES_PER_EVENT, (id + 1) * DELIVERIES_PER_EVENT)
        erased.events += 1
      }
    }
  }
  return erased
})

/**
 * Removes a number from the live calls. A running service has it in memory, and may write it again.
 * @returns how many calls.
 */
export const eraseLive = mutation('maintenance.liveCallErase', (tx: Tx, number: string): number => {
  const rows = prepared<{ pbx: string; id: string; state: string }, [string]>(
    tx,
    'SELECT pbx, id, state FROM live_calls WHERE instr(state, ?) > 0',
  ).all(quoted(number))
  const put = prepared<never, [string, string, string]>(tx, 'UPDATE live_calls SET state = ? WHERE pbx = ? AND id = ?')
  for (const { pbx, id, state } of rows) put.run(JSON.stringify(withoutNumber(JSON.parse(state), number)), pbx, id)
  return rows.length
})

/**
 * Moves the write-ahead log into the store's file and empties it, so that deleted data is in neither. Other processes
 * may use the store meanwhile. Returns whether it succeeded: false if one of them blocked it all the time.
 */
export function emptyWriteAheadLog(path: string): boolean {
  const sqlite = new Sqlite(path, { create: false, readwrite: true, strict: true })
  try {
    sqlite.run('PRAGMA busy_timeout = 5000')
    return sqlite.query<{ busy: number }, []>('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy === 0
  } finally {
    sqlite.close()
  }
}
