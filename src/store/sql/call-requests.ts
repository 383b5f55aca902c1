import { type SQL, sql } from 'drizzle-orm'
import { SECOND } from '../../lib/time.ts'
import type {
  CallRequestAdded,
  CallRequestRecord,
  CallRequestState,
  CallRequestStore,
  NewCallRequest,
  TakenCallRequest,
} from '../operations/call-requests.ts'
import { type Declarations, fencedWrite, read, write } from './operation.ts'
import { all, among, either, exists, first, forUpdate, run, texts, type Work } from './statement.ts'

const MINUTE = 60 * SECOND
/** A call that is made later than this would surprise: the person has given up, or pressed again. */
const MAX_AGE_US = 3 * SECOND
/** A call that the events of its PBX have not shown by then was not made. */
const UNSEEN_US = 60 * SECOND
/** Requests are kept for the limit and for busy phones, both of which need less. */
const KEEP_US = 24 * 60 * MINUTE
const TOO_LATE = 'the request waited too long, so that nothing was dialled'

/** The clock of the database, since the nodes' clocks differ; SQLite is used by one machine. */
const now = (atUs: number): SQL =>
  either({
    sqlite: sql`${atUs}`,
    postgres: sql`(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`,
  })

const RECORD = sql`id, account_id AS "accountId", pbx, extension, call_id AS "callId", state, reason`
const TAKEN = sql`id, account_id AS "accountId", pbx, extension, call_id AS "callId", number, name`

/** The condition that a request keeps its phone busy. */
const isOpen = (atUs: number): SQL => sql`
  extension IS NOT NULL AND NOT is_over AND state <> 'refused' AND (call_id IS NOT NULL OR at > ${now(atUs)} - ${UNSEEN_US})`

function* addRequest(request: NewCallRequest): Work<CallRequestAdded> {
  const { id, accountId, pbx, extension, number, name, callId, atUs, limit } = request
  // One request of an account at a time: of two for one phone the second has to find the first.
  yield* run(sql`SELECT 1 FROM accounts WHERE id = ${accountId} ${forUpdate}`)
  yield* run(sql`DELETE FROM call_requests WHERE at < ${now(atUs)} - ${KEEP_US}`)
  if (extension !== null) {
    const isBusy = yield* exists(sql`
      SELECT 1 FROM call_requests
      WHERE account_id = ${accountId} AND pbx = ${pbx} AND extension = ${extension} AND ${isOpen(atUs)}`)
    if (isBusy) return { kind: 'busy' }
    const used = yield* first<{ waitUs: number }>(sql`
      SELECT at + ${MINUTE} - ${now(atUs)} AS "waitUs" FROM call_requests
      WHERE account_id = ${accountId} AND extension IS NOT NULL AND at > ${now(atUs)} - ${MINUTE}
      ORDER BY at DESC LIMIT 1 OFFSET ${limit - 1}`)
    if (used !== undefined) return { kind: 'too_many', waitUs: used.waitUs }
  }
  yield* run(sql`
    INSERT INTO call_requests (id, account_id, pbx, extension, number, name, call_id, state, at, is_over)
    VALUES (${id}, ${accountId}, ${pbx}, ${extension}, ${number}, ${name}, ${callId}, 'stored', ${now(atUs)}, FALSE)`)
  return { kind: 'added' }
}

function* takeRequests({ pbx, atUs }: { pbx: string; atUs: number }): Work<TakenCallRequest[]> {
  yield* run(sql`
    UPDATE call_requests SET state = 'refused', reason = ${TOO_LATE}, number = NULL, name = NULL
    WHERE pbx = ${pbx} AND state = 'stored' AND at < ${now(atUs)} - ${MAX_AGE_US}`)
  return yield* all<TakenCallRequest>(sql`
    UPDATE call_requests SET state = 'asked' WHERE pbx = ${pbx} AND state = 'stored' RETURNING ${TAKEN}`)
}

type Answer = { id: string; state: CallRequestState; reason: string | null }

/** The operations on requests to make calls. */
export const CALL_REQUESTS: Declarations<CallRequestStore> = {
  callRequestAdd: write(addRequest),
  callRequestTake: fencedWrite(takeRequests, {
    onlyIf: { work: () => exists(sql`SELECT 1 FROM call_requests WHERE state = 'stored' LIMIT 1`), otherwise: [] },
  }),
  callRequestSetAnswer: fencedWrite(
    ({ id, state, reason }: Answer) =>
      run(sql`
        UPDATE call_requests SET state = ${state}, reason = ${reason}, number = NULL, name = NULL
        WHERE id = ${id} AND state = 'asked'`),
    { isQuiet: true },
  ),
  callRequestSetCall: fencedWrite(
    ({ id, callId }: { id: string; callId: string }) =>
      run(sql`UPDATE call_requests SET call_id = ${callId} WHERE id = ${id} AND extension IS NOT NULL`),
    { isQuiet: true },
  ),
  callRequestSetOver: fencedWrite(
    (ids: readonly string[]) => run(sql`UPDATE call_requests SET is_over = TRUE WHERE id ${among(texts(ids))}`),
    { isQuiet: true },
  ),
  callRequestGet: read((id) => first<CallRequestRecord>(sql`SELECT ${RECORD} FROM call_requests WHERE id = ${id}`)),
  callRequestListOpen: read(({ pbx, atUs }) =>
    all<CallRequestRecord>(sql`SELECT ${RECORD} FROM call_requests WHERE pbx = ${pbx} AND ${isOpen(atUs)}`),
  ),
}
