import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { CALLS } from '../../../src/store/sql/calls.ts'
import { runOperations } from '../../../src/store/sqlite/engine/run-operations.ts'
import { emptyFolder } from '../../help/app.ts'
import { openStore } from '../../help/store.ts'

/** Returns how SQLite finds the ids of a page of calls: a line for each range that it reads. */
async function planOf(filter: object): Promise<string[]> {
  using folder = emptyFolder()
  const path = join(folder.path, 'hookswitch.db')
  await openStore(path).stop()
  using sqlite = new Database(path, { readonly: true })
  const texts: string[] = []
  const query = sqlite.query.bind(sqlite)
  sqlite.query = (text: string) => {
    texts.push(text)
    return query(text)
  }
  const commit = () => Promise.reject(new Error('nothing is written'))
  const { callList } = runOperations({ read: sqlite, commit }, 'calls', CALLS)
  await callList({ accountId: 1, filter, limit: 51, after: { savedUs: 9, id: 'a' } })
  const [ids = ''] = texts
  return query<{ detail: string }, null[]>(`EXPLAIN QUERY PLAN ${ids}`)
    .all(...(ids.match(/\?/g) ?? []).map(() => null))
    .map(({ detail }) => detail)
    .filter((detail) => !/^(COMPOUND|UNION|LEFT-MOST|CO-ROUTINE|SCAN range_)/.test(detail))
}

test.each([
  ['all', {}, 3],
  ['a direction', { direction: 'inbound' }, 1],
  ['a number as its PBX spells it', { number: '101' }, 6],
  ['a number in E.164', { number: '+4930123456' }, 12],
  ['a number in E.164, in a direction', { number: '+4930123456', direction: 'inbound' }, 4],
])(
  'of the calls of %s, each range of an index has only those that match, in the order of the page',
  async (_, filter, count) => {
    const plan = await planOf({ ...filter, sinceUs: 1, untilUs: 8 })
    const range = String.raw`\(account_id=\? AND (\w+=\? AND )?direction=\? AND saved_at>\? AND \(saved_at,id\)<\(\?,\?\)\)`
    // An index of numbers in E.164 leads to the rows, since its column is computed from the record.
    const isRange = new RegExp(`^SEARCH calls USING (COVERING INDEX calls_by_\\w+|INDEX calls_by_\\w+_e164) ${range}$`)
    expect(plan.filter((detail) => !isRange.test(detail))).toEqual([])
    expect(plan).toHaveLength(count)
  },
)
