import { amiEvent, snapshotOf } from '../help/ami-event.ts'
import { actionId, actionName, ami } from '../help/pbx.ts'
import { type PbxClient, startPbx } from '../help/pbx-server.ts'

// PBXs that send as much as the client takes. They refuse to list their channels.

export type FloodingPbx = {
  readonly url: string
  /** Returns the number of events that the client has taken. */
  sent(): number
  stop(): void
}

/** An event of another channel each time: its bytes, in which this number is the channel's. */
const NUMBER = '0000000000'
const EVENTS_AT_A_TIME = 500

/** Returns a function that numbers the next events, in bytes that are the same each time. */
function createEvents(event: string) {
  const bytes = Buffer.from(event.repeat(EVENTS_AT_A_TIME))
  const size = bytes.length / EVENTS_AT_A_TIME
  const places: number[] = []
  for (let at = event.indexOf(NUMBER); at >= 0; at = event.indexOf(NUMBER, at + NUMBER.length)) places.push(at)
  let number = 0
  return () => {
    for (let start = 0; start < bytes.length; start += size) {
      number += 1
      const digits = String(number).padStart(NUMBER.length, '0')
      for (const place of places) bytes.write(digits, start + place, 'latin1')
    }
    return bytes
  }
}

/** Sends events as fast as the client takes them, until the time is over. */
function startFlood(next: () => Buffer, seconds: number) {
  let untilMs: number | undefined
  let batches = 0
  return {
    sent: () => batches * EVENTS_AT_A_TIME,
    pump(client: PbxClient): void {
      untilMs ??= performance.now() + seconds * 1_000
      while (performance.now() < untilMs && client.unsent().length === 0) {
        client.write(next())
        batches += 1
      }
    },
  }
}

const channel = {
  Channel: `PJSIP/trunk-${NUMBER}`,
  Linkedid: `1795213000.${NUMBER}`,
  CallerIDNum: NUMBER,
  Exten: '15550100101',
}

/** Starts an Asterisk that opens channels without end. */
export function startFloodingAsterisk(seconds: number): FloodingPbx {
  const event = amiEvent('Newchannel', snapshotOf(`1795213000.${NUMBER}`, channel))
  const flood = startFlood(createEvents(event), seconds)
  const pbx = startPbx((client) => {
    let isLoggedIn = false
    client.write('Asterisk Call Manager/7.0.3\r\n')
    const answer = (block: string): void => {
      const id = `ActionID: ${actionId(block)}`
      const name = actionName(block)
      if (name === 'Challenge') client.write(ami(`Response: Success\nChallenge: 1\n${id}`))
      else if (['Login', 'Ping', 'Events'].includes(name)) client.write(ami(`Response: Success\n${id}`))
      else client.write(ami(`Response: Error\nMessage: Permission denied\n${id}`))
      isLoggedIn ||= name === 'Login'
    }
    return {
      data(bytes) {
        for (const block of blocksOf(bytes)) answer(block)
        if (isLoggedIn) flood.pump(client)
      },
      drained: () => isLoggedIn && flood.pump(client),
    }
  })
  return { url: `ami://any:any@127.0.0.1:${pbx.port}?name=flood&trunks=trunk`, sent: flood.sent, stop: pbx.stop }
}

const blocksOf = (bytes: Buffer): string[] =>
  bytes
    .toString()
    .split(/\r?\n\r?\n/)
    .filter(Boolean)

const UUID = `00000000-0000-4000-8000-00${NUMBER}`

/** The event of a leg that calls in. */
const created = () =>
  eventFrame({
    'Event-Name': 'CHANNEL_CREATE',
    'Unique-ID': UUID,
    'Event-Date-Timestamp': `${Date.now() * 1_000}`,
    'Call-Direction': 'inbound',
    'Channel-Name': `sofia/external/${NUMBER}@192.0.2.7`,
    'Caller-Caller-ID-Number': NUMBER,
    'Caller-Destination-Number': '15550100101',
    'Channel-Call-UUID': UUID,
  })

function eventFrame(event: Readonly<Record<string, string>>): string {
  const body = JSON.stringify(event)
  return `Content-Length: ${Buffer.byteLength(body)}\nContent-Type: text/event-json\n\n${body}`
}

/** Starts a FreeSWITCH that opens channels without end. */
export function startFloodingFreeswitch(seconds: number): FloodingPbx {
  const flood = startFlood(createEvents(created()), seconds)
  const pbx = startPbx((client) => {
    let isSubscribed = false
    client.write('Content-Type: auth/request\n\n')
    const answer = (block: string): void => {
      if (/^(bg)?api/.test(block)) client.write('Content-Type: api/response\nContent-Length: 4\n\n-ERR')
      else client.write('Content-Type: command/reply\nReply-Text: +OK accepted\n\n')
      isSubscribed ||= block.startsWith('event')
    }
    return {
      data(bytes) {
        for (const block of blocksOf(bytes)) answer(block)
        if (isSubscribed) flood.pump(client)
      },
      drained: () => isSubscribed && flood.pump(client),
    }
  })
  return { url: `esl://:any@127.0.0.1:${pbx.port}?name=flood`, sent: flood.sent, stop: pbx.stop }
}
