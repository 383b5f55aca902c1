import { Database as Sqlite } from 'bun:sqlite'
import { afterAll, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { emptyFolder, type RunningApp, run, startServe } from '../../help/app.ts'
import { ask, logIn, newToken, webhook } from '../../help/client.ts'
import { fixture } from '../../help/pbx.ts'
import { startReceiver, until } from '../../help/receiver.ts'

const folder = emptyFolder()
const cwd = folder.path
const receiver = startReceiver()
afterAll(async () => {
  await receiver.stop()
  folder[Symbol.dispose]()
})

const NUMBER = '15551230001'
const EVENTS_OF_A_CALL = 6

/** Plays one call to a service, and waits until all of it arrived. */
async function playCall(env: Record<string, string> = {}): Promise<RunningApp> {
  const replay = startReplay({ files: [fixture('a-inbound-answered.ami')], speed: 50 })
  const before = receiver.received.length
  const app = await startServe({
    cwd,
    args: ['--allow-net', 'loopback', '--pbx', `ami://u:s@127.0.0.1:${replay.port}?name=office`],
    env,
  })
  await until('the call is sent', () => receiver.received.length >= before + EVENTS_OF_A_CALL)
  await replay.stop()
  return app
}

const verify = async () => (await run(['verify'], { cwd })).stdout
const callsOf = async (app: RunningApp, token: string) =>
  JSON.stringify((await ask(app, 'GET', `/call?number=${NUMBER}`, { token })).body.result)

describe('backup and restore', () => {
  test('kill, restore: nothing but what came after is missing', async () => {
    const first = await startServe({ cwd, args: ['--allow-net', 'loopback'] })
    const token = await newToken(first, 'anna@example.com')
    await ask(first, 'PUT', '/integration/webhook', { token, body: [webhook(`${receiver.url}/crm`)] })
    await first.stop()

    const app = await playCall()
    const { code, stdout, stderr } = await run(['backup', 'copy.db', '--json'], { cwd })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toEqual({ file: `${cwd}/copy.db`, bytes: statSync(`${cwd}/copy.db`).size })
    expect(statSync(`${cwd}/copy.db`).mode & 0o777).toBe(0o600)
    const again = await run(['backup', 'copy.db'], { cwd })
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('already exists')])
    expect(
      (await run(['user', 'add', '--email', 'late@example.com', '--name', 'L'], { cwd, stdin: '123456' })).code,
    ).toBe(0)
    await app.stop('SIGKILL')

    for (const file of ['hookswitch.db', 'hookswitch.db-wal', 'hookswitch.db-shm'])
      rmSync(`${cwd}/data/${file}`, { force: true })
    await Bun.write(`${cwd}/data/hookswitch.db`, Bun.file(`${cwd}/copy.db`))
    expect(await verify()).toBe('The store is complete and consistent.\n')
    const restored = await startServe({ cwd })
    const users = await run(['user', 'list'], { cwd })
    expect(users.stdout).toContain('anna@')
    expect(users.stdout).not.toContain('late@')
    expect((await ask(restored, 'GET', '/auth/me', { token })).status).toBe(200)
    expect(await callsOf(restored, token)).toContain(NUMBER)
    expect(await restored.stop()).toBe(0)
  })

  test.each([
    ['no store', ['backup', 'x.db', '--data', 'none'], /no store at none/],
    [
      'no folder',
      ['backup', 'none/x.db'],
      /cannot write the backup none\/x\.db: the folder .*does not exist, create it/,
    ],
  ])('%s is exit code 1, in one line', async (_, args, message) => {
    const { code, stderr } = await run(args, { cwd })
    expect({ code, lines: stderr.trim().split('\n').length }).toEqual({ code: 1, lines: 1 })
    expect(stderr).toMatch(message)
  })
})

/** Files of the data folder whose bytes contain a text. */
const filesHolding = (text: string) =>
  readdirSync(`${cwd}/data`, { withFileTypes: true })
    .filter((file) => file.isFile() && readFileSync(`${cwd}/data/${file.name}`).includes(text))
    .map(({ name }) => name)

describe('call erase', () => {
  test('leaves nothing of a number but the ledger', async () => {
    const app = await playCall()
    const token = await logIn(app, 'anna@example.com')
    const { code, stdout } = await run(['call', 'erase', '--number', NUMBER, '--json'], { cwd })
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({
      calls: 2,
      events: 2 * EVENTS_OF_A_CALL,
      pending: 0,
      live: 0,
      copies: 0,
      files: [],
    })
    // The service runs on, and has the store open.
    expect(filesHolding(NUMBER)).toEqual([])
    expect(await callsOf(app, token)).not.toContain(NUMBER)
    const list = await run(['delivery', 'list', '--json'], { cwd })
    expect(JSON.parse(list.stdout).items).toHaveLength(2 * EVENTS_OF_A_CALL)
    const { id } = JSON.parse(list.stdout).items[0]
    expect((await run(['delivery', 'show', id, '--json'], { cwd })).stdout).not.toContain(NUMBER)
    const retried = await ask(app, 'POST', `/integration/delivery/${id}/retry`, { token })
    expect([retried.status, retried.body.message]).toEqual([422, expect.stringContaining('erased')])
    await app.stop()
    expect(await verify()).toBe('The store is complete and consistent.\n')
    expect((await run(['backup', 'erased.db'], { cwd })).code).toBe(0)
    expect(Buffer.from(await Bun.file(`${cwd}/erased.db`).bytes()).includes(NUMBER)).toBe(false)
    expect((await run(['call', 'erase', '--number', NUMBER, '--json'], { cwd })).stdout).toContain('"calls":0')
  })

  test('reports an event that it cannot erase yet, because it waits for a receiver', async () => {
    receiver.answerWith(() => new Response('not now', { status: 500 }))
    const app = await playCall()
    await app.stop()
    receiver.answerWith(() => new Response('ok'))
    const { code, stderr } = await run(['call', 'erase', '--number', NUMBER], { cwd })
    expect(code).toBe(1)
    expect(stderr).toMatch(/\d events? (is|are) still pending: run the command again when that has ended/)
    expect(await verify()).toBe('The store is complete and consistent.\n')
  })

  test('a store that lacks a table is not complete', async () => {
    const store = new Sqlite(`${cwd}/data/hookswitch.db`)
    store.run('DROP TABLE minutes')
    store.close()
    const { code, stdout } = await run(['verify'], { cwd })
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: 'its table minutes is missing: restore a backup that has it\n',
    })
  })
})
