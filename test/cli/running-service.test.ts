import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { startReplay } from '../../src/pbx/tools/replay/replay.ts'
import type { NewEvent } from '../../src/store/operations/calls.ts'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { emptyFolder, type RunningApp, run, startServe } from '../help/app.ts'
import { addUser } from '../help/client.ts'
import { fixture } from '../help/pbx.ts'
import { databaseSource, migratedDatabase, POSTGRES_MISSING } from '../help/postgres.ts'
import { startReceiver, until } from '../help/receiver.ts'
import { storeEvents } from '../help/store.ts'

/** The commands that know how the service beside them was started, and how its webhooks are. */

const folder = emptyFolder()
const cwd = folder.path
const receiver = startReceiver()
const replay = startReplay({ files: [fixture('o-ivr-no-dial.ami')] })
let app: RunningApp

beforeAll(async () => {
  await addUser(cwd, 'a@example.com')
  await serve()
  // Its events would be pending beside those of a test.
  await until('the call of the PBX is over', async () => (await savedCalls()).length === 1)
})
afterAll(async () => {
  await app.stop()
  await replay.stop()
  await receiver.stop()
  folder[Symbol.dispose]()
})
beforeEach(async () => {
  for (const { url } of await listed()) await hookswitch('webhook', 'remove', url)
})

async function serve(): Promise<void> {
  const secrets = `--pbx ami://u:very-secret@127.0.0.1:${replay.port}?name=office --metrics-token a-very-secret-token`
  app = await startServe({ cwd, args: ['--allow-net', 'loopback', ...secrets.split(' ')] })
}
const hookswitch = (...args: string[]) => run(args, { cwd })
const listed = async () => JSON.parse((await hookswitch('webhook', 'list', '--json')).stdout)

const startOf = (callId: string): NewEvent => ({
  uuid: crypto.randomUUID(),
  name: 'call_started',
  sequence: 1,
  callId,
  atUs: 1,
  body: JSON.stringify({ time: 't', data: { name: 'call_started', id: callId } }),
})

/** Stores the start of a call of each name while no service runs, and starts the service again. */
async function storeStarts(...names: string[]): Promise<void> {
  await app.stop()
  const store = openSqliteStore(join(cwd, 'data/hookswitch.db'))
  await storeEvents(store, names.map(startOf))
  await store.stop()
  await serve()
}

async function savedCalls() {
  const store = openSqliteStore(join(cwd, 'data/hookswitch.db'))
  try {
    return await store.calls.callList({ accountId: 1, filter: {}, after: undefined, limit: 1 })
  } finally {
    await store.stop()
  }
}

/** Adds a webhook whose receiver is not there, and waits until the service has found that. */
async function downWebhook(path: string): Promise<string> {
  const url = `http://127.0.0.1:1/${path}`
  await hookswitch('webhook', 'add', url)
  await until('it is added', async () => (await listed()).length === 1)
  await storeStarts('a', 'b', 'c', 'd', 'e', 'f')
  await until('it is down', async () => (await listed())[0].state === 'down')
  return url
}

describe('beside a running service', () => {
  test('webhook add and doctor need no flag of serve', async () => {
    const url = `http://127.0.0.1:${receiver.port}/`
    expect((await hookswitch('webhook', 'add', url)).code).toBe(0)
    const { code, stdout, stderr } = await hookswitch('doctor')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^ok +service: it is running and healthy/m)
    expect(stdout).toMatch(/^ok +settings: .* was started with --allow-net loopback$/m)
    expect(stdout).toMatch(/^ok +webhook: .* answers at 127\.0\.0\.1$/m)
  })

  test('doctor checks the PBXs of its settings, once', async () => {
    const { stdout } = await hookswitch('doctor')
    expect(stdout.match(/PBX: office: the user u may log in/g)).toHaveLength(1)
    expect(stdout).not.toContain('very-secret')
    const given = await hookswitch('doctor', '--pbx', `ami://u:very-secret@127.0.0.1:${replay.port}?name=office`)
    expect(given.stdout.match(/PBX: office: the user u may log in/g)).toHaveLength(1)
  })

  test('an address that it was not started with is refused, with what to change', async () => {
    const { code, stderr } = await hookswitch('webhook', 'add', 'http://192.168.0.1/')
    expect(code).toBe(2)
    expect(stderr).toMatch(/the service must be started with --allow-net private\n$/)
  })

  test('webhook list states that a webhook refuses, since when and with which answer', async () => {
    const refusing = startReceiver(() => new Response('no', { status: 422 }))
    await hookswitch('webhook', 'add', refusing.url)
    await storeStarts('p', 'q', 'r', 's', 't')
    await until('it refuses', async () => (await listed())[0].state === 'refuses')
    expect((await listed())[0]).toMatchObject({
      down_since: null,
      refusing_since: expect.any(String),
      error: 'it answers 422',
    })
    // The list may be a second old.
    await until('five are pending', async () => (await listed())[0].pending === 5)
    expect((await hookswitch('webhook', 'list')).stdout).toMatch(/ refuses for \d+ s: it answers 422 +5 /)
    await hookswitch('webhook', 'remove', refusing.url)
    await refusing.stop()
  })

  test('webhook list, delivery show and doctor state that a webhook is down, since when and why', async () => {
    const url = await downWebhook('a')
    const [shown] = await listed()
    expect(shown).toMatchObject({
      state: 'down',
      down_since: expect.any(String),
      error: 'connection refused',
      pending: expect.any(Number),
    })
    expect((await hookswitch('webhook', 'list')).stdout).toMatch(/ down for \d+ s: connection refused +\d+ /)
    const pending = await hookswitch('delivery', 'list', '--state', 'pending', '--url', url, '--json')
    const [{ id }] = JSON.parse(pending.stdout).items
    const { stdout } = await hookswitch('delivery', 'show', id)
    expect(stdout).toMatch(/^pending_because +its webhook has been down for \d+ s: connection refused; /m)
    const doctor = await hookswitch('doctor')
    expect(doctor.stdout).toMatch(/^wrong +webhook: .* has been down for \d+ s: connection refused; \d+ deliveries/m)
    expect(doctor.stdout.match(/^wrong +webhook: /gm)).toHaveLength(1)
  })

  test('delivery show states that a webhook is paused', async () => {
    const url = await downWebhook('b')
    const [{ id }] = JSON.parse((await hookswitch('delivery', 'list', '--state', 'pending', '--json')).stdout).items
    await hookswitch('webhook', 'set', url, '--paused')
    expect((await listed())[0]).toMatchObject({ state: 'paused', down_since: null })
    const shown = JSON.parse((await hookswitch('delivery', 'show', id, '--json')).stdout)
    expect(shown.pending_because).toMatch(/is paused: hookswitch webhook set URL --no-paused/)
  })

  test('what it tells commands of its settings has no secret', async () => {
    const facts = await (await fetch('http://control/service', { unix: join(cwd, 'data/control.sock') })).text()
    expect(facts).toContain('"allowNets":["loopback"]')
    expect(facts).not.toMatch(/secret/)
  })

  test('a URL that comes back says which of its options are in force again', async () => {
    const url = 'https://crm.example.com/calls'
    await hookswitch('webhook', 'add', url)
    await hookswitch('webhook', 'set', url, '--paused', '--name', 'CRM', '--events', 'call_started,call_missed')
    await hookswitch('webhook', 'remove', url)
    const again = await hookswitch('webhook', 'add', url)
    expect(again.stdout).toContain('its earlier options apply again: paused name="CRM" events=call_missed\n')
    await hookswitch('webhook', 'remove', url)
    const named = await hookswitch('webhook', 'add', url, '--events', 'call_ended', '--json')
    expect(JSON.parse(named.stdout).options).toMatchObject({ name: 'CRM', paused: true, events: [] })
  })
})

describe('without a service', () => {
  test('nothing is sent, and the commands say so', async () => {
    const url = await downWebhook('c')
    await app.stop()
    const list = await hookswitch('webhook', 'list')
    expect(list.stdout).toMatch(new RegExp(`^${url} +- +active`, 'm'))
    expect(list.stderr).toMatch(/No service is running on this store/)
    const [{ id }] = JSON.parse((await hookswitch('delivery', 'list', '--state', 'pending', '--json')).stdout).items
    const { stdout } = await hookswitch('delivery', 'show', id)
    expect(stdout).toMatch(/^pending_because +no service is running: hookswitch serve sends it$/m)
    await serve()
  })
})

describe.skipIf(POSTGRES_MISSING !== undefined)('with a database of several nodes', () => {
  test('webhook list and delivery show know from its nodes that a webhook is down', async () => {
    await using database = await migratedDatabase()
    using other = emptyFolder()
    const store = ['--database-url', database.url]
    const command = (...args: string[]) => run([...args, ...store], { cwd: other.path })
    const node = await startServe({ cwd: other.path, args: ['--allow-net', 'loopback', ...store] })
    const direct = await openPostgresStore(databaseSource(database.url))
    try {
      await addUser(other.path, 'a@example.com', { store })
      // The node has left its settings in the database.
      expect((await command('webhook', 'add', 'http://127.0.0.1:1/d')).code).toBe(0)
      expect((await command('webhook', 'add', 'http://10.1.2.3/')).stderr).toMatch(/--allow-net private\n$/)
      const list = async () => JSON.parse((await command('webhook', 'list', '--json')).stdout)
      for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) await storeEvents(direct, [startOf(name)])
      await until('it is down', async () => (await list())[0].state === 'down')
      expect((await list())[0]).toMatchObject({ error: 'connection refused', down_since: expect.any(String) })
      const [{ id }] = JSON.parse((await command('delivery', 'list', '--state', 'pending', '--json')).stdout).items
      const shown = JSON.parse((await command('delivery', 'show', id, '--json')).stdout)
      expect(shown.pending_because).toMatch(/^its webhook has been down for \d+ s: connection refused; /)
    } finally {
      await direct.stop()
      await node.stop()
    }
    expect((await command('webhook', 'list')).stderr).toMatch(/No service is running on this store/)
  })
})
