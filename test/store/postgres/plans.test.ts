import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Client, newClient, type Query } from '../../../src/store/postgres/engine/client.ts'
import { BY_INDEX } from '../../../src/store/postgres/engine/database.ts'
import { analyzeNewPartitions } from '../../../src/store/postgres/engine/partitions.ts'
import { runOperations } from '../../../src/store/postgres/engine/run-operations.ts'
import { createLogStore } from '../../../src/store/postgres/log.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { GROUPS } from '../../../src/store/sql/groups.ts'
import { ACCOUNT, ALL, callIdOf, FIRST_US, LEFT, STEP_US, storeManyCalls } from '../../help/many-calls.ts'
import { databaseSource, migratedDatabase, POSTGRES_MISSING } from '../../help/postgres.ts'

/**
 * The plans of all statements that lists need, on a database whose tables were analysed, and on one where they never
 * were: none reads all ended deliveries or events, as the server counts the rows.
 */

const CALLS = 4_000
const MANY_IDS = Array.from({ length: 200 }, (_, call) => callIdOf(call * 7))
const MIDDLE_US = FIRST_US + (CALLS / 2) * STEP_US
/** A part reads the deliveries of at most 1,000 events, and some statements read the same rows twice. */
const MAX_ROWS = 5_000

/** A node of a plan, as `EXPLAIN (ANALYZE, FORMAT JSON)` has it. */
type Plan = {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly Plans?: readonly Plan[]
}

const HISTORY = /^(calls|(events|ended_deliveries|attempts)_\d+)$/
/** A part of the saved calls is 500 of them. */
const MAX_CALLS = 1_200

/** Returns the parts of a plan that scan a table of history, with the number of rows that they read. */
function scansIn(plan: Plan): { node: string; rows: number }[] {
  const table = plan['Relation Name'] ?? ''
  const each =
    plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0)
  const own = HISTORY.test(table)
    ? [{ node: `${plan['Node Type']} on ${table}`, rows: Math.round(each * plan['Actual Loops']) }]
    : []
  return [...own, ...(plan.Plans ?? []).flatMap(scansIn)]
}

describe.skipIf(POSTGRES_MISSING !== undefined)('lists of a database that was', () => {
  let database: Awaited<ReturnType<typeof migratedDatabase>> | undefined
  let client: Client | undefined
  /** The statements of the list at hand that read too much, and the number of its statements. */
  let scans: string[] = []
  let statements = 0

  beforeAll(async () => {
    database = await migratedDatabase()
    const source = databaseSource(database.url)
    // Only this test decides when its tables are analysed.
    client = newClient(source, { role: 'test', connections: 1, statementMs: 60_000, session: BY_INDEX })
    for (const table of ['events_0', 'ended_deliveries_0', 'attempts_0', 'pending_deliveries', 'calls'])
      await client.query(`ALTER TABLE ${table} SET (autovacuum_enabled = off)`)
    const store = await openPostgresStore(source)
    await storeManyCalls(store, CALLS)
    await store.stop()
  })
  afterAll(async () => {
    await client?.stop()
    await database?.[Symbol.asyncDispose]()
  })

  /** Runs a statement, with its plan. */
  const read: Query = async (text, values) => {
    if (client === undefined) throw new Error('it is connected')
    const [explained] = await client.query<{ 'QUERY PLAN': readonly { Plan: Plan }[] }>(
      `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
      values,
    )
    const found = scansIn(explained?.['QUERY PLAN'][0]?.Plan ?? ({} as Plan))
    statements += 1
    const rows = found.reduce((sum, scan) => sum + scan.rows, 0)
    const ofCalls = found.filter(({ node }) => node.endsWith(' on calls')).reduce((sum, scan) => sum + scan.rows, 0)
    if (rows > MAX_ROWS || ofCalls > MAX_CALLS || found.some(({ node }) => node.startsWith('Seq Scan')))
      scans.push(`${rows} rows: ${found.map((scan) => `${scan.node} ${scan.rows}`).join(', ')}: ${text}`)
    return await client.query(text, values)
  }

  const db = { read, node: '', change: unused, transaction: unused, maintenance: unusedClient }
  const log = { ...createLogStore({ read }), ...runOperations(db, GROUPS.log) }
  const calls = runOperations(db, GROUPS.calls)
  const statistics = runOperations(db, GROUPS.statistics)

  const filters = [
    {},
    ...(['pending', 'delivered', 'failed', 'cancelled'] as const).map((state) => ({ state })),
    { event: 'call_saved' },
    { event: 'call_missed' },
    { url: LEFT },
    { state: 'failed', url: ALL },
    { state: 'pending', url: ALL },
    { untilUs: MIDDLE_US },
    { sinceUs: MIDDLE_US, state: 'delivered' },
    { callIds: [callIdOf(7)] },
    { callIds: Array.from({ length: 300 }, (_, call) => callIdOf(call)) },
  ] as const

  const lists: readonly (readonly [name: string, run: () => Promise<unknown>])[] = [
    ...filters.flatMap((filter) =>
      (['newest', 'oldest'] as const).flatMap((order) =>
        [ACCOUNT, null].map(
          (accountId) =>
            [
              `deliveries ${JSON.stringify({ ...filter, callIds: 'callIds' in filter ? filter.callIds.length : undefined })}, the ${order} of ${accountId}`,
              () =>
                log.deliveryList({
                  filter: { accountId, ...filter },
                  fromId: order === 'newest' ? Number.MAX_SAFE_INTEGER : 0,
                  limit: 50,
                  order,
                }),
            ] as const,
        ),
      ),
    ),
    ['a delivery', () => log.deliveryGet(ACCOUNT, 128)],
    ['deliveries by their ids', () => log.deliveryGetMany([128, 256, 384])],
    ['the events of a call', () => log.eventListOfCall(ACCOUNT, callIdOf(7))],
    ['events', () => log.eventRead({ accountId: ACCOUNT, afterId: 0, limit: 100 })],
    ['events of a kind', () => log.eventRead({ accountId: ACCOUNT, afterId: 0, limit: 100, names: ['call_missed'] })],
    ['events by call', () => log.eventRead({ accountId: ACCOUNT, afterId: 0, limit: 100, callId: callIdOf(7) })],
    ['the bounds of events', () => log.eventGetBounds(ACCOUNT)],
    ['the newest events', () => log.eventGetNewest([ACCOUNT])],
    ['the newest events above one', () => log.eventGetNewestAbove(9_000)],
    ['a short call id', () => calls.callIdListEndingIn({ accountId: ACCOUNT, ending: callIdOf(7).slice(-8) })],
    ['calls', () => calls.callList({ accountId: ACCOUNT, filter: {}, after: undefined, limit: 50 })],
    [
      'calls of a number',
      () => calls.callList({ accountId: ACCOUNT, filter: { number: '15557' }, after: undefined, limit: 50 }),
    ],
    ['the facts of calls', () => calls.callScan({ accountId: ACCOUNT, after: undefined, limit: 500 })],
    ['the number of calls', () => calls.callCount({ accountId: ACCOUNT, after: undefined, limit: 500 })],
    [
      'the facts of calls of a time, on a later page',
      () =>
        calls.callScan({
          accountId: ACCOUNT,
          sinceUs: FIRST_US,
          untilUs: FIRST_US + CALLS * STEP_US,
          after: { savedUs: MIDDLE_US, id: callIdOf(CALLS / 2) },
          limit: 500,
        }),
    ],
    ['calls by their ids', () => calls.callGetMany({ accountId: ACCOUNT, ids: MANY_IDS })],
    ['calls to call back', () => calls.callListToCallBack({ accountId: ACCOUNT, ids: MANY_IDS })],
    ['what events are about', () => log.eventAboutList([1, 2, 3])],
    ['figures of quarters', () => statistics.quarterGetOfAccount({ accountId: ACCOUNT, fromQuarter: 0 })],
    ['live calls', () => calls.liveCallListAccounts('office')],
    ['PBXs that are gone', () => calls.orphanedPbxList([])],
  ]

  for (const state of ['not analysed', 'analysed'] as const)
    describe(state, () => {
      beforeAll(async () => {
        if (state === 'analysed' && client !== undefined) {
          const never = await client.query('SELECT 1 FROM pg_class WHERE relname = $1 AND reltuples > 0', ['events_0'])
          expect(never).toEqual([])
          await analyzeNewPartitions(client)
          const now = await client.query('SELECT 1 FROM pg_class WHERE relname = $1 AND reltuples > 0', ['events_0'])
          expect(now).toHaveLength(1)
          await client.query('ANALYZE')
        }
      })

      test.each(lists)('%s', async (_, run) => {
        scans = []
        statements = 0
        await run()
        expect(statements).toBeGreaterThan(0)
        expect(scans).toEqual([])
      })
    })
})

function unused(): never {
  throw new Error('lists only read')
}
const unusedClient: Client = { query: unused, read: unused, transaction: unused, stop: unused }
