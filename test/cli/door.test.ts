import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { lockFolder } from '../../src/store/sqlite/engine/folder-lock.ts'
import { EXECUTABLE, emptyFolder, type RunningApp, run, startServe } from '../help/app.ts'
import { addUser, ask, logIn, PASSWORD } from '../help/client.ts'
import { migratedDatabase, POSTGRES_MISSING } from '../help/postgres.ts'

/** There is one way in: commands ask the running service, or answer the same requests over the store. */

const SOCKET = 'data/control.sock'
const users = async (cwd: string, ...flags: string[]) => await run(['user', 'list', ...flags], { cwd })
const folders: ReturnType<typeof emptyFolder>[] = []
const newFolder = (): string => {
  const folder = emptyFolder()
  folders.push(folder)
  return folder.path
}
afterAll(() => {
  for (const folder of folders) folder[Symbol.dispose]()
})

describe('beside a running service', () => {
  test('a command asks it, and what it changes is in force when it returns', async () => {
    const cwd = newFolder()
    const app = await startServe({ cwd })
    try {
      await addUser(cwd, 'a@example.com')
      const token = await logIn(app, 'a@example.com')
      const status = async (path: string) => (await ask(app, 'GET', path, { token })).status
      expect(await status('/user')).toBe(403)
      await run(['user', 'type', 'admin', '--email', 'a@example.com'], { cwd })
      expect(await status('/user')).toBe(200)
      await run(['user', 'logout', '--email', 'a@example.com'], { cwd })
      expect(await status('/user')).toBe(401)
      expect(statSync(join(cwd, SOCKET)).mode & 0o777).toBe(0o600)
    } finally {
      await app.stop()
    }
    expect(existsSync(join(cwd, SOCKET))).toBe(false)
  })

  test('the result of the API is what --json prints, with a service and without', async () => {
    const cwd = newFolder()
    await addUser(cwd, 'a@example.com')
    const without = await users(cwd, '--json')
    const app = await startServe({ cwd })
    const beside = await users(cwd, '--json')
    await run(['user', 'type', 'admin', '--email', 'a@example.com'], { cwd })
    const token = await logIn(app, 'a@example.com')
    const { body } = await ask(app, 'GET', '/user', { token })
    await app.stop()
    expect(JSON.parse(beside.stdout)).toEqual(JSON.parse(without.stdout))
    expect(Object.keys(Object(body.result)[0])).toEqual(Object.keys(JSON.parse(beside.stdout)[0]))
  })

  test('a socket that a killed service left is replaced, and in between commands answer themselves', async () => {
    const cwd = newFolder()
    const killed = await startServe({ cwd })
    await addUser(cwd, 'a@example.com')
    await killed.stop('SIGKILL')
    expect(existsSync(join(cwd, SOCKET))).toBe(true)
    expect((await users(cwd)).stdout).toContain('a@example.com')
    // An earlier version described itself in it.
    writeFileSync(join(cwd, 'data/service.json'), '{}')
    const next = await startServe({ cwd })
    expect(existsSync(join(cwd, 'data/service.json'))).toBe(false)
    const { result } = await control(cwd, '/service')
    expect(result).toMatchObject({ settings: { url: next.url, allowNets: [] } })
    await next.stop()
  })

  test('the socket may be elsewhere, for serve and for commands', async () => {
    const cwd = newFolder()
    mkdirSync(join(cwd, 'run'), { mode: 0o700 })
    const app = await startServe({ cwd, args: ['--control', 'run/hookswitch.sock'] })
    await addUser(cwd, 'a@example.com', { store: ['--control', 'run/hookswitch.sock'] })
    const env = { HOOKSWITCH_CONTROL: 'run/hookswitch.sock' }
    expect((await run(['user', 'list'], { cwd, env })).stdout).toContain('a@example.com')
    expect(existsSync(join(cwd, SOCKET))).toBe(false)
    // One that another service answers on is not taken over.
    const other = await startServe({ cwd: newFolder(), args: ['--control', join(cwd, 'run/hookswitch.sock')] })
    expect(other.output()).toMatch(/there is no control socket.*another service answers on/)
    await other.stop()
    await app.stop()
  })
})

const askControl = (cwd: string, path: string) => fetch(`http://control${path}`, { unix: join(cwd, SOCKET) })
const control = async (cwd: string, path: string) => (await (await askControl(cwd, path)).json()) as { result: unknown }

describe('every account', () => {
  const cwd = newFolder()
  let app: RunningApp
  let token: string
  beforeAll(async () => {
    app = await startServe({ cwd })
    await addUser(cwd, 'a@example.com')
    token = await logIn(app, 'a@example.com')
  })
  afterAll(async () => {
    await app.stop()
  })

  const LISTS = ['/call', '/integration/delivery', '/phone', '/trunk', '/agent', '/queue']
  test.each(LISTS)('is listed by %s?account=*, by the socket alone', async (path) => {
    const response = await askControl(cwd, `${path}?account=*`)
    expect(await response.json()).toMatchObject({ status: 'success' })
    // By the port the parameter is unknown: it is refused, or changes nothing.
    const { status, body } = await ask(app, 'GET', `${path}?account=*`, { token })
    expect(status === 422 || Bun.deepEquals(body, (await ask(app, 'GET', path, { token })).body)).toBe(true)
  })

  test.each([
    '/call/00000000-0000-4000-8000-000000000000',
    '/event',
    '/integration/webhook',
    '/integration/webhook/options',
    '/integration/webhook/health',
    '/integration/contacts',
    '/overview',
  ])('%s?account=* does not exist', async (path) => {
    const asked = await askControl(cwd, `${path}?account=*`)
    const { message } = (await asked.json()) as { message: string }
    expect([asked.status, message]).toEqual([404, 'There is no such path for all accounts: name one with ?account=.'])
  })
})

test('nodes are those of a database: a service with a folder of its own is a single one', async () => {
  const cwd = newFolder()
  const app = await startServe({ cwd })
  const { code, stdout } = await run(['nodes', '--control', SOCKET], { cwd })
  expect([code, stdout]).toEqual([0, 'The service has a folder of its own: it is a single node.\n'])
  await app.stop()
})

describe('where there can be no socket', () => {
  test.each([
    ['a folder to which everybody may write', 0o1777, /everybody may write to the folder .*: chmod o-w/],
    ['a file of that name', 0o700, /control\.sock is no socket: move it away/],
  ])('as in %s, the service runs on, and its log says what to do', async (what, mode, reason) => {
    const cwd = newFolder()
    mkdirSync(join(cwd, 'data'))
    chmodSync(join(cwd, 'data'), mode)
    if (what.startsWith('a file')) writeFileSync(join(cwd, SOCKET), 'mine')
    const app = await startServe({ cwd })
    expect((await ask(app, 'GET', '/health')).status).toBe(200)
    expect(app.output()).toMatch(reason)
    await app.stop()
  })

  test.skipIf(process.platform !== 'linux')('as in a folder that nobody may write, the service runs on', async () => {
    const app = await startServe({ cwd: newFolder(), args: ['--control', '/proc/hookswitch.sock'] })
    expect((await ask(app, 'GET', '/health')).status).toBe(200)
    expect(app.output()).toMatch(
      /there is no control socket, so commands cannot ask this service: \S.*proc\/hookswitch/,
    )
    await app.stop()
  })

  test('as below a path of more than 107 bytes, commands say at once what to do', async () => {
    const cwd = newFolder()
    const data = 'd'.repeat(110)
    const app = await startServe({ cwd, args: ['--data', data] })
    expect(app.output()).toMatch(/is longer than 107 bytes: give a shorter one with --control, to commands too/)
    const { code, stderr } = await users(cwd, '--data', data)
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/longer than 107 bytes: give serve and this command .*--control\n$/),
    ])
    await app.stop()
  })
})

describe.skipIf(POSTGRES_MISSING !== undefined)('a folder beside a database', () => {
  const NOWHERE = 'postgres://hookswitch:secret@127.0.0.1:1/hookswitch'

  test('has the socket of the node, which commands with the same folder ask', async () => {
    const cwd = newFolder()
    await using database = await migratedDatabase()
    const store = (url: string) => ['--data', 'data', '--database-url', url]
    const node = await startServe({ cwd, args: store(database.url) })
    await addUser(cwd, 'a@example.com', { store: store(database.url) })
    // The command needs no database for it: the node has answered.
    expect((await users(cwd, ...store(NOWHERE))).stdout).toContain('a@example.com')
    const env = { HOOKSWITCH_DATA: 'data', HOOKSWITCH_DATABASE_URL: NOWHERE }
    expect((await run(['user', 'list'], { cwd, env })).stdout).toContain('a@example.com')
    expect(readdirSync(join(cwd, 'data')).toSorted()).toEqual(['control.sock', 'lock'])
    const ofNode = await run(['nodes', '--json', ...store(NOWHERE)], { cwd })
    expect(JSON.parse(ofNode.stdout)).toMatchObject([{ address: node.url, state: 'up', answers: true }])
    // Without a folder a command answers itself.
    expect((await users(cwd, '--database-url', database.url)).stdout).toContain('a@example.com')
    const second = await startServe({ cwd, args: store(database.url) })
    expect(second.output()).toMatch(/there is no control socket.*the data folder is in use by process/)
    await second.stop()
    await node.stop()
    expect(readdirSync(join(cwd, 'data'))).toEqual(['lock'])
  })

  test('that cannot be made costs the socket alone', async () => {
    const cwd = newFolder()
    writeFileSync(join(cwd, 'data'), 'mine')
    await using database = await migratedDatabase()
    const node = await startServe({ cwd, args: ['--data', 'data', '--database-url', database.url] })
    expect(node.output()).toMatch(
      /there is no control socket, so commands cannot ask this service: the data folder data/,
    )
    await node.stop()
  })
})

test('a data folder that is open to others is closed, and the log says so', async () => {
  const cwd = newFolder()
  mkdirSync(join(cwd, 'data'))
  chmodSync(join(cwd, 'data'), 0o755)
  const app = await startServe({ cwd })
  expect(app.output()).toMatch(/the data folder was open to other users/)
  expect(statSync(join(cwd, 'data')).mode & 0o777).toBe(0o700)
  await app.stop()
})

describe('a service of another version', () => {
  test('that has no socket is named, with what to do', async () => {
    const cwd = newFolder()
    await addUser(cwd, 'a@example.com')
    writeFileSync(join(cwd, 'data/service.json'), '{}')
    const lock = lockFolder(join(cwd, 'data/lock'))
    const { code, stderr } = await users(cwd)
    const { stdout } = await run(['doctor'], { cwd })
    lock.release()
    expect(stdout).toMatch(
      /wrong +service: the running service \(process \d+ .*\) is of an earlier version .*\n +→ restart/,
    )
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(
        /^hookswitch: the running service \(process \d+ .*\) is of an earlier version .*: restart it with version/,
      ),
    ])
  })

  test('that answers is named, with what to do', async () => {
    const cwd = newFolder()
    await addUser(cwd, 'a@example.com')
    const server = Bun.serve({
      unix: join(cwd, SOCKET),
      fetch: () => Response.json({}, { headers: { 'x-hookswitch-version': '9.9.9' } }),
    })
    const { code, stderr } = await users(cwd)
    await server.stop(true)
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(
        /^hookswitch: the running service is hookswitch 9\.9\.9, and this command is .*: restart the service/,
      ),
    ])
  })
})

describe('without a service', () => {
  test('commands that run at the same time wait for each other, and so does a service', async () => {
    const cwd = newFolder()
    const adding = Array.from({ length: 6 }, (_, n) => addUser(cwd, `${n}@example.com`))
    await adding[0]
    const app = await startServe({ cwd })
    await Promise.all(adding)
    expect(JSON.parse((await users(cwd, '--json')).stdout)).toHaveLength(6)
    await app.stop()
  })

  test('the trail has who ran the command', async () => {
    const cwd = newFolder()
    const env = { SUDO_USER: 'jane' }
    const args = ['user', 'add', '--email', 'a@example.com', '--name', 'A']
    await run(args, { cwd, env, stdin: PASSWORD })
    const { stdout } = await run(['audit'], { cwd })
    expect(stdout).toMatch(/command line \(jane\) +default +a user was added; a@example\.com/)
  })
})

const isRoot = process.getuid?.() === 0
describe.skipIf(!isRoot)('as another user', () => {
  const asNobody = async (cwd: string, args: readonly string[]) => {
    // The folder of all tests is closed to other users.
    const parent = dirname(cwd)
    if (basename(parent).startsWith('hookswitch-tests-')) chmodSync(parent, 0o755)
    const command = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--', EXECUTABLE, ...args]
    const child = Bun.spawn(command, { cwd, env: {}, stdout: 'pipe', stderr: 'pipe' })
    return [await child.exited, await new Response(child.stderr).text()]
  }

  test('nobody may ask the service', async () => {
    const cwd = newFolder()
    const app = await startServe({ cwd })
    chmodSync(cwd, 0o755)
    expect(await asNobody(cwd, ['user', 'list'])).toEqual([
      1,
      expect.stringMatching(/^hookswitch: no permission to .*: run this as the user of the service\n$/),
    ])
    await app.stop()
  })

  test('root leaves the files of a store to the owner of its folder', async () => {
    const cwd = newFolder()
    chmodSync(cwd, 0o755)
    mkdirSync(join(cwd, 'data'))
    await Bun.spawn(['chown', '65534:65534', join(cwd, 'data')]).exited
    await addUser(cwd, 'a@example.com')
    for (const file of ['lock', 'hookswitch.db']) expect(statSync(join(cwd, 'data', file)).uid).toBe(65_534)
    expect((await asNobody(cwd, ['user', 'list']))[0]).toBe(0)
  })
})
