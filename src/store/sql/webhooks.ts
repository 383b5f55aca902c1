import { sql } from 'drizzle-orm'
import { SWITCH_NAMES, switchesOf } from '../../events/kinds.ts'
import { etagMatches, etagOf } from '../list-etag.ts'
import { MAX_COUNTED_BRIEFLY } from '../operations/queue.ts'
import {
  type AccountPreset,
  type AccountVersion,
  LEFT_SECRETS_KEPT,
  type ListedOptions,
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
import { PENDING, PER_EVENT } from './deliveries.ts'
import { type Declarations, read, write } from './operation.ts'
import { select } from './select.ts'
import { all, among, either, first, flags, forUpdateOf, integers, run, tableOf, texts, type Work } from './statement.ts'
import { webhooks } from './tables.ts'

/** Returns a list as clients see it, in its order. */
function* readList(accountId: number): Work<WebhookEntry[]> {
  const rows = yield* select(webhooks, sql`WHERE account_id = ${accountId} AND position IS NOT NULL ORDER BY position`)
  return rows.map(({ url, ...row }) => ({ url, ...switchesOf(row) }))
}

/**
 * Notes that the events of an account may be for other webhooks, or that these are sent to otherwise. The account's row
 * is locked, as storing events locks it: until the transaction ends, no event is stored for the account.
 */
const changeSubscriptions = (accountId: number): Work<void> =>
  run(sql`UPDATE accounts SET list_version = list_version + 1 WHERE id = ${accountId}`)

/** The highest id that a delivery of an account can have, once its row is locked. */
const NEWEST_DELIVERY = either({
  sqlite: sql`(SELECT coalesce(max(id), 0) FROM deliveries)`,
  postgres: sql`(SELECT CASE WHEN is_called THEN (last_value + 1) * ${PER_EVENT} - 1 ELSE 0 END FROM event_ids)`,
})

/** An entry of a new list, with its number among the entries of its URL. */
type Place = { readonly entry: WebhookEntry; readonly occurrence: number; readonly secret: string | undefined }

function placesOf({ list, secrets }: ListReplacement): Place[] {
  const seen = new Map<string, number>()
  return list.map((entry, at) => {
    const occurrence = seen.get(entry.url) ?? 0
    seen.set(entry.url, occurrence + 1)
    return { entry, occurrence, secret: secrets[at] }
  })
}

/**
 * A webhook that stays keeps its row. The pending deliveries of one that leaves are cancelled by its `cancelled_to`;
 * without such deliveries it has left at once.
 * One that returns gets its row back, while the row exists.
 */
function* replaceList(change: ListReplacement): Work<boolean> {
  const { accountId, ifMatch } = change
  yield* changeSubscriptions(accountId)
  if (ifMatch !== null && !etagMatches(ifMatch, etagOf(yield* readList(accountId)))) return false
  const places = placesOf(change)
  const listed = tableOf('l', {
    url: texts(places.map(({ entry }) => entry.url)),
    occurrence: integers(places.map(({ occurrence }) => occurrence)),
  })
  yield* run(sql`
    UPDATE webhooks SET position = NULL, left_to = ${NEWEST_DELIVERY}, cancelled_to = CASE
      WHEN EXISTS (SELECT 1 FROM ${PENDING} AS d WHERE d.webhook_id = webhooks.id) THEN ${NEWEST_DELIVERY} ELSE 0 END
    WHERE account_id = ${accountId} AND position IS NOT NULL
      AND (url, occurrence) NOT IN (SELECT l.url, l.occurrence FROM ${listed})`)
  yield* putEntries(accountId, places)
  const withSecret = places.filter(({ occurrence, secret }) => occurrence === 0 && secret !== undefined)
  const secrets = tableOf('l', {
    url: texts(withSecret.map(({ entry }) => entry.url)),
    secret: texts(withSecret.map(({ secret = null }) => secret)),
  })
  yield* run(sql`
    INSERT INTO secrets (account_id, url, secret) SELECT ${accountId}, l.url, l.secret FROM ${secrets} WHERE TRUE
    ON CONFLICT (account_id, url) DO NOTHING`)
  yield* noteLeftSecrets(change)
  return true
}

const SWITCHES = sql.raw(SWITCH_NAMES.join(', '))
const SET_SWITCHES = sql.raw(SWITCH_NAMES.map((name) => `${name} = l.${name}`).join(', '))

function* putEntries(accountId: number, places: readonly Place[]): Work<void> {
  const list = tableOf('l', {
    place: integers(places.map((_, at) => at)),
    url: texts(places.map(({ entry }) => entry.url)),
    occurrence: integers(places.map(({ occurrence }) => occurrence)),
    ...Object.fromEntries(SWITCH_NAMES.map((name) => [name, flags(places.map(({ entry }) => entry[name]))])),
  })
  yield* run(sql`
    UPDATE webhooks SET position = l.place, ${SET_SWITCHES} FROM ${list}
    WHERE webhooks.account_id = ${accountId} AND webhooks.url = l.url AND webhooks.occurrence = l.occurrence`)
  yield* run(sql`
    INSERT INTO webhooks (account_id, url, occurrence, position, ${SWITCHES})
    SELECT ${accountId}, url, occurrence, place, ${SWITCHES} FROM ${list} WHERE NOT EXISTS
      (SELECT 1 FROM webhooks w WHERE w.account_id = ${accountId} AND w.url = l.url AND w.occurrence = l.occurrence)
    ORDER BY place`)
}

/** A secret's year begins when its URL leaves the list, and is over when it comes back. */
function* noteLeftSecrets({ accountId, list, nowUs }: ListReplacement): Work<void> {
  const listed = among(texts(list.map(({ url }) => url)))
  yield* run(sql`
    UPDATE secrets SET left_at = NULL WHERE account_id = ${accountId} AND left_at IS NOT NULL AND url ${listed}`)
  yield* run(sql`
    UPDATE secrets SET left_at = ${nowUs} WHERE account_id = ${accountId} AND left_at IS NULL AND NOT url ${listed}`)
  yield* run(sql`
    DELETE FROM secrets WHERE account_id = ${accountId} AND url IN (SELECT url FROM secrets
      WHERE account_id = ${accountId} AND left_at IS NOT NULL
      ORDER BY left_at DESC, url LIMIT ${Number.MAX_SAFE_INTEGER} OFFSET ${LEFT_SECRETS_KEPT})`)
}

/** The condition that a URL with a secret `s` is in its account's list. */
const IS_LISTED = sql`EXISTS
  (SELECT 1 FROM webhooks w WHERE w.account_id = s.account_id AND w.url = s.url AND w.position IS NOT NULL)`

function* rotateSecret(rotation: SecretRotation): Work<'rotated' | 'unlisted' | number> {
  const { accountId, url, secret, nowUs, previousUntilUs, force } = rotation
  yield* changeSubscriptions(accountId)
  const stored = yield* first<{ untilUs: number | null }>(sql`
    SELECT s.previous_until AS "untilUs" FROM secrets s
    WHERE s.account_id = ${accountId} AND s.url = ${url} AND ${IS_LISTED} ${forUpdateOf('s')}`)
  if (stored === undefined) return 'unlisted'
  const untilUs = stored.untilUs ?? 0
  if (untilUs > nowUs && !force) return untilUs
  yield* run(sql`
    UPDATE secrets SET previous = secret, previous_until = ${previousUntilUs}, secret = ${secret}
    WHERE account_id = ${accountId} AND url = ${url}`)
  return 'rotated'
}

function* replaceOptions(replacement: OptionsReplacement): Work<OptionsReplaced> {
  const { accountId, url, nowUs, switchOn = [] } = replacement
  yield* changeSubscriptions(accountId)
  const stored = yield* first<{ options: string | null }>(sql`
    SELECT s.options FROM secrets s
    WHERE s.account_id = ${accountId} AND s.url = ${url} AND ${IS_LISTED} ${forUpdateOf('s')}`)
  if (stored === undefined) return 'unlisted'
  const clock = yield* first<{ steppedUs: number }>(sql`SELECT stepped AS "steppedUs" FROM clock`)
  const merged = mergeOptions(replacement, readOptions(stored.options), nowUs - (clock?.steppedUs ?? 0))
  if ('unknownHeaders' in merged) return merged
  yield* run(sql`
    UPDATE secrets SET options = ${storedOptions(merged)} WHERE account_id = ${accountId} AND url = ${url}`)
  if (switchOn.length > 0)
    yield* run(sql`
      UPDATE webhooks SET ${sql.raw(switchOn.map((name) => `${name} = TRUE`).join(', '))}
      WHERE account_id = ${accountId} AND url = ${url}`)
  return merged
}

/** Each URL of a list with its secret, once. */
const LISTED_SECRETS = sql`
  FROM webhooks w JOIN secrets s ON s.account_id = w.account_id AND s.url = w.url
  WHERE w.position IS NOT NULL AND w.occurrence = 0`

function* listOptions(accountId: number): Work<ListedOptions[]> {
  const rows = yield* all<{ url: string; options: string | null }>(sql`
    SELECT w.url, s.options ${LISTED_SECRETS} AND w.account_id = ${accountId} ORDER BY w.position`)
  return rows.map(({ url, options }) => ({ url, options: readOptions(options) }))
}

/** Options are text, of which the databases read no part alike: what may name a preset is read here. */
function* listPresets(): Work<AccountPreset[]> {
  const rows = yield* all<{ accountId: number; options: string }>(sql`
    SELECT w.account_id AS "accountId", s.options ${LISTED_SECRETS} AND s.options LIKE '%"preset":%'`)
  const found = new Map<string, AccountPreset>()
  for (const { accountId, options } of rows) {
    const preset = readOptions(options)?.flow?.preset
    if (typeof preset === 'string') found.set(`${accountId} ${preset}`, { accountId, preset })
  }
  return [...found.values()]
}

const WEBHOOK = sql`
  SELECT w.id, w.account_id AS "accountId", w.url, w.position IS NOT NULL AS listed, w.cancelled_to AS "cancelledTo",
    s.secret, s.previous, s.previous_until AS "previousUntilUs", s.options
  FROM webhooks w LEFT JOIN secrets s ON s.account_id = w.account_id AND s.url = w.url`

type StoredWebhook = Omit<WebhookRecord, 'listed' | 'options'> & { listed: unknown; options: string | null }

const webhookOf = ({ listed, options, ...row }: StoredWebhook): WebhookRecord => ({
  ...row,
  listed: Boolean(listed),
  options: readOptions(options),
})

/** The condition that a webhook may have pending deliveries. */
const IS_ACTIVE = sql`(w.position IS NOT NULL OR w.cancelled_to > 0)`

function* getWebhooks(ids: readonly number[]): Work<WebhookRecord[]> {
  const rows = yield* all<StoredWebhook>(sql`${WEBHOOK} WHERE w.id ${among(integers(ids))}`)
  const byId = new Map(rows.map((row) => [row.id, webhookOf(row)]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

function* getByUrl(accountId: number, url: string): Work<WebhookRecord | undefined> {
  const row = yield* first<StoredWebhook>(sql`
    ${WEBHOOK} WHERE w.account_id = ${accountId} AND w.url = ${url} AND w.position IS NOT NULL
    ORDER BY w.position LIMIT 1`)
  return row === undefined ? undefined : webhookOf(row)
}

/** Few round trips for a long list, and some milliseconds for a statement that counts as far as it may. */
const COUNTED_AT_ONCE = 10

function* listWithPending(accountId: number): Work<ListedWebhook[]> {
  const webhooks = yield* all<Omit<ListedWebhook, 'pending'>>(sql`
    SELECT id, url, occurrence FROM webhooks WHERE account_id = ${accountId} AND position IS NOT NULL ORDER BY position`)
  const count = (tried: 'NULL' | 'NOT NULL') => sql`
    (SELECT count(*) FROM (SELECT 1 FROM ${PENDING} AS d
      WHERE d.webhook_id = w.id AND d.due_at IS ${sql.raw(tried)} LIMIT ${MAX_COUNTED_BRIEFLY}) AS counted)`
  const pending = new Map<number, number>()
  for (let at = 0; at < webhooks.length; at += COUNTED_AT_ONCE) {
    const ids = integers(webhooks.slice(at, at + COUNTED_AT_ONCE).map(({ id }) => id))
    const rows = yield* all<{ id: number; pending: number }>(sql`
      SELECT w.id, ${count('NULL')} + ${count('NOT NULL')} AS pending FROM webhooks w WHERE w.id ${among(ids)}`)
    for (const row of rows) pending.set(row.id, row.pending)
  }
  return webhooks.map((webhook) => ({ ...webhook, pending: pending.get(webhook.id) ?? 0 }))
}

/** The operations on webhooks, their lists, secrets and options. */
export const WEBHOOKS: Declarations<WebhookStore> = {
  listGet: read(readList),
  listReplace: write(replaceList),
  secretList: read((accountId) =>
    all<SecretRecord>(sql`
      SELECT s.url, s.secret, s.previous_until AS "previousUntilUs" ${LISTED_SECRETS} AND w.account_id = ${accountId}
      ORDER BY w.position`),
  ),
  secretRotate: write(rotateSecret),
  optionsList: read(listOptions),
  optionsReplace: write(replaceOptions),
  webhookListPresets: read(listPresets),
  webhookGetMany: read(getWebhooks),
  webhookGetByUrl: read(getByUrl),
  webhookListWithPending: read(listWithPending, { isSliced: true }),
  webhookListActive: read(function* () {
    const rows = yield* all<{ id: number }>(sql`SELECT w.id FROM webhooks w WHERE ${IS_ACTIVE}`)
    return rows.map(({ id }) => id)
  }),
  webhookListVersions: read((only?: number) =>
    all<AccountVersion>(sql`
      SELECT id AS "accountId", list_version AS version FROM accounts
      ${only === undefined ? sql`` : sql`WHERE id = ${only}`}`),
  ),
  // Versions only grow, and no id is used again.
  webhookGetVersionsMark: read(function* () {
    const row = yield* first<{ accounts: number; newest: number; versions: number }>(sql`
      SELECT count(*) AS accounts, coalesce(max(id), 0) AS newest,
        CAST(coalesce(sum(list_version), 0) AS bigint) AS versions FROM accounts`)
    return `${row?.accounts} ${row?.newest} ${row?.versions}`
  }),
  webhookListOfAccounts: read(function* (accountIds) {
    const rows = yield* all<StoredWebhook>(sql`
      ${WEBHOOK} WHERE ${IS_ACTIVE} AND w.account_id ${among(integers(accountIds))}`)
    return rows.map(webhookOf)
  }),
}
