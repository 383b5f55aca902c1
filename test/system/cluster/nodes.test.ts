import { describe, expect, test } from 'bun:test'
import { lackingPresetsLine, nodeLine } from '../../../src/cli/node-line.ts'
import { emptyFolder, run, startServe } from '../../help/app.ts'
import { emptyDatabase, POSTGRES_MISSING } from '../../help/postgres.ts'
import { until } from '../../help/receiver.ts'

test('without a database there are no nodes to list', async () => {
  using folder = emptyFolder()
  const { code, stderr } = await run(['nodes'], { cwd: folder.path })
  expect([code, stderr]).toEqual([
    2,
    'hookswitch: give --database-url (HOOKSWITCH_DATABASE_URL): a service with --data is always a single node\n',
  ])
})

describe.skipIf(POSTGRES_MISSING !== undefined)('nodes on a database', () => {
  test('are listed with their accounts and PBXs, also after they stopped', async () => {
    using folder = emptyFolder()
    await using database = await emptyDatabase()
    const nodes = async () => {
      const { code, stdout, stderr } = await run(['nodes', '--json', '--database-url', database.url], {
        cwd: folder.path,
      })
      expect([code, stderr]).toEqual([0, ''])
      const list: { address: string; state: string; accounts: string[]; pbxs: string[]; maintenance: boolean }[] =
        JSON.parse(stdout)
      return list.map(({ address, state, accounts, pbxs, maintenance }) => ({
        address,
        state,
        accounts,
        pbxs,
        maintenance,
      }))
    }
    expect(await nodes()).toEqual([])
    const pbx = ['--pbx', 'ami://any:any@127.0.0.1:1?name=office']
    const app = await startServe({ cwd: folder.path, args: ['--database-url', database.url, ...pbx] })
    const all = { accounts: ['default'], pbxs: ['office'], maintenance: true }
    await until('it owns all', async () => (await nodes())[0]?.maintenance === true)
    expect(await nodes()).toEqual([{ address: app.url, state: 'up', ...all }])
    const printed = async () => (await run(['nodes', '--database-url', database.url], { cwd: folder.path })).stdout
    await until('it has failed to connect', async () => (await printed()).includes('(not connected'))
    expect(await printed()).toMatch(
      /^http:\/\/127\.0\.0\.1:\d+ {2}\S+ {2}up since \S+ {2}owns 1 account, PBX office \(not connected: .+\), maintenance\n$/,
    )
    expect(await app.stop()).toBe(0)
    expect(await nodes()).toEqual([{ address: app.url, state: 'dead', accounts: [], pbxs: [], maintenance: false }])
  })
})

const shown = (pbxs: number): Parameters<typeof nodeLine>[0] => ({
  id: 'a',
  address: 'http://192.0.2.1:8080',
  version: '1.0.0',
  state: 'up',
  since: 'S',
  last_heard_of: 'H',
  clock_ahead_ms: -30_040,
  account_count: 1,
  accounts: ['default'],
  pbxs: [],
  presets: ['odoo'],
  lacking_presets: [],
  maintenance: true,
  answers: false,
  pbx_states: Array.from({ length: pbxs }, (_, at) => ({
    name: `pbx-${at}`,
    state: 'refused' as const,
    since: null,
    error: 'the user or the password is wrong',
  })),
})

test.each([80, 120, 200])(
  'a node with many PBXs has a line of at most %i columns, and says how many are left out',
  (width) => {
    const line = nodeLine(shown(500), width)
    expect(line.length).toBeLessThanOrEqual(width)
    expect(line).toContain('clock 30.0 s behind the database')
    if (width === 200) expect(line).toMatch(/PBX pbx-0 \(.*\) and 49\d more \(--json lists them\), maintenance$/)
  },
)

test('a node with few PBXs has all in its line', () => {
  expect(nodeLine(shown(2), 300)).toMatch(/PBX pbx-0 \(refused: .*\), pbx-1 \(refused: .*\), maintenance$/)
})

test('a node that lacks presets has a line of its own that names them', () => {
  const line = (...names: string[]) => lackingPresetsLine({ ...shown(1), lacking_presets: names })
  expect(line()).toBeUndefined()
  expect(line('dolibarr')).toBe(
    'http://192.0.2.1:8080 lacks the preset dolibarr: nodes that have it send for the accounts that use it',
  )
  expect(line('dolibarr', 'frappe')).toContain('lacks the presets dolibarr, frappe: nodes that have them')
})
