import { describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startReplay } from '../../src/pbx/tools/replay/replay.ts'
import type { PbxInfo } from '../../src/pbx/watch/model.ts'
import { emptyFolder, type RunningApp, run, startServe } from '../help/app.ts'
import { ask, logIn, PASSWORD } from '../help/client.ts'
import { fixture } from '../help/pbx.ts'
import { emptyDatabase, POSTGRES_MISSING } from '../help/postgres.ts'
import { until } from '../help/receiver.ts'

const NAMES = ['one', 'two', 'three', 'four']

describe.skipIf(POSTGRES_MISSING !== undefined)('PBXs of two nodes on one Postgres', () => {
  test('are watched by one of them each, whichever was asked, and any node shows all of them', async () => {
    using folder = emptyFolder()
    await using database = await emptyDatabase()
    writeFileSync(join(folder.path, 'database-url'), database.url)
    const env = { HOOKSWITCH_DATABASE_URL_FILE: join(folder.path, 'database-url') }
    const nodes = [await startServe({ cwd: folder.path, env }), await startServe({ cwd: folder.path, env })] as const
    const add = 'user add --admin --email admin@example.com --name Admin'
    await run(add.split(' '), { cwd: folder.path, env, stdin: PASSWORD })
    const token = await logIn(nodes[0], 'admin@example.com')
    const never = new Promise(() => {})
    const replays = NAMES.map(() => startReplay({ files: [fixture('g-internal.ami')], after: never }))
    const list = async (node: RunningApp) => (await ask(node, 'GET', '/pbx', { token })).body.result as PbxInfo[]
    const clients = () => replays.map((replay) => replay.clients())
    const owned = async () => {
      const { stdout } = await run(['nodes', '--json'], { cwd: folder.path, env })
      const rows: { pbxs: string[] }[] = JSON.parse(stdout)
      return rows.map(({ pbxs }) => pbxs.length)
    }

    for (const [at, name] of NAMES.entries()) {
      // With many customers: the calls of one account alone would all go to its owner.
      const url = `ami://u:s@127.0.0.1:${replays[at]?.port}?tenants=accountcode`
      const node = nodes[at % 2] ?? nodes[0]
      expect((await ask(node, 'PUT', `/pbx/${name}`, { token, body: { url } })).status).toBe(200)
    }
    for (const node of nodes)
      await until('all are up', async () => {
        const pbxs = await list(node)
        return pbxs.length === NAMES.length && pbxs.every(({ state }) => state === 'up')
      })
    await until('each node has its share', async () => (await owned()).every((count) => count === 2))
    await until('each PBX has one connection', () => clients().every((count) => count === 1))

    for (const name of NAMES) expect((await ask(nodes[1], 'DELETE', `/pbx/${name}`, { token })).status).toBe(200)
    await until('they are left', () => clients().every((count) => count === 0))
    await until('nothing is left of them', async () => (await owned()).every((count) => count === 0))
    for (const node of nodes) await until('no node lists them', async () => (await list(node)).length === 0)
    for (const node of nodes) await node.stop()
    for (const replay of replays) await replay.stop()
  })
})
