import { describe, expect, test } from 'bun:test'
import { diagnoseDatabaseClock, diagnoseServer } from '../../src/cli/doctor/database-server.ts'
import { diagnoseNodes } from '../../src/cli/doctor/nodes.ts'
import type { ServerFacts } from '../../src/store/postgres/engine/server-facts.ts'
import { emptyFolder, run, startServe } from '../help/app.ts'
import { PASSWORD } from '../help/client.ts'
import { databaseSource, emptyDatabase, POSTGRES_MISSING } from '../help/postgres.ts'

const SOURCE = databaseSource('postgres://me:secret@db.example/calls')
const FACTS: ServerFacts = {
  version: '18.4',
  fsync: 'on',
  synchronousCommit: 'on',
  fullPageWrites: 'on',
  isStandby: false,
  mayCreate: true,
  hasStore: true,
  isEncrypted: true,
  asynchronousStandbys: 0,
  clockAheadMs: 20,
  roundTripMs: 0.4,
  unknownStandbys: 0,
  hasSharedSessions: false,
  ignoredSettings: [],
}

test.each<[string, Partial<ServerFacts>, RegExp[]]>([
  ['a server that keeps what it acknowledged', {}, []],
  ['fsync', { fsync: 'off' }, [/^wrong fsync is off: .*ALTER SYSTEM SET fsync = on/]],
  ['synchronous_commit', { synchronousCommit: 'off' }, [/^wrong synchronous_commit is off/]],
  ['full_page_writes', { fullPageWrites: 'off' }, [/^wrong full_page_writes is off/]],
  ['asynchronous standbys', { asynchronousStandbys: 2 }, [/^advice 2 of its standbys/]],
  [
    'standbys of which it cannot know',
    { unknownStandbys: 1 },
    [/^advice it has 1 standbys, and its user may not see .*GRANT pg_monitor TO "me"/],
  ],
  ['a pooler that shares sessions', { hasSharedSessions: true }, [/^wrong a pooler .*pool_mode = session/]],
  ['a pooler that drops settings', { ignoredSettings: ['jit', 'search_path'] }, [/^wrong these .*: jit, search_path/]],
  ['privileges', { mayCreate: false }, [/^wrong me may not create tables.*ALTER DATABASE "calls" OWNER TO "me"/]],
  ['no encryption', { isEncrypted: false }, [/^advice the connection is not encrypted/]],
  ['a long way', { roundTripMs: 30 }, [/^advice a round trip to it takes 30\.0 ms/]],
  ['its clock', { clockAheadMs: -3_600_000 }, [/^advice its clock differs .* by 1 h/]],
])('doctor judges %s', (_, facts, expected) => {
  const [first, ...found] = diagnoseServer({ ...FACTS, ...facts }, SOURCE)
  expect(first?.text).toContain('calls on db.example:5432: PostgreSQL 18.4')
  const lines = found.map(({ level, text, fix }) => `${level} ${text} → ${fix}`)
  expect(lines).toEqual(expected.map((pattern) => expect.stringMatching(pattern)))
})

test.each([
  [30_000_000, null, ["the clock of http://a:1 is 30 s ahead of the database's: times of its events are corrected"]],
  [-2_000_000, null, ["the clock of http://a:1 is 2 s behind the database's: times of its events are corrected"]],
  [900_000, null, []],
  [30_000_000, 1, []],
  [null, null, []],
])('doctor judges the clock of a node that is %p µs ahead', (clockAheadUs, deadUs, expected) => {
  expect(diagnoseDatabaseClock({ address: 'http://a:1', deadUs, clockAheadUs }).map(({ text }) => text)).toEqual(
    expected,
  )
})

test('doctor goes by the heartbeats of nodes: which are up, silent, dead, gone on purpose, or replaced', () => {
  const nowUs = 1_000_000_000_000
  const node = (address: string, agoS: number, rest: { deadUs?: number; isLeaving?: boolean } = {}) => ({
    address,
    settings: null,
    presets: null,
    beatUs: nowUs - agoS * 1_000_000,
    clockAheadUs: null,
    deadUs: null,
    isLeaving: false,
    ...rest,
  })
  const lines = (...nodes: ReturnType<typeof node>[]) =>
    diagnoseNodes(nodes, nowUs).map(({ level, text }) => `${level} ${text}`)
  expect(
    lines(
      node('http://a:1', 0.5),
      node('http://b:1', 30),
      node('http://c:1', 600, { deadUs: 5 }),
      node('http://d:1', 600, { deadUs: 5, isLeaving: true }),
      node('http://a:1', 900, { deadUs: 5 }),
    ),
  ).toEqual([
    expect.stringMatching(/^ok http:\/\/a:1 is up; its last heartbeat was .* ago$/),
    'wrong http://b:1 is silent; its last heartbeat was 30 s ago',
    'wrong http://c:1 is dead; its last heartbeat was 10 min ago',
  ])
  expect(lines()).toEqual(['advice no node runs on this database'])
  expect(lines(node('http://d:1', 600, { deadUs: 5, isLeaving: true }))).toHaveLength(1)
})

test('doctor names the presets of files that not all nodes have', () => {
  const nowUs = 1_000_000_000_000
  const folders = { recordingsFrom: [], recordingsCopy: null, backup: null, backupEveryMs: 0 }
  const node = (address: string, files: Record<string, string> | undefined) => ({
    address,
    beatUs: nowUs,
    clockAheadUs: null,
    deadUs: null,
    isLeaving: false,
    settings: JSON.stringify({ url: address, allowNets: [], proxy: null, ...folders, preset_files: files }),
    presets: files === undefined ? null : ['odoo', ...Object.keys(files)],
  })
  const wrongs = (...nodes: ReturnType<typeof node>[]) =>
    diagnoseNodes(nodes, nowUs).flatMap(({ level, text }) => (level === 'wrong' ? [text] : []))
  const [a, b] = ['http://a:1', 'http://b:1']
  expect(wrongs(node(a, { mine: '1', other: '2' }), node(b, { mine: '1', other: '2' }))).toEqual([])
  expect(wrongs(node(a, { mine: '1', other: '2' }), node(b, { other: '3' }))).toEqual([
    'http://b:1 lacks the preset mine: nodes that have it send for the accounts that use it',
    'the nodes have different files of the preset other',
  ])
  // A node of an earlier version does not note them.
  expect(wrongs(node(a, { mine: '1' }), node(b, undefined))).toEqual([])
})

describe.skipIf(POSTGRES_MISSING !== undefined)('hookswitch doctor', () => {
  test('checks a database: its server, the store in it, and what keeps it from being used', async () => {
    using folder = emptyFolder()
    await using database = await emptyDatabase()
    const doctor = (url = database.url) =>
      run(['doctor', '--database-url', url, '--listen', '127.0.0.1:0'], { cwd: folder.path })
    const empty = await doctor()
    expect(empty.stdout).toMatch(/^wrong +database: it has no store yet/m)
    await run(['user', 'add', '--email', 'a@example.com', '--name', 'A', '--database-url', database.url], {
      cwd: folder.path,
      stdin: `${PASSWORD}\n`,
    })
    const { stdout } = await doctor()
    expect(stdout).toMatch(/^ok +database: .*PostgreSQL 18/m)
    // The server of the tests need not outlive a power cut.
    expect(stdout).toMatch(/^wrong +database: fsync is off/m)
    expect(stdout).toMatch(/^ok +users: 1 can log in/m)
    expect(stdout).toMatch(/^advice +node: no node runs on this database/m)
    const app = await startServe({ cwd: folder.path, args: ['--database-url', database.url] })
    const served = await doctor()
    await app.stop()
    expect(served.stdout).toMatch(/^ok +node: http:\S+ is up; its last heartbeat was/m)
    // What answers at the address may be anything: the database has no node any more.
    const other = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => Response.json({ code: 200 }) })
    const listen = `127.0.0.1:${other.port}`
    const left = await run(['doctor', '--database-url', database.url, '--listen', listen], { cwd: folder.path })
    await other.stop(true)
    expect(left.stdout).toMatch(/^advice +node: no node runs on this database/m)
    expect(left.stdout).not.toMatch(/^ok +(node|service):/m)
    const wrong = new URL(database.url)
    wrong.password = 'wrong-secret'
    const refused = await doctor(wrong.href)
    expect(refused.code).toBe(1)
    expect(refused.stdout).toMatch(/^wrong +database: .*refuses this user or its password/m)
    expect(refused.stdout).not.toContain('wrong-secret')
  })
})
