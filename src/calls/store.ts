import { and, eq } from 'drizzle-orm'
import type { Database } from '../db/database.ts'
import { mutation, type Tx } from '../db/mutation.ts'
import { prepared } from '../db/prepared.ts'
import { calls, liveCalls } from '../db/schema.ts'
import { enqueueEvents, type NewEvent, type Placed } from '../deliveries/outbox.ts'
import { DIRECTIONS, type Direction } from './words.ts'

/** A call whose record is complete. `record` is JSON: `{ call, stages, recordings }`. */
export type SavedCall = {
  readonly id: string
  readonly savedUs: number
  readonly direction: Direction
  readonly fromNumber: string | null
  readonly toNumber: string | null
  readonly record: string
}

/** What an account is told of. */
type Told = {
  readonly accountId: number
  readonly events: readonly NewEvent[]
  readonly saved: readonly SavedCall[]
}

/** All that happened at one PBX since the last commit. */
export type Happened = Told & {
  readonly pbx: string
  /** Calls that began when the PBX was another account's: they stay its own. */
  readonly others?: readonly Told[]
  /** Live calls as they are now (JSON of a StoredCall), and those that are over. */
  readonly live: readonly { readonly id: string; readonly state: string }[]
  readonly removed: readonly string[]
  /** In steady time (deliveries/clock). */
  readonly nowUs: number
}

/** Stores calls, events and deliveries together: after a crash they agree. Returns where the events are, those of `others` last. */
export const storeHappened = mutation('calls.happened', (tx: Tx, happened: Happened): Placed[] => {
  const { pbx, live, removed, others = [], nowUs } = happened
  const putLive = prepared<never, [string, string, string]>(
    tx,
    'INSERT INTO live_calls (pbx, id, state) VALUES (?, ?, ?) ON CONFLICT (pbx, id) DO UPDATE SET state = excluded.state',
  )
  for (const call of live) putLive.run(pbx, call.id, call.state)
  const dropLive = prepared<never, [string, string]>(tx, 'DELETE FROM live_calls WHERE pbx = ? AND id = ?')
  for (const id of removed) dropLive.run(pbx, id)
  const putCall = prepared<never, [string, number, number, string, string | null, string | null, string]>(
    tx,
    'INSERT OR REPLACE INTO calls (id, account_id, saved_at, direction, from_number, to_number, record) VALUES (?, ?, ?, ?, ?, ?, ?)',
  )
  return [happened, ...others].flatMap(({ accountId, events, saved }) => {
    for (const call of saved) {
      putCall.run(call.id, accountId, call.savedUs, call.direction, call.fromNumber, call.toNumber, call.record)
    }
    return enqueueEvents(tx, { accountId, events, nowUs })
  })
})

/** The live calls of a PBX as they were stored last (JSON of a StoredCall each). */
export async function readLiveCalls(db: Database, pbx: string): Promise<string[]> {
  const rows = db.read.select({ state: liveCalls.state }).from(liveCalls).where(eq(liveCalls.pbx, pbx)).all()
  return rows.map((row) => row.state)
}

/** Returns whose each live call of a PBX is: the account that got its start. */
export async function readLiveAccounts(db: Database, pbx: string): Promise<LiveAccount[]> {
  return prepared<LiveAccount, [string]>(
    db.read,
    `SELECT l.id AS callId, a.id AS accountId, a.name AS account FROM live_calls l JOIN accounts a
       ON a.id = (SELECT e.account_id FROM events e WHERE e.call_id = l.id LIMIT 1)
     WHERE l.pbx = ?`,
  ).all(pbx)
}

type LiveAccount = { readonly callId: string; readonly accountId: number; readonly account: string }

export type Orphaned = { readonly pbx: string; readonly accountId: number; readonly account: string }

/** PBXs that left calls open and are none of these, with an account that was told of them. */
export async function readOrphaned(db: Database, watched: readonly string[]): Promise<Orphaned[]> {
  return prepared<Orphaned, [string]>(
    db.read,
    `SELECT l.pbx, min(e.account_id) AS accountId, a.name AS account
     FROM live_calls l JOIN events e ON e.call_id = l.id JOIN accounts a ON a.id = e.account_id
     WHERE l.pbx NOT IN (SELECT value FROM json_each(?)) GROUP BY l.pbx`,
  ).all(JSON.stringify(watched))
}

export type CallFilter = {
  readonly direction?: Direction
  /** Whom it was from or to. */
  readonly number?: string
  readonly sinceUs?: number | undefined
  readonly untilUs?: number | undefined
}

/** Where the page before ended. */
export type CallPosition = { readonly savedUs: number; readonly id: string }

export type CallRow = { readonly id: string; readonly savedUs: number; readonly record: string }

const NEWEST: CallPosition = { savedUs: Number.MAX_SAFE_INTEGER, id: '' }

/** Saved calls of an account, newest first. Of each range that may hold some as many are read as a page shows, from its index alone. */
export async function readCalls(
  db: Database,
  accountId: number,
  filter: CallFilter,
  { limit, after }: { limit: number; after: CallPosition | undefined },
): Promise<CallRow[]> {
  const until: CallPosition = filter.untilUs === undefined ? NEWEST : { savedUs: filter.untilUs, id: '' }
  const before = after !== undefined && after.savedUs < until.savedUs ? after : until
  const found = rangesOf(filter).flatMap(({ index, numbered, values }) =>
    prepared<CallPosition, (string | number)[]>(
      db.read,
      `SELECT id, saved_at AS savedUs FROM calls INDEXED BY ${index} WHERE account_id = ? ${numbered} AND direction = ?
         AND saved_at >= ? AND (saved_at, id) < (?, ?) ORDER BY saved_at DESC, id DESC LIMIT ?`,
    ).all(accountId, ...values, filter.sinceUs ?? 0, before.savedUs, before.id, limit),
  )
  // A call from a number to the same is found twice.
  const ids = new Set(found.toSorted(newestFirst).map(({ id }) => id))
  const recordOf = prepared<CallRow, [string]>(
    db.read,
    'SELECT id, saved_at AS savedUs, record FROM calls WHERE id = ?',
  )
  return [...ids].slice(0, limit).flatMap((id) => recordOf.get(id) ?? [])
}

/** Where a filter's calls are: without a number or a direction, with each that there is. */
function rangesOf({ direction, number }: CallFilter) {
  const directions = direction === undefined ? DIRECTIONS : [direction]
  if (number === undefined)
    return directions.map((one) => ({ index: 'calls_by_direction', numbered: '', values: [one] }))
  return directions.flatMap((one) => [
    { index: 'calls_by_from', numbered: 'AND from_number = ?', values: [number, one] },
    { index: 'calls_by_to', numbered: 'AND to_number = ?', values: [number, one] },
  ])
}

const newestFirst = (one: CallPosition, other: CallPosition): number =>
  other.savedUs - one.savedUs || Number(other.id > one.id) - Number(other.id < one.id)

export async function readCall(db: Database, accountId: number, id: string): Promise<string | undefined> {
  const found = and(eq(calls.accountId, accountId), eq(calls.id, id))
  return db.read.select({ record: calls.record }).from(calls).where(found).get()?.record
}

/** Takes out records saved before a time, some at a time, so that no commit waits long. Returns how many. */
export const pruneCalls = mutation(
  'calls.prune',
  (tx: Tx, { beforeUs, limit }: { beforeUs: number; limit: number }): number => {
    return prepared<never, [string, number, number]>(
      tx,
      // Account by account and direction by direction, as the index has them.
      `DELETE FROM calls WHERE id IN
         (SELECT c.id FROM accounts a CROSS JOIN json_each(?) d
          CROSS JOIN calls c INDEXED BY calls_by_direction ON c.account_id = a.id AND c.direction = d.value
          WHERE c.saved_at < ? LIMIT ?)`,
    ).run(JSON.stringify(DIRECTIONS), beforeUs, limit).changes
  },
)
