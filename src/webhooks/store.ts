import { and, asc, desc, eq, inArray, isNotNull, isNull, lt, max, notInArray } from 'drizzle-orm'
import type { Database } from '../db/database.ts'
import { mutation, type Tx } from '../db/mutation.ts'
import { deliveries, secrets, webhooks } from '../db/schema.ts'
import { etagMatches, etagOf } from './etag.ts'
import type { Webhook, WebhookList } from './model.ts'

type Row = typeof webhooks.$inferSelect
/** A webhook's identity within its account. */
const identity = (url: string, occurrence: number) => `${occurrence} ${url}`

type Replacement = {
  accountId: number
  list: WebhookList
  /** The list is replaced only if it is still the one that this names; `null`: whatever it is. */
  ifMatch: string | null
  /** One new secret for each entry of the list, used where its URL has none yet. */
  secrets: readonly string[]
  nowUs: number
}

/** Of an account, the secrets that are kept of URLs that left its list. */
const LEFT_SECRETS_KEPT = 1_000

/**
 * Replaces the whole list, or nothing of it (`false`: it is not the one that `ifMatch` names). A webhook that stays keeps its row;
 * what waits for one that leaves is cancelled by its `cancelled_to`; one that comes back comes back to its row, as long as there is one.
 */
export const replaceList = mutation('webhooks.replaceList', (tx: Tx, change: Replacement): boolean => {
  const { accountId, list, ifMatch } = change
  const rows = tx.select().from(webhooks).where(eq(webhooks.accountId, accountId)).all()
  if (ifMatch !== null && !etagMatches(ifMatch, etagOf(shown(rows)))) return false
  const known = new Map(rows.map((row) => [identity(row.url, row.occurrence), row]))
  const seen = new Map<string, number>()
  list.forEach((webhook, position) => {
    const occurrence = seen.get(webhook.url) ?? 0
    seen.set(webhook.url, occurrence + 1)
    const values = { ...switches(webhook), position }
    const row = known.get(identity(webhook.url, occurrence))
    known.delete(identity(webhook.url, occurrence))
    if (row === undefined)
      tx.insert(webhooks)
        .values({ accountId, url: webhook.url, occurrence, ...values })
        .run()
    else tx.update(webhooks).set(values).where(eq(webhooks.id, row.id)).run()
    const secret = change.secrets[position]
    if (secret !== undefined)
      tx.insert(secrets).values({ accountId, url: webhook.url, secret }).onConflictDoNothing().run()
  })
  const left = [...known.values()].filter((row) => row.position !== null).map((row) => row.id)
  if (left.length > 0) {
    const leftTo =
      tx
        .select({ id: max(deliveries.id) })
        .from(deliveries)
        .get()?.id ?? 0
    tx.update(webhooks).set({ position: null, cancelledTo: leftTo, leftTo }).where(inArray(webhooks.id, left)).run()
  }
  noteLeftSecrets(tx, change)
  return true
})

/** A secret's year begins when its URL leaves the list, and is over when it comes back. */
function noteLeftSecrets(tx: Tx, { accountId, list, nowUs }: Replacement): void {
  const urls = list.map(({ url }) => url)
  const mine = eq(secrets.accountId, accountId)
  tx.update(secrets)
    .set({ leftAt: null })
    .where(and(mine, inArray(secrets.url, urls)))
    .run()
  tx.update(secrets)
    .set({ leftAt: nowUs })
    .where(and(mine, isNull(secrets.leftAt), notInArray(secrets.url, urls)))
    .run()
  const left = tx
    .select({ url: secrets.url })
    .from(secrets)
    .where(and(mine, isNotNull(secrets.leftAt)))
    .orderBy(desc(secrets.leftAt), asc(secrets.url))
    .all()
  for (const { url } of left.slice(LEFT_SECRETS_KEPT))
    tx.delete(secrets)
      .where(and(mine, eq(secrets.url, url)))
      .run()
}

/** Deletes a step of the secrets whose URL left the list before a time. @returns how many. */
export const pruneSecrets = mutation(
  'webhooks.pruneSecrets',
  (tx: Tx, { beforeUs, step }: { readonly beforeUs: number; readonly step: number }): number => {
    const old = tx.select().from(secrets).where(lt(secrets.leftAt, beforeUs)).limit(step).all()
    for (const { accountId, url } of old)
      tx.delete(secrets)
        .where(and(eq(secrets.accountId, accountId), eq(secrets.url, url)))
        .run()
    return old.length
  },
)

export async function readList(db: Database, accountId: number): Promise<WebhookList> {
  return shown(db.read.select().from(webhooks).where(listed(accountId)).all())
}

type Secret = { url: string; secret: string; previousUntilUs: number | null }

/** The secret of each URL of the list, in the list's order, each URL once. */
export async function readSecrets(db: Database, accountId: number): Promise<Secret[]> {
  return db.read
    .select({ url: secrets.url, secret: secrets.secret, previousUntilUs: secrets.previousUntil })
    .from(webhooks)
    .innerJoin(secrets, and(eq(secrets.accountId, webhooks.accountId), eq(secrets.url, webhooks.url)))
    .where(and(listed(accountId), eq(webhooks.occurrence, 0)))
    .orderBy(asc(webhooks.position))
    .all()
}

type Rotation = {
  accountId: number
  url: string
  secret: string
  nowUs: number
  previousUntilUs: number
  /** Ends a secret that still signs beside the present one. */
  force: boolean
}

/**
 * Gives a URL of the list a new secret; the one before signs too until `previousUntilUs`. Returns `not listed` if the URL is not in the list,
 * or until when (microseconds) an earlier secret still signs, in which case nothing is changed unless it is forced.
 */
export const rotateSecret = mutation(
  'webhooks.rotateSecret',
  (tx: Tx, rotation: Rotation): 'rotated' | 'not listed' | number => {
    const { accountId, url, secret, nowUs, previousUntilUs, force } = rotation
    const inList = tx
      .select({ id: webhooks.id })
      .from(webhooks)
      .where(and(listed(accountId), eq(webhooks.url, url)))
      .get()
    if (inList === undefined) return 'not listed'
    const mine = and(eq(secrets.accountId, accountId), eq(secrets.url, url))
    const untilUs = tx.select().from(secrets).where(mine).get()?.previousUntil ?? 0
    if (untilUs > nowUs && !force) return untilUs
    tx.update(secrets).set({ previous: secrets.secret, previousUntil: previousUntilUs, secret }).where(mine).run()
    return 'rotated'
  },
)

const listed = (accountId: number) => and(eq(webhooks.accountId, accountId), isNotNull(webhooks.position))

function switches(webhook: Webhook) {
  return {
    callStarted: webhook.call_started,
    callEnded: webhook.call_ended,
    dialStarted: webhook.dial_started,
    dialAnswered: webhook.dial_answered,
    dialEnded: webhook.dial_ended,
    callTransferred: webhook.call_transferred,
    callSaved: webhook.call_saved,
  }
}

/** The rows that are in the list, in its order, as clients see them. */
function shown(rows: readonly Row[]): WebhookList {
  return rows
    .filter((row) => row.position !== null)
    .sort((a, b) => (a.position ?? 0) - (b.position ?? 0))
    .map((row) => ({
      url: row.url,
      call_started: row.callStarted,
      call_ended: row.callEnded,
      dial_started: row.dialStarted,
      dial_answered: row.dialAnswered,
      dial_ended: row.dialEnded,
      call_transferred: row.callTransferred,
      call_saved: row.callSaved,
    }))
}
