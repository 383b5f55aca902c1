import { sql } from 'drizzle-orm'
import type { DeliveryPart } from '../operations/log.ts'
import type { QueueStore, RetryRequest, RetryResult, RetryStep } from '../operations/queue.ts'
import { IS_ERASED, PENDING_TABLE, PER_EVENT } from './deliveries.ts'
import { type Declarations, write } from './operation.ts'
import { all, among, either, forShareOf, integers, onSqlite, run, type Work } from './statement.ts'

/** Makes deliveries due: a pending one on its schedule, any other on a new one. */
export function* makeDue(deliveryIds: readonly number[], nowSteadyUs: number): Work<void> {
  const ids = among(integers(deliveryIds))
  yield* run(sql`
    UPDATE ${PENDING_TABLE} SET due_at = ${nowSteadyUs}
    WHERE id ${ids} AND due_at IS NOT NULL ${onSqlite(sql`AND state = 0`)}`)
  yield* run(
    either({
      sqlite: sql`
        UPDATE deliveries SET state = 0, tries = 0, due_at = ${nowSteadyUs}, since = ${nowSteadyUs},
          generation = generation + 1, ended_at = NULL
        WHERE id ${ids} AND state <> 0`,
      postgres: sql`
        WITH back AS (DELETE FROM ended_deliveries WHERE id ${ids} RETURNING *),
        first AS (
          INSERT INTO attempts (delivery_id, at, probe, status, duration_ms, address, response)
          SELECT id, first_at, FALSE, first_status, first_duration_ms, first_address, first_response
          FROM back WHERE first_at IS NOT NULL)
        INSERT INTO pending_deliveries
          (id, account_id, webhook_id, tries, attempts_made, due_at, generation, since, created_at)
        SELECT id, account_id, webhook_id, 0, attempts_made, ${nowSteadyUs}, generation + 1, ${nowSteadyUs}, created_at
        FROM back`,
    }),
  )
}

type Facts = RetryFacts & { readonly accountId: number }
type Row = { [Name in keyof Facts]: Facts[Name] extends boolean ? unknown : Facts[Name] } & { readonly id: number }

/**
 * Returns the facts that may keep deliveries from being sent again, by their ids. Their webhooks stay in or out of
 * their lists until the transaction ends.
 */
function* readFacts(ids: readonly number[]): Work<ReadonlyMap<number, Facts>> {
  const rows = yield* all<Row>(sql`
    SELECT d.id, e.account_id AS "accountId", w.id AS "webhookId", w.position IS NOT NULL AS listed,
      d.id <= w.cancelled_to AS leaving, ${IS_ERASED} AS erased
    FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id JOIN events e ON e.id = d.id / ${PER_EVENT}
    WHERE d.id ${among(integers(ids))} ORDER BY w.id ${forShareOf('w')}`)
  return new Map(
    rows.map(({ id, listed, leaving, erased, ...row }) => [
      id,
      { ...row, listed: Boolean(listed), leaving: Boolean(leaving), erased: Boolean(erased) },
    ]),
  )
}

function* retryDelivery({ accountId, id, nowSteadyUs }: RetryRequest): Work<RetryResult> {
  const facts = (yield* readFacts([id])).get(id)
  if (facts === undefined || (accountId !== null && facts.accountId !== accountId)) return 'unknown'
  const obstacle = retryObstacle(facts)
  if (obstacle !== undefined) return obstacle
  yield* makeDue([id], nowSteadyUs)
  return 'queued'
}

/** Schedules the deliveries that a part of the log found again. */
export function* retryFound({ rows, nextId }: DeliveryPart, nowSteadyUs: number): Work<RetryStep | number> {
  const ids = rows.map(({ id }) => id)
  const facts = yield* readFacts(ids)
  const obstacles = ids.map((id) => ({ id, obstacle: retryObstacle(facts.get(id)) }))
  const leaving = obstacles.map(({ obstacle }) => obstacle).find((obstacle) => typeof obstacle === 'number')
  if (leaving !== undefined) return leaving
  const able = obstacles.filter(({ obstacle }) => obstacle === undefined).map(({ id }) => id)
  yield* makeDue(able, nowSteadyUs)
  return { queued: able.length, nextId }
}

/** The operations on retries by hand. */
export const RETRIES: Declarations<Pick<QueueStore, 'deliveryRetry'>> = { deliveryRetry: write(retryDelivery) }

/** The facts that may keep a delivery from being sent again. `leaving`: it is still to be cancelled. */
type RetryFacts = {
  readonly webhookId: number
  readonly listed: boolean
  readonly erased: boolean
  readonly leaving: boolean
}

/** Returns why a delivery cannot be sent again now; `undefined`: it can. An unknown delivery has no facts. */
function retryObstacle(facts: RetryFacts | undefined): Exclude<RetryResult, 'queued'> | undefined {
  if (facts === undefined) return 'unknown'
  if (!facts.listed) return 'unlisted'
  if (facts.erased) return 'erased'
  return facts.leaving ? facts.webhookId : undefined
}
