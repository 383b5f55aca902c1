import { Database as Sqlite } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { EXAMPLES } from '../../src/events/samples.ts'
import { readCallEventBody, readCallRecord } from '../../src/events/stored-json.ts'
import { startReplay } from '../../src/pbx/tools/replay/replay.ts'
import { emptyFolder, type RunningApp, run, startServe } from '../help/app.ts'
import { ask, logIn } from '../help/client.ts'
import { until } from '../help/receiver.ts'

/** Stores that earlier versions wrote, read by this one: nothing of them may be unreadable. */

const FIXTURES = join(import.meta.dir, '../fixtures/stores')
const RING_GROUP = join(import.meta.dir, '../../src/cli/demo/ring-group.ami')
const stores = readdirSync(FIXTURES).filter((name) => name.endsWith('.db.gz'))
/** The port of the PBX with the live call: at another address it would be another PBX, and its calls over. */
const PBX_PORTS: Readonly<Record<string, number>> = {
  'version-4.db.gz': 18_104,
  'version-18.db.gz': 18_204,
  'version-30.db.gz': 18_304,
}

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
    const pbx = `ami://hookswitch:secret@127.0.0.1:${PBX_PORTS[name]}?name=again`
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
    // Paths for administrators, clusters or dialplans are refused, not broken.
    expect(answers.filter((answer) => !/^(200|403|404)$/.test(String(Object(answer).status)))).toEqual([])
    const refused = answers.filter((answer) => Object(answer).status !== 200)
    expect(refused.filter((answer) => /call|delivery|event|overview/.test(Object(answer).path))).toEqual([])
    const { body } = await ask(app, 'GET', '/overview', { token })
    expect(Object(body.result).calls).toEqual([expect.objectContaining({ pbx: 'again' })])
    // Plain ids and cursors that it gave out are still known; version 4 gave out no cursors, and version 30 nothing plain.
    const plain = Buffer.from('[1,3]').toString('base64url')
    const behind = await ask(app, 'GET', `/event?after=${plain}&limit=1`, { token })
    const all = await ask(app, 'GET', '/event?limit=4', { token })
    if (name !== 'version-18.db.gz') expect(behind.status).toBe(410)
    else expect(Object(behind.body.result).items).toEqual(Object(all.body.result).items.slice(3))
    const delivery = await ask(app, 'GET', `/integration/delivery/${3 * 128}`, { token })
    expect(delivery.status).toBe(name === 'version-30.db.gz' ? 404 : 200)
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
    unpack(name, cwd)
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
    const { items } = JSON.parse((await run(['delivery', 'list', '--limit', '200', '--json'], { cwd })).stdout)
    expect(items.length).toBeGreaterThan(10)
    for (const { id } of items)
      results.push({ line: `delivery show ${id}`, ...(await run(['delivery', 'show', id], { cwd })) })
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

describe('a key that was added to a schema', () => {
  const saved = EXAMPLES.find(({ data }) => data.name === 'call_saved')
  const { call, stages, recordings } = Object(saved?.data)
  const stored = { call, stages, recordings }
  /** Returns the record as it is read if it was stored without a key, in every object. */
  const readWithout = (key: string) =>
    readCallRecord(JSON.stringify(stored, (name, value) => (name === key ? undefined : value)))

  test('has the value for "unknown" in earlier rows, at any depth', () => {
    const { from, answered_by: answerer, handled_by: handlers } = readWithout('contact').call
    for (const party of [from, answerer, ...handlers]) expect(party).toHaveProperty('contact', null)
    expect(handlers.length).toBeGreaterThan(0)
    expect(stages.length).toBeGreaterThan(0)
    for (const stage of readWithout('forwarded_to').stages) expect(stage).toHaveProperty('forwarded_to', null)
    expect(readWithout('handled_by').call.handled_by).toEqual([])
    expect(readWithout('variables').call.variables).toEqual({})
    expect(readWithout('transfers').call.transfers).toBe(0)
  })

  test('does not change rows that have it', () => expect(readWithout('no such key')).toEqual(stored))

  test('cannot be added where no value means "unknown"', () =>
    expect(() => readWithout('direction')).toThrow('no value for "unknown"'))
})
