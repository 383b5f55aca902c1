import { sql } from 'drizzle-orm'
import { stateNumber } from '../operations/delivery-state.ts'
import type { FlowProgress, FlowState, FlowStore, FlowTurn, KeptValues } from '../operations/flows.ts'
import type { AttemptRow } from '../operations/log.ts'
import { DELIVERIES_PER_EVENT } from '../operations/queue.ts'
import { IS_ERASED, OF_EVENT, PENDING } from './deliveries.ts'
import { type Declarations, fencedWrite, read, write } from './operation.ts'
import { all, among, count, either, exists, first, forUpdate, onPostgres, run, texts, type Work } from './statement.ts'

/** Replaces the values of an erased call, so that its pending deliveries keep no further value. */
const ERASED = 'null'

function* getFlow({
  deliveryId,
  webhookId,
  callIds,
}: {
  deliveryId: number
  webhookId: number
  callIds: readonly string[]
}): Work<FlowState> {
  const row = yield* first<{ steps: string }>(sql`
    SELECT steps FROM flow_progress WHERE delivery_id = ${deliveryId}`)
  const rows = yield* all<{ callId: string; kept: string }>(sql`
    SELECT call_id AS "callId", kept FROM kept_values
    WHERE call_id ${among(texts(callIds))} AND webhook_id = ${webhookId} AND kept <> ${ERASED}`)
  const progress: FlowProgress = row === undefined ? {} : JSON.parse(row.steps)
  const kept = new Map<string, KeptValues>()
  for (const one of rows) kept.set(one.callId, JSON.parse(one.kept))
  return { progress, kept }
}

/** Probes that are kept for a delivery: a receiver that is down for a week would fill the log. */
const PROBES_KEPT = 20
const DELIVERED = stateNumber('delivered')
const PENDING_STATE = stateNumber('pending')

function* recordTurn(turn: FlowTurn): Work<boolean> {
  const isCurrent = yield* setState(turn)
  const { deliveryId, progress, state } = turn
  // It may have been cancelled, and pruned.
  if (!isCurrent && !(yield* exists(sql`SELECT 1 FROM deliveries WHERE id = ${deliveryId}`))) return false
  // Nothing that began before an erasure is kept after it: the delivery was no longer pending then.
  const isErased = yield* exists(sql`
    SELECT 1 FROM events e WHERE e.id = ${Math.floor(deliveryId / DELIVERIES_PER_EVENT)} AND ${IS_ERASED}`)
  for (const attempt of turn.attempts) yield* addAttempt(deliveryId, isErased ? withoutContent(attempt) : attempt)
  if (turn.attempts.some(({ probe }) => probe)) yield* forgetProbes(deliveryId)
  if (!isErased) yield* keep(turn)
  if (state === DELIVERED) yield* run(sql`DELETE FROM flow_progress WHERE delivery_id = ${deliveryId}`)
  else if (Object.keys(progress).length > 0)
    yield* run(sql`
      INSERT INTO flow_progress (delivery_id, steps) VALUES (${deliveryId}, ${JSON.stringify(progress)})
      ON CONFLICT (delivery_id) DO UPDATE SET steps = excluded.steps`)
  return isCurrent
}

/** Returns an attempt without what may name a person. */
function withoutContent(attempt: AttemptRow): AttemptRow {
  const { step } = attempt
  return { ...attempt, response: null, ...(step === undefined ? {} : { step: { ...step, url: null } }) }
}

/** A success decides the state of a delivery in any case, a failure for its own schedule alone. */
function* setState(turn: FlowTurn): Work<boolean> {
  const { deliveryId: id, generation, state, tries, attemptsMade, dueSteadyUs, endedUs } = turn
  const changed = yield* exists(
    either({
      sqlite: sql`
        UPDATE deliveries SET state = ${state}, tries = ${tries}, attempts_made = ${attemptsMade},
          due_at = ${dueSteadyUs}, ended_at = ${endedUs}
        WHERE id = ${id} AND ((state = 0 AND generation = ${generation}) OR ${state} = ${DELIVERED}) RETURNING 1`,
      postgres:
        state === PENDING_STATE
          ? sql`
            UPDATE pending_deliveries SET tries = ${tries}, attempts_made = ${attemptsMade}, due_at = ${dueSteadyUs}
            WHERE id = ${id} AND generation = ${generation} RETURNING 1`
          : sql`
            WITH gone AS (DELETE FROM pending_deliveries
              WHERE id = ${id} AND (generation = ${generation} OR ${state}::int = ${DELIVERED}) RETURNING *)
            INSERT INTO ended_deliveries
              (id, account_id, webhook_id, state, tries, attempts_made, generation, since, created_at, ended_at)
            SELECT id, account_id, webhook_id, ${state}::smallint, ${tries}::int, ${attemptsMade}::int, generation, since,
              created_at, ${endedUs}::bigint FROM gone RETURNING 1`,
    }),
  )
  if (changed) return true
  if (state !== DELIVERED) return false
  return yield* exists(
    onPostgres(sql`
      UPDATE ended_deliveries SET state = ${DELIVERED}, tries = ${tries}, attempts_made = ${attemptsMade},
        ended_at = ${endedUs} WHERE id = ${id} RETURNING 1`),
  )
}

function* addAttempt(deliveryId: number, attempt: AttemptRow): Work<void> {
  const { atUs, probe, status, durationMs, error, address, response, step } = attempt
  const kept = step === undefined ? null : JSON.stringify(step.kept)
  yield* run(sql`
    INSERT INTO attempts (delivery_id, at, probe, status, duration_ms, error, address, response, step, method, url, kept)
    VALUES (${deliveryId}, ${atUs}, ${probe}, ${status}, ${durationMs}, ${error}, ${address}, ${response},
      ${step?.name ?? null}, ${step?.method ?? null}, ${step?.url ?? null}, ${kept})
    ON CONFLICT (delivery_id, at) DO UPDATE SET probe = excluded.probe, status = excluded.status,
      duration_ms = excluded.duration_ms, error = excluded.error, address = excluded.address,
      response = excluded.response, step = excluded.step, method = excluded.method, url = excluded.url,
      kept = excluded.kept`)
}

function* forgetProbes(deliveryId: number): Work<void> {
  yield* run(sql`
    DELETE FROM attempts WHERE delivery_id = ${deliveryId} AND probe AND at <
      (SELECT at FROM attempts WHERE delivery_id = ${deliveryId} AND probe ORDER BY at DESC LIMIT 1
        OFFSET ${PROBES_KEPT - 1})`)
}

function* beginRequest({ deliveryId, progress }: { deliveryId: number; progress: FlowProgress }): Work<void> {
  yield* run(sql`
    INSERT INTO flow_progress (delivery_id, steps)
    SELECT id, ${JSON.stringify(progress)} FROM deliveries WHERE id = ${deliveryId}
    ON CONFLICT (delivery_id) DO UPDATE SET steps = excluded.steps`)
}

function* keep({ callId, webhookId, kept, forgotten, nowUs }: FlowTurn): Work<void> {
  if (Object.keys(kept).length === 0 && forgotten.length === 0) return
  const before = yield* first<{ kept: string }>(sql`
    SELECT kept FROM kept_values WHERE call_id = ${callId} AND webhook_id = ${webhookId} ${forUpdate}`)
  if (before?.kept === ERASED) return
  const known: KeptValues = before === undefined ? {} : JSON.parse(before.kept)
  const rest = Object.fromEntries(Object.entries(known).filter(([name]) => !forgotten.includes(name)))
  const all: KeptValues = { ...rest, ...kept }
  yield* run(sql`
    INSERT INTO kept_values (call_id, webhook_id, at, kept)
    VALUES (${callId}, ${webhookId}, ${nowUs}, ${JSON.stringify(all)})
    ON CONFLICT (call_id, webhook_id) DO UPDATE SET at = excluded.at, kept = excluded.kept`)
}

/** Deletes the values that webhooks have kept for calls. */
export function* forgetKept(callIds: readonly string[]): Work<void> {
  yield* run(sql`DELETE FROM kept_values WHERE call_id ${among(texts(callIds))}`)
}

/** Deletes the values that webhooks have kept for calls, and makes their pending deliveries keep none. */
export function* eraseKept(callIds: readonly string[]): Work<void> {
  yield* forgetKept(callIds)
  yield* run(sql`
    INSERT INTO kept_values (call_id, webhook_id, at, kept)
    SELECT e.call_id, d.webhook_id, max(e.at), ${ERASED} FROM events e JOIN ${PENDING} AS d ON ${OF_EVENT}
    WHERE e.call_id ${among(texts(callIds))} GROUP BY e.call_id, d.webhook_id`)
}

/** The operations on flows. */
export const FLOWS: Declarations<FlowStore> = {
  flowGet: read(getFlow),
  flowBegin: fencedWrite((begun: Parameters<FlowStore['flowBegin']>[0]) => beginRequest(begun), { isQuiet: true }),
  flowRecord: fencedWrite((turn: FlowTurn) => recordTurn(turn), { isQuiet: true }),
  keptPrune: write(
    ({ beforeUs, limit }) =>
      count(sql`
        DELETE FROM kept_values WHERE (call_id, webhook_id) IN
          (SELECT call_id, webhook_id FROM kept_values WHERE at < ${beforeUs} LIMIT ${limit}) RETURNING 1`),
    { isSlow: true },
  ),
  flowProgressPrune: write(
    (limit) =>
      count(sql`
        DELETE FROM flow_progress WHERE delivery_id IN (SELECT f.delivery_id FROM flow_progress f
          WHERE NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.id = f.delivery_id) LIMIT ${limit}) RETURNING 1`),
    { isSlow: true },
  ),
}
