import { nowUs } from '../../src/lib/time.ts'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { buildOnce, emptyFolder, type RunningApp, run, startServe } from '../help/app.ts'
import { ask, newToken, webhook } from '../help/client.ts'
import { databaseSource, migratedDatabase, POSTGRES_MISSING, startPostgres } from '../help/postgres.ts'
import { openStore } from '../help/store.ts'
import { startReceiverProcess } from './receiver-process.ts'
import { startBusyAsterisk } from './stalls-pbx.ts'
import { type Stall, startProbe } from './stalls-probe.ts'
import { type Filled, fillStore, OWN_NUMBER } from './stalls-store.ts'
import { startStormyAsterisk } from './stormy-pbx.ts'
import { atMost, type Row } from './table.ts'

/**
 * How long one account, PBX, command or page keeps the service from answering: it is asked every 10 ms in an open loop
 * beside each list with each filter, each first connection, reconnect, command, backup, open page, replay and storm of
 * states, with two stores of which one has ten times as many calls. Prints the longest stall with the larger one, how
 * it grew, and the longest wait for a commit.
 */
type StallOptions = {
  /** The calls in the stores; the PBX has a tenth of them open. */
  readonly sizes: readonly number[]
  readonly engines: readonly Engine[]
  /** Only actions whose name contains this. */
  readonly only: string
}
type Engine = 'sqlite' | 'postgres'

const BAR_MS = 50
const OPEN_SHARE = 0.1
const ARGS = ['--allow-net', 'loopback', '--log-level', 'error']
/** The phones of another PBX, by the calls in the store: 5,000 with 20,000 calls. */
const PHONES_SHARE = 0.25
/** All phones change at once, and their changes are emitted 5 s later. */
const STORM_MS = 7_000
const IDLE_MS = 1_000
const PAGE_OPEN_MS = 2_000
const UP_WITHIN_MS = 60_000
/** The repetitions of an action. The shortest counts of their longest stalls: other processes stop only some of them. */
const TIMES = 3

export async function benchStalls({ sizes, engines, only }: StallOptions): Promise<Row[]> {
  await buildOnce()
  const rows: Row[] = []
  for (const engine of engines) {
    if (engine === 'postgres' && POSTGRES_MISSING !== undefined) continue
    const found: Map<string, Stall>[] = []
    for (const calls of sizes) {
      console.error(`stalls on ${engine} with ${calls} calls …`)
      found.push(await stallsOf(engine, calls, only))
    }
    const [first, last] = [found[0], found.at(-1)]
    for (const [what, stall] of last ?? []) rows.push(rowOf(`${engine}: ${what}`, first?.get(what), stall))
  }
  return rows
}

function rowOf(what: string, small: Stall | undefined, large: Stall): Row {
  const before = small === undefined ? '' : `, grew ${small.longestMs.toFixed(0)} → ${large.longestMs.toFixed(0)} ms`
  const failing = large.isFailing ? ', /health FAILED' : ''
  const commit = `, at most ${large.busyMs.toFixed(0)} ms on a processor, commit ${large.commitMs.toFixed(0)} ms`
  return atMost(what, BAR_MS, large.longestMs, ' ms', `took ${large.tookMs.toFixed(0)} ms${before}${commit}${failing}`)
}

/** Returns the longest stall beside each action, by its name. */
async function stallsOf(engine: Engine, calls: number, only: string): Promise<Map<string, Stall>> {
  await using cleaning = new AsyncDisposableStack()
  const folder = cleaning.use(emptyFolder())
  const receiver = cleaning.use(await startReceiverProcess(1))
  const [hook = ''] = receiver.urls
  const store: string[] = []
  if (engine === 'postgres') {
    const server = await startPostgres({ fsync: 'on', full_page_writes: 'on' })
    cleaning.defer(() => server.stop())
    store.push('--database-url', (await migratedDatabase(server)).url)
  }
  const start = () => startServe({ cwd: folder.path, args: [...ARGS, ...store] })
  const first = await start()
  const token = await newToken(first, 'bench@example.com', { store })
  await ask(first, 'PUT', '/integration/webhook', { token, body: [webhook(hook)] })
  await first.stop()
  const [, url] = store
  const open =
    url === undefined ? openStore(`${folder.path}/data/hookswitch.db`) : await openPostgresStore(databaseSource(url))
  const filled = await fillStore(open, calls, nowUs())
  await open.stop()
  const pbx = startBusyAsterisk(Math.round(calls * OPEN_SHARE))
  cleaning.defer(() => pbx.stop())
  const phones = Math.round(calls * PHONES_SHARE)
  const stormy = { phones, ...startStormyAsterisk(phones) }
  cleaning.defer(() => stormy.stop())
  const app = await start()
  cleaning.defer(async () => void (await app.stop('SIGKILL')))
  using probe = startProbe(app)
  const found = new Map<string, Stall>()
  for (const { what, times = TIMES, act } of actionsOf({ app, token, store, filled, hook, pbx, stormy, engine })) {
    if (!what.includes(only)) continue
    for (let time = 0; time < times; time += 1) {
      const stall = await probe.during(() => act().catch((error) => console.error(`  ${what}: ${error}`)))
      const before = found.get(what)
      if (before === undefined || before.longestMs > stall.longestMs) found.set(what, stall)
    }
    const { longestMs = 0, busyMs = 0, commitMs = 0 } = found.get(what) ?? {}
    console.error(`  ${what}: ${longestMs.toFixed(0)} ms (busy ${busyMs.toFixed(0)}), commit ${commitMs.toFixed(0)} ms`)
  }
  return found
}

type Action = { readonly what: string; readonly times?: number; readonly act: () => Promise<unknown> }

type Beside = {
  readonly app: RunningApp
  readonly token: string
  readonly store: readonly string[]
  readonly filled: Filled
  readonly hook: string
  readonly pbx: ReturnType<typeof startBusyAsterisk>
  readonly stormy: ReturnType<typeof startStormyAsterisk> & { readonly phones: number }
  readonly engine: Engine
}

function actionsOf(beside: Beside): Action[] {
  const { pbx } = beside
  return [
    { what: 'nothing', act: () => Bun.sleep(IDLE_MS) },
    ...pathsOf(beside).map(([name, path]) => ({ what: `GET ${name}`, act: () => get(beside, path) })),
    ...coldPathsOf(beside),
    { what: 'bulk retry of the newest day', act: () => retryNewest(beside) },
    { what: 'replay of the newest day', times: 1, act: () => replayNewest(beside) },
    ...commandsOf(beside),
    { what: 'first connection of the PBX', times: 1, act: () => connect(beside, () => addPbx(beside)) },
    { what: 'reconnect of the PBX', act: () => connect(beside, async () => pbx.cut()) },
    { what: 'GET /overview with open calls', act: () => get(beside, '/overview') },
    { what: 'GET /integration/delivery?number= with open calls', act: () => get(beside, OF_OWN_NUMBER) },
    { what: 'open page', act: () => openPage(beside) },
    { what: 'states: first lists of the phones', times: 1, act: () => listPhones(beside) },
    { what: 'states: all phones lose their network', times: 1, act: () => storm(beside, 'Unreachable') },
    { what: 'states: all phones have it back', times: 1, act: () => storm(beside, 'Reachable') },
    { what: 'states: GET /phone', act: () => get(beside, '/phone') },
    { what: 'states: GET /agent', act: () => get(beside, '/agent') },
  ]
}

const OF_OWN_NUMBER = `/integration/delivery?number=${encodeURIComponent(OWN_NUMBER.e164)}`

const LISTS = `
/call?limit=200 /call?direction=inbound /call?direction=outbound /call?number=OWN /call?number=SPELLED
/call?number=NOBODY /call?number=OWN&direction=outbound /call?number=OWN&until=MIDDLE /call?since=MIDDLE
/call?until=MIDDLE /call/ID /call/ID/event
/event?limit=1000 /event?event=call_missed /event?call_id=ID
/integration/delivery?limit=200 /integration/delivery?state=pending /integration/delivery?state=delivered
/integration/delivery?state=failed /integration/delivery?state=cancelled /integration/delivery?event=call_saved
/integration/delivery?event=call_missed /integration/delivery?url=HOOK /integration/delivery?url=OTHER
/integration/delivery?call_id=ID /integration/delivery?call_id=SHORT /integration/delivery?call_id=ffffffff
/integration/delivery?since=MIDDLE /integration/delivery?until=MIDDLE /integration/delivery?state=failed&until=MIDDLE
/integration/delivery?number=OWN /integration/delivery?number=NOBODY
/overview /integration/webhook /integration/webhook/secret`

/** Each list with each filter: values that match much, little and nothing. Returns the path of each by its name. */
function pathsOf({ filled: { lastCallId, middle }, hook }: Beside): [name: string, path: string][] {
  const values: Readonly<Record<string, string>> = {
    OWN: OWN_NUMBER.e164,
    SPELLED: OWN_NUMBER.spelled,
    NOBODY: '+4930999999',
    ID: lastCallId,
    SHORT: lastCallId.slice(-8),
    MIDDLE: middle,
    HOOK: hook,
    OTHER: 'https://example.com/none',
  }
  const path = (name: string) => name.replace(/[A-Z]{2,}/g, (word) => encodeURIComponent(values[word] ?? word))
  return LISTS.trim()
    .split(/\s+/)
    .map((name) => [name, path(name)])
}

const COLD = `
/call?number=OWN /call?since=MIDDLE /event?event=call_missed /event?limit=1000 /integration/delivery?limit=200
/integration/delivery?event=call_missed /integration/delivery?state=cancelled /integration/delivery?until=MIDDLE
/integration/delivery?number=OWN /call/ID/event`

/** Lists whose pages have to be read from the disk: the file of the store is dropped from the system's memory before. */
function coldPathsOf(beside: Beside): Action[] {
  const { app, engine } = beside
  if (engine !== 'sqlite') return []
  const wanted = new Set(COLD.trim().split(/\s+/))
  return pathsOf(beside)
    .filter(([name]) => wanted.has(name))
    .map(([name, path]) => ({
      what: `GET ${name}, cold pages`,
      async act() {
        await Bun.$`dd if=${app.cwd}/data/hookswitch.db iflag=nocache count=0`.quiet()
        await get(beside, path)
      },
    }))
}

async function get({ app, token }: Beside, path: string): Promise<void> {
  const { status, body } = await ask(app, 'GET', path, { token })
  if (status >= 500) throw new Error(`${path}: ${body.message}`)
}

const retryNewest = ({ app, token }: Beside) => {
  const since = new Date(Date.now() - 86_400_000).toISOString()
  return ask(app, 'POST', '/integration/delivery/retry', { token, body: { state: 'delivered', since } })
}

const replayNewest = ({ app, token, hook }: Beside) => {
  const since = new Date(Date.now() - 86_400_000).toISOString()
  return ask(app, 'POST', '/integration/webhook/replay', { token, body: { url: hook, since, again: true } })
}

function commandsOf(beside: Beside): Action[] {
  const { app, store, hook, engine } = beside
  const command = (what: string, ...args: string[]): Action => ({
    what,
    async act() {
      const [name = '', verb = '', ...rest] = args
      const input = name === 'user' ? { stdin: 'correct horse\n' } : {}
      const { code, stderr } = await run([name, verb, ...store, ...rest], { cwd: app.cwd, ...input })
      if (code !== 0) throw new Error(`${what}: ${stderr}`)
    },
  })
  const other = `${hook}/other`
  return [
    { ...command('user add', 'user', 'add', '--email', 'other@example.com', '--name', 'Other'), times: 1 },
    { ...command('webhook add', 'webhook', 'add', other), times: 1 },
    command('delivery list', 'delivery', 'list', '--limit', '50'),
    command('call erase', 'call', 'erase', '--number', '+4930999999'),
    ...(engine === 'sqlite' ? [{ ...command('backup', 'backup', `${app.cwd}/copy.db`), times: 1 }] : []),
  ]
}

const addPbx = ({ app, store, pbx }: Beside) => run(['pbx', 'add', ...store, pbx.url], { cwd: app.cwd })

/** Waits until the PBX is up after a change. */
async function connect({ app, token }: Beside, change: () => Promise<unknown>): Promise<void> {
  const sinceOf = async () => {
    const { body } = await ask(app, 'GET', '/overview?calls=none', { token })
    const { pbxs = [] } = body.result as { pbxs?: readonly { state: string; since: string | null }[] }
    return pbxs.find(({ state }) => state === 'up')?.since
  }
  const before = await sinceOf()
  await change()
  const deadlineMs = performance.now() + UP_WITHIN_MS
  for (let since = before; since === before || since === undefined; since = await sinceOf()) {
    if (performance.now() > deadlineMs) throw new Error('the PBX is not up')
    await Bun.sleep(100)
  }
}

/** Adds the PBX of the phones, and waits until all of them are listed. */
async function listPhones({ app, token, store, stormy }: Beside): Promise<void> {
  const url = `ami://any:any@127.0.0.1:${stormy.port}?name=stormy`
  await run(['pbx', 'add', ...store, url], { cwd: app.cwd })
  const deadlineMs = performance.now() + UP_WITHIN_MS
  for (let listed = 0; listed < stormy.phones; ) {
    if (performance.now() > deadlineMs) throw new Error('the phones are not listed')
    await Bun.sleep(500)
    const { body } = await ask(app, 'GET', '/phone', { token })
    listed = Array.isArray(body.result) ? body.result.length : 0
  }
}

async function storm({ stormy }: Beside, status: 'Reachable' | 'Unreachable'): Promise<void> {
  stormy.storm(status)
  await Bun.sleep(STORM_MS)
}

/** Opens the page: what it reads first, and its stream for a while. */
async function openPage(beside: Beside): Promise<void> {
  const { app, token } = beside
  const left = new AbortController()
  const stream = fetch(`${app.url}/stream`, { headers: { authorization: `Bearer ${token}` }, signal: left.signal })
  const reading = stream.then(async ({ body }) => {
    for await (const _ of body ?? []);
  })
  await Promise.all([get(beside, '/overview'), get(beside, '/integration/delivery?limit=50'), get(beside, '/call')])
  await Bun.sleep(PAGE_OPEN_MS)
  left.abort()
  await reading.catch(() => undefined)
}
