import { type Fence, LeaseLost } from '../operations/cluster.ts'
import { ERASED_START } from '../operations/log.ts'
import { DELIVERIES_PER_EVENT, type OutcomeBatch } from '../operations/queue.ts'
import { bigints, booleans, type Client, ints, type Query, retryConflicts, texts, type Value } from './engine/client.ts'
import type { Database } from './engine/database.ts'
import { fenceValues, lostLeasesSql } from './engine/fence.ts'
import { type GroupCommit, groupCommit } from './engine/group-commit.ts'

/** The most probes that are kept for a delivery: a receiver that is down for a week would fill the log. */
const PROBES_KEPT = 20

export type OutcomeJob = { readonly batch: OutcomeBatch; readonly fence?: Fence | undefined }

const INPUT = `unnest($1::int[], $2::bigint[], $3::int[], $4::smallint[], $5::int[], $6::int[], $7::bigint[], $8::bigint[],
  $9::bigint[], $10::boolean[], $11::int[], $12::int[], $13::text[], $14::text[], $15::text[])
  AS i(job, id, generation, state, tries, made, due, ended, at, probe, status, duration, error, address, response)`

/** The number of the fence's first parameter, after those of the input. */
const FIRST_OF_FENCE = 16

/** Nearly every outcome: then the row of the ended delivery has the attempt, and no other row is written. */
const IS_FIRST = 'i.state = 1 AND i.made = 1 AND i.error IS NULL AND NOT i.probe'

/**
 * Ended deliveries leave the small table of pending ones. Deliveries that are no longer in it, or have another
 * schedule, are returned: `writeLate` records these.
 */
const statementOf = (isFenced: boolean): string => `
WITH ${isFenced ? `${lostLeasesSql(FIRST_OF_FENCE)},` : ''}
input AS MATERIALIZED (SELECT * FROM ${INPUT} ${isFenced ? 'WHERE i.job NOT IN (SELECT job FROM lost)' : ''}),
gone AS (
  DELETE FROM pending_deliveries p USING input i
  WHERE p.id = i.id AND i.state <> 0 AND (p.generation = i.generation OR i.state = 1)
  RETURNING p.id, p.account_id, p.webhook_id, p.generation, p.since, p.created_at, i.state, i.tries, i.made, i.ended,
    CASE WHEN ${IS_FIRST} THEN i.at END AS first_at, i.status, i.duration, i.address, i.response),
retried AS (
  UPDATE pending_deliveries p SET tries = i.tries, attempts_made = i.made, due_at = i.due
  FROM input i WHERE p.id = i.id AND i.state = 0 AND p.generation = i.generation RETURNING p.id),
known AS MATERIALIZED (SELECT id FROM gone UNION ALL SELECT id FROM retried),
ended AS (
  INSERT INTO ended_deliveries (id, account_id, webhook_id, state, tries, attempts_made, generation, since, created_at, ended_at,
    first_at, first_status, first_duration_ms, first_address, first_response)
  SELECT id, account_id, webhook_id, state, tries, made, generation, since, created_at, ended, first_at,
    CASE WHEN first_at IS NOT NULL THEN status END, CASE WHEN first_at IS NOT NULL THEN duration END,
    CASE WHEN first_at IS NOT NULL THEN address END, CASE WHEN first_at IS NOT NULL THEN response END FROM gone),
logged AS (
  INSERT INTO attempts (delivery_id, at, probe, status, duration_ms, error, address, response)
  SELECT id, at, probe, status, duration, error, address, response FROM input i
  WHERE NOT (${IS_FIRST}) AND id IN (SELECT id FROM known)
  ON CONFLICT (delivery_id, at) DO UPDATE SET probe = excluded.probe, status = excluded.status,
    duration_ms = excluded.duration_ms, error = excluded.error, address = excluded.address, response = excluded.response)
SELECT job, id, NULL AS lease FROM input WHERE id NOT IN (SELECT id FROM known)
${isFenced ? 'UNION ALL SELECT job, NULL, name FROM lost' : ''}`

const PLAIN = statementOf(false)
const FENCED = statementOf(true)

/** Opens the group commit of outcomes. Without an answer they can be given again: written twice they are the same. */
export function openOutcomeCommits(db: Database): GroupCommit<OutcomeJob, number[]> {
  const { outcomes: client } = db

  async function send(jobs: readonly OutcomeJob[]): Promise<(number[] | Error)[]> {
    const isFenced = jobs.some(({ fence }) => fence !== undefined)
    const rows = await retryConflicts(() =>
      client.query<{ job: number; id: number | null; lease: string | null }>(
        isFenced ? FENCED : PLAIN,
        valuesOf(jobs, isFenced),
      ),
    )
    const lost = jobs.map((_, job) => rows.flatMap((row) => (row.job === job ? (row.lease ?? []) : [])))
    const late = jobs.map((_, job) => rows.flatMap((row) => (row.job === job ? (row.id ?? []) : [])))
    const results: (number[] | Error)[] = []
    for (const [job, { batch }] of jobs.entries()) {
      const leases = lost[job] ?? []
      if (leases.length > 0) results.push(new LeaseLost(...leases))
      else results.push(await writeRest(client, batch, late[job] ?? []))
    }
    return results
  }
  const rowsOf = ({ batch }: OutcomeJob) => batch.deliveryIds.length
  const changedBy = ({ batch }: OutcomeJob) => batch.deliveryIds
  return groupCommit({ counts: db.commits, watch: db.outcomeCommits, rowsOf, write: send, changedBy })
}

function valuesOf(jobs: readonly OutcomeJob[], isFenced: boolean): Value[] {
  const all = <Item>(pick: (batch: OutcomeBatch) => readonly Item[]): Item[] =>
    jobs.flatMap(({ batch }) => [...pick(batch)])
  return [
    ints(jobs.flatMap(({ batch }, job) => batch.deliveryIds.map(() => job))),
    bigints(all((batch) => batch.deliveryIds)),
    ints(all((batch) => batch.generations)),
    ints(all((batch) => batch.states)),
    ints(all((batch) => batch.tries)),
    ints(all((batch) => batch.attemptsMade)),
    bigints(all((batch) => batch.dueSteadyUs)),
    bigints(all((batch) => batch.endedUs)),
    bigints(all((batch) => batch.attemptUs)),
    booleans(all((batch) => batch.probes)),
    ints(all((batch) => batch.statuses)),
    ints(all((batch) => batch.durationsMs)),
    texts(all((batch) => batch.errors)),
    texts(all((batch) => batch.addresses)),
    texts(all((batch) => batch.responses)),
    ...(isFenced ? fenceValues(jobs) : []),
  ]
}

/**
 * Writes the rare outcomes: deliveries that ended or were retried by hand in the meantime. Returns the ids of failures
 * that changed nothing.
 */
async function writeRest(client: Client, batch: OutcomeBatch, late: readonly number[]): Promise<number[]> {
  const probed = batch.deliveryIds.filter((_, at) => batch.probes[at] === true)
  if (late.length === 0 && probed.length === 0) return []
  const isLate = new Set(late)
  return client.transaction(async (query) => {
    const superseded: number[] = []
    for (const [at, id] of batch.deliveryIds.entries())
      if (isLate.has(id) && !(await writeLate(query, batch, at))) superseded.push(id)
    if (probed.length > 0) await forgetProbes(query, probed)
    return superseded
  })
}

/**
 * Returns whether the attempt decided the delivery's state: a success always does, a failure only for its own schedule.
 */
async function writeLate(query: Query, batch: OutcomeBatch, at: number): Promise<boolean> {
  const id = batch.deliveryIds[at] ?? 0
  const made = batch.attemptsMade[at] ?? 0
  const isDelivered = batch.states[at] === 1
  const delivered = isDelivered
    ? await query(
        `UPDATE ended_deliveries SET state = 1, tries = $2::int, attempts_made = $3::int, ended_at = $4
         WHERE id = $1 RETURNING 1 AS one`,
        [id, batch.tries[at] ?? 0, made, batch.endedUs[at] ?? 0],
      )
    : []
  if (delivered.length === 0) {
    const counted = await query(
      `WITH p AS (UPDATE pending_deliveries SET attempts_made = greatest(attempts_made, $2::int) WHERE id = $1 RETURNING 1),
         e AS (UPDATE ended_deliveries SET attempts_made = greatest(attempts_made, $2::int) WHERE id = $1 RETURNING 1)
       SELECT 1 AS one FROM p UNION ALL SELECT 1 FROM e`,
      [id, made],
    )
    // The delivery was cancelled and pruned, as retention is short.
    if (counted.length === 0) return false
  }
  await query(
    `INSERT INTO attempts (delivery_id, at, probe, status, duration_ms, error, address, response)
     SELECT $1, $2, $3::boolean, $4::int, $5::int, $6, $7,
       -- Nothing that began before an erasure is kept after it.
       CASE WHEN NOT EXISTS (SELECT 1 FROM events
         WHERE id = $1::bigint / ${DELIVERIES_PER_EVENT} AND body LIKE '${ERASED_START}%') THEN $8::text END
     WHERE NOT EXISTS (SELECT 1 FROM ended_deliveries WHERE id = $1 AND first_at = $2)
     ON CONFLICT (delivery_id, at) DO UPDATE SET probe = excluded.probe, status = excluded.status,
       duration_ms = excluded.duration_ms, error = excluded.error, address = excluded.address, response = excluded.response`,
    [
      id,
      batch.attemptUs[at] ?? 0,
      batch.probes[at] === true,
      batch.statuses[at] ?? null,
      batch.durationsMs[at] ?? 0,
      batch.errors[at] ?? null,
      batch.addresses[at] ?? null,
      batch.responses[at] ?? null,
    ],
  )
  return delivered.length > 0
}

async function forgetProbes(query: Query, ids: readonly number[]): Promise<void> {
  await query(
    `DELETE FROM attempts a USING unnest($1::bigint[]) AS d(id)
     WHERE a.delivery_id = d.id AND a.probe AND a.at < (SELECT at FROM attempts k
       WHERE k.delivery_id = d.id AND k.probe ORDER BY at DESC LIMIT 1 OFFSET ${PROBES_KEPT - 1})`,
    [bigints(ids)],
  )
}

const ENDED = `INSERT INTO ended_deliveries
    (id, account_id, webhook_id, state, tries, attempts_made, generation, since, created_at, ended_at)
  SELECT id, account_id, webhook_id, $1::smallint, tries, attempts_made, generation, since, created_at, $2 FROM gone
  RETURNING id`

type Step = { readonly webhookId: number; readonly nowUs: number; readonly limit: number }

/**
 * Cancels a batch of deliveries of a webhook that has left its list. With the last one the removal is complete: later
 * retries are sent.
 */
export async function cancelUnlisted(query: Query, { webhookId, nowUs, limit }: Step): Promise<number[]> {
  const rows = await query<{ id: number }>(
    `WITH gone AS (DELETE FROM pending_deliveries WHERE id IN (SELECT id FROM pending_deliveries WHERE webhook_id = $3
       AND id <= (SELECT cancelled_to FROM webhooks WHERE id = $3) ORDER BY id LIMIT $4::int) RETURNING *) ${ENDED}`,
    [3, nowUs, webhookId, limit],
  )
  if (rows.length === 0)
    await query('UPDATE webhooks SET cancelled_to = 0 WHERE id = $1 AND cancelled_to > 0', [webhookId])
  return rows.map(({ id }) => id).toSorted((one, other) => one - other)
}

/** Fails a batch of expired deliveries of a webhook. Returns their ids. */
export async function failExpired(
  query: Query,
  { webhookId, nowUs, limit, beforeSteadyUs }: Step & { readonly beforeSteadyUs: number },
): Promise<number[]> {
  const rows = await query<{ id: number }>(
    `WITH gone AS (DELETE FROM pending_deliveries WHERE id IN (SELECT id FROM pending_deliveries
       WHERE webhook_id = $3 AND since < $5 ORDER BY id LIMIT $4::int) RETURNING *) ${ENDED}`,
    [2, nowUs, webhookId, limit, beforeSteadyUs],
  )
  return rows.map(({ id }) => id).toSorted((one, other) => one - other)
}

/** Splits a batch with several attempts of one delivery, which a statement cannot take, into batches in their order. */
export function splitByDelivery(batch: OutcomeBatch): OutcomeBatch[] {
  const seen = new Map<number, number>()
  const turns = batch.deliveryIds.map((id) => {
    const turn = seen.get(id) ?? 0
    seen.set(id, turn + 1)
    return turn
  })
  const count = Math.max(0, ...turns) + 1
  if (count === 1) return [batch]
  return Array.from({ length: count }, (_, turn): OutcomeBatch => {
    const of = <Item>(items: readonly Item[]): Item[] => items.filter((_item, at) => turns[at] === turn)
    return {
      deliveryIds: of(batch.deliveryIds),
      generations: of(batch.generations),
      states: of(batch.states),
      tries: of(batch.tries),
      attemptsMade: of(batch.attemptsMade),
      dueSteadyUs: of(batch.dueSteadyUs),
      endedUs: of(batch.endedUs),
      attemptUs: of(batch.attemptUs),
      probes: of(batch.probes),
      statuses: of(batch.statuses),
      durationsMs: of(batch.durationsMs),
      errors: of(batch.errors),
      addresses: of(batch.addresses),
      responses: of(batch.responses),
    }
  })
}
