import type { Socket } from 'bun'
import { createAsterisk } from '../../src/pbx/replay/asterisk.ts'
import type { Conversation } from '../../src/pbx/replay/persona.ts'

/** An Asterisk that says what it is given, to whoever has logged in last. */
export function startAsterisk() {
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

/** What Asterisk tells of one short call, when, and which of our events each piece of it comes to. */
export function acts(call: number) {
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
