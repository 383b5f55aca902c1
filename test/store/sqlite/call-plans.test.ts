import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CallStore } from '../../../src/store/operations/calls.ts'
import { CALLS } from '../../../src/store/sql/calls.ts'
import { GROUPS } from '../../../src/store/sql/groups.ts'
import type { Database as StoreDatabase } from '../../../src/store/sqlite/engine/database.ts'
import { runOperations } from '../../../src/store/sqlite/engine/run-operations.ts'
import { emptyFolder } from '../../help/app.ts'
import { batch, openStore } from '../../help/store.ts'

type Calls = Pick<CallStore, 'callList' | 'callScan' | 'callCount' | 'callGetMany' | 'callListToCallBack'>

/** Returns the plan of the first statement of an operation on calls. */
const planOf = (run: (calls: Calls) => Promise<unknown>): Promise<string[]> =>
  planOn((db) => run(runOperations(db, 'calls', CALLS)))

/** Returns the plan of the first statement that is run on a database. */
async function planOn(run: (db: Pick<StoreDatabase, 'read' | 'commit'>) => Promise<unknown>): Promise<string[]> {
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
  await run({ read: sqlite, commit })
  const [first = ''] = texts
  return query<{ detail: string }, null[]>(`EXPLAIN QUERY PLAN ${first}`)
    .all(...(first.match(/\?/g) ?? []).map(() => null))
    .map(({ detail }) => detail)
}

/** Returns how SQLite finds the ids of a page of calls: a line for each range that it reads. */
async function rangesOf(filter: object): Promise<string[]> {
  const page = { accountId: 1, filter, limit: 51, after: { savedUs: 9, id: 'a' } }
  const plan = await planOf(({ callList }) => callList(page))
  return plan.filter((detail) => !/^(COMPOUND|UNION|LEFT-MOST|CO-ROUTINE|SCAN range_)/.test(detail))
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
    const plan = await rangesOf({ ...filter, sinceUs: 1, untilUs: 8 })
    const range = String.raw`\(account_id=\? AND (\w+=\? AND )?direction=\? AND saved_at>\? AND \(saved_at,id\)<\(\?,\?\)\)`
    // An index of numbers in E.164 leads to the rows, since its column is computed from the record.
    const isRange = new RegExp(`^SEARCH calls USING (COVERING INDEX calls_by_\\w+|INDEX calls_by_\\w+_e164) ${range}$`)
    expect(plan.filter((detail) => !isRange.test(detail))).toEqual([])
    expect(plan).toHaveLength(count)
  },
)

test('the facts of calls are read from an index in the order of the page, from where the page begins', async () => {
  const scan = { accountId: 1, sinceUs: 1, untilUs: 8, after: { savedUs: 7, id: 'a' }, limit: 500 }
  // SQLite calls no index of computed columns covering, although it reads no row: see the next test.
  expect(await planOf(({ callScan }) => callScan(scan))).toEqual([
    'SEARCH calls USING INDEX calls_by_facts (account_id=? AND saved_at>? AND (saved_at,id)<(?,?))',
  ])
})

test('the facts of calls are read without their records', async () => {
  using folder = emptyFolder()
  const { db, calls, stop } = openStore(join(folder.path, 'hookswitch.db'))
  const saved = Array.from({ length: 600 }, (_, at) => ({
    id: `call ${at}`,
    savedUs: at,
    direction: 'inbound' as const,
    fromNumber: '030123456',
    toNumber: '101',
    record: JSON.stringify({ pbx: 'office', who: ' 101 ', call: { result: 'answered' }, rest: 'x'.repeat(4_000) }),
  }))
  await calls.batchStore(batch({ saved }))
  // Without its cache SQLite reads every page again.
  db.read.run('PRAGMA cache_size = 0')
  const bytesRead = () => Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])
  const before = bytesRead()
  const rows = await calls.callScan({ accountId: 1, after: undefined, limit: 500 })
  expect(bytesRead() - before).toBeLessThan(500_000)
  expect([rows.length, rows[0]?.pbx, rows[0]?.result]).toEqual([500, 'office', 'answered'])
  const between = bytesRead()
  const { counts } = await calls.callCount({ accountId: 1, after: undefined, limit: 500 })
  expect(bytesRead() - between).toBeLessThan(500_000)
  expect(counts.map(({ count, pbx, result }) => [count, pbx, result])).toEqual([[500, 'office', 'answered']])
  await stop()
})

test('calls are read by their ids', async () => {
  const plan = await planOf(({ callGetMany }) => callGetMany({ accountId: 1, ids: ['a', 'b'] }))
  expect(plan.filter((detail) => /calls/.test(detail))).toEqual([
    expect.stringMatching(/^SEARCH calls USING INDEX \w+ \(id=\?\)$/),
  ])
})

test('whether a number was reached since is read from the later calls of that number alone', async () => {
  const plan = await planOf(({ callListToCallBack }) => callListToCallBack({ accountId: 1, ids: ['a', 'b'] }))
  const [missed, ...later] = plan.filter((detail) => /^(SEARCH|SCAN) [cx] /.test(detail))
  expect(missed).toMatch(/^SEARCH c USING INDEX \w+ \(id=\?\)$/)
  expect(later).toEqual(
    ['from', 'to', 'from_e164', 'to_e164'].map((name) =>
      expect.stringMatching(
        new RegExp(
          `^SEARCH x USING INDEX calls_by_${name} \\(account_id=\\? AND \\w+=\\? AND direction=\\? AND saved_at>\\?\\)$`,
        ),
      ),
    ),
  )
})

test('what events are about is read by their ids', async () => {
  const plan = await planOn((db) => runOperations(db, 'log', GROUPS.log).eventAboutList([1, 2, 3]))
  expect(plan.filter((detail) => /^(SEARCH|SCAN (?!json_each))/.test(detail))).toEqual([
    'SEARCH e USING INTEGER PRIMARY KEY (rowid=?)',
  ])
})

test('figures of quarters are read by their account', async () => {
  const query = { accountId: 1, fromQuarter: 0 }
  const plan = await planOn((db) => runOperations(db, 'statistics', GROUPS.statistics).quarterGetOfAccount(query))
  expect(plan.filter((detail) => /^SCAN (?!json_each)/.test(detail))).toEqual([])
  expect(plan.some((detail) => /^SEARCH .*account_id/.test(detail))).toBe(true)
})
