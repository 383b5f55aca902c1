import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startReplay } from '../../src/pbx/tools/replay/replay.ts'
import { emptyFolder, type RunningApp, run, startServe } from '../help/app.ts'
import { ask, logIn, PASSWORD, webhook } from '../help/client.ts'
import { fixture } from '../help/pbx.ts'
import { emptyDatabase, POSTGRES_MISSING, type PostgresServer, startPostgres } from '../help/postgres.ts'
import { startReceiver, until } from '../help/receiver.ts'

/** One node on a Postgres database, as users install it: the executable, a PBX that plays a recording, a receiver. */

const RECORDING = 'l2-attended-transfer-refer.ami'
/** A moment of it at which a phone has answered. There time stops until the service was killed. */
const HOLD_AT_MS = 6_500
const SPEED = 4

describe.skipIf(POSTGRES_MISSING !== undefined)('a node on Postgres', () => {
  const folder = emptyFolder()
  const stops: (() => Promise<void>)[] = []
  let server: PostgresServer
  let app: RunningApp
  let receiver: ReturnType<typeof startReceiver>
  let env: Record<string, string> = {}
  let token = ''
  const cli = (...args: string[]) => run(args, { cwd: folder.path, env })

  beforeAll(async () => {
    server = await startPostgres()
    stops.push(server.stop)
    const database = await emptyDatabase(server)
    stops.unshift(() => database[Symbol.asyncDispose]())
    const file = join(folder.path, 'database-url')
    writeFileSync(file, `${database.url}\n`)
    env = { HOOKSWITCH_DATABASE_URL_FILE: file }
    receiver = startReceiver()
    stops.unshift(() => receiver.stop())
    const { promise: killed, resolve: goOn } = Promise.withResolvers<void>()
    const replay = startReplay({
      files: [fixture(RECORDING)],
      speed: SPEED,
      holds: [{ atMs: HOLD_AT_MS, until: killed }],
    })
    stops.unshift(() => replay.stop())
    const start = (...more: string[]) =>
      startServe({ cwd: folder.path, env, args: ['--allow-net', 'loopback', '--log-level', 'warn', ...more] })
    app = await start()
    const added = await run(['user', 'add', '--email', 'a@example.com', '--name', 'A'], {
      cwd: folder.path,
      env,
      stdin: `${PASSWORD}\n`,
    })
    expect(added).toMatchObject({ code: 0, stdout: '1\n' })
    token = await logIn(app, 'a@example.com')
    const put = await ask(app, 'PUT', '/integration/webhook', { token, body: [webhook(`${receiver.url}/calls`)] })
    expect(put.status).toBe(200)
    await app.stop()
    const pbx = `ami://any:any@127.0.0.1:${replay.port}?name=office`
    app = await start('--pbx', pbx)
    const events = () => receiver.received.map(({ body }) => JSON.parse(body).data)
    await until('a phone has answered', () => events().some(({ name }) => name === 'dial_answered'))
    await app.stop('SIGKILL')
    goOn()
    app = await start('--pbx', pbx)
    stops.unshift(async () => void (await app.stop()))
    await replay.finished
    const openCalls = () => {
      const ended = new Set(events().flatMap(({ name, call }) => (name === 'call_saved' ? [call.id] : [])))
      const merged = new Set(events().flatMap(({ call }) => call.merged_from))
      return events().filter(({ call }) => !ended.has(call.id) && !merged.has(call.id))
    }
    await until('every call was saved', () => openCalls().length === 0)
  })
  afterAll(async () => {
    for (const stop of stops) await stop()
    folder[Symbol.dispose]()
  })

  test('sends every event in order, also after it was killed, and the store is whole', async () => {
    await until('nothing is pending', async () => (await cli('delivery', 'list', '--state', 'pending')).stdout === '')
    const sequences = Map.groupBy(
      [...new Map(receiver.received.map(({ id, body }) => [id, JSON.parse(body).data])).values()],
      ({ call }) => call.id,
    )
    for (const events of sequences.values())
      expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, at) => at + 1))
    expect(await cli('verify')).toMatchObject({ code: 0 })
  })

  test('makes nothing in a folder, and commands work beside it', async () => {
    expect(await Bun.file(join(folder.path, 'data/hookswitch.db')).exists()).toBe(false)
    expect((await cli('user', 'list')).stdout).toContain('a@example.com')
    expect(JSON.parse((await cli('delivery', 'list', '--limit', '2', '--json')).stdout).items).toHaveLength(2)
    const backup = await cli('backup', 'x.db')
    expect([backup.code, backup.stderr]).toEqual([1, expect.stringContaining('pg_dump')])
    const [{ id }] = JSON.parse((await cli('delivery', 'list', '--limit', '1', '--json')).stdout).items
    const retried = await cli('delivery', 'retry', id)
    expect(retried.stdout).toContain('1 delivery')
    const before = receiver.received.length
    await until('it is sent again', () => receiver.received.length >= before)
    expect((await cli('user', 'logout', '--email', 'a@example.com')).code).toBe(0)
    await until(
      'its token is refused',
      async () => (await ask(app, 'GET', '/integration/webhook', { token })).status === 401,
    )
  })

  test('is unhealthy without its database, and goes on by itself when that is back', async () => {
    const health = async () => (await ask(app, 'GET', '/health')).status
    expect(await health()).toBe(200)
    await server.halt('fast')
    await until('it is unhealthy', async () => (await health()) === 503)
    await server.resume()
    await until('it is healthy', async () => (await health()) === 200)
    token = await logIn(app, 'a@example.com')
    const sent = receiver.received.length
    const retried = await ask(app, 'POST', '/integration/delivery/retry', { token, body: { state: 'delivered' } })
    expect(retried.status).toBe(200)
    await until('it sends', () => receiver.received.length > sent)
  })

  test.each([
    ['a wrong password', { password: 'wrong-secret' }, 1, 'refuses this user or its password'],
    ['no such database', { pathname: '/nowhere' }, 1, 'does not exist'],
    ['a server that is not there', { port: '1' }, 1, 'does not answer'],
    ['no database in the URL', { pathname: '/' }, 2, '--database-url (HOOKSWITCH_DATABASE_URL)'],
    ['a mode of TLS that is none', { search: '?sslmode=maybe' }, 2, 'sslmode=maybe'],
  ])('%s is reported in one line', async (_, change, exitCode, text) => {
    const url = new URL(server.url)
    Object.assign(url, change)
    const { code, stderr } = await run(['user', 'list', '--database-url', url.href], { cwd: folder.path })
    expect([code, stderr.trim().split('\n')]).toEqual([exitCode, [expect.stringContaining(text)]])
    expect(stderr).not.toContain('wrong-secret')
    expect(stderr).not.toContain(new URL(server.url).password)
  })
})
