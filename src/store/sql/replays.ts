import { sql } from 'drizzle-orm'
import { SECOND } from '../../lib/time.ts'
import { DELIVERIES_PER_EVENT } from '../operations/queue.ts'
import type { Replay, ReplayedEvent, ReplayPart, ReplayQuery, ReplayStore } from '../operations/replays.ts'
import { IS_ERASED, OF_EVENT } from './deliveries.ts'
import { type Declarations, read, write } from './operation.ts'
import { makeDue } from './retries.ts'
import { select } from './select.ts'
import {
  all,
  among,
  either,
  exists,
  first,
  forShareOf,
  forUpdateOf,
  indexedBy,
  integers,
  run,
  tableOf,
  texts,
  type Work,
} from './statement.ts'
import { replays } from './tables.ts'

/** The events that one part reads: each may lie in a page of its own that is still on the disk. */
const SPAN = 200
/** Events are stored in the order of their times, but for those that were held back, and steps of the clock. */
const SLACK_US = 3_600 * SECOND

const BY_ACCOUNT = indexedBy('events_by_account')

/** Returns the first event of an account at or after a time: a search by halves, since times have no index. */
function* firstFrom(accountId: number, atUs: number): Work<number> {
  const last = yield* first<{ id: number }>(
    sql`SELECT id FROM events ${BY_ACCOUNT} WHERE account_id = ${accountId} ORDER BY id DESC LIMIT 1`,
  )
  let low = 0
  let high = (last?.id ?? 0) + 1
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const found = yield* first<{ id: number; atUs: number }>(sql`
      SELECT id, at AS "atUs" FROM events ${BY_ACCOUNT}
      WHERE account_id = ${accountId} AND id >= ${middle} ORDER BY id LIMIT 1`)
    if (found === undefined || found.atUs >= atUs) high = middle
    else low = found.id + 1
  }
  return low
}

function* readBounds({ accountId, sinceUs, untilUs }: Pick<ReplayQuery, 'accountId' | 'sinceUs' | 'untilUs'>) {
  const firstId = yield* firstFrom(accountId, sinceUs - SLACK_US)
  return { firstId, endId: (yield* firstFrom(accountId, untilUs + SLACK_US)) - 1 }
}

function* readReplayed(query: ReplayQuery & { readonly afterId: number; readonly endId: number }): Work<ReplayPart> {
  const { accountId, webhookId, sinceUs, untilUs, kinds, again, createdUs, afterId, endId } = query
  // The end of the part is read first, so that reading advances even if nothing matches.
  const found = yield* first<{ id: number }>(sql`
    SELECT id FROM events ${BY_ACCOUNT} WHERE account_id = ${accountId} AND id > ${afterId} AND id <= ${endId}
    ORDER BY id LIMIT 1 OFFSET ${SPAN - 1}`)
  const lastId = found?.id ?? endId
  const events = yield* all<ReplayedEvent>(sql`
    SELECT e.id AS "eventId", e.call_id AS "callId", e.name, e.sequence,
      CASE WHEN d.state = 0 THEN d.id END AS "pendingId"
    FROM events e ${BY_ACCOUNT} LEFT JOIN deliveries d ON ${OF_EVENT} AND d.webhook_id = ${webhookId}
    WHERE e.account_id = ${accountId} AND e.id > ${afterId} AND e.id <= ${lastId}
      AND e.at >= ${sinceUs} AND e.at < ${untilUs} AND e.name ${among(texts(kinds))} AND NOT ${IS_ERASED}
      AND (d.id IS NULL OR d.state = 0 OR (d.ended_at < ${createdUs} AND (${again} OR d.state <> 1)))
    ORDER BY e.id`)
  return { events, lastId, isEnd: found === undefined }
}

type QueueRequest = Parameters<ReplayStore['replayQueue']>[0]
type Place = { readonly eventId: number; readonly ownId: number | null; readonly lastId: number | null }

/**
 * A delivery that an event lacks gets the next place among its deliveries. It has a due time as a retry has, so that
 * the first attempts of new events precede it.
 */
function* queueEvents({
  webhookId,
  eventIds,
  nowSteadyUs,
}: QueueRequest): Work<Awaited<ReturnType<ReplayStore['replayQueue']>>> {
  const webhook = yield* first<{ listed: unknown; cancelledTo: number; accountId: number }>(sql`
    SELECT w.position IS NOT NULL AS listed, w.cancelled_to AS "cancelledTo", w.account_id AS "accountId"
    FROM webhooks w WHERE w.id = ${webhookId} ${forShareOf('w')}`)
  if (webhook === undefined || !webhook.listed) return 'unlisted'
  if (webhook.cancelledTo > 0) return 'leaving'
  const locked = yield* all<{ eventId: number; atUs: number }>(sql`
    SELECT e.id AS "eventId", e.at AS "atUs" FROM events e
    WHERE e.id ${among(integers(eventIds))} AND e.account_id = ${webhook.accountId} AND NOT ${IS_ERASED}
    ORDER BY e.id ${forUpdateOf('e')}`)
  const places = yield* all<Place>(sql`
    SELECT e.id AS "eventId",
      (SELECT max(d.id) FROM deliveries d WHERE ${OF_EVENT} AND d.webhook_id = ${webhookId}) AS "ownId",
      (SELECT max(d.id) FROM deliveries d WHERE ${OF_EVENT}) AS "lastId"
    FROM events e WHERE e.id ${among(integers(locked.map(({ eventId }) => eventId)))} ORDER BY e.id`)
  const known = places.flatMap(({ eventId, ownId }) => (ownId === null ? [] : [{ eventId, id: ownId }]))
  yield* makeDue(
    known.map(({ id }) => id),
    nowSteadyUs,
  )
  const atOf = new Map(locked.map(({ eventId, atUs }) => [eventId, atUs]))
  const added = places.flatMap(({ eventId, ownId, lastId }) => {
    const id = lastId === null ? eventId * DELIVERIES_PER_EVENT : lastId + 1
    return ownId !== null || id >= (eventId + 1) * DELIVERIES_PER_EVENT ? [] : [{ eventId, id }]
  })
  if (added.length > 0) {
    const rows = tableOf('n', {
      id: integers(added.map(({ id }) => id)),
      at: integers(added.map(({ eventId }) => atOf.get(eventId) ?? 0)),
    })
    // Created when its event was: the log finds deliveries of a time by their ids.
    yield* run(
      either({
        sqlite: sql`
          INSERT INTO deliveries (id, webhook_id, state, since, due_at, created_at)
          SELECT n.id, ${webhookId}, 0, ${nowSteadyUs}, ${nowSteadyUs}, n.at FROM ${rows}`,
        postgres: sql`
          INSERT INTO pending_deliveries (id, account_id, webhook_id, since, due_at, created_at)
          SELECT n.id, ${webhook.accountId}, ${webhookId}, ${nowSteadyUs}, ${nowSteadyUs}, n.at FROM ${rows}`,
      }),
    )
  }
  return new Map([...known, ...added].map(({ eventId, id }) => [eventId, id]))
}

/** The operations on past events that are sent to a webhook. */
export const REPLAYS: Declarations<ReplayStore> = {
  replayGetBounds: read(readBounds),
  replayRead: read(readReplayed),
  replayQueue: write(queueEvents),
  replayAdd: write((replay: Replay) =>
    exists(sql`
      INSERT INTO replays (webhook_id, account_id, since, until, kinds, again, next_event_id, end_event_id, created_at)
      VALUES (${replay.webhookId}, ${replay.accountId}, ${replay.sinceUs}, ${replay.untilUs},
        ${JSON.stringify(replay.kinds)}, ${replay.again}, ${replay.nextEventId}, ${replay.endEventId}, ${replay.createdUs})
      ON CONFLICT (webhook_id) DO NOTHING RETURNING 1`),
  ),
  replayList: read(() => select(replays, sql`ORDER BY webhook_id`)),
  replayAdvance: write(
    ({ webhookId, createdUs, nextEventId }) =>
      run(sql`
        UPDATE replays SET next_event_id = ${nextEventId}
        WHERE webhook_id = ${webhookId} AND created_at = ${createdUs}`),
    { isQuiet: true },
  ),
  replayRemove: write(
    ({ webhookId, createdUs }) =>
      run(sql`DELETE FROM replays WHERE webhook_id = ${webhookId} AND created_at = ${createdUs}`),
    { isQuiet: true },
  ),
}
