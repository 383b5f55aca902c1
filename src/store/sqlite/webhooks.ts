import { and, asc, desc, eq, inArray, isNotNull, isNull, max, notInArray } from 'drizzle-orm'
import { switchesOf } from '../../lib/event-kinds.ts'
import { collectInSlices } from '../../lib/slices.ts'
import { etagMatches, etagOf } from '../list-etag.ts'
import { MAX_COUNTED_BRIEFLY } from '../operations/queue.ts'
import {
  LEFT_SECRETS_KEPT,
  type ListedOptions,
  type ListedWebhook,
  type ListReplacement,
  type OptionsReplaced,
  type OptionsReplacement,
  type SecretRotation,
  type WebhookEntry,
  type WebhookRecord,
  type WebhookStore,
} from '../operations/webhooks.ts'
import { deliveries, secrets, webhooks } from '../sql/tables.ts'
import { mergeOptions, readOptions, storedOptions } from '../webhook-options.ts'
import type { Database } from './engine/database.ts'
import { mutation, type Tx } from './engine/mutation.ts'
import { prepared } from './engine/prepared.ts'
import { readClock } from './maintenance/clock.ts'

type Row = typeof webhooks.$inferSelect
/** A webhook's identity within its account. */
const identity = (url: string, occurrence: number) => `${occurrence} ${url}`
const listed = (accountId: number) => and(eq(webhooks.accountId, accountId), isNotNull(webhooks.position))

/**
 * A webhook that stays keeps its row; what is pending for one that leaves is cancelled by its `cancelled_to`; one that
 * comes back comes back to its row, as long as there is one.
 */
export const replaceList = mutation('webhooks.listReplace', (tx: Tx, change: ListReplacement): boolean => {
  const { accountId, list, ifMatch } = change
  const rows = tx.select().from(webhooks).where(eq(webhooks.accountId, accountId)).all()
  if (ifMatch !== null && !etagMatches(ifMatch, etagOf(entriesOf(rows)))) return false
  const known = new Map(rows.map((row) => [identity(row.url, row.occurrence), row]))
  const seen = new Map<string, number>()
  list.forEach((entry, position) => {
    const { url } = entry
    const occurrence = seen.get(url) ?? 0
    seen.set(url, occurrence + 1)
    const row = known.get(identity(url, occurrence))
    known.delete(identity(url, occurrence))
    const values = { ...entry, position }
    if (row === undefined)
      tx.insert(webhooks)
        .values({ accountId, occurrence, ...values })
        .run()
    else tx.update(webhooks).set(values).where(eq(webhooks.id, row.id)).run()
    const secret = change.secrets[position]
    if (secret !== undefined) tx.insert(secrets).values({ accountId, url, secret }).onConflictDoNothing().run()
  })
  const left = [...known.values()].filter((row) => row.position !== null).map((row) => row.id)
  if (left.length > 0) {
    const newest = tx.select({ id: max(deliveries.id) }).from(deliveries)
    const leftTo = newest.get()?.id ?? 0
    tx.update(webhooks).set({ position: null, cancelledTo: leftTo, leftTo }).where(inArray(webhooks.id, left)).run()
  }
  noteLeftSecrets(tx, change)
  return true
})

/** A secret's year begins when its URL leaves the list, and is over when it comes back. */
function noteLeftSecrets(tx: Tx, { accountId, list, nowUs }: ListReplacement): void {
  const urls = list.map(({ url }) => url)
  const mine = eq(secrets.accountId, accountId)
  tx.update(secrets)
    .set({ leftUs: null })
    .where(and(mine, inArray(secrets.url, urls)))
    .run()
  tx.update(secrets)
    .set({ leftUs: nowUs })
    .where(and(mine, isNull(secrets.leftUs), notInArray(secrets.url, urls)))
    .run()
  const left = tx
    .select({ url: secrets.url })
    .from(secrets)
    .where(and(mine, isNotNull(secrets.leftUs)))
    .orderBy(desc(secrets.leftUs), asc(secrets.url))
    .all()
  for (const { url } of left.slice(LEFT_SECRETS_KEPT))
    tx.delete(secrets)
      .where(and(mine, eq(secrets.url, url)))
      .run()
}

export const rotateSecret = mutation(
  'webhooks.secretRotate',
  (tx: Tx, rotation: SecretRotation): 'rotated' | 'unlisted' | number => {
    const { accountId, url, secret, nowUs, previousUntilUs, force } = rotation
    const inList = tx
      .select({ id: webhooks.id })
      .from(webhooks)
      .where(and(listed(accountId), eq(webhooks.url, url)))
      .get()
    if (inList === undefined) return 'unlisted'
    const mine = and(eq(secrets.accountId, accountId), eq(secrets.url, url))
    const untilUs = tx.select().from(secrets).where(mine).get()?.previousUntilUs ?? 0
    if (untilUs > nowUs && !force) return untilUs
    tx.update(secrets).set({ previous: secrets.secret, previousUntilUs, secret }).where(mine).run()
    return 'rotated'
  },
)

export const replaceOptions = mutation(
  'webhooks.optionsReplace',
  (tx: Tx, { accountId, url, options, nowUs }: OptionsReplacement): OptionsReplaced => {
    const stored = prepared<{ options: string | null }, [number, string]>(
      tx,
      `SELECT s.options FROM secrets s WHERE s.account_id = ? AND s.url = ? AND EXISTS
         (SELECT 1 FROM webhooks w WHERE w.account_id = s.account_id AND w.url = s.url AND w.position IS NOT NULL)`,
    ).get(accountId, url)
    if (stored === null) return 'unlisted'
    const merged = mergeOptions(options, readOptions(stored.options), nowUs - readClock(tx).steppedUs)
    if ('unknownHeaders' in merged) return merged
    prepared<never, [string | null, number, string]>(
      tx,
      'UPDATE secrets SET options = ? WHERE account_id = ? AND url = ?',
    ).run(storedOptions(merged), accountId, url)
    return merged
  },
)

function readListedOptions(read: Tx, accountId: number): ListedOptions[] {
  return prepared<{ url: string; options: string | null }, [number]>(
    read,
    `SELECT w.url, s.options FROM webhooks w JOIN secrets s ON s.account_id = w.account_id AND s.url = w.url
     WHERE w.account_id = ? AND w.position IS NOT NULL AND w.occurrence = 0 ORDER BY w.position`,
  )
    .all(accountId)
    .map(({ url, options }) => ({ url, options: readOptions(options) }))
}

/** Creates the webhook operations of the engine: webhooks, lists and secrets. */
export function createWebhookStore({ read, commit }: Database): WebhookStore {
  return {
    listGet: async (accountId) => entriesOf(read.select().from(webhooks).where(listed(accountId)).all()),
    listReplace: (replacement) => commit(replaceList, replacement),
    secretList: async (accountId) =>
      read
        .select({ url: secrets.url, secret: secrets.secret, previousUntilUs: secrets.previousUntilUs })
        .from(webhooks)
        .innerJoin(secrets, and(eq(secrets.accountId, webhooks.accountId), eq(secrets.url, webhooks.url)))
        .where(and(listed(accountId), eq(webhooks.occurrence, 0)))
        .orderBy(asc(webhooks.position))
        .all(),
    secretRotate: (rotation) => commit(rotateSecret, rotation),
    optionsList: async (accountId) => readListedOptions(read, accountId),
    optionsReplace: (replacement) => commit(replaceOptions, replacement),
    webhookGetMany: async (ids) => ids.flatMap((id) => readWebhook(read, id) ?? []),
    async webhookGetByUrl(accountId, url) {
      const row = prepared<{ id: number }, [number, string]>(
        read,
        'SELECT id FROM webhooks WHERE account_id = ? AND url = ? AND position IS NOT NULL ORDER BY position LIMIT 1',
      ).get(accountId, url)
      return row === null ? undefined : readWebhook(read, row.id)
    },
    webhookListWithPending: (accountId) => collectInSlices(listWithPending(read, accountId)),
    webhookListActive: async () =>
      prepared<{ id: number }, []>(read, 'SELECT id FROM webhooks WHERE position IS NOT NULL OR cancelled_to > 0')
        .all()
        .map(({ id }) => id),
  }
}

function readWebhook(read: Tx, id: number): WebhookRecord | undefined {
  const row = prepared<
    Omit<WebhookRecord, 'listed' | 'options'> & { listed: number; options: string | null },
    [number]
  >(
    read,
    `SELECT w.id, w.account_id AS accountId, w.url, w.position IS NOT NULL AS listed, w.cancelled_to AS cancelledTo,
       s.secret, s.previous, s.previous_until AS previousUntilUs, s.options
     FROM webhooks w LEFT JOIN secrets s ON s.account_id = w.account_id AND s.url = w.url WHERE w.id = ?`,
  ).get(id)
  return row === null ? undefined : { ...row, listed: row.listed === 1, options: readOptions(row.options) }
}

function* listWithPending(read: Tx, accountId: number): Generator<ListedWebhook> {
  const rows = prepared<Omit<ListedWebhook, 'pending'>, [number]>(
    read,
    'SELECT id, url, occurrence FROM webhooks WHERE account_id = ? AND position IS NOT NULL ORDER BY position',
  ).all(accountId)
  const count = prepared<{ pending: number }, [number, number]>(
    read,
    `SELECT
       (SELECT count(*) FROM (SELECT 1 FROM deliveries WHERE webhook_id = ? AND state = 0 AND due_at IS NULL LIMIT ${MAX_COUNTED_BRIEFLY}))
       + (SELECT count(*) FROM (SELECT 1 FROM deliveries WHERE webhook_id = ? AND state = 0 AND due_at IS NOT NULL LIMIT ${MAX_COUNTED_BRIEFLY})) AS pending`,
  )
  for (const webhook of rows) yield { ...webhook, pending: count.get(webhook.id, webhook.id)?.pending ?? 0 }
}

/** The rows that are in the list, in its order, as clients see them. */
function entriesOf(rows: readonly Row[]): WebhookEntry[] {
  return rows
    .filter((row) => row.position !== null)
    .sort((a, b) => (a.position ?? 0) - (b.position ?? 0))
    .map(({ url, ...row }) => ({ url, ...switchesOf(row) }))
}
