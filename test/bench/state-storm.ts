import { emptyFolder, startServe } from '../help/app.ts'
import { startAsterisk } from '../help/asterisk-load.ts'
import { addUser, ask, logIn, webhook } from '../help/client.ts'
import { startReceiver } from '../help/receiver.ts'
import { quantile, startCalls } from './pbx-to-receiver.ts'
import { startProbe } from './stalls-probe.ts'
import { type Status, startStormyAsterisk } from './stormy-pbx.ts'
import { atMost, figure, type Row } from './table.ts'

const PHONES = 5_000
/** All phones lose their network, and have it back when their new states were emitted. */
const STORMS = [
  { afterMs: 0, status: 'Unreachable' },
  { afterMs: 8_000, status: 'Reachable' },
] as const satisfies readonly { afterMs: number; status: Status }[]
/** The process compiles code during its first seconds. */
const WARM_UP_MS = 3_000
const MEASURE_MS = 16_000
const CALLS_PER_SECOND = 20
const ASK_EVERY_MS = 10
const LISTED_WITHIN_MS = 60_000

/** A PBX of another account, and what it does. */
export type Storm = {
  /** For people: `a storm of 5,000 phones`. */
  readonly what: string
  readonly port: number
  /** The phones that are listed before anything is measured. */
  readonly phones: number
  /** What it does, and how long after the beginning; one after the other. */
  readonly acts: readonly { readonly afterMs: number; act(): unknown }[]
  stop(): void
}

/** Measures how long an account waits for its API and its first events while 5,000 phones of another change twice. */
export function benchStateStorm(): Promise<Row[]> {
  const stormy = startStormyAsterisk(PHONES)
  const acts = STORMS.map(({ afterMs, status }) => ({ afterMs, act: () => stormy.storm(status) }))
  const what = `a storm of ${PHONES} phones`
  return measureBeside({ what, port: stormy.port, phones: PHONES, acts, stop: stormy.stop })
}

/** Measures how long an account waits for its API and its first events beside a PBX of another account. */
export async function measureBeside(storm: Storm): Promise<Row[]> {
  using folder = emptyFolder()
  const calm = startAsterisk()
  const receiver = startReceiver()
  const states = startReceiver()
  const args = ['--allow-net', 'loopback', '--log-level', 'warn']
  const first = await startServe({ cwd: folder.path, args })
  await addUser(folder.path, 'calm@example.com', 'calm')
  await addUser(folder.path, 'stormy@example.com', 'stormy')
  await setWebhook(first, 'calm', webhook(`${receiver.url}/calls`))
  const stormyToken = await setWebhook(first, 'stormy', webhook(`${states.url}/states`))
  const events = ['phone_changed', 'trunk_changed', 'agent_changed', 'queue_changed']
  const body = { url: `${states.url}/states`, events }
  await ask(first, 'PUT', '/integration/webhook/options', { token: stormyToken, body })
  await first.stop()
  const pbxs = [
    `ami://any:any@127.0.0.1:${calm.port}?name=calm&account=calm&trunks=trunk`,
    `ami://any:any@127.0.0.1:${storm.port}?name=stormy&account=stormy`,
  ]
  const app = await startServe({ cwd: folder.path, args: [...args, ...pbxs.flatMap((url) => ['--pbx', url])] })
  await calm.ready
  await untilListed(app, stormyToken, storm.phones)

  const probe = startProbe(app)
  const seconds = (WARM_UP_MS + MEASURE_MS) / 1_000
  const token = await logIn(app, 'calm@example.com')
  const calls = startCalls([calm], { receiver }, { callsPerSecond: CALLS_PER_SECOND, seconds })
  const beginMs = performance.now() + WARM_UP_MS
  const asking = askSteadily(app, token, { beginMs, endMs: beginMs + MEASURE_MS })
  await Bun.sleep(WARM_UP_MS)
  const stall = await probe.during(async () => {
    for (const { afterMs, act } of storm.acts) {
      await Bun.sleep(Math.max(0, beginMs + afterMs - performance.now()))
      await act()
    }
    await calls.ended
  })
  probe[Symbol.dispose]()
  const askedMs = sorted(await asking)
  const eventsMs = sorted(calls.taken().flatMap(({ sentMs, tookMs }) => (sentMs < beginMs ? [] : tookMs)))
  const lines = app.output().split('\n')
  const claims = lines.filter((line) => /store/.test(line))
  for (const line of [...claims.slice(0, 3), ...lines.filter((one) => /stormy/.test(one)).slice(0, 3)])
    console.error(line)
  const changes = states.received.length
  await app.stop()
  await Promise.all([receiver.stop(), states.stop()])
  calm.stop()
  storm.stop()
  const detail = (all: readonly number[]) =>
    `${all.length}, p50 ${quantile(all, 0.5).toFixed(1)}, max ${quantile(all, 1).toFixed(0)} ms`
  return [
    atMost(`GET /auth/me beside ${storm.what}, p99`, 100, quantile(askedMs, 0.99), ' ms', detail(askedMs)),
    atMost(
      'the first events of another account beside it, p99',
      200,
      quantile(eventsMs, 0.99),
      ' ms',
      detail(eventsMs),
    ),
    figure(
      'the longest time in which the event loop answered nobody beside it',
      stall.longestMs,
      ' ms',
      `at most ${stall.busyMs.toFixed(0)} ms on a processor`,
    ),
    atMost('log lines about the store meanwhile', 0, claims.length, ''),
    figure('changes of phones, trunks, agents and queues that arrived', changes, ''),
  ]
}

const sorted = (values: readonly number[]): number[] => values.toSorted((one, other) => one - other)

type App = Awaited<ReturnType<typeof startServe>>

/** Sets the webhook of an account. Returns a token of the account. */
async function setWebhook(app: App, account: string, one: ReturnType<typeof webhook>): Promise<string> {
  const token = await logIn(app, `${account}@example.com`)
  const { status, body } = await ask(app, 'PUT', '/integration/webhook', { token, body: [one] })
  if (status !== 200) throw new Error(body.message)
  return token
}

async function untilListed(app: App, token: string, phones: number): Promise<void> {
  const deadlineMs = performance.now() + LISTED_WITHIN_MS
  const listed = async (): Promise<number> => {
    const { body } = await ask(app, 'GET', '/phone', { token })
    return Array.isArray(body.result) ? body.result.length : 0
  }
  while ((await listed()) < phones) {
    if (performance.now() > deadlineMs) throw new Error('the phones and queues are not listed')
    await Bun.sleep(100)
  }
}

/** Asks at a steady rate, whether or not earlier requests are answered. Returns how long each took. */
async function askSteadily(app: App, token: string, { beginMs, endMs }: { beginMs: number; endMs: number }) {
  const asked: Promise<number>[] = []
  const askOnce = async (dueMs: number): Promise<number> => {
    const { status, body } = await ask(app, 'GET', '/auth/me', { token })
    if (status !== 200) throw new Error(body.message)
    return performance.now() - dueMs
  }
  for (let dueMs = beginMs; dueMs < endMs; dueMs += ASK_EVERY_MS) {
    await Bun.sleep(Math.max(0, dueMs - performance.now()))
    asked.push(askOnce(dueMs))
  }
  return Promise.all(asked)
}
