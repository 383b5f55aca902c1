import { mutation, type Tx } from '../db/mutation.ts'
import { prepared } from '../db/prepared.ts'
import { type LogFilter, readLog } from './log-store.ts'
import { DELIVERIES_PER_EVENT, IS_ERASED } from './outbox.ts'

/**
 * `left`: its URL is in the list no more. `erased`: its body is no more. A number: its URL came back, but what waited for that
 * webhook when it left is not all cancelled yet; that has to be done first, since it would be cancelled with it.
 */
export type Retried = 'unknown' | 'left' | 'erased' | 'queued' | number

/**
 * A pending one is only made due; any other gets a new schedule, whose first attempt is due at once. No two schedules of a delivery
 * have the same `since`: it tells an attempt of the one before from those of the new one.
 */
function makeDue(tx: Tx, id: number, steadyUs: number): void {
  prepared<never, [number, number]>(
    tx,
    'UPDATE deliveries SET due_at = ? WHERE id = ? AND state = 0 AND due_at IS NOT NULL',
  ).run(steadyUs, id)
  prepared<never, [number, number, number]>(
    tx,
    `UPDATE deliveries SET state = 0, tries = 0, due_at = ?, since = max(?, since + 1), ended_at = NULL
     WHERE id = ? AND state <> 0`,
  ).run(steadyUs, steadyUs, id)
}

type Row = { webhookId: number; listed: number; leaving: number; erased: number }

/** Why a delivery cannot be sent again now, if it cannot. */
function obstacle(tx: Tx, id: number): Exclude<Retried, 'queued'> | undefined {
  const row = prepared<Row, [number]>(
    tx,
    `SELECT w.id AS webhookId, w.position IS NOT NULL AS listed, d.id <= w.cancelled_to AS leaving, ${IS_ERASED} AS erased
     FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id JOIN events e ON e.id = d.id / ${DELIVERIES_PER_EVENT}
     WHERE d.id = ?`,
  ).get(id)
  if (row === null) return 'unknown'
  if (row.listed === 0) return 'left'
  if (row.erased === 1) return 'erased'
  return row.leaving === 1 ? row.webhookId : undefined
}

export const retryOne = mutation(
  'deliveries.retryOne',
  (tx: Tx, { accountId, id, steadyUs }: { accountId: number | null; id: number; steadyUs: number }): Retried => {
    const owner = prepared<{ accountId: number }, [number]>(
      tx,
      'SELECT account_id AS accountId FROM events WHERE id = ?',
    ).get(Math.floor(id / DELIVERIES_PER_EVENT))
    if (owner === null || (accountId !== null && owner.accountId !== accountId)) return 'unknown'
    const problem = obstacle(tx, id)
    if (problem !== undefined) return problem
    makeDue(tx, id, steadyUs)
    return 'queued'
  },
)

type Step = { readonly filter: LogFilter; readonly fromId: number; readonly steadyUs: number; readonly step: number }

/** How many were made due, and where the next step begins (`null`: there is none). */
export type RetryStep = { readonly queued: number; readonly nextId: number | null }

/**
 * Retries what matches of a part of the log, the oldest first, so that a call whose events lie in several parts is sent in their order;
 * or none of it, when a webhook has to finish its leaving first: its id.
 */
export const retryStep = mutation(
  'deliveries.retryStep',
  (tx: Tx, { filter, fromId, steadyUs, step }: Step): RetryStep | number => {
    const { rows: found, nextId } = readLog(tx, filter, fromId, step, 'oldest')
    const rows = found.map(({ id }) => ({ id, problem: obstacle(tx, id) }))
    const leaving = rows.map(({ problem }) => problem).find((problem) => typeof problem === 'number')
    if (leaving !== undefined) return leaving
    const able = rows.filter(({ problem }) => problem === undefined)
    for (const { id } of able) makeDue(tx, id, steadyUs)
    return { queued: able.length, nextId }
  },
)
