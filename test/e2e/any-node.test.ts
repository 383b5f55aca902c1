import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startReplay } from '../../src/pbx/tools/replay/replay.ts'
import { emptyFolder, type RunningApp, run, startServe } from '../help/app.ts'
import { ask, logIn, PASSWORD, webhook } from '../help/client.ts'
import { fixture } from '../help/pbx.ts'
import { emptyDatabase, POSTGRES_MISSING } from '../help/postgres.ts'
import { startReceiver, until } from '../help/receiver.ts'
import { followStream } from '../help/stream.ts'

/** Two nodes of the compiled file on one database: whichever is asked shows the whole account. */

type Overview = {
  readonly pbxs: readonly { name: string; state: string; since: string | null; endpoints: { phones: string[] } }[]
  readonly calls: readonly { call: { id: string } }[]
  readonly webhooks: readonly {
    url: string
    down_since: string | null
    pending: number
    last: { status: number | null } | null
  }[]
  readonly minutes: readonly { events: number; delivered: number; failed_attempts: number }[]
}

describe.skipIf(POSTGRES_MISSING !== undefined)('any of two nodes', () => {
  const folder = emptyFolder()
  const cleaning = new AsyncDisposableStack()
  const good = startReceiver()
  const bad = startReceiver(() => new Response('no', { status: 500 }))
  const followed = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  /** A phone has answered before this moment of the recording. */
  const HOLD_AT_MS = 6_500
  let owner: RunningApp
  let other: RunningApp
  let token = ''
  const overviewOf = async (app: RunningApp): Promise<Overview> => {
    const { body } = await ask(app, 'GET', '/overview', { token })
    return JSON.parse(JSON.stringify(body.result))
  }

  beforeAll(async () => {
    cleaning.defer(() => folder[Symbol.dispose]())
    cleaning.defer(() => void good.stop())
    cleaning.defer(() => void bad.stop())
    const database = cleaning.use(await emptyDatabase())
    const env = { HOOKSWITCH_DATABASE_URL: database.url }
    const replay = startReplay({
      files: [fixture('l2-attended-transfer-refer.ami')],
      speed: 5,
      after: followed.promise,
      holds: [{ atMs: HOLD_AT_MS, until: answered.promise }],
    })
    cleaning.defer(() => replay.stop())
    const added = await run(['user', 'add', '--email', 'a@example.com', '--name', 'A'], {
      cwd: folder.path,
      env,
      stdin: `${PASSWORD}\n`,
    })
    expect(added.code).toBe(0)
    const args = [
      '--allow-net',
      'loopback',
      '--retry-schedule',
      '200ms,200ms,200ms,200ms,200ms,200ms,1h',
      '--pbx',
      `ami://any:any@127.0.0.1:${replay.port}?name=office`,
    ]
    const start = async () => {
      const app = await startServe({ cwd: folder.path, env, args })
      cleaning.defer(async () => void (await app.stop()))
      return app
    }
    const nodes = async (): Promise<{ address: string; accounts: string[]; pbxs: string[]; maintenance: boolean }[]> =>
      JSON.parse((await run(['nodes', '--json'], { cwd: folder.path, env })).stdout)
    owner = await start()
    await until('the first owns all', async () => {
      const [first] = await nodes()
      return first?.accounts.length === 1 && first.pbxs.length === 1 && first.maintenance
    })
    other = await start()
    token = await logIn(other, 'a@example.com')
    const list = [webhook(`${good.url}/crm`), webhook(`${bad.url}/bot`)]
    expect((await ask(other, 'PUT', '/integration/webhook', { token, body: list })).status).toBe(200)
  })
  afterAll(() => cleaning.disposeAsync())

  test('shows PBXs, calls, circuit breakers and figures, and its stream has each event before its deliveries', async () => {
    const streams = [await followStream(owner, token), await followStream(other, token)]
    followed.resolve()
    await until('the event is there', () => good.received.length > 3)
    for (const app of [owner, other]) {
      await until('the PBX is up', async () => (await overviewOf(app)).pbxs[0]?.state === 'up')
      await until('a call is up', async () => (await overviewOf(app)).calls.length > 0)
    }
    const endpointsOf = async (app: RunningApp) => (await overviewOf(app)).pbxs[0]?.endpoints
    await until('both show the same phones', async () => {
      const [mine, theirs] = [await endpointsOf(owner), await endpointsOf(other)]
      return (mine?.phones.length ?? 0) > 0 && Bun.deepEquals(mine, theirs)
    })
    answered.resolve()
    await until('a call was saved', () => good.received.some(({ body }) => JSON.parse(body).data.name === 'call_saved'))
    const isDown = async (app: RunningApp) => (await overviewOf(app)).webhooks[1]?.down_since !== null
    await until('the owner shows that one is down', () => isDown(owner))
    await until('the other shows it too', () => isDown(other))
    bad.answerWith(() => new Response('ok'))
    await until('all is delivered', async () =>
      (await overviewOf(owner)).webhooks.every(({ pending, down_since: since }) => pending === 0 && since === null),
    )
    const summaryOf = (app: Overview) => ({
      calls: app.calls,
      webhooks: app.webhooks.map(({ last, ...rest }) => ({ ...rest, status: last?.status })),
      events: app.minutes.reduce((sum, { events }) => sum + events, 0),
      delivered: app.minutes.reduce((sum, { delivered }) => sum + delivered, 0),
      failed: app.minutes.reduce((sum, minute) => sum + minute.failed_attempts, 0) > 0,
    })
    const events = new Set(good.received.map(({ id }) => id)).size
    await until('both show the same', async () => {
      const [mine, theirs] = [summaryOf(await overviewOf(owner)), summaryOf(await overviewOf(other))]
      return Bun.deepEquals(mine, theirs) && mine.events === events && mine.delivered === 2 * events
    })
    for (const stream of streams) {
      const delivered = () => stream.of('delivery').filter(({ state }) => state === 'delivered')
      await until(
        'all deliveries are in the stream',
        () => new Set(delivered().map(({ id }) => id)).size === 2 * events,
      )
      const before = new Set<string>()
      for (const { name, data } of stream.messages) {
        if (name === 'event') before.add(JSON.parse(data).data.id)
        if (name === 'delivery') expect(before).toContain(JSON.parse(data).event_id)
      }
      expect(before.size).toBe(events)
      stream.drop()
    }
  })

  test('shows how it is also after the owner was killed', async () => {
    await owner.stop('SIGKILL')
    await until('the other owns the PBX', async () => (await overviewOf(other)).pbxs[0]?.state === 'up')
    const { webhooks, minutes } = await overviewOf(other)
    expect(webhooks.map(({ last, pending }) => [last?.status, pending])).toEqual([
      [200, 0],
      [200, 0],
    ])
    expect(minutes.reduce((sum, { delivered }) => sum + delivered, 0)).toBeGreaterThan(4)
  })
})
