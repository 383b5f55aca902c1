import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import type { PbxInfo } from '../../../src/pbx/watch/model.ts'
import type { Overview } from '../../../src/web/model.ts'
import { emptyFolder, type RunningApp, startServe } from '../../help/app.ts'
import { ask, newToken, webhook } from '../../help/client.ts'
import { migratedDatabase, POSTGRES_MISSING } from '../../help/postgres.ts'
import { startReceiver, until } from '../../help/receiver.ts'
import { followStream } from '../../help/stream.ts'
import { customerOf, customersOf, firstHangupMs, recordingOfAll } from '../../help/tenant-recordings.ts'
import { areOver } from '../../help/tenant-webhooks.ts'

// Two customers of one PBX have the page open at the same time, each at another node if there are two.

const ENGINES = [
  { name: 'one node with SQLite', missing: undefined, isShared: false },
  { name: 'two nodes with Postgres', missing: POSTGRES_MISSING, isShared: true },
]

for (const engine of ENGINES)
  describe.skipIf(engine.missing !== undefined)(`at ${engine.name}`, () => {
    const customers = customersOf('asterisk', 4).map((one) => ({ ...one, fixtures: one.fixtures.slice(0, 1) }))
    const names = customers.map(({ name }) => name)
    const [ann = '', ben = ''] = names
    const folder = emptyFolder()
    const stops: (() => unknown)[] = [() => folder[Symbol.dispose]()]
    const receiver = startReceiver()
    stops.unshift(() => receiver.stop())
    const [begin, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const recording = recordingOfAll('asterisk', customers)
    // All customers have a call up at this moment, and the recordings stop until the test has checked the pages.
    const stopsAtMs = firstHangupMs(recording, customers)
    const replay = startReplay({
      files: [recording],
      speed: 4,
      after: begin.promise,
      holds: [{ atMs: stopsAtMs, until: goOn.promise }],
    })
    stops.unshift(() => replay.stop())

    type Viewer = { readonly account: string; readonly node: RunningApp; readonly token: string }
    type Stream = Awaited<ReturnType<typeof followStream>>
    let viewers: (Viewer & { readonly stream: Stream })[] = []

    const overviewOf = async ({ node, token }: Viewer) =>
      (await ask(node, 'GET', '/overview', { token })).body.result as Overview
    const pbxsOf = async ({ node, token }: Viewer) =>
      (await ask(node, 'GET', '/pbx', { token })).body.result as PbxInfo[]
    /** Returns the customers whose data a stream has. */
    const ownersIn = ({ stream }: { stream: Stream }) => {
      const ofCalls = stream.of('call').map((call) => customerOf(names, call.pbx_id))
      const ofEvents = stream.of('event').flatMap(({ data }) => [data.account, customerOf(names, data.call.pbx_id)])
      const ofDeliveries = stream.of('delivery').map(({ url }) => new URL(url).pathname.slice(1))
      return new Set([...ofCalls, ...ofEvents, ...ofDeliveries])
    }

    beforeAll(async () => {
      const store: string[] = []
      if (engine.isShared) {
        const database = await migratedDatabase()
        stops.unshift(() => database[Symbol.asyncDispose]())
        store.push('--database-url', database.url)
      }
      const args = ['--allow-net', 'loopback', '--log-level', 'warn', ...store]
      const pbx = `ami://any:any@127.0.0.1:${replay.port}?name=shared&tenants=accountcode`
      const nodes: RunningApp[] = []
      for (let count = 0; count < (engine.isShared ? 2 : 1); count++) {
        const node = await startServe({ cwd: folder.path, args: [...args, '--pbx', pbx] })
        stops.unshift(() => node.stop())
        nodes.push(node)
      }
      const [first] = nodes
      const last = nodes.at(-1)
      if (first === undefined || last === undefined) throw new Error('there is no node')
      for (const [account, node] of [
        [ann, first],
        [ben, last],
        ['stranger', last],
      ] as const) {
        const token = await newToken(node, `a@${account.toLowerCase()}.example`, { account, store })
        const list = [webhook(`${receiver.url}/${account}`)]
        expect((await ask(node, 'PUT', '/integration/webhook', { token, body: list })).status).toBe(200)
        viewers.push({ account, node, token, stream: await followStream(node, token) })
      }
    })
    afterAll(async () => {
      for (const { stream } of viewers) stream.drop()
      viewers = []
      for (const stop of stops) await stop()
    })

    test('customers see the PBX only after their first call there', async () => {
      await until('it is connected', () => replay.clients() === 1)
      for (const viewer of viewers) expect([await pbxsOf(viewer), (await overviewOf(viewer)).pbxs]).toEqual([[], []])
    })

    test('each sees its own live calls, and the PBX without its phones and trunks', async () => {
      begin.resolve()
      const [annSees, benSees, strangerSees] = viewers
      for (const viewer of [annSees, benSees]) {
        if (viewer === undefined) throw new Error('a customer is missing')
        await until('it sees a call live', () => viewer.stream.of('event').length > 0)
        await until('the overview has it', async () => (await overviewOf(viewer)).calls.length > 0)
        const { account, calls } = await overviewOf(viewer)
        expect(account).toBe(viewer.account)
        expect([...new Set(calls.map(({ call }) => customerOf(names, call.pbx_id ?? '')))]).toEqual([viewer.account])
        await until('it sees the PBX', async () => (await pbxsOf(viewer)).length > 0)
        const [pbx] = await pbxsOf(viewer)
        expect(Object.keys(pbx ?? {})).not.toContain('url')
        expect(pbx?.calls).toBeLessThanOrEqual(calls.length)
        const { pbxs } = await overviewOf(viewer)
        expect(pbxs.map(({ name, endpoints }) => ({ name, endpoints }))).toEqual([
          { name: 'shared', endpoints: { trunks: [], phones: [], undecided: [] } },
        ])
        const late = await followStream(viewer.node, viewer.token)
        await until('who comes later gets what is up', () => late.of('call').length > 0)
        expect([...ownersIn({ stream: late })]).toEqual([viewer.account])
        late.drop()
      }
      if (strangerSees === undefined) throw new Error('the stranger is missing')
      const { pbxs, calls } = await overviewOf(strangerSees)
      expect([await pbxsOf(strangerSees), pbxs, calls]).toEqual([[], [], []])
    })

    test('each has seen its own calls to their end, with their deliveries, and nothing of another', async () => {
      goOn.resolve()
      await replay.finished
      for (const viewer of viewers.slice(0, 2)) {
        const { stream, account } = viewer
        await until('its calls are over', async () => (await overviewOf(viewer)).calls.length === 0)
        await until('all of them are saved', () => areOver(stream.of('event').map((body) => ({ to: account, body }))))
        const sent = () => new Set(receiver.received.flatMap(({ path, id }) => (path === `/${account}` ? [id] : [])))
        await until('every event is in its stream', () => {
          const seen = new Set(stream.of('event').map(({ data }) => data.id))
          return sent().size > 0 && sent().difference(seen).size === 0
        })
        await until('their deliveries are', () =>
          [...sent()].every((id) =>
            stream.of('delivery').some((one) => one.event_id === id && one.state === 'delivered'),
          ),
        )
        expect([...ownersIn(viewer)]).toEqual([account])
      }
      expect(viewers.at(-1)?.stream.messages).toEqual([])
    })
  })
