import type { Socket } from 'bun'
import { createAsterisk } from '../../src/pbx/replay/asterisk.ts'
import type { Conversation } from '../../src/pbx/replay/persona.ts'
import { emptyFolder } from '../help/app.ts'
import { startWatched } from '../help/watched.ts'

/** From an Asterisk's bytes to the receiver's handler, through the compiled file, at a steady rate of calls. */
export type Latency = { events: number; p50Ms: number; p99Ms: number; maxMs: number }

const TICK_MS = 5
/** The rate is steady; what the process compiles in its first seconds is not. */
const WARM_UP_MS = 2_000
/** Events that have nothing to wait for. */
const AT_ONCE = new Set(['call_started', 'dial_started', 'dial_answered', 'dial_ended'])

export async function benchLatency(callsPerSecond = 200, seconds = 10): Promise<Latency> {
  using folder = emptyFolder()
  const pbx = startPbx()
  const watched = await startWatched(folder.path, [`ami://any:any@127.0.0.1:${pbx.port}?name=bench`])
  await pbx.ready
  const sentMs = new Map<string, number>()
  const total = callsPerSecond * seconds
  const beginMs = performance.now() + 500
  const due = [...Array(total).keys()]
    .flatMap((call) => acts(call).map((act) => ({ ...act, atMs: (call * 1_000) / callsPerSecond + act.afterMs })))
    .toSorted((a, b) => a.atMs - b.atMs)
  for (let next = 0; next < due.length; ) {
    const nowMs = performance.now() - beginMs
    for (let act = due[next]; act !== undefined && act.atMs <= nowMs; act = due[++next]) {
      sentMs.set(`${act.call} ${act.tells}`, performance.now())
      pbx.send(act.bytes)
    }
    await Bun.sleep(TICK_MS)
  }
  const deadline = performance.now() + 10_000
  while (watched.receiver.received.length < total * 6 && performance.now() < deadline) await Bun.sleep(50)
  const tookMs = watched.receiver.received.flatMap(({ body, atMs }) => {
    const { data } = JSON.parse(body)
    const sent = AT_ONCE.has(data.name)
      ? sentMs.get(`${Number(data.call.from.number.slice(4))} ${data.name}`)
      : undefined
    return sent === undefined || sent < beginMs + WARM_UP_MS ? [] : atMs - sent
  })
  await watched.stop()
  pbx.stop()
  tookMs.sort((a, b) => a - b)
  const at = (share: number): number =>
    tookMs[Math.min(tookMs.length - 1, Math.floor(tookMs.length * share))] ?? Number.NaN
  return { events: tookMs.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) }
}

function startPbx() {
  const persona = createAsterisk()
  const { promise: ready, resolve } = Promise.withResolvers<void>()
  const conversations = new Map<Socket<undefined>, Conversation>()
  let client: Socket<undefined> | undefined
  const server = Bun.listen<undefined>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket) {
        const conversation = persona.meet({
          write: (text) => void socket.write(text),
          close: () => void socket.end(),
          begin() {
            client = socket
            resolve()
          },
          nowMs: () => 0,
        })
        conversations.set(socket, conversation)
      },
      data: (socket, chunk) => conversations.get(socket)?.data(chunk),
      close: (socket) => void conversations.delete(socket),
    },
  })
  return { port: server.port, ready, send: (bytes: string) => void client?.write(bytes), stop: () => server.stop(true) }
}

/** What Asterisk tells of one call, and which of our events each piece of it comes to. */
function acts(call: number) {
  const [a, b, bridge] = [`1795213000.${2 * call}`, `1795213000.${2 * call + 1}`, `bridge-${call}`]
  const caller = {
    Channel: `PJSIP/trunk-${call}`,
    ChannelState: 4,
    CallerIDNum: `1555${call}`,
    Exten: '15550100101',
    Uniqueid: a,
    Linkedid: a,
  }
  const phone = {
    Channel: `PJSIP/101-${call}`,
    ChannelState: 0,
    CallerIDNum: '101',
    Exten: 's',
    Uniqueid: b,
    Linkedid: a,
  }
  const dest = Object.fromEntries(Object.entries(phone).map(([key, value]) => [`Dest${key}`, value]))
  const dial = { ...caller, ...dest }
  const piece = (tells: string, afterMs: number, ...bytes: string[]) => ({
    call,
    tells,
    afterMs,
    bytes: bytes.join(''),
  })
  return [
    piece('call_started', 0, event('Newchannel', caller)),
    piece('', 20, event('Newchannel', phone), event('DialBegin', { ...dial, DialString: '101' })),
    piece(
      'dial_started',
      100,
      event('Newstate', { ...phone, ChannelState: 5 }),
      event('DialState', { ...dial, DialStatus: 'RINGING' }),
    ),
    piece(
      'dial_answered',
      500,
      event('Newstate', { ...phone, ChannelState: 6 }),
      event('DialEnd', { ...dial, DialStatus: 'ANSWER' }),
    ),
    piece(
      '',
      501,
      event('BridgeEnter', { ...phone, BridgeUniqueid: bridge }),
      event('BridgeEnter', { ...caller, BridgeUniqueid: bridge }),
    ),
    piece('dial_ended', 1_500, event('HangupRequest', phone), event('Hangup', { ...phone, Cause: 16 })),
    piece('', 1_501, event('Hangup', { ...caller, Cause: 16 })),
  ]
}

const event = (name: string, fields: Readonly<Record<string, string | number>>): string =>
  `Event: ${name}\r\nPrivilege: call,all\r\n${Object.entries(fields)
    .map(([key, value]) => `${key}: ${value}\r\n`)
    .join('')}\r\n`

if (import.meta.main) console.log(JSON.stringify(await benchLatency()))
