import type { Socket } from 'bun'
import { createAsterisk } from '../../src/pbx/tools/replay/asterisk.ts'
import type { Conversation } from '../../src/pbx/tools/replay/persona.ts'
import { amiEvent, snapshotOf } from './ami-event.ts'

/** An Asterisk that sends what it is given, to the client that has logged in last. */
export function startAsterisk() {
  const persona = createAsterisk()
  const { promise: ready, resolve } = Promise.withResolvers<void>()
  const conversations = new Map<Socket<undefined>, Conversation>()
  let client: Socket<undefined> | undefined
  let unsent = Buffer.alloc(0)
  const flush = () => {
    if (client !== undefined && unsent.length > 0) unsent = unsent.subarray(Math.max(0, client.write(unsent)))
  }
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
      drain: flush,
      close: (socket) => void conversations.delete(socket),
    },
  })
  return {
    port: server.port,
    ready,
    send(bytes: string): void {
      unsent = Buffer.concat([unsent, Buffer.from(bytes)])
      flush()
    },
    /** Bytes that the client has not taken yet. */
    unsent: () => unsent.length,
    stop: () => server.stop(true),
  }
}

/** What Asterisk reports of one short call, when, and which of our events each piece of it comes to. */
export function acts(call: number) {
  const [a, b, bridge] = [`1795213000.${2 * call}`, `1795213000.${2 * call + 1}`, `bridge-${call}`]
  const channel = (Channel: string, id: string, own: Record<string, string | number>, prefix = '') =>
    snapshotOf(id, { Channel, Linkedid: a, ...own }, prefix)
  const ofCaller = { ChannelState: 4, CallerIDNum: `1555${call}`, Exten: '15550100101' }
  const caller = channel(`PJSIP/trunk-${call}`, a, ofCaller)
  const phoneIn = (ChannelState: number, prefix = '') =>
    channel(`PJSIP/101-${call}`, b, { ChannelState, CallerIDNum: '101', Exten: 's' }, prefix)
  const phone = phoneIn(0)
  const dial = { ...caller, ...phoneIn(0, 'Dest') }
  const piece = (emits: string, afterMs: number, ...bytes: string[]) => ({
    call,
    emits,
    afterMs,
    bytes: bytes.join(''),
  })
  return [
    piece('call_started', 0, amiEvent('Newchannel', caller)),
    piece('', 20, amiEvent('Newchannel', phone), amiEvent('DialBegin', { ...dial, DialString: '101' })),
    piece(
      'dial_started',
      100,
      amiEvent('Newstate', phoneIn(5)),
      amiEvent('DialState', { ...dial, DialStatus: 'RINGING' }),
    ),
    piece(
      'dial_answered',
      500,
      amiEvent('Newstate', phoneIn(6)),
      amiEvent('DialEnd', { ...dial, DialStatus: 'ANSWER' }),
    ),
    piece(
      '',
      501,
      amiEvent('BridgeEnter', { ...phone, BridgeUniqueid: bridge }),
      amiEvent('BridgeEnter', { ...caller, BridgeUniqueid: bridge }),
    ),
    piece('dial_ended', 1_500, amiEvent('HangupRequest', phone), amiEvent('Hangup', { ...phone, Cause: 16 })),
    piece('', 1_501, amiEvent('Hangup', { ...caller, Cause: 16 })),
  ]
}
