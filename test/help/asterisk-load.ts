import { createAsterisk } from '../../src/pbx/ami/replay/asterisk.ts'
import { amiEvent, snapshotOf } from './ami-event.ts'
import { type PbxClient, startPbx } from './pbx-server.ts'

/** Starts an Asterisk that sends the given bytes to the client that logged in last. */
export function startAsterisk() {
  const persona = createAsterisk()
  const { promise: ready, resolve } = Promise.withResolvers<void>()
  let client: PbxClient | undefined
  /** Bytes that no client has taken: sent while no client was there, or to a client that was replaced. */
  let waiting = Buffer.alloc(0)
  const { port, stop } = startPbx((one) => {
    const begin = () => {
      const before = client === undefined ? waiting : client.unsent()
      client = one
      client.write(before)
      resolve()
    }
    const { data } = persona.connect({ write: one.write, close: one.close, begin, nowMs: () => 0 })
    return {
      data,
      closed() {
        if (client !== one) return
        waiting = Buffer.from(one.unsent())
        client = undefined
      },
    }
  })
  return {
    port,
    ready,
    send(bytes: string): void {
      if (client === undefined) waiting = Buffer.concat([waiting, Buffer.from(bytes)])
      else client.write(bytes)
    },
    /** Bytes that the client has not taken yet. */
    unsent: () => (client?.unsent() ?? waiting).length,
    stop,
  }
}

/** Returns the parts of one short call: when Asterisk sends each, and which of our events it causes. */
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
