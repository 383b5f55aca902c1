import { sql } from 'drizzle-orm'
import type { ErasedCounts, MaintenanceStore, NumberPlace, NumberStep } from '../operations/maintenance.ts'
import { ENDED_TABLE, IS_ERASED, OF_EVENT, PENDING, PER_EVENT } from './deliveries.ts'
import { eraseKept } from './flows.ts'
import { type Declarations, read, write } from './operation.ts'
import { all, among, contains, count, first, forUpdate, integers, run, tableOf, texts, type Work } from './statement.ts'

/**
 * Erases a number from every call that contains it. The record is deleted. Its events keep only the facts that the log
 * needs (event, time, delivered or not). A live call continues with an unknown party.
 */

/** A number as JSON contains it: a whole string, so that longer numbers do not match. */
const quoted = (number: string) => JSON.stringify(number)

/** Records or events that one step of a search reads: some milliseconds, and some MB. */
const SPAN = 500

const SEARCHED = {
  calls: { table: sql`calls`, callId: sql`id`, text: sql`record` },
  events: { table: sql`events`, callId: sql`call_id`, text: sql`body` },
} as const

function* findCalls(number: string, from: NumberPlace): Work<NumberStep> {
  const { table, callId, text } = SEARCHED[from.of]
  const found = yield* first<{ id: string | number }>(sql`
    SELECT id FROM ${table} WHERE id > ${from.afterId} ORDER BY id LIMIT 1 OFFSET ${SPAN - 1}`)
  const until = found === undefined ? sql`` : sql`AND id <= ${found.id}`
  const rows = yield* all<{ callId: string }>(sql`
    SELECT DISTINCT ${callId} AS "callId" FROM ${table}
    WHERE id > ${from.afterId} ${until} AND ${contains(text, quoted(number))}`)
  return { callIds: rows.map(({ callId }) => callId), next: placeAfter(from, found?.id) }
}

/** All records are searched, then all events; `id`: the last that was read, `undefined` at the end of them. */
function placeAfter({ of }: NumberPlace, id: string | number | undefined): NumberPlace | null {
  if (typeof id === 'string') return { of: 'calls', afterId: id }
  if (typeof id === 'number') return { of: 'events', afterId: id }
  return of === 'calls' ? { of: 'events', afterId: 0 } : null
}

/** Erases a few calls, so that no commit takes long. */
function* eraseCalls(ids: readonly string[]): Work<ErasedCounts> {
  const calls = yield* count(sql`DELETE FROM calls WHERE id ${among(texts(ids))} RETURNING 1`)
  const rows = yield* all<{ id: number; body: string; pending: unknown }>(sql`
    SELECT e.id, e.body, EXISTS (SELECT 1 FROM ${PENDING} AS d WHERE ${OF_EVENT}) AS pending
    FROM events e WHERE e.call_id ${among(texts(ids))} AND NOT ${IS_ERASED}`)
  const ended = rows.filter(({ pending }) => !pending)
  const eventIds = integers(ended.map(({ id }) => id))
  const emptied = tableOf('r', { id: eventIds, body: texts(ended.map(({ body }) => emptiedBody(body))) })
  yield* run(sql`UPDATE events SET body = r.body FROM ${emptied} WHERE events.id = r.id`)
  yield* run(sql`
    UPDATE attempts SET response = NULL, url = NULL FROM ${tableOf('e', { id: eventIds })}
    WHERE attempts.delivery_id >= e.id * ${PER_EVENT} AND attempts.delivery_id < (e.id + 1) * ${PER_EVENT}
      AND (attempts.response IS NOT NULL OR attempts.url IS NOT NULL)`)
  yield* run(sql`
    UPDATE ${ENDED_TABLE} AS d SET first_response = NULL FROM ${tableOf('e', { id: eventIds })}
    WHERE ${OF_EVENT} AND d.first_response IS NOT NULL`)
  yield* eraseKept(ids)
  return { calls, events: ended.length, pending: rows.length - ended.length }
}

/** The call that a call was merged into proves that it ended. */
function emptiedBody(body: string): string {
  const otherCallId = otherCallIdOf(body)
  const transfer = otherCallId === undefined ? null : { other_call_id: otherCallId }
  return JSON.stringify({ erased: true, data: { transfer } })
}

/** Returns the call that the event of a transfer names beside its own. */
export function otherCallIdOf(body: string): string | undefined {
  const found = body.includes('"other_call_id"') ? JSON.parse(body)?.data?.transfer?.other_call_id : undefined
  return typeof found === 'string' ? found : undefined
}

/**
 * Erases a number from live calls, in each spelling that their events have beside it. Returns the number of calls that
 * contain it: a running service has them in memory, and may write the number again.
 */
function* eraseLive(number: string): Work<number> {
  const events = yield* all<{ id: string; body: string }>(sql`
    SELECT call_id AS id, body FROM events
    WHERE call_id IN (SELECT id FROM live_calls) AND ${contains(sql`body`, quoted(number))}`)
  const spellings = new Map<string, Set<string>>()
  for (const { id, body } of events)
    spellings.set(id, spellingsIn(JSON.parse(body), number, spellings.get(id) ?? new Set([number])))
  const rows = yield* all<{ pbx: string; id: string; state: string }>(sql`
    SELECT pbx, id, state FROM live_calls
    WHERE id ${among(texts([...spellings.keys()]))} OR ${contains(sql`state`, quoted(number))} ${forUpdate}`)
  for (const { pbx, id, state } of rows) {
    const without = JSON.stringify(withoutNumbers(JSON.parse(state), spellings.get(id) ?? new Set([number])))
    yield* run(sql`UPDATE live_calls SET state = ${without} WHERE pbx = ${pbx} AND id = ${id}`)
  }
  return rows.length
}

/** Adds the numbers, as the PBX spells them, of the parties whose E.164 form is `e164`. */
function spellingsIn(value: unknown, e164: string, found: Set<string>): Set<string> {
  if (typeof value !== 'object' || value === null) return found
  if ('e164' in value && value.e164 === e164 && 'number' in value && typeof value.number === 'string')
    found.add(value.number)
  for (const item of Object.values(value)) spellingsIn(item, e164, found)
  return found
}

/** The operations that erase a number. */
export const ERASE: Declarations<Pick<MaintenanceStore, 'callFindNumber' | 'callErase' | 'liveCallErase'>> = {
  callFindNumber: read(findCalls),
  callErase: write(eraseCalls, { isSlow: true }),
  liveCallErase: write(eraseLive, { isSlow: true }),
}

/** Replaces numbers in data by `null`, and in channel variables, which are strings, by an empty one. */
function withoutNumbers(value: unknown, numbers: ReadonlySet<string>, within = ''): unknown {
  if (typeof value === 'string' && numbers.has(value)) return within === 'variables' ? '' : null
  if (Array.isArray(value)) return value.map((item) => withoutNumbers(item, numbers, within))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      withoutNumbers(item, numbers, key === 'variables' ? key : within),
    ]),
  )
}
