import type { Tx } from '../db/mutation.ts'
import { prepared } from '../db/prepared.ts'
import { SECOND } from '../lib/time.ts'
import { STEPPED } from './clock-store.ts'
import { DELIVERIES_PER_EVENT } from './outbox.ts'
import { type State, stateNumber } from './record-store.ts'

/** Which deliveries of an account are meant; what is absent does not matter. */
export type LogFilter = {
  /** `null`: of every account, for the operator. */
  readonly accountId: number | null
  readonly state?: State | undefined
  readonly event?: string | undefined
  readonly url?: string | undefined
  readonly callId?: string | undefined
  readonly sinceUs?: number | undefined
  readonly untilUs?: number | undefined
}

export type LogRow = {
  readonly id: number
  readonly uuid: string
  readonly event: string
  readonly callId: string
  readonly url: string
  readonly state: number
  readonly attemptsMade: number
  readonly dueUs: number | null
  readonly createdUs: number
  readonly endedUs: number | null
}

export type AttemptRow = {
  readonly atUs: number
  readonly status: number | null
  readonly durationMs: number
  readonly error: string | null
  readonly address: string | null
  readonly response: string | null
}

type Bindings = (string | number)[]
type Condition = { readonly sql: string; readonly values: Bindings }

const COLUMNS = `d.id, e.uuid, e.name AS event, e.call_id AS callId, w.url, d.state, d.attempts_made AS attemptsMade,
  d.due_at + ${STEPPED} AS dueUs, d.created_at AS createdUs, d.ended_at AS endedUs`

/** By events, whose ids are in the order of the deliveries' ids. */
const BY_ACCOUNT = `FROM events e CROSS JOIN deliveries d
    ON d.id >= e.id * ${DELIVERIES_PER_EVENT} AND d.id < (e.id + 1) * ${DELIVERIES_PER_EVENT}
  CROSS JOIN webhooks w ON w.id = d.webhook_id`
/** By one of the small indexes, for one webhook. */
const byIndex = (index: string) => `FROM deliveries d INDEXED BY ${index}
  CROSS JOIN events e ON e.id = d.id / ${DELIVERIES_PER_EVENT} CROSS JOIN webhooks w ON w.id = d.webhook_id`

const IN_INDEX: Readonly<Record<'fresh' | 'retry' | 'lost', string>> = {
  fresh: 'd.state = 0 AND d.due_at IS NULL',
  retry: 'd.state = 0 AND d.due_at IS NOT NULL',
  lost: 'd.state > 1',
}
/** Where the deliveries of a state are found without going through all that was delivered. */
const INDEXES: Readonly<Record<State, readonly (keyof typeof IN_INDEX)[]>> = {
  pending: ['fresh', 'retry'],
  delivered: [],
  failed: ['lost'],
  cancelled: ['lost'],
}

/** Deliveries that match, newest first, from below an id on. */
export function readLog(tx: Tx, filter: LogFilter, beforeId: number, limit: number): LogRow[] {
  const conditions = conditionsOf(tx, filter, beforeId)
  const indexes = filter.state === undefined ? [] : INDEXES[filter.state]
  if (indexes.length === 0) return select(tx, BY_ACCOUNT, conditions, 'e.id DESC, d.id DESC', limit)
  const webhooks = prepared<{ id: number }, [number | null]>(
    tx,
    'SELECT id FROM webhooks WHERE account_id = ifnull(?, account_id)',
  )
  return webhooks
    .all(filter.accountId)
    .flatMap(({ id }) =>
      indexes.flatMap((index) => {
        const own = [{ sql: `d.webhook_id = ? AND ${IN_INDEX[index]}`, values: [id] }, ...conditions]
        return select(tx, byIndex(`deliveries_${index}`), own, 'd.id DESC', limit)
      }),
    )
    .sort((one, other) => other.id - one.id)
    .slice(0, limit)
}

function select(tx: Tx, from: string, conditions: readonly Condition[], order: string, limit: number): LogRow[] {
  const where = conditions.map(({ sql }) => sql).join(' AND ')
  const sql = `SELECT ${COLUMNS} ${from} WHERE ${where} ORDER BY ${order} LIMIT ?`
  return prepared<LogRow, Bindings>(tx, sql).all(...conditions.flatMap(({ values }) => values), limit)
}

function conditionsOf(tx: Tx, filter: LogFilter, beforeId: number): Condition[] {
  const { accountId, state, event, url, callId, sinceUs, untilUs } = filter
  const conditions: Condition[] = [
    { sql: 'e.id <= ? AND d.id < ?', values: [Math.floor(beforeId / DELIVERIES_PER_EVENT), beforeId] },
  ]
  const add = (sql: string, ...values: Bindings) => void conditions.push({ sql, values })
  if (accountId !== null) add('e.account_id = ?', accountId)
  if (state !== undefined) add('d.state = ?', stateNumber(state))
  if (event !== undefined) add('e.name = ?', event)
  if (url !== undefined) add('w.url = ?', url)
  if (callId !== undefined) add('e.call_id = ?', callId)
  if (sinceUs !== undefined) {
    const firstId = idBefore(tx, sinceUs)
    add('d.created_at >= ? AND d.id >= ? AND e.id >= ?', sinceUs, firstId, Math.floor(firstId / DELIVERIES_PER_EVENT))
  }
  if (untilUs !== undefined) add('d.created_at < ?', untilUs)
  return conditions
}

/** A clock that was set back leaves times that do not grow with the ids: so much is looked through besides. */
const CLOCK_SLACK_US = 3_600 * SECOND

/** An id that no delivery of that time or later is below: ids grow with time, so halving finds it without an index. */
function idBefore(tx: Tx, atUs: number): number {
  const nextOf = prepared<{ id: number; createdUs: number }, [number]>(
    tx,
    'SELECT id, created_at AS createdUs FROM deliveries WHERE id >= ? ORDER BY id LIMIT 1',
  )
  const { last } = prepared<{ last: number | null }, []>(tx, 'SELECT max(id) AS last FROM deliveries').get() ?? {}
  let low = 0
  let high = last ?? 0
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const found = nextOf.get(middle)
    if (found === null || found.createdUs >= atUs - CLOCK_SLACK_US) high = middle
    else low = found.id + 1
  }
  return low
}

/** One delivery with its body and its attempts, the oldest first. */
export function readDelivery(tx: Tx, accountId: number | null, id: number) {
  const row = prepared<LogRow & { body: string }, [number, number | null]>(
    tx,
    `SELECT ${COLUMNS}, e.body FROM deliveries d JOIN events e ON e.id = d.id / ${DELIVERIES_PER_EVENT}
     JOIN webhooks w ON w.id = d.webhook_id WHERE d.id = ? AND e.account_id = ifnull(?, e.account_id)`,
  ).get(id, accountId)
  if (row === null) return undefined
  const attempts = prepared<AttemptRow, [number]>(
    tx,
    `SELECT at AS atUs, status, duration_ms AS durationMs, error, address, response FROM attempts
     WHERE delivery_id = ? ORDER BY at`,
  ).all(id)
  return { ...row, attempts }
}
