import { amiEvent } from '../help/ami-event.ts'
import { startListedAsterisk } from '../help/listed-asterisk.ts'
import { actionId, actionName, ami } from '../help/pbx.ts'
import { type PbxClient, startPbx } from '../help/pbx-server.ts'
import { measureBeside, type Storm } from './state-storm.ts'
import type { Row } from './table.ts'

// What a PBX may do to other accounts, beside the storm of phones: many trunks, many frames, long and endless lists.
// Each PBX is a process of its own, so that sending delays no measurement.

const TRUNKS = 16_000
const AGENTS = 49_000
const AGENTS_OF_A_QUEUE = 100
const FRAMES_PER_SECOND = 100_000
const FRAMES_AT_A_TIME = 1_000
const FLOOD_MS = 5_000
const ENDLESS_MS = 8_000
const TICK_MS = 5

/** A PBX of a scene; `act` begins what it does next. */
type ScenePbx = { readonly port: number; act(): void }

type Scene = { readonly what: string; readonly actsAfterMs: readonly number[]; readonly start: () => ScenePbx }

const SCENES: Readonly<Record<string, Scene>> = {
  trunks: { what: `${TRUNKS} trunks that change`, actsAfterMs: [0, 8_000], start: startManyTrunks },
  frames: { what: `${FRAMES_PER_SECOND} frames/s`, actsAfterMs: [0], start: startManyFrames },
  agents: { what: `a first list of ${AGENTS} agents`, actsAfterMs: [0], start: startManyAgents },
  endless: { what: 'a list of channels that does not end', actsAfterMs: [0], start: startEndlessList },
}

/** Measures how long an account waits for its API and its first events beside each scene, or `only` one of them. */
export async function benchStateScenes(only: string): Promise<Row[]> {
  const rows: Row[] = []
  for (const name of Object.keys(SCENES))
    if (only === '' || name === only) rows.push(...(await measureBeside(await stormOf(name))))
  return rows
}

/** Starts the PBX of a scene as a process. */
async function stormOf(name: string): Promise<Storm> {
  const { what = '', actsAfterMs = [] } = SCENES[name] ?? {}
  const child = Bun.spawn([process.execPath, import.meta.path, name], { stdin: 'pipe', stdout: 'pipe' })
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader()
  const port = Number((await reader.read()).value)
  const act = (): void => {
    child.stdin.write('act\n')
    child.stdin.flush()
  }
  const acts = actsAfterMs.map((afterMs) => ({ afterMs, act }))
  return { what, port, phones: 0, acts, stop: () => child.kill() }
}

if (import.meta.main) {
  const pbx = SCENES[process.argv[2] ?? '']?.start()
  console.log(pbx?.port)
  for await (const _ of console) pbx?.act()
  // The bench has ended.
  process.exit(0)
}

/** All trunks lose their registration, and have it back. */
function startManyTrunks(): ScenePbx {
  const names = Array.from({ length: TRUNKS }, (_, at) => `carrier${at}`)
  const row = (name: string): string =>
    `Event: OutboundRegistrationDetail\nObjectName: ${name}\nEndpoint: ${name}\nClientUri: sip:a@${name}\nServerUri: sip:${name}\nStatus: Registered`
  const pbx = startListedAsterisk({ PJSIPShowRegistrationsOutbound: names.map(row), QueueStatus: [] }, {})
  const registry = (name: string, Status: string): string =>
    amiEvent('Registry', { ChannelType: 'PJSIP', Username: `sip:a@${name}`, Domain: `sip:${name}`, Status })
  const rounds = ['Rejected', 'Registered'].map((status) => names.map((name) => registry(name, status)).join(''))
  let round = 0
  return {
    port: pbx.port,
    act() {
      pbx.sendBytes(rounds[round % rounds.length] ?? '')
      round += 1
    },
  }
}

/** The first list of the agents is long: it is answered when the scene begins. */
function startManyAgents(): ScenePbx {
  const queueOf = (at: number): string => `queue${Math.floor(at / AGENTS_OF_A_QUEUE)}`
  const members = Array.from(
    { length: AGENTS },
    (_, at) =>
      `Event: QueueMember\nQueue: ${queueOf(at)}\nName: Agent ${at}\nLocation: PJSIP/${at}\nStateInterface: PJSIP/${at}\nInCall: 0\nStatus: 1\nPaused: 0`,
  )
  return startAnswering('QueueStatus', (client, id) =>
    client.write(
      [
        ami(`Response: Success\nEventList: start\n${id}`),
        ...members.map((row) => ami(`${row}\n${id}`)),
        ami(`Event: QueueStatusComplete\nEventList: Complete\nListItems: ${AGENTS}\n${id}`),
      ].join(''),
    ),
  )
}

/** A list of channels that does not end. */
function startEndlessList(): ScenePbx {
  return startAnswering('Status', (client, id) => {
    const rows = Array.from({ length: FRAMES_AT_A_TIME }, (_, at) => statusRow(at, id)).join('')
    client.write(ami(`Response: Success\nEventList: start\n${id}`))
    void sendOften(client, { bytes: [Buffer.from(rows)], perSecond: Number.POSITIVE_INFINITY, forMs: ENDLESS_MS })
  })
}

/** Frames of devices at a rate that no PBX has. */
function startManyFrames(): ScenePbx {
  const round = (State: string): Buffer =>
    Buffer.from(
      Array.from({ length: FRAMES_AT_A_TIME }, (_, at) =>
        amiEvent('DeviceStateChange', { Device: `PJSIP/${at}`, State }),
      ).join(''),
    )
  const perSecond = FRAMES_PER_SECOND / FRAMES_AT_A_TIME
  return startAnswering('', (client) => {
    void sendOften(client, { bytes: [round('INUSE'), round('NOT_INUSE')], perSecond, forMs: FLOOD_MS })
  })
}

type Often = { readonly bytes: readonly Buffer[]; readonly perSecond: number; readonly forMs: number }

/** Sends the bytes in turn, this many times a second, but not faster than the client takes them. */
async function sendOften(client: PbxClient, { bytes, perSecond, forMs }: Often): Promise<void> {
  const beginMs = performance.now()
  let sent = 0
  for (let ms = 0; ms < forMs; ms = performance.now() - beginMs) {
    while (sent < (ms / 1_000) * perSecond && client.unsent().length === 0) {
      client.write(bytes[sent % bytes.length] ?? Buffer.alloc(0))
      sent += 1
      if (!Number.isFinite(perSecond)) break
    }
    await Bun.sleep(Number.isFinite(perSecond) ? TICK_MS : 0)
  }
}

/**
 * Starts an Asterisk whose lists are empty. One of them is answered by `begin`, which the scene calls; without a name
 * it is called for the client that connected last.
 */
function startAnswering(held: string, begin: (client: PbxClient, id: string) => void): ScenePbx {
  let act = (): void => {}
  const pbx = startPbx((client) => {
    client.write('Asterisk Call Manager/9.0.0\r\n')
    act = () => begin(client, '')
    const answer = (block: string): void => {
      const id = `ActionID: ${actionId(block)}`
      const name = actionName(block)
      if (name === 'Challenge') client.write(ami(`Response: Success\nChallenge: 1\n${id}`))
      else if (name === held) act = () => begin(client, id)
      else if (/^(Status|CoreShowChannels|QueueStatus|ShowDialPlan|.*List|.*peers|.*registry|PJSIPShow.*)$/.test(name))
        client.write(
          ami(`Response: Success\nEventList: start\n${id}`) +
            ami(`Event: ${name}Complete\nEventList: Complete\nListItems: 0\n${id}`),
        )
      else client.write(ami(`Response: Success\n${id}`))
    }
    return {
      data(bytes) {
        for (const block of bytes
          .toString()
          .split(/\r?\n\r?\n/)
          .filter(Boolean))
          answer(block)
      },
    }
  })
  return { port: pbx.port, act: () => act() }
}

const statusRow = (at: number, id: string): string =>
  ami(
    `Event: Status\nPrivilege: Call\nChannel: PJSIP/${at}-0000000${at % 10}\nChannelState: 6\nChannelStateDesc: Up\nCallerIDNum: ${at}\nCallerIDName: <unknown>\nConnectedLineNum: <unknown>\nConnectedLineName: <unknown>\nLanguage: en\nAccountCode: \nContext: from-internal\nExten: 100\nPriority: 1\nUniqueid: 1795213000.${at}\nLinkedid: 1795213000.${at}\n${id}`,
  )
