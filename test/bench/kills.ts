import { buildOnce, emptyFolder, type RunningApp, startServe } from '../help/app.ts'
import { acts, startAsterisk } from '../help/asterisk-load.ts'
import { ask, newToken, webhook } from '../help/client.ts'
import { makeBacklog } from './backlog.ts'
import { bodyOf } from './delivery.ts'
import { startReceiverProcess } from './receiver-process.ts'
import { atMost, type Row } from './table.ts'

/** How many deliveries are made twice when the service is killed under full load. */

const DELIVERIES = 30_000
const ARGS = ['--allow-net', 'loopback', '--log-level', 'error']
const ROUNDS = 5

type Counts = { readonly requests: number; readonly distinct: number }

async function countsOf(url: string): Promise<Counts> {
  return await (await fetch(new URL('/count', url))).json()
}

async function untilCounted(url: string, isEnough: (counts: Counts) => boolean): Promise<Counts> {
  for (;;) {
    const counts = await countsOf(url)
    if (isEnough(counts)) return counts
    await Bun.sleep(2)
  }
}

/** Waits until nothing has come for a second. */
async function untilQuiet(url: string): Promise<Counts> {
  for (let before = await countsOf(url); ; ) {
    await Bun.sleep(1_000)
    const counts = await countsOf(url)
    if (counts.requests === before.requests) return counts
    before = counts
  }
}

/** A backlog for several webhooks, killed in the middle of it. */
async function repeatedOfBacklog(webhooks: number): Promise<number> {
  using folder = emptyFolder()
  using receivers = await startReceiverProcess(1, 'count')
  const [url = ''] = receivers.urls
  Bun.spawnSync(['mkdir', '-p', `${folder.path}/data`])
  const urls = Array.from({ length: webhooks }, (_, n) => `${url}/${n}`)
  makeBacklog(`${folder.path}/data/hookswitch.db`, DELIVERIES / webhooks, urls, bodyOf(1_024))
  const first = await startServe({ cwd: folder.path, args: ARGS })
  await untilCounted(url, ({ requests }) => requests > DELIVERIES * (0.3 + 0.4 * Math.random()))
  await first.stop('SIGKILL')
  const second = await startServe({ cwd: folder.path, args: ARGS })
  await untilCounted(url, ({ distinct }) => distinct === DELIVERIES)
  await second.stop()
  const { requests, distinct } = await countsOf(url)
  return requests - distinct
}

/**
 * Kills the service under calls at full speed, from a PBX that stays: storing, emitting and sending compete. @returns
 * the number of repeated requests.
 */
async function repeatedOfCalls(): Promise<number> {
  using folder = emptyFolder()
  using receivers = await startReceiverProcess(1, 'count')
  const [url = ''] = receivers.urls
  const pbx = startAsterisk()
  const args = [...ARGS, '--pbx', `ami://any:any@127.0.0.1:${pbx.port}?name=bench`]
  const first: RunningApp = await startServe({ cwd: folder.path, args })
  const token = await newToken(first, 'bench@example.com')
  await ask(first, 'PUT', '/integration/webhook', { token, body: [0, 1, 2, 3].map((n) => webhook(`${url}/${n}`)) })
  await pbx.ready
  const load = startCalls(pbx)
  await untilCounted(url, ({ requests }) => requests > DELIVERIES * (0.3 + 0.4 * Math.random()))
  await first.stop('SIGKILL')
  load.stop()
  const second = await startServe({ cwd: folder.path, args })
  const { requests, distinct } = await untilQuiet(url)
  await second.stop()
  pbx.stop()
  return requests - distinct
}

function startCalls({ send, unsent }: Pick<ReturnType<typeof startAsterisk>, 'send' | 'unsent'>) {
  let running = true
  let call = 0
  const more = async () => {
    for (; running; await Bun.sleep(1)) {
      if (unsent() > 0) continue
      const batch = Array.from({ length: 8 }, () => acts(call++))
      send(batch.flatMap((pieces) => pieces.map(({ bytes }) => bytes)).join(''))
    }
  }
  void more()
  return {
    stop() {
      running = false
    },
  }
}

export async function benchKills(): Promise<Row[]> {
  await buildOnce()
  const worst = async (run: () => Promise<number>): Promise<[number, string]> => {
    const repeated: number[] = []
    for (let round = 0; round < ROUNDS; round += 1) repeated.push(await run())
    return [Math.max(...repeated), repeated.join(', ')]
  }
  const [backlog, backlogs] = await worst(() => repeatedOfBacklog(4))
  const [live, lives] = await worst(repeatedOfCalls)
  return [
    atMost('repeated after kill -9, of a backlog of 30,000', 300, backlog, '', backlogs),
    atMost('the same, of calls as fast as they come', 300, live, '', lives),
  ]
}
