import { SWITCH_NAMES, switchesOf } from '../../lib/event-kinds.ts'
import { etagMatches, etagOf } from '../list-etag.ts'
import { DELIVERIES_PER_EVENT, MAX_COUNTED_BRIEFLY } from '../operations/queue.ts'
import {
  LEFT_SECRETS_KEPT,
  type ListedWebhook,
  type ListReplacement,
  type OptionsReplaced,
  type OptionsReplacement,
  type SecretRecord,
  type SecretRotation,
  type WebhookEntry,
  type WebhookRecord,
  type WebhookStore,
} from '../operations/webhooks.ts'
import { mergeOptions, readOptions, storedOptions } from '../webhook-options.ts'
import { bigints, booleans, ints, type Query, texts } from './engine/client.ts'
import type { Database } from './engine/database.ts'

type Row = WebhookEntry

const SWITCHES = SWITCH_NAMES.join(', ')
const LIST = `SELECT url, ${SWITCHES} FROM webhooks WHERE account_id = $1::bigint AND position IS NOT NULL ORDER BY position`

/** A row as clients see it, its fields in their order. */
const entryOf = ({ url, ...row }: Row): WebhookEntry => ({ url, ...switchesOf(row) })

/**
 * The highest id that a delivery can have now: storing events locks the row of the account first, as does a change of
 * its list.
 */
const NEWEST_DELIVERY = `(SELECT CASE WHEN is_called THEN last_value * ${DELIVERIES_PER_EVENT} + ${DELIVERIES_PER_EVENT - 1} ELSE 0 END FROM event_ids)`

/**
 * A webhook that stays keeps its row; what is pending for one that leaves is cancelled by its `cancelled_to`; one that
 * comes back comes back to its row, as long as there is one.
 */
async function replaceList(query: Query, change: ListReplacement): Promise<boolean> {
  const { accountId, list, ifMatch } = change
  await query('UPDATE accounts SET list_version = list_version + 1 WHERE id = $1::bigint', [accountId])
  const before = (await query<Row>(LIST, [accountId])).map(entryOf)
  if (ifMatch !== null && !etagMatches(ifMatch, etagOf(before))) return false
  const seen = new Map<string, number>()
  const occurrences = list.map(({ url }) => {
    const occurrence = seen.get(url) ?? 0
    seen.set(url, occurrence + 1)
    return occurrence
  })
  const urls = texts(list.map(({ url }) => url))
  await query(
    `UPDATE webhooks SET position = NULL, cancelled_to = ${NEWEST_DELIVERY}, left_to = ${NEWEST_DELIVERY}
     WHERE account_id = $1::bigint AND position IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM unnest($2::text[], $3::int[]) AS l(url, occurrence)
         WHERE l.url = webhooks.url AND l.occurrence = webhooks.occurrence)`,
    [accountId, urls, ints(occurrences)],
  )
  await putEntries(query, change, occurrences)
  await query(
    `INSERT INTO secrets (account_id, url, secret)
     SELECT DISTINCT ON (l.url) $1::bigint, l.url, l.secret
     FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS l(url, secret, place) WHERE l.secret IS NOT NULL
     ORDER BY l.url, l.place ON CONFLICT (account_id, url) DO NOTHING`,
    [accountId, urls, texts(list.map((_, place) => change.secrets[place] ?? null))],
  )
  await noteLeftSecrets(query, change)
  return true
}

async function putEntries(query: Query, { accountId, list }: ListReplacement, occurrences: number[]): Promise<void> {
  const arrays = SWITCH_NAMES.map((_, place) => `$${place + 4}::boolean[]`).join(', ')
  await query(
    `WITH list AS (SELECT * FROM unnest($2::text[], $3::int[], ${arrays}) WITH ORDINALITY AS l(url, occurrence, ${SWITCHES}, place)),
       stayed AS (UPDATE webhooks w SET position = l.place, ${SWITCH_NAMES.map((name) => `${name} = l.${name}`).join(', ')}
         FROM list l WHERE w.account_id = $1::bigint AND w.url = l.url AND w.occurrence = l.occurrence RETURNING l.place)
     INSERT INTO webhooks (account_id, url, occurrence, position, ${SWITCHES})
     SELECT $1::bigint, url, occurrence, place, ${SWITCHES} FROM list WHERE place NOT IN (SELECT place FROM stayed) ORDER BY place`,
    [
      ...[accountId, texts(list.map(({ url }) => url)), ints(occurrences)],
      ...SWITCH_NAMES.map((name) => booleans(list.map((entry) => entry[name]))),
    ],
  )
}

/** A secret's year begins when its URL leaves the list, and is over when it comes back. */
async function noteLeftSecrets(query: Query, { accountId, list, nowUs }: ListReplacement): Promise<void> {
  const urls = texts(list.map(({ url }) => url))
  await query(
    `UPDATE secrets SET left_at = CASE WHEN url = ANY($2::text[]) THEN NULL ELSE coalesce(left_at, $3::bigint) END
     WHERE account_id = $1::bigint AND (url = ANY($2::text[])) = (left_at IS NOT NULL)`,
    [accountId, urls, nowUs],
  )
  await query(
    `DELETE FROM secrets WHERE account_id = $1::bigint AND url IN (SELECT url FROM secrets
       WHERE account_id = $1::bigint AND left_at IS NOT NULL ORDER BY left_at DESC, url OFFSET ${LEFT_SECRETS_KEPT})`,
    [accountId],
  )
}

async function rotateSecret(query: Query, rotation: SecretRotation): Promise<'rotated' | 'unlisted' | number> {
  const { accountId, url, secret, nowUs, previousUntilUs, force } = rotation
  const [row] = await query<{ untilUs: number }>(
    `SELECT coalesce(s.previous_until, 0)::float8 AS "untilUs" FROM secrets s WHERE s.account_id = $1::bigint AND s.url = $2
       AND EXISTS (SELECT 1 FROM webhooks w WHERE w.account_id = s.account_id AND w.url = s.url AND w.position IS NOT NULL)
     FOR UPDATE OF s`,
    [accountId, url],
  )
  if (row === undefined) return 'unlisted'
  if (row.untilUs > nowUs && !force) return row.untilUs
  await query(
    `UPDATE secrets SET previous = secret, previous_until = $3::bigint, secret = $4
     WHERE account_id = $1::bigint AND url = $2`,
    [accountId, url, previousUntilUs, secret],
  )
  return 'rotated'
}

async function replaceOptions(query: Query, replacement: OptionsReplacement): Promise<OptionsReplaced> {
  const { accountId, url, options, nowUs } = replacement
  // Which webhooks an event is for changes with it.
  await query('UPDATE accounts SET list_version = list_version + 1 WHERE id = $1::bigint', [accountId])
  const [stored] = await query<{ options: string | null }>(
    `SELECT s.options FROM secrets s WHERE s.account_id = $1::bigint AND s.url = $2 AND EXISTS
       (SELECT 1 FROM webhooks w WHERE w.account_id = s.account_id AND w.url = s.url AND w.position IS NOT NULL) FOR UPDATE OF s`,
    [accountId, url],
  )
  if (stored === undefined) return 'unlisted'
  const [clock] = await query<{ steppedUs: number }>('SELECT stepped::float8 AS "steppedUs" FROM clock')
  const merged = mergeOptions(options, readOptions(stored.options), nowUs - (clock?.steppedUs ?? 0))
  if ('unknownHeaders' in merged) return merged
  await query('UPDATE secrets SET options = $3 WHERE account_id = $1::bigint AND url = $2', [
    ...[accountId, url, storedOptions(merged)],
  ])
  return merged
}

const WEBHOOK = `SELECT w.id::float8 AS id, w.account_id::float8 AS "accountId", w.url, w.position IS NOT NULL AS listed,
    w.cancelled_to::float8 AS "cancelledTo", s.secret, s.previous, s.previous_until::float8 AS "previousUntilUs", s.options
  FROM webhooks w LEFT JOIN secrets s ON s.account_id = w.account_id AND s.url = w.url`

type StoredWebhook = Omit<WebhookRecord, 'options'> & { readonly options: string | null }
const webhookOf = (row: StoredWebhook): WebhookRecord => ({ ...row, options: readOptions(row.options) })

const pendingOf = (condition: string) => `(SELECT count(*) FROM
  (SELECT 1 FROM pending_deliveries d WHERE d.webhook_id = w.id AND d.due_at ${condition} LIMIT ${MAX_COUNTED_BRIEFLY}) AS counted)`

/** Creates the webhook operations of the engine: webhooks, lists and secrets. */
export function createWebhookStore({ read, change }: Database): WebhookStore {
  return {
    listGet: async (accountId) => (await read<Row>(LIST, [accountId])).map(entryOf),
    listReplace: (replacement) => change((query) => replaceList(query, replacement)),
    secretList: (accountId) =>
      read<SecretRecord>(
        `SELECT s.url, s.secret, s.previous_until::float8 AS "previousUntilUs"
         FROM webhooks w JOIN secrets s ON s.account_id = w.account_id AND s.url = w.url
         WHERE w.account_id = $1::bigint AND w.position IS NOT NULL AND w.occurrence = 0 ORDER BY w.position`,
        [accountId],
      ),
    secretRotate: (rotation) => change((query) => rotateSecret(query, rotation)),
    async optionsList(accountId) {
      const rows = await read<{ url: string; options: string | null }>(
        `SELECT w.url, s.options FROM webhooks w JOIN secrets s ON s.account_id = w.account_id AND s.url = w.url
         WHERE w.account_id = $1::bigint AND w.position IS NOT NULL AND w.occurrence = 0 ORDER BY w.position`,
        [accountId],
      )
      return rows.map(({ url, options }) => ({ url, options: readOptions(options) }))
    },
    optionsReplace: (replacement) => change((query) => replaceOptions(query, replacement)),
    webhookGetMany: async (ids) => {
      const rows = await read<StoredWebhook>(`${WEBHOOK} WHERE w.id = ANY($1::bigint[])`, [bigints(ids)])
      const byId = new Map(rows.map((row) => [row.id, webhookOf(row)]))
      return ids.flatMap((id) => byId.get(id) ?? [])
    },
    async webhookGetByUrl(accountId, url) {
      const [row] = await read<StoredWebhook>(
        `${WEBHOOK} WHERE w.account_id = $1::bigint AND w.url = $2 AND w.position IS NOT NULL ORDER BY w.position LIMIT 1`,
        [accountId, url],
      )
      return row === undefined ? undefined : webhookOf(row)
    },
    webhookListWithPending: (accountId) =>
      read<ListedWebhook>(
        `SELECT w.id::float8 AS id, w.url, w.occurrence,
           (${pendingOf('IS NULL')} + ${pendingOf('IS NOT NULL')})::float8 AS pending
         FROM webhooks w WHERE w.account_id = $1::bigint AND w.position IS NOT NULL ORDER BY w.position`,
        [accountId],
      ),
    webhookListActive: async () => {
      const rows = await read<{ id: number }>(
        'SELECT id::float8 AS id FROM webhooks WHERE position IS NOT NULL OR cancelled_to > 0',
      )
      return rows.map(({ id }) => id)
    },
  }
}
