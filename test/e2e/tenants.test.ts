import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { startReplay } from '../../src/pbx/tools/replay/replay.ts'
import { emptyFolder, type RunningApp, startServe } from '../help/app.ts'
import { ask, newToken } from '../help/client.ts'
import { readScrape, sumOf } from '../help/prometheus.ts'
import { startReceiver, until } from '../help/receiver.ts'
import { openStore } from '../help/store.ts'
import { customerOf as customerAmong, customersOf, recordingOfAll } from '../help/tenant-recordings.ts'
import { addCustomers, areOver, eventsAt, strays, unsoundCalls } from '../help/tenant-webhooks.ts'

// Fifty customers on one Asterisk and one FreeSWITCH, all of them with calls at once. The service is killed in the middle.

const CUSTOMERS = {
  asterisk: customersOf('asterisk', 50).map((one) => ({ ...one, fixtures: one.fixtures.slice(0, 1) })),
  freeswitch: customersOf('freeswitch', 50).map((one) => ({ ...one, fixtures: one.fixtures.slice(0, 1) })),
}
const NAMES = CUSTOMERS.asterisk.map(({ name }) => name)
/** The last one has no account. */
const KNOWN = NAMES.slice(0, -1)
/** When the service is killed, the time of the recordings stops until then. */
const HOLD_AT_MS = 5_000
const SPEED = 4
const SCRAPE = 'token-of-prometheus'

const folder = emptyFolder()
const receiver = startReceiver()
const replays: ReturnType<typeof startReplay>[] = []
let app: RunningApp
let first: { id: string; token: string; overview: Overview; scrape: string } | undefined
let log = ''

type Overview = { account: string; pbxs: { name: string; endpoints: unknown }[]; calls: { call: { pbx_id: string } }[] }

async function prepare(): Promise<void> {
  mkdirSync(join(folder.path, 'data'))
  const store = openStore(join(folder.path, 'data/hookswitch.db'))
  await addCustomers(store, KNOWN, receiver.url)
  await store.stop()
}

function serve(): Promise<RunningApp> {
  const urls = replays.map(
    ({ kind, url }) => `${url}?name=${kind}&tenants=${kind === 'asterisk' ? 'accountcode' : 'domain'}`,
  )
  const args = ['--allow-net', 'loopback', '--log-level', 'warn', '--metrics-token', SCRAPE]
  return startServe({ cwd: folder.path, args: [...args, ...urls.flatMap((url) => ['--pbx', url])] })
}

const countOf = (scrape: string, pbx: string) =>
  sumOf(readScrape(scrape), 'hookswitch_calls_without_account_total', { pbx })
const received = () => eventsAt(receiver)
const customerOf = (pbxId: string) => customerAmong(NAMES, pbxId)

beforeAll(async () => {
  await prepare()
  const { promise: killed, resolve: goOn } = Promise.withResolvers<void>()
  for (const kind of ['asterisk', 'freeswitch'] as const) {
    const holds = [{ atMs: HOLD_AT_MS, until: killed }]
    replays.push(startReplay({ files: [recordingOfAll(kind, CUSTOMERS[kind])], speed: SPEED, holds }))
  }
  app = await serve()
  const id = KNOWN[0] ?? ''
  const token = await newToken(app, 'ann@example.com', { account: id })
  await until('most customers have a call', () => new Set(received().map(({ to }) => to)).size > 40)
  const overview = await ask(app, 'GET', '/overview', { token })
  // Whose a call is may show up to a second after its start.
  let scrape = ''
  await until('calls without an account are counted for both', async () => {
    const answer = await fetch(`${app.url}/metrics`, { headers: { authorization: `Bearer ${SCRAPE}` } })
    scrape = await answer.text()
    return ['asterisk', 'freeswitch'].every((pbx) => (countOf(scrape, pbx) ?? 0) > 0)
  })
  first = { id, token, overview: overview.body.result as Overview, scrape }
  log += app.output()
  await app.stop('SIGKILL')
  app = await serve()
  goOn()
  await Promise.all(replays.map(({ finished }) => finished))
  await until('every call comes to its end', () => received().length > 0 && areOver(received()))
  log += app.output()
})

afterAll(async () => {
  await app?.stop()
  for (const replay of replays) await replay.stop()
  await receiver.stop()
  folder[Symbol.dispose]()
})

test("each call's events reach its customer alone, also when the service is killed in the middle", () => {
  expect(strays(received(), customerOf)).toEqual([])
  expect([...new Set(received().map(({ to }) => to))].toSorted()).toEqual(KNOWN.toSorted())
})

test('each call comes to one end, its events in order and with no gap', () => {
  expect(unsoundCalls(received())).toEqual([])
})

test('calls of a customer without an account are counted, and the log has the command that adds it', () => {
  for (const pbx of ['asterisk', 'freeswitch']) expect(countOf(first?.scrape ?? '', pbx)).toBeGreaterThan(0)
  expect(log).toContain(`hookswitch user add --account ${NAMES.at(-1)} --email`)
})

test('a customer sees its own calls, and the PBXs without the phones of others', async () => {
  expect(first?.overview.account).toBe(first?.id ?? '')
  const others = first?.overview.calls.filter(({ call }) => customerOf(call.pbx_id) !== first?.id)
  expect(others).toEqual([])
  const { body } = await ask(app, 'GET', '/overview', { token: first?.token ?? '' })
  const { pbxs } = body.result as Overview
  // The PBXs on which it has had a call since the start: which calls were over before the kill depends on the machine.
  expect(['asterisk', 'freeswitch']).toEqual(expect.arrayContaining(pbxs.map(({ name }) => name)))
  expect(JSON.stringify(pbxs)).not.toContain('PJSIP/')
  const calls = await ask(app, 'GET', '/call', { token: first?.token ?? '' })
  const { items } = calls.body.result as { items: { pbx_id: string }[] }
  expect(items.length).toBeGreaterThan(0)
  expect(items.filter((call) => customerOf(call.pbx_id) !== first?.id)).toEqual([])
  const stranger = await newToken(app, 'ben@example.com')
  const own = await ask(app, 'GET', '/overview', { token: stranger })
  expect((own.body.result as Overview).pbxs).toEqual([])
})
