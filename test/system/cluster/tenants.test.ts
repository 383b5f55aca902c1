import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { newAccountDirectory } from '../../../src/calls/ingest/account-directory.ts'
import { startIngest } from '../../../src/calls/ingest/ingest.ts'
import type { ChannelSignal } from '../../../src/calls/signal.ts'
import { OWNS_EVERYTHING, type Ownership } from '../../../src/cluster/ownership.ts'
import { createLog } from '../../../src/lib/log.ts'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { openClock } from '../../../src/store/clock.ts'
import type { StoredEvent } from '../../../src/store/operations/calls.ts'
import { newClient } from '../../../src/store/postgres/engine/client.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { emptyFolder, type RunningApp, run, startServe } from '../../help/app.ts'
import { lastingSql } from '../../help/cluster-parts.ts'
import { databaseSource, migratedDatabase, POSTGRES_MISSING } from '../../help/postgres.ts'
import { startReceiver, until } from '../../help/receiver.ts'
import { customerOf, customersOf, endsMs, type Kind, recordingOfAll } from '../../help/tenant-recordings.ts'
import { addCustomers, areOver, eventsAt, strays, unsoundCalls } from '../../help/tenant-webhooks.ts'

// A PBX with several accounts has a separate lease: its owner writes into accounts that other nodes own.

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

test.skipIf(POSTGRES_MISSING !== undefined)('its events and its takeover concern all its accounts', async () => {
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
      calls: store.calls,
      history: store.log,
      ownership: { ...OWNS_EVERYTHING, isShared: true, fenceOf },
      clock,
      log,
      pbx: 'shared',
      account: null,
      accountId: null,
      tenants: { accounts: directory, isOnEveryChannel: false },
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
  // The owners of the accounts poll for these.
  expect([...(await store.log.eventGetNewest([acme, beta])).keys()].toSorted()).toEqual([acme, beta])

  const second = await node()
  expect([acme, beta].map((id) => [...second.ingest.liveCalls(id)].map(({ account }) => account))).toEqual([
    ['Acme'],
    ['Beta'],
  ])
  // The first node does not know yet that it lost the PBX: nothing that it stores reaches an account.
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

const SPEED = 4

const SHARED: readonly [Kind, scheme: string, tenants: string][] = [
  ['asterisk', 'ami://any', 'accountcode'],
  ['freeswitch', 'esl://', 'domain'],
]

for (const [kind, scheme, tenants] of SHARED)
  describe.skipIf(POSTGRES_MISSING !== undefined)(`customers of two nodes on one shared ${kind}`, () => {
    const customers = customersOf(kind, 16).map((one) => ({ ...one, fixtures: one.fixtures.slice(0, 1) }))
    const names = customers.map(({ name }) => name)
    /** The last one has no account. */
    const known = names.slice(0, -1)
    const folder = emptyFolder()
    const cleanups: (() => unknown)[] = [() => folder[Symbol.dispose]()]
    const receiver = startReceiver()
    cleanups.unshift(() => receiver.stop())
    const ends = endsMs(kind, customers)
    const endMs = Math.max(...ends.values())
    const breakAt = (part: number) => ({ atMs: part * endMs, gate: Promise.withResolvers<void>() })
    /** The time of the recording stops twice, until a node was killed. */
    const breaks = [breakAt(1 / 3), breakAt(2 / 3)] as const
    const replay = startReplay({
      files: [recordingOfAll(kind, customers)],
      speed: SPEED,
      holds: breaks.map(({ atMs, gate }) => ({ atMs, until: gate.promise })),
    })
    cleanups.unshift(() => replay.stop())
    let nodes: RunningApp[] = []
    let url = ''
    /** How many accounts each node had when the first was killed, and the second. */
    const shares: number[][] = []

    const args = ['--allow-net', 'loopback', '--log-level', 'warn', '--retry-schedule', '1s,1s,1s,1s,1s,1h']
    const pbx = `${scheme}:any@127.0.0.1:${replay.port}?name=shared&tenants=${tenants}`
    const startNode = async () => {
      const node = await startServe({ cwd: folder.path, args: [...args, '--database-url', url, '--pbx', pbx] })
      cleanups.unshift(() => node.stop('SIGKILL'))
      nodes.push(node)
    }
    const owners = async (): Promise<{ address: string; accounts: string[]; pbxs: string[] }[]> =>
      JSON.parse((await run(['nodes', '--json', '--database-url', url], { cwd: folder.path })).stdout)
    /** Returns the node that watches the PBX and one that does not, as soon as both own accounts. */
    async function roles() {
      for (;;) {
        const list = (await owners()).filter(({ address }) => nodes.some((node) => node.url === address))
        const watching = list.find(({ pbxs }) => pbxs.includes('shared'))
        const other = list.find((one) => one !== watching)
        if (watching === undefined || other === undefined || list.some(({ accounts }) => accounts.length === 0))
          continue
        shares.push(list.map(({ accounts }) => accounts.length))
        return { watching: watching.address, other: other.address }
      }
    }
    /**
     * Waits until the recording stops and the customers without a live call have got all events: nobody knows of a call
     * that begins and ends while no node watches.
     */
    async function standsStill({ atMs }: (typeof breaks)[number]): Promise<void> {
      await until('the PBX stands still', replay.isOnHold)
      const over = known.filter((name) => (ends.get(name) ?? 0) < atMs)
      await until('calls that were over are saved', () => {
        const events = eventsAt(receiver)
        const own = over.map((name) => events.filter(({ to }) => to === name))
        return own.every((some) => some.length > 0 && areOver(some))
      })
    }
    /** Kills a node, and lets the PBX continue as soon as it is watched again and another node has joined. */
    async function killAndGoOn(address: string, { gate }: (typeof breaks)[number]): Promise<void> {
      const [node] = nodes.filter((one) => one.url === address)
      await node?.stop('SIGKILL')
      nodes = nodes.filter((one) => one !== node)
      await startNode()
      await until('the PBX is watched', () => replay.clients() === 1)
      gate.resolve()
    }

    beforeAll(async () => {
      const database = await migratedDatabase()
      cleanups.unshift(() => database[Symbol.asyncDispose]())
      url = database.url
      const store = await openPostgresStore(databaseSource(url))
      await addCustomers(store, known, receiver.url)
      await store.stop()
      await startNode()
      await startNode()
      await standsStill(breaks[0])
      await killAndGoOn((await roles()).watching, breaks[0])
      await standsStill(breaks[1])
      await killAndGoOn((await roles()).other, breaks[1])
      await replay.finished
      await until('every call comes to its end', () => areOver(eventsAt(receiver)))
    })
    afterAll(async () => {
      for (const cleanUp of cleanups) await cleanUp()
    })

    test('both nodes own accounts, before and after the first kill', () => {
      expect(shares.map((share) => share.filter((count) => count > 0).length)).toEqual([2, 2])
    })

    test('each gets the events of its own calls alone', () => {
      expect(strays(eventsAt(receiver), (pbxId) => customerOf(names, pbxId))).toEqual([])
      expect([...new Set(eventsAt(receiver).map(({ to }) => to))].toSorted()).toEqual(known.toSorted())
    })

    test('each call begins once and ends once, and its events are complete and in order', () => {
      expect(unsoundCalls(eventsAt(receiver))).toEqual([])
    })

    test('the webhooks got exactly the events in the database', async () => {
      const sql = lastingSql(url)
      await until('nothing is unfinished', async () => (await sql.unfinished()) === 0)
      const stored = (await sql.events()).map(({ account, uuid }) => `${account} ${uuid}`)
      const got = eventsAt(receiver).map(({ to, body }) => `${to} ${body.data.id}`)
      expect(got.toSorted()).toEqual(stored.toSorted())
      await sql.stop()
      const verified = await run(['verify', '--database-url', url], { cwd: folder.path })
      expect([verified.code, verified.stderr]).toEqual([0, ''])
    })
  })

describe('the accounts by name', () => {
  const { directory, set } = newAccountDirectory()
  set([
    { id: 1, name: 'default' },
    { id: 2, name: 'Acme' },
    { id: 3, name: 'ACME' },
    { id: 4, name: 'École' },
  ])

  test.each([
    ['acme', 'Acme'],
    ['ACME', 'ACME'],
    ['Default', 'default'],
    [' ACME ', 'Acme'],
    ['e\u0301cole', 'École'],
    ['beta', undefined],
  ])('%s is %p', (name, spelling) => expect(directory.spellingOf(name)).toBe(spelling))

  test('an account that is added is found from then on', () => {
    set([
      { id: 1, name: 'default' },
      { id: 4, name: 'Beta' },
    ])
    expect([directory.spellingOf('beta'), directory.get('Beta'), directory.get('Acme')]).toEqual(['Beta', 4, undefined])
  })
})
