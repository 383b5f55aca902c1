import { DELIVERIES_PER_EVENT } from '../operations/queue.ts'
import type { StatusStore, WebhookStatusRow } from '../operations/statuses.ts'
import { bigints, type Client, texts } from './engine/client.ts'
import type { Hints } from './engine/hints.ts'

/** Long enough for a node that is slow to read or to repeat, short enough to keep the tables small. */
const KEPT = "interval '10 seconds'"
/** The channel of hints that events were stored. */
const CHANNEL = 'hookswitch_events'

/** Creates the engine's operations on the reports between nodes. */
export function createStatusStore(
  { query, read }: Pick<Client, 'query' | 'read'>,
  hints: Pick<Hints, 'listen'>,
): StatusStore {
  return {
    async webhookStatusSet(statuses) {
      const ids = bigints(statuses.map(({ webhookId }) => webhookId))
      await query(SET, [ids, texts(statuses.map(({ term }) => term)), texts(statuses.map(({ status }) => status))])
    },
    webhookStatusGetMany: (webhookIds) => read<WebhookStatusRow>(WEBHOOKS, [bigints(webhookIds)]),
    accountListByNode: (limit) => read(ACCOUNTS, [limit]),
    async followedSet({ node, accountIds }) {
      await query(FOLLOW, [node, bigints(accountIds)])
    },
    async followedGet(node) {
      const rows = await read<{ id: number }>(
        `SELECT DISTINCT account_id AS id FROM followed_accounts WHERE node <> $1 AND until > clock_timestamp()`,
        [node],
      )
      return rows.map(({ id }) => id)
    },
    async deliveryChangesAdd({ node, number, ids }) {
      await query(CHANGED, [node, number, bigints(ids)])
    },
    async deliveryChangesGet({ node, accountIds, after }) {
      const rows = await read<{ node: string; number: number; accountId: number; ids: string }>(CHANGES, [
        node,
        bigints(accountIds),
        bigints(after.map(({ accountId }) => accountId)),
        texts(after.map((position) => position.node)),
        bigints(after.map(({ number }) => number)),
      ])
      return rows.map((row) => ({ ...row, ids: row.ids.split(',').map(Number) }))
    },
    async arrivalHint(accountIds) {
      await query('SELECT pg_notify($1, $2)', [CHANNEL, accountIds.join(',')])
    },
    arrivalListen: (onHint) => hints.listen(CHANNEL, (text) => onHint(text.split(',').map(Number))),
  }
}

/**
 * Rows are locked in the order of their keys, so that two nodes do not deadlock while one takes over from the other.
 */
const SET = `
  INSERT INTO webhook_statuses (webhook_id, term, status)
  SELECT s.id, s.term, s.status FROM unnest($1::bigint[], $2::text[], $3::text[]) AS s (id, term, status)
    JOIN webhooks w ON w.id = s.id JOIN leases l ON l.name = 'account:' || w.account_id AND l.term = s.term ORDER BY s.id
  ON CONFLICT (webhook_id) DO UPDATE SET term = excluded.term, status = excluded.status`

const WEBHOOKS = `
  SELECT s.webhook_id AS "webhookId", s.status, n.id IS NOT NULL AS "isPresent" FROM webhook_statuses s
    JOIN webhooks w ON w.id = s.webhook_id
    LEFT JOIN leases l ON l.name = 'account:' || w.account_id AND l.term = s.term
    LEFT JOIN nodes n ON n.id = l.node AND n.dead_us IS NULL
  WHERE s.webhook_id = ANY($1::bigint[])`

const ACCOUNTS = `
  SELECT node, name AS account FROM (
    SELECT l.node, a.name, row_number() OVER (PARTITION BY l.node ORDER BY a.name) AS place
    FROM leases l JOIN accounts a ON l.name = 'account:' || a.id WHERE l.node IS NOT NULL) AS owned
  WHERE place <= $1::int ORDER BY node, place`

const FOLLOW = `
  WITH others AS (
    DELETE FROM followed_accounts WHERE until < clock_timestamp() OR (node = $1 AND NOT account_id = ANY($2::bigint[])))
  INSERT INTO followed_accounts (node, account_id, until)
  SELECT $1, id, clock_timestamp() + ${KEPT} FROM unnest($2::bigint[]) AS f (id)
  ON CONFLICT (node, account_id) DO UPDATE SET until = excluded.until`

const CHANGED = `
  WITH old AS (DELETE FROM delivery_changes WHERE at < clock_timestamp() - ${KEPT})
  INSERT INTO delivery_changes (node, number, account_id, ids, at)
  SELECT $1, $2, e.account_id, string_agg(d.id::text, ',' ORDER BY d.place), clock_timestamp()
  FROM unnest($3::bigint[]) WITH ORDINALITY AS d (id, place) JOIN events e ON e.id = d.id / ${DELIVERIES_PER_EVENT}
  WHERE e.account_id IN (SELECT account_id FROM followed_accounts WHERE node <> $1 AND until > clock_timestamp())
  GROUP BY e.account_id`

const CHANGES = `
  SELECT c.node, c.number, c.account_id AS "accountId", c.ids FROM delivery_changes c
    LEFT JOIN unnest($3::bigint[], $4::text[], $5::bigint[]) AS seen (account_id, node, number)
      ON seen.account_id = c.account_id AND seen.node = c.node
  WHERE c.account_id = ANY($2::bigint[]) AND c.node <> $1 AND c.number > coalesce(seen.number, 0)
  ORDER BY c.node, c.number`
