import { afterAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { EXAMPLES } from '../../src/events/samples.ts'
import type { NewStep } from '../../src/flows/model.ts'
import { newUuid } from '../../src/lib/id.ts'
import { nowUs } from '../../src/lib/time.ts'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import type { Store } from '../../src/store/store.ts'
import { emptyFolder, type RunningApp, startServe } from '../help/app.ts'
import { ask, newToken, webhook } from '../help/client.ts'
import { databaseSource, emptyDatabase, POSTGRES_MISSING } from '../help/postgres.ts'
import { until } from '../help/receiver.ts'
import { seededRandom } from '../help/seed.ts'
import { openStore, storeEvents } from '../help/store.ts'
import { wholeLog } from '../help/whole-log.ts'

// The service is killed again and again while flows are made, and the CRM fails now and then: the step that was in
// flight is made again, and no other; each call has its order and its values.

const random = seededRandom(20_261_123)
const EVENTS = ['call_started', 'dial_answered', 'call_ended'] as const
const CALLS = 60
const KILLS = 6

type Asked = { at: number; call: string; event: string; step: string; kept: string; status: number; id: string }
const asked: Asked[] = []
const kills: number[] = []
/**
 * The CRM answers until it has taken this many requests; then the node is killed, however long the next one takes to
 * start.
 */
let taken = Number.POSITIVE_INFINITY
let clock = 0
let ids = 0

const crm = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  async fetch(request) {
    const step = new URL(request.url).pathname.split('/').at(-1) ?? ''
    const { call, event, kept } = (await request.json()) as { call: string; event: string; kept: string }
    while (asked.length >= taken) await Bun.sleep(5)
    // Its sender was killed: the request does not count.
    if (request.signal.aborted) return new Response()
    const status = random.chance(0.15) ? random.pick([404, 409, 422]) : 200
    ids += 1
    const id = `${call} ${ids}`
    asked.push({ at: clock++, call, event, step, kept, status, id })
    if (random.chance(0.3)) await Bun.sleep(random.int(20))
    return Response.json({ id }, { status })
  },
})
const folder = emptyFolder()
afterAll(() => {
  crm.stop(true)
  folder[Symbol.dispose]()
})

const body = '{"call":"{{ data.call.id }}","event":"{{ data.name }}","kept":"{{ kept.id }}"}'
const step = (name: string, more: Partial<NewStep> = {}): NewStep => ({
  name,
  on: [...EVENTS],
  url: name,
  body,
  ...more,
})

/** A store, and the nodes that are killed on it in turn. */
type Played = { readonly nodes: number; readonly place: readonly string[]; open(): Promise<Store> }

async function play({ nodes, place, open }: Played): Promise<void> {
  asked.length = 0
  kills.length = 0
  const [base, schedule] = [['--allow-net', 'loopback', '--log-level', 'warn'], `${'20ms,'.repeat(60)}1h`]
  const args = [...base, '--retry-schedule', schedule, ...place]
  const start = () => startServe({ cwd: folder.path, args })
  const [first, ...others] = [await start(), ...(await Promise.all(Array.from({ length: nodes - 1 }, start)))]
  const apps: RunningApp[] = [first, ...others]
  const token = await newToken(first, 'flows@example.com', { store: place })
  const url = `http://127.0.0.1:${crm.port}/rest`
  await ask(first, 'PUT', '/integration/webhook', { token, body: [webhook(url)] })
  const steps = [step('find', { keep: { id: '/id' } }), step('add', { needs: ['id'] }), step('note')]
  const options = { url, flow: { steps, parallel: 8 } }
  const put = await ask(first, 'PUT', '/integration/webhook/options', { token, body: options })
  expect(put.body.message).toBe('The options were replaced.')

  for (const app of apps) await app.stop()
  const store = await open()
  for (let call = 0; call < CALLS; call += 1) {
    const atUs = nowUs()
    const events = EVENTS.map((name, sequence) => {
      const uuid = newUuid(atUs)
      const example = structuredClone(EXAMPLES.find(({ data }) => data.name === name))
      const data = { ...example?.data, id: uuid, call: { ...example?.data.call, id: `call-${call}` } }
      return { uuid, callId: `call-${call}`, name, sequence, atUs, body: JSON.stringify({ time: example?.time, data }) }
    })
    await storeEvents(store, events, { nowSteadyUs: atUs })
  }
  apps.splice(0, nodes, ...(await Promise.all(Array.from({ length: nodes }, start))))
  for (let kill = 0; kill < KILLS; kill += 1) {
    const enough = asked.length + 20 + random.int(60)
    taken = enough
    await until('some steps are made', () => asked.length >= enough)
    const [killed] = apps.splice(random.int(apps.length), 1)
    await killed?.stop('SIGKILL')
    kills.push(clock++)
    apps.push(await start())
  }
  taken = Number.POSITIVE_INFINITY
  await until('all are delivered', async () => (await store.queue.pendingCount()) === 0)
  for (const app of apps) await app.stop()
  const rows = await wholeLog(store.log, { accountId: 1 })
  expect(rows.map(({ state }) => state)).toEqual(rows.map(() => 'delivered'))
  expect(rows).toHaveLength(CALLS * EVENTS.length)
  expect((await store.maintenance.verify()).filter((one) => !one.includes('calls'))).toEqual([])
  await store.stop()
  check(steps)
  console.log(`${asked.length} requests, ${kills.length} kills`)
}

function check(steps: readonly NewStep[]): void {
  for (const ofCall of Map.groupBy(asked, ({ call }) => call).values()) {
    const places = ofCall.map(
      (one) => EVENTS.indexOf(one.event as 'call_ended') * 10 + steps.findIndex(({ name }) => name === one.step),
    )
    // The order of a call: a step comes again only directly after itself.
    expect(places).toEqual(places.toSorted((one, other) => one - other))
    for (const [at, one] of ofCall.entries()) {
      const before = ofCall[at - 1]
      const isRepeated = before?.step === one.step && before.event === one.event && before.status === 200
      // A step that the CRM has done is asked for again only if a kill lies between: it was in flight then.
      if (isRepeated) expect(kills.some((kill) => kill > before.at && kill < one.at)).toBe(true)
      // Every step after `find` has the id that `find` kept; no step before it has one.
      const found = ofCall.slice(0, at).filter(({ step: name, status }) => name === 'find' && status === 200)
      if (one.step !== 'find') expect(found.map(({ id }) => id)).toContain(one.kept)
      if (one.kept !== '') expect(one.kept.startsWith(`${one.call} `)).toBe(true)
    }
  }
}

describe('a step that is done before a kill is never made again, and kept values are never lost', () => {
  test('on SQLite', async () => {
    await play({ nodes: 1, place: [], open: async () => openStore(join(folder.path, 'data', 'hookswitch.db')) })
  })

  test.skipIf(POSTGRES_MISSING !== undefined)('on two nodes of a cluster', async () => {
    await using database = await emptyDatabase()
    const open = () => openPostgresStore(databaseSource(database.url))
    await play({ nodes: 2, place: ['--database-url', database.url], open })
  })
})
