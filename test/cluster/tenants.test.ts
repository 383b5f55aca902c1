import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { newAccountDirectory } from '../../src/calls/account-directory.ts'
import { startIngest } from '../../src/calls/ingest.ts'
import type { ChannelSignal } from '../../src/calls/signal.ts'
import { OWNS_EVERYTHING, type Ownership } from '../../src/cluster/ownership.ts'
import { openClock } from '../../src/deliveries/clock.ts'
import { createLog } from '../../src/lib/log.ts'
import type { StoredEvent } from '../../src/store/operations/calls.ts'
import { newClient } from '../../src/store/postgres/engine/client.ts'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { databaseSource, migratedDatabase, POSTGRES_MISSING } from '../help/postgres.ts'
import { until } from '../help/receiver.ts'

// A PBX with several accounts has a lease of its own: its owner writes into accounts that other nodes own.

const log = createLog('silent')
const phone = { kind: 'extension', number: '101', name: null } as const
const outside = { kind: 'external', number: '15551230001', name: null } as const
const end = { code: 16, result: 'no_answer', withdrawn: true, mayTransfer: false, forwardedTo: null } as const

/** A customer's phone is dialled for a caller from the trunk, which they share. */
const begins = (tenant: string): ChannelSignal[] => {
  const channel = { kind: 'channel', linkedId: `a ${tenant}`, originated: false, shown: null } as const
  return [
    { ...channel, id: `a ${tenant}`, endpoint: outside, dialledNumber: '200' },
    { ...channel, id: `b ${tenant}`, endpoint: phone, dialledNumber: null, tenant },
    { kind: 'dial_begin', source: `a ${tenant}`, dest: `b ${tenant}`, endpoint: phone, shown: null },
    { kind: 'ringing', id: `b ${tenant}` },
  ]
}
const endsAll = (tenant: string): ChannelSignal[] => [
  { kind: 'hangup', id: `a ${tenant}`, end },
  { kind: 'hangup', id: `b ${tenant}`, end },
]

test.skipIf(POSTGRES_MISSING !== undefined)('its events and its takeover are those of all its accounts', async () => {
  await using database = await migratedDatabase()
  const source = databaseSource(database.url)
  const store = await openPostgresStore(source)
  const beside = newClient(source, { role: 'beside', connections: 2, statementMs: 60_000 })
  const user = { type: 1, name: 'A', passwordHash: '', atUs: 0 }
  for (const account of ['Acme', 'Beta']) await store.accounts.userCreate({ ...user, account, email: account })
  const { directory, set } = newAccountDirectory()
  set(await store.accounts.accountList())
  const [acme, beta] = [directory.get('Acme') ?? 0, directory.get('Beta') ?? 0]
  const clock = await openClock({ maintenance: store.maintenance, log })
  await beside.query("INSERT INTO leases (name, node, term) VALUES ('pbx:shared', 'one', $1::uuid)", [randomUUID()])

  /** The node that takes the lease of the PBX now. */
  async function node() {
    const term = randomUUID()
    await beside.query("UPDATE leases SET term = $1::uuid WHERE name = 'pbx:shared'", [term])
    const fenceOf: Ownership['fenceOf'] = (lease) => ({ leaseNames: [lease], terms: [term] })
    const stored: StoredEvent[] = []
    const ingest = await startIngest({
      ...{ calls: store.calls, ownership: { ...OWNS_EVERYTHING, isShared: true, fenceOf }, clock, log },
      ...{ pbx: 'shared', account: null, accountId: null, tenants: { accounts: directory, isOnEveryChannel: false } },
      onStored: (events) => void stored.push(...events),
      onMissed() {},
      onFault() {},
    })
    const feed = (...signals: ChannelSignal[]) =>
      ingest.feed(signals.map((signal) => ({ atUs: Date.now() * 1_000, arrivedUs: 0, ...signal })))
    return { ingest, feed, stored }
  }
  const listed = () =>
    beside.query<{ account: number; name: string; id: number }>(
      'SELECT account_id::float8 AS account, name, id::float8 AS id FROM events ORDER BY id',
    )

  const first = await node()
  first.feed(...begins('acme'), ...begins('BETA'))
  await until('both calls are stored', () => first.stored.length === 4)
  // What the owners of the accounts poll for.
  expect([...(await store.log.eventGetNewest([acme, beta])).keys()].toSorted()).toEqual([acme, beta])

  const second = await node()
  expect([acme, beta].map((id) => [...second.ingest.liveCalls(id)].map(({ account }) => account))).toEqual([
    ['Acme'],
    ['Beta'],
  ])
  // The first one does not know yet that it lost the PBX: of what it stores nothing reaches any account.
  first.feed(
    ...begins('acme').map((signal): ChannelSignal => JSON.parse(JSON.stringify(signal).replaceAll(' acme', ' other'))),
  )
  await first.ingest.stop()
  expect(await listed()).toHaveLength(4)

  second.feed(...endsAll('acme'), ...endsAll('BETA'))
  await until('both calls are saved', () => second.stored.filter(({ name }) => name === 'call_saved').length === 2)
  await second.ingest.stop()
  const rows = await listed()
  for (const account of [acme, beta]) {
    const own = rows.filter((row) => row.account === account)
    expect(own.map(({ name }) => name)).toEqual([
      'call_started',
      'dial_started',
      'dial_ended',
      'call_ended',
      'call_saved',
    ])
  }
  const names = (events: readonly StoredEvent[], id: number) =>
    new Set(events.flatMap(({ accountId, body }) => (accountId === id ? [JSON.parse(body).data.account] : [])))
  expect([names(second.stored, acme), names(second.stored, beta)]).toEqual([new Set(['Acme']), new Set(['Beta'])])
  await store.stop()
  await beside.stop()
})

describe('the accounts by name', () => {
  const { directory, set } = newAccountDirectory()
  set([
    { id: 1, name: 'default' },
    { id: 2, name: 'Acme' },
    { id: 3, name: 'ACME' },
  ])

  test.each([
    ['acme', 'Acme'],
    ['ACME', 'ACME'],
    ['Default', 'default'],
    ['beta', undefined],
  ])('%s is %p', (name, spelling) => expect(directory.spellingOf(name)).toBe(spelling))

  test('an account that is added is found from then on', () => {
    set([...[{ id: 1, name: 'default' }], { id: 4, name: 'Beta' }])
    expect([directory.spellingOf('beta'), directory.get('Beta'), directory.get('Acme')]).toEqual(['Beta', 4, undefined])
  })
})
