import { Database as Sqlite } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TSchema, Type } from '@sinclair/typebox'
import { completed, readCallEventBody, readCallRecord, unknownOf } from '../../src/calls/stored-json.ts'
import { startReplay } from '../../src/pbx/tools/replay/replay.ts'
import { emptyFolder, type RunningApp, run, startServe } from '../help/app.ts'
import { ask, logIn } from '../help/client.ts'
import { until } from '../help/receiver.ts'

/** Stores that earlier versions wrote, read by this one: nothing of them may be unreadable. */

const FIXTURES = join(import.meta.dir, '../fixtures/stores')
const RING_GROUP = join(import.meta.dir, '../../src/cli/demo/ring-group.ami')
const stores = readdirSync(FIXTURES).filter((name) => name.endsWith('.db.gz'))

/** Puts an earlier store into a folder. */
function unpack(name: string, folder: string): string {
  mkdirSync(join(folder, 'data'))
  const path = join(folder, 'data/hookswitch.db')
  writeFileSync(path, Bun.gunzipSync(readFileSync(join(FIXTURES, name))))
  return path
}

/** Returns every path of the API that is read, with its parameters filled in. */
async function readablePaths(app: RunningApp, token: string): Promise<string[]> {
  const document = await (await fetch(`${app.url}/openapi.json`)).json()
  const found: [string, object][] = Object.entries(document.paths)
  const calls = await idsOf(app, token, '/call')
  const deliveries = await idsOf(app, token, '/integration/delivery?limit=200')
  const [webhook] = await listOf(app, token, '/integration/webhook')
  return found
    .filter(([path, operations]) => 'get' in operations && !/recording|^\/(stream|metrics)/.test(path))
    .flatMap(([path]) => {
      const ids = path.startsWith('/call/') ? calls : deliveries
      if (path.includes('{id}')) return ids.map((id) => path.replace('{id}', id))
      if (path === '/overview/webhook') return `${path}?url=${encodeURIComponent(String(webhook?.url))}`
      if (path === '/contact') return `${path}?number=12345`
      return path.includes('{') ? [] : path
    })
}

async function listOf(app: RunningApp, token: string, path: string): Promise<Record<string, unknown>[]> {
  const { status, body } = await ask(app, 'GET', path, { token })
  expect({ path, status, message: body.message }).toMatchObject({ status: 200 })
  const { result } = body
  return Object(Array.isArray(result) ? result : Object(result).items)
}
const idsOf = async (app: RunningApp, token: string, path: string) =>
  (await listOf(app, token, path)).map(({ id }) => String(id))

describe.each(stores)('the store %s', (name) => {
  test('is read by every endpoint, and by the page', async () => {
    using folder = emptyFolder()
    unpack(name, folder.path)
    // The address that the PBX had: at another one it would be another PBX, and its calls over.
    const port = name === 'version-18.db.gz' ? 18_204 : 18_104
    const pbx = `ami://hookswitch:secret@127.0.0.1:${port}?name=again`
    const app = await startServe({ cwd: folder.path, args: ['--pbx', pbx] })
    const token = await logIn(app, 'user@example.com', 'fixture-password')
    const answers: unknown[] = []
    const paths = await readablePaths(app, token)
    expect(paths).toContain('/overview')
    expect(paths.length).toBeGreaterThan(60)
    for (const path of paths) {
      const response = await fetch(app.url + path, { headers: { authorization: `Bearer ${token}` } })
      await response.arrayBuffer()
      answers.push({ path, status: response.status })
    }
    // What only an administrator, a cluster or a dialplan may read is refused, not broken.
    expect(answers.filter((answer) => !/^(200|403|404)$/.test(String(Object(answer).status)))).toEqual([])
    const refused = answers.filter((answer) => Object(answer).status !== 200)
    expect(refused.filter((answer) => /call|delivery|event|overview/.test(Object(answer).path))).toEqual([])
    const { body } = await ask(app, 'GET', '/overview', { token })
    expect(Object(body.result).calls).toEqual([expect.objectContaining({ pbx: 'again' })])
    // Plain ids and cursors that it gave out are still known; version 4 did not give out any.
    const plain = Buffer.from('[1,3]').toString('base64url')
    const behind = await ask(app, 'GET', `/event?after=${plain}&limit=1`, { token })
    const all = await ask(app, 'GET', '/event?limit=4', { token })
    if (name === 'version-4.db.gz') expect(behind.status).toBe(410)
    else expect(Object(behind.body.result).items).toEqual(Object(all.body.result).items.slice(3))
    expect((await ask(app, 'GET', `/integration/delivery/${3 * 128}`, { token })).status).toBe(200)
    expect(await app.stop()).toBe(0)
    expect(app.output()).not.toContain('"level":"error"')
  })

  test('has a live call, which ends when its PBX is connected again', async () => {
    using folder = emptyFolder()
    const path = unpack(name, folder.path)
    const replay = startReplay({ files: [RING_GROUP], speed: 50 })
    const app = await startServe({
      cwd: folder.path,
      args: ['--pbx', `ami://hookswitch:secret@127.0.0.1:${replay.port}?name=again`],
    })
    const store = new Sqlite(path, { readonly: true })
    const live = store.query<{ id: string }, []>('SELECT id FROM live_calls').all()
    expect(live).toHaveLength(1)
    const token = await logIn(app, 'user@example.com', 'fixture-password')
    await until('its record', async () => (await ask(app, 'GET', `/call/${live[0]?.id}`, { token })).status === 200)
    store.close()
    await replay.stop()
    expect(await app.stop()).toBe(0)
    expect(app.output()).not.toContain('"level":"error"')
    expect((await run(['verify'], { cwd: folder.path })).stdout).toBe('The store is complete and consistent.\n')
  })

  test('is used by every command', async () => {
    using folder = emptyFolder()
    const cwd = folder.path
    const path = unpack(name, cwd)
    const results = []
    const lines = [
      'verify',
      'user list',
      'delivery list --json',
      'delivery retry --failed-since 2026-01-01T00:00:00Z',
      'webhook list',
      'pbx list',
      'backup copy.db',
      'recordings rotate-key',
      'call erase --number 15551230001',
      'user logout --email other@example.com',
      'user remove --email other@example.com',
    ]
    for (const line of lines) results.push({ line, ...(await run(line.split(' '), { cwd })) })
    const store = new Sqlite(path, { readonly: true })
    for (const { id } of store.query<{ id: number }, []>('SELECT id FROM deliveries').all())
      results.push({ line: `delivery show ${id}`, ...(await run(['delivery', 'show', String(id)], { cwd })) })
    store.close()
    expect(results.filter(({ code, stderr }) => code !== 0 && !/are still pending|is active/.test(stderr))).toEqual([])
  })

  test('has records and bodies that are complete once they are read', () => {
    using folder = emptyFolder()
    const store = new Sqlite(unpack(name, folder.path), { readonly: true })
    const records = store.query<{ record: string }, []>('SELECT record FROM calls').all()
    const bodies = store.query<{ body: string }, []>('SELECT body FROM events').all()
    store.close()
    expect(records.length).toBeGreaterThan(0)
    for (const { record } of records)
      expect(readCallRecord(record)).toMatchObject({
        call: { from: { e164: null }, stages_omitted: 0, missed_by: expect.any(Array) },
      })
    for (const { body } of bodies) expect(readCallEventBody(body).data.call.from).toHaveProperty('e164')
  })
})

test('a key that was added to a schema has the value for "unknown" in what was stored before, at any depth', () => {
  const Party = Type.Object({ number: Type.String() })
  const Contact = Type.Union([Type.Object({ id: Type.String() }), Type.Null()])
  const Later = Type.Object({ number: Type.String(), contact: Contact, note: Type.Optional(Type.String()) })
  const call = (party: TSchema) =>
    Type.Object({ from: party, by: Type.Union([party, Type.Null()]), all: Type.Array(party) })
  const stored = { from: { number: '1' }, by: { number: '2' }, all: [{ number: '3' }] }
  const read = {
    from: { number: '1', contact: null },
    by: { number: '2', contact: null },
    all: [{ number: '3', contact: null }],
  }
  expect(completed(call(Party), stored)).toEqual(stored)
  expect(completed(call(Later), stored)).toEqual(read)
  expect(completed(call(Later), read)).toEqual(read)
  expect(completed(call(Later), { ...stored, by: null })).toEqual({ ...read, by: null })
})

test('a key whose schema has no such value cannot be added to what is stored', () => {
  expect(unknownOf(Type.Array(Type.String()))).toEqual([])
  expect(unknownOf(Type.Record(Type.String(), Type.String()))).toEqual({})
  expect(unknownOf(Type.Integer({ minimum: 0 }))).toBe(0)
  expect(() => unknownOf(Type.Boolean())).toThrow('no value for "unknown"')
})
