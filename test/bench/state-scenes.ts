import { amiEvent } from '../help/ami-event.ts'
import { startListedAsterisk } from '../help/listed-asterisk.ts'
import { actionId, actionName, ami, startScripted } from '../help/pbx.ts'
import { measureBeside, type Storm } from './state-storm.ts'
import type { Row } from './table.ts'

// What a PBX may do to other accounts, beside the storm of phones: many trunks, many frames, long and endless lists.

const TRUNKS = 16_000
const AGENTS = 49_000
const AGENTS_OF_A_QUEUE = 100
const FRAMES_PER_SECOND = 100_000
const FLOOD_MS = 5_000
const TICK_MS = 10
/** Different devices in the flood. */
const DEVICES = 1_000
const ENDLESS_MS = 8_000
const ROWS_AT_A_TIME = 1_000

/** Measures how long an account waits for its API and its first events beside each scene. */
export async function benchStateScenes(): Promise<Row[]> {
  const rows: Row[] = []
  for (const start of [manyTrunks, manyFrames, manyAgents, endlessList]) rows.push(...(await measureBeside(start())))
  return rows
}

/** All trunks lose their registration, and have it back. */
function manyTrunks(): Storm {
  const names = Array.from({ length: TRUNKS }, (_, at) => `carrier${at}`)
  const row = (name: string): string =>
    `Event: OutboundRegistrationDetail\nObjectName: ${name}\nEndpoint: ${name}\nClientUri: sip:a@${name}\nServerUri: sip:${name}\nStatus: Registered`
  const pbx = startListedAsterisk({ PJSIPShowRegistrationsOutbound: names.map(row) }, {})
  const frames = (Status: string): string =>
    names
      .map((name) =>
        amiEvent('Registry', { ChannelType: 'PJSIP', Username: `sip:a@${name}`, Domain: `sip:${name}`, Status }),
      )
      .join('')
  const acts = ['Rejected', 'Registered'].map((status, at) => {
    const bytes = frames(status)
    return { afterMs: at * 8_000, act: () => pbx.sendBytes(bytes) }
  })
  return { what: `${TRUNKS} trunks that change`, port: pbx.port, phones: 0, acts, stop: pbx.stop }
}

/** Frames of devices at a rate that no PBX has. */
function manyFrames(): Storm {
  const pbx = startListedAsterisk({}, {})
  const frames = (State: string): string[] =>
    Array.from({ length: DEVICES }, (_, at) => amiEvent('DeviceStateChange', { Device: `PJSIP/${at}`, State }))
  const rounds = ['INUSE', 'NOT_INUSE'].map((state) => frames(state).join(''))
  async function flood(): Promise<void> {
    const beginMs = performance.now()
    for (let round = 0, nowMs = beginMs; nowMs < beginMs + FLOOD_MS; nowMs = performance.now()) {
      const due = ((nowMs - beginMs) / 1_000) * (FRAMES_PER_SECOND / DEVICES)
      for (; round < due; round += 1) pbx.sendBytes(rounds[round % 2] ?? '')
      await Bun.sleep(TICK_MS)
    }
  }
  const what = `${FRAMES_PER_SECOND} frames/s`
  return { what, port: pbx.port, phones: 0, acts: [{ afterMs: 0, act: flood }], stop: pbx.stop }
}

/** The first list of the agents is long. */
function manyAgents(): Storm {
  const queueOf = (at: number): string => `queue${Math.floor(at / AGENTS_OF_A_QUEUE)}`
  const queues = new Set(Array.from({ length: AGENTS }, (_, at) => queueOf(at)))
  const members = Array.from(
    { length: AGENTS },
    (_, at) =>
      `Event: QueueMember\nQueue: ${queueOf(at)}\nName: Agent ${at}\nLocation: PJSIP/${at}\nStateInterface: PJSIP/${at}\nInCall: 0\nStatus: 1\nPaused: 0`,
  )
  const params = [...queues].map((queue) => `Event: QueueParams\nQueue: ${queue}\nCalls: 0`)
  const pbx = startListedAsterisk({ QueueStatus: [...params, ...members] }, {}, 'QueueStatus')
  const what = `a first list of ${AGENTS} agents`
  return { what, port: pbx.port, phones: 0, acts: [{ afterMs: 0, act: pbx.release }], stop: pbx.stop }
}

/** A list of channels that does not end. */
function endlessList(): Storm {
  let sendRows = async (): Promise<void> => {}
  const pbx = startScripted({
    greeting: 'Asterisk Call Manager/9.0.0\r\n',
    answer(block, write) {
      const id = `ActionID: ${actionId(block)}`
      const name = actionName(block)
      if (name === 'Challenge') return write(ami(`Response: Success\nChallenge: 1\n${id}`))
      if (name === 'CoreShowChannels') return write(ami(`Response: Error\nMessage: Permission denied\n${id}`))
      if (name !== 'Status') return write(ami(`Response: Success\n${id}`))
      const rows = Array.from({ length: ROWS_AT_A_TIME }, (_, at) => statusRow(at, id)).join('')
      sendRows = async () => {
        write(ami(`Response: Success\nEventList: start\n${id}`))
        const untilMs = performance.now() + ENDLESS_MS
        while (performance.now() < untilMs) {
          write(rows)
          await Bun.sleep(TICK_MS)
        }
      }
    },
  })
  const acts = [{ afterMs: 0, act: () => sendRows() }]
  return { what: 'a list of channels that does not end', port: pbx.port, phones: 0, acts, stop: pbx.stop }
}

const statusRow = (at: number, id: string): string =>
  ami(
    `Event: Status\nPrivilege: Call\nChannel: PJSIP/${at}-0000000${at % 10}\nChannelState: 6\nChannelStateDesc: Up\nCallerIDNum: ${at}\nCallerIDName: <unknown>\nConnectedLineNum: <unknown>\nConnectedLineName: <unknown>\nLanguage: en\nAccountCode: \nContext: from-internal\nExten: 100\nPriority: 1\nUniqueid: 1795213000.${at}\nLinkedid: 1795213000.${at}\n${id}`,
  )
