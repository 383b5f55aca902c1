import { DELIVERIES_PER_EVENT, MAX_COUNTED, type PendingDelivery, type QueueStore } from '../operations/queue.ts'
import { oldestPendingSql } from '../sql/oldest-pending.ts'
import { type RETRIES, retryFound } from '../sql/retries.ts'
import { bigints, texts } from './engine/client.ts'
import { BY_INDEX, type Database } from './engine/database.ts'
import type { GroupCommit } from './engine/group-commit.ts'
import { runWork } from './engine/run-operations.ts'
import { readLog } from './log.ts'
import { cancelUnlisted, failExpired, type OutcomeJob, splitByDelivery } from './outcomes.ts'
import type { OWNER_REQUESTS } from './owner-requests.ts'

type Row = Omit<PendingDelivery, 'dueSteadyUs'> & { readonly dueSteadyUs: number | null }

const SENDING = `SELECT d.id, d.account_id AS "accountId", d.webhook_id AS "webhookId", d.tries,
    d.attempts_made AS "attemptsMade", d.due_at AS "dueSteadyUs", d.generation, d.since AS "sinceSteadyUs",
    e.uuid, e.call_id AS "callId", e.name AS event, e.at AS "atUs", e.body`
const EVENT = `JOIN events e ON e.id = d.id / ${DELIVERIES_PER_EVENT}`

/**
 * The delivery of an event `b` to a webhook, if it is pending on its first schedule. `LIMIT`, like `OFFSET` where
 * events are read, fixes the order of reading: a statement that was planned while nothing was pending would otherwise
 * read all pending deliveries for each call.
 */
const pendingOfEvent = (webhook: string): string => `LATERAL (SELECT p.* FROM pending_deliveries p
  WHERE p.id BETWEEN b.id * ${DELIVERIES_PER_EVENT} AND b.id * ${DELIVERIES_PER_EVENT} + ${DELIVERIES_PER_EVENT - 1}
    AND p.webhook_id = ${webhook} AND p.generation = 1 LIMIT 1)`

/** Whether an earlier delivery of the same call and webhook is pending on its first schedule. */
const WAITS = `EXISTS (SELECT 1 FROM (SELECT id FROM events WHERE call_id = e.call_id OFFSET 0) AS b
  CROSS JOIN ${pendingOfEvent('d.webhook_id')} AS first WHERE b.id < e.id)`

const pendingOf = ({ dueSteadyUs, ...row }: Row): PendingDelivery => ({ ...row, dueSteadyUs: dueSteadyUs ?? undefined })

type QueueDatabase = Pick<Database, 'node' | 'read' | 'transaction' | 'change'>

/** Creates the queue operations of the engine: pending deliveries and their outcomes. */
export function createQueueStore(
  db: QueueDatabase,
  outcomes: GroupCommit<OutcomeJob, number[]>,
): Omit<QueueStore, keyof typeof RETRIES | keyof typeof OWNER_REQUESTS> {
  const { read, transaction, change } = db
  return {
    deliveryGetUntried: async ({ webhookId, afterId, limit }) => {
      const rows = await read<Row>(
        `${SENDING} FROM (SELECT * FROM pending_deliveries
           WHERE webhook_id = $1 AND due_at IS NULL AND id > $2 ORDER BY id LIMIT $3::int) AS d ${EVENT} ORDER BY d.id`,
        [webhookId, afterId, limit],
      )
      return rows.map(pendingOf)
    },
    async deliveryGetUntriedStrict({ webhookId, afterId, limit }) {
      const rows = await read<Row & { waits: boolean }>(
        `${SENDING}, ${WAITS} AS waits FROM (SELECT * FROM pending_deliveries
           WHERE webhook_id = $1 AND due_at IS NULL AND id > $2 ORDER BY id LIMIT $3::int) AS d ${EVENT} ORDER BY d.id`,
        [webhookId, afterId, limit],
      )
      const deliveries = rows.flatMap(({ waits, ...row }) => (waits ? [] : pendingOf(row)))
      return { deliveries, lastId: rows.length === limit ? (rows.at(-1)?.id ?? null) : null }
    },
    async deliveryGetFirstOfCalls({ webhookId, callIds }) {
      const rows = await read<Row>(
        `${SENDING} FROM unnest($2::text[]) AS c(id) CROSS JOIN LATERAL (
           SELECT first.* FROM (SELECT id FROM events WHERE call_id = c.id OFFSET 0) AS b
             CROSS JOIN ${pendingOfEvent('$1')} AS first ORDER BY b.id LIMIT 1) AS d ${EVENT}`,
        [webhookId, texts(callIds)],
      )
      return rows.map(pendingOf)
    },
    deliveryGetDue: async ({ webhookId, afterId, exceptIds, dueSteadyUs, limit }) => {
      const rows = await read<Row>(
        `${SENDING} FROM (SELECT * FROM pending_deliveries
           WHERE webhook_id = $1 AND due_at IS NOT NULL AND due_at <= $2 AND id > $3 AND id <> ALL ($4::bigint[])
           ORDER BY due_at, id LIMIT $5::int) AS d
         ${EVENT} ORDER BY d.due_at, d.id`,
        [webhookId, dueSteadyUs, afterId, bigints(exceptIds), limit],
      )
      return rows.map(pendingOf)
    },
    async deliveryGetPending(id) {
      const [row] = await read<Row>(`${SENDING} FROM pending_deliveries d ${EVENT} WHERE d.id = $1`, [id])
      return row === undefined ? undefined : pendingOf(row)
    },
    async deliveryGetNextDue({ webhookId, fromSteadyUs }) {
      const [row] = await read<{ dueUs: number | null }>(
        `SELECT min(due_at) AS "dueUs" FROM pending_deliveries
         WHERE webhook_id = $1 AND due_at IS NOT NULL AND due_at >= $2`,
        [webhookId, fromSteadyUs],
      )
      return row?.dueUs ?? undefined
    },
    async pendingGetFirst({ webhookIds, afterIds }) {
      const rows = await read<{ webhookId: number; untriedId: number | null; dueSteadyUs: number | null }>(
        `SELECT w.id AS "webhookId", untried.id AS "untriedId", retry.due_at AS "dueSteadyUs"
         FROM unnest($1::bigint[], $2::bigint[]) AS w (id, after)
           LEFT JOIN LATERAL (SELECT id FROM pending_deliveries
             WHERE webhook_id = w.id AND due_at IS NULL AND id > w.after ORDER BY id LIMIT 1) AS untried ON true
           LEFT JOIN LATERAL (SELECT due_at FROM pending_deliveries
             WHERE webhook_id = w.id AND due_at IS NOT NULL ORDER BY due_at LIMIT 1) AS retry ON true
         WHERE untried.id IS NOT NULL OR retry.due_at IS NOT NULL`,
        [bigints(webhookIds), bigints(afterIds)],
      )
      return rows.map(({ webhookId, untriedId, dueSteadyUs }) => ({
        webhookId,
        untriedId: untriedId ?? undefined,
        dueSteadyUs: dueSteadyUs ?? undefined,
      }))
    },
    // Another node cannot read this node's memory.
    outcomeKeep: () => false,
    async deliveryRecordOutcomes(batch, fence) {
      const superseded: number[] = []
      for (const part of splitByDelivery(batch)) superseded.push(...(await outcomes.push({ batch: part, fence })))
      return superseded
    },
    deliveryCancelUnlisted: (step, fence) => transaction((query) => cancelUnlisted(query, step), fence),
    deliveryFailExpired: (step, fence) => transaction((query) => failExpired(query, step), fence),
    deliveryRetryMatching: ({ filter, fromId, nowSteadyUs, limit }) =>
      change(async (query) => {
        await query(PLANNED_BY_INDEX)
        // The oldest first, so that a call whose events are in several parts is sent in their order.
        const found = await readLog(query, { filter, fromId, limit, order: 'oldest' })
        return runWork(db, query, retryFound(found, nowSteadyUs))
      }),
    pendingCount: () => countPending(read),
    pendingGetOldest: (webhookId) => oldestPending(read, webhookId),
  }
}

/** Plans the rest of a transaction as reads are planned. */
const PLANNED_BY_INDEX = `SELECT ${Object.entries(BY_INDEX)
  .map(([name, value]) => `set_config('${name}', '${value}', true)`)
  .join(', ')}`

async function countPending(read: Database['read']): Promise<number> {
  const [row] = await read<{ pending: number }>(
    `SELECT count(*) AS pending FROM (SELECT 1 FROM pending_deliveries LIMIT ${MAX_COUNTED}) AS counted`,
  )
  return row?.pending ?? 0
}

const UNTRIED = { from: 'pending_deliveries WHERE due_at IS NULL', order: 'id' }
const RETRIED = { from: 'pending_deliveries WHERE due_at IS NOT NULL', order: 'due_at' }

async function oldestPending(read: Database['read'], webhookId: number | undefined): Promise<number | undefined> {
  const [row] =
    webhookId === undefined
      ? await read<{ oldest: number | null }>(oldestPendingSql(UNTRIED, RETRIED, undefined))
      : await read<{ oldest: number | null }>(oldestPendingSql(UNTRIED, RETRIED, '$1::bigint'), [webhookId])
  return row?.oldest ?? undefined
}
