import { EVENT_KINDS, type EventKind, type EventSwitch, isOnlyOnRequest, SWITCH_NAMES } from '../../events/kinds.ts'
import type { NewEvent } from '../operations/calls.ts'
import { NO_FACTS, type Subscribers, subscribersOf } from '../subscription.ts'
import { bigints, type Query } from './engine/client.ts'

type Row = { accountId: number; version: number; id: number | null; options: string | null } & {
  [name in EventSwitch]: boolean
}
type List = { readonly version: number; readonly rows: readonly Row[]; readonly byKind: Map<EventKind, Subscribers> }

/**
 * Creates a cache of the webhook lists of accounts. When events are stored, the database compares the list's version,
 * and an outdated list is dropped.
 */
export function newListCache(read: Query) {
  const lists = new Map<number, List>()

  async function readLists(accountIds: readonly number[]): Promise<void> {
    const rows = await read<Row>(
      `SELECT a.id AS "accountId", a.list_version AS version, w.id, s.options,
         ${SWITCH_NAMES.map((name) => `w.${name}`).join(', ')}
       FROM accounts a LEFT JOIN webhooks w ON w.account_id = a.id AND w.position IS NOT NULL
         LEFT JOIN secrets s ON s.account_id = w.account_id AND s.url = w.url
       WHERE a.id = ANY($1::bigint[]) ORDER BY a.id, w.position`,
      [bigints(accountIds)],
    )
    for (const [accountId, some] of Map.groupBy(rows, (row) => row.accountId)) {
      const listed = some.filter(({ id }) => id !== null)
      lists.set(accountId, { version: some[0]?.version ?? 0, rows: listed, byKind: new Map() })
    }
  }
  const listOf = (accountId: number): List => {
    const list = lists.get(accountId)
    if (list === undefined) throw new Error(`there is no account ${accountId}`)
    return list
  }
  return {
    /** Reads the lists that are not cached. Returns the version of each. */
    async load(accountIds: readonly number[]): Promise<number[]> {
      const unknown = accountIds.filter((id) => !lists.has(id))
      if (unknown.length > 0) await readLists(unknown)
      return accountIds.map((id) => listOf(id).version)
    },
    /** Returns the webhooks of a loaded list that want an event, in list order; `null`: the event is not stored. */
    webhookIdsFor({ accountId, name, facts = NO_FACTS }: NewEvent & { accountId: number }): readonly number[] | null {
      const { rows, byKind } = listOf(accountId)
      const { obeys } = EVENT_KINDS[name]
      const listed = () =>
        rows.map((row) => ({ id: row.id ?? 0, options: row.options, switched: obeys === null ? null : row[obeys] }))
      const wanted = byKind.get(name) ?? subscribersOf(name, listed())
      byKind.set(name, wanted)
      return !wanted.isAny && isOnlyOnRequest(name) ? null : wanted.idsFor(facts)
    },
    forgetAll: () => lists.clear(),
    forget(accountIds: readonly number[]): void {
      for (const id of accountIds) lists.delete(id)
    },
  }
}
