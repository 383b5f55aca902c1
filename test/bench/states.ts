import { amiEvent } from '../help/ami-event.ts'
import { emptyFolder } from '../help/app.ts'
import { startAsterisk } from '../help/asterisk-load.ts'
import { ask, webhook } from '../help/client.ts'
import { startReceiver } from '../help/receiver.ts'
import { startWatched } from '../help/watched.ts'
import { quantile, startCalls } from './pbx-to-receiver.ts'
import { SIZES, stateFramesPerSecond } from './state-frames.ts'
import { benchStateStorm } from './state-storm.ts'
import { atLeast, atMost, perSecond, type Row } from './table.ts'

/** The memory of 50,000 phones does not fit into the caches of a processor, which costs half of the rate. */
const LEAST_SHARE = 0.25
const CALLS_PER_SECOND = 100
const SECONDS = 10
/** Each of them changes once. */
const AGENTS = 400
const QUEUES = 20
/** Between the changes of two agents: 50 a second. */
const CHANGE_EVERY_MS = 20
const ARRIVES_WITHIN_MS = 10_000
const NO_CALLS = {
  call_started: false,
  call_ended: false,
  dial_started: false,
  dial_answered: false,
  dial_ended: false,
  call_transferred: false,
  call_saved: false,
}
const STATUS = { available: '1', busy: '2' } as const

/** How long a change of an agent takes from the PBX's bytes to the receiver's handler, beside calls. */
async function benchChanges(): Promise<Row[]> {
  using folder = emptyFolder()
  const pbx = startAsterisk()
  const watched = await startWatched(folder.path, [`ami://any:any@127.0.0.1:${pbx.port}?name=bench&trunks=trunk`])
  const receiver = startReceiver()
  await pbx.ready
  await addStates(watched, receiver.url)

  const sentMs = new Map<string, number>()
  for (let agent = 0; agent < AGENTS; agent += 1) pbx.send(memberStatus(agent, STATUS.available))
  const calls = startCalls([pbx], watched, { callsPerSecond: CALLS_PER_SECOND, seconds: SECONDS })
  for (let agent = 0; agent < AGENTS; agent += 1) {
    await Bun.sleep(Math.max(0, calls.warmMs + agent * CHANGE_EVERY_MS - performance.now()))
    sentMs.set(extensionOf(agent), performance.now())
    pbx.send(memberStatus(agent, STATUS.busy))
  }
  await calls.ended
  const deadline = performance.now() + ARRIVES_WITHIN_MS
  const taken = (): number[] =>
    receiver.received.flatMap(({ body, atMs }) => {
      const { agent } = JSON.parse(body).data
      return agent.state === 'busy' ? [atMs - (sentMs.get(agent.extension) ?? Number.NaN)] : []
    })
  while (taken().length < AGENTS && performance.now() < deadline) await Bun.sleep(50)
  const tookMs = taken()
  await watched.stop()
  await receiver.stop()
  pbx.stop()
  if (tookMs.length !== AGENTS) throw new Error(`${tookMs.length} changes of ${AGENTS} agents arrived`)
  tookMs.sort((one, other) => one - other)
  const detail = `${tookMs.length} changes of agents, p50 ${quantile(tookMs, 0.5).toFixed(1)}, max ${quantile(tookMs, 1).toFixed(0)} ms`
  return [
    atMost(
      `change of a state to receiver beside ${CALLS_PER_SECOND} calls/s, p99`,
      50,
      quantile(tookMs, 0.99),
      ' ms',
      detail,
    ),
  ]
}

/** Returns the frames per second that become states, at four numbers of phones. */
async function benchFrames(): Promise<Row[]> {
  const rates: number[] = []
  for (const phones of SIZES) rates.push(await stateFramesPerSecond(phones))
  const [few = Number.NaN] = rates
  const many = rates.at(-1) ?? Number.NaN
  const detail = SIZES.map((phones, at) => `${phones}: ${perSecond(rates[at] ?? Number.NaN)}`).join(', ')
  return [atLeast('frames/s of states with 50,000 phones ÷ with 100', LEAST_SHARE, many / few, detail)]
}

export const benchStates = async (): Promise<Row[]> => [
  ...(await benchFrames()),
  ...(await benchStateStorm()),
  ...(await benchChanges()),
]

type Watched = Awaited<ReturnType<typeof startWatched>>

/** Adds a webhook that gets the changes of agents alone. */
async function addStates({ url, token, receiver }: Watched, statesUrl: string): Promise<void> {
  const base = { url: url() }
  const list = [webhook(`${receiver.url}/calls`), webhook(`${statesUrl}/states`, NO_CALLS)]
  await expectOk(ask(base, 'PUT', '/integration/webhook', { token, body: list }))
  const body = { url: `${statesUrl}/states`, events: ['agent_changed'] }
  await expectOk(ask(base, 'PUT', '/integration/webhook/options', { token, body }))
}

async function expectOk(asked: ReturnType<typeof ask>): Promise<void> {
  const { status, body } = await asked
  if (status !== 200) throw new Error(body.message)
}

const extensionOf = (agent: number): string => `${200 + agent}`

const memberStatus = (agent: number, status: string): string =>
  amiEvent('QueueMemberStatus', {
    Queue: `queue${agent % QUEUES}`,
    MemberName: `Agent ${agent}`,
    Interface: `PJSIP/${extensionOf(agent)}`,
    StateInterface: `PJSIP/${extensionOf(agent)}`,
    Membership: 'dynamic',
    InCall: status === STATUS.busy ? 1 : 0,
    Status: status,
    Paused: 0,
  })
