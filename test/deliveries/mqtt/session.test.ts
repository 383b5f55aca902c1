import { describe, expect, test } from 'bun:test'
import mqtt, { type Packet } from 'mqtt-packet'
import {
  type Message,
  type MqttSession,
  openSession,
  type Published,
  type Version,
} from '../../../src/deliveries/mqtt/session.ts'
import { scaled, seededRandom } from '../../help/seed.ts'

const MESSAGE: Message = { topic: 'x', body: '{}', contentType: 'text/plain', userProperties: {}, retain: false }

function sessionOf(version: Version) {
  const written: Uint8Array[] = []
  const ends: string[] = []
  let ready = 0
  const session: MqttSession = openSession({
    version,
    clientId: 'test',
    user: undefined,
    password: undefined,
    keepAliveS: 60,
    write: (packet) => void written.push(packet),
    onReady: () => {
      ready += 1
    },
    onEnd: (reason) => void ends.push(reason),
  })
  const say = (packet: Packet) => session.read(mqtt.generate(packet, { protocolVersion: version }))
  return { session, written, ends, say, ready: () => ready }
}
const accepted = (version: Version): Packet =>
  version === 5
    ? { cmd: 'connack', sessionPresent: false, reasonCode: 0 }
    : { cmd: 'connack', sessionPresent: false, returnCode: 0 }

test('the words of a broker are short, and harmless in a log', async () => {
  const { session, say } = sessionOf(5)
  say(accepted(5))
  const published = session.publish(MESSAGE)
  say({
    cmd: 'puback',
    messageId: 1,
    reasonCode: 135,
    properties: { reasonString: `no\n\u001b[31m${'x'.repeat(10_000)}` },
  })
  const answer = await published
  const text = answer.kind === 'acknowledged' ? (answer.text ?? '') : ''
  expect(text).toStartWith('no')
  expect(text).not.toMatch(/\p{Cc}/u)
  expect(text.length).toBe(500)
})

describe.each([5, 4] as const)('a session of version %i', (version) => {
  test('is ready once, when the broker has accepted the connection', () => {
    const { say, ready, ends } = sessionOf(version)
    say(accepted(version))
    expect([ready(), ends]).toEqual([1, []])
    say(accepted(version))
    expect([ready(), ends]).toEqual([1, ['the broker accepted the connection twice']])
  })

  test('gives each message its own acknowledgement, in whatever order they come', async () => {
    const { session, say } = sessionOf(version)
    say(accepted(version))
    const published = [1, 2, 3].map(() => session.publish(MESSAGE))
    for (const messageId of [2, 3, 1]) say({ cmd: 'puback', messageId, ...(version === 5 ? { reasonCode: 16 } : {}) })
    const code = version === 5 ? 16 : 0
    expect(await Promise.all(published)).toEqual(Array(3).fill({ kind: 'acknowledged', code, text: undefined }))
  })

  test.each(['x'.repeat(65_536), 'ü'.repeat(32_768)])(
    'names the limit for a topic that is too long (%#)',
    async (topic) => {
      const { session, say, written } = sessionOf(version)
      say(accepted(version))
      const before = written.length
      expect(await session.publish({ ...MESSAGE, topic })).toEqual({
        kind: 'unacceptable',
        reason: 'the topic has 65536 bytes, and MQTT allows 65535: use fewer names in braces in the URL',
      })
      expect(written.length).toBe(before)
    },
  )

  // Every message fits into a packet of version 3.1.1: a topic that is too long is refused before.
  if (version === 5)
    test('does not send what no packet can hold, and the next message is sent', async () => {
      const { session, say, written } = sessionOf(version)
      say(accepted(version))
      const impossible = session.publish({ ...MESSAGE, contentType: 'x'.repeat(65_536) })
      const next = session.publish({ ...MESSAGE, userProperties: { empty: '', 'x-ü': 'ü' } })
      say({ cmd: 'puback', messageId: 2 })
      expect(await impossible).toEqual({
        kind: 'unacceptable',
        reason: 'the message cannot be encoded as an MQTT packet',
      })
      expect(await next).toMatchObject({ kind: 'acknowledged' })
      const [, packet] = written
      const read: Packet[] = []
      mqtt
        .parser({ protocolVersion: version })
        .on('packet', (one) => read.push(one))
        .parse(Buffer.from(packet ?? []))
      const properties = { userProperties: { empty: '', 'x-ü': 'ü' } }
      expect(read).toMatchObject([{ cmd: 'publish', topic: 'x', messageId: 2, properties }])
    })

  test.each([
    ['acknowledgements', [0x40, 2, 0, 7]],
    ['answers to pings', [0xd0, 0]],
  ])('ends when a broker floods it with %s of nothing', (_, packet) => {
    const { session, say, ends } = sessionOf(version)
    say(accepted(version))
    session.read(new Uint8Array(Array(10_000).fill(packet).flat()))
    expect(ends).toEqual(['the broker sent too many answers to nothing'])
  })

  test('ends at a packet that is too large, whether it comes in one piece or in many', () => {
    const huge = mqtt.generate({
      cmd: 'publish',
      qos: 0,
      dup: false,
      retain: false,
      topic: 'x',
      payload: 'x'.repeat(100_000),
    })
    for (const size of [huge.length, 1_000]) {
      const { session, say, ends } = sessionOf(version)
      say(accepted(version))
      for (let at = 0; at < huge.length; at += size) session.read(huge.subarray(at, at + size))
      expect(ends).toEqual(['the broker sent a packet that is too large for a publisher'])
    }
  })

  test('ignores acknowledgements of nothing', () => {
    const { session, say, ends } = sessionOf(version)
    say(accepted(version))
    say({ cmd: 'puback', messageId: 7 })
    session.ping()
    say({ cmd: 'pingresp' })
    expect([session.isPinging(), ends]).toEqual([false, []])
  })

  test('reads what arrives byte by byte', async () => {
    const { session, ready } = sessionOf(version)
    const bytes = mqtt.generate(accepted(version), { protocolVersion: version })
    for (const byte of bytes) session.read(Uint8Array.of(byte))
    expect(ready()).toBe(1)
  })

  test('writes nothing after its end, and its messages are lost', async () => {
    const { session, say, written, ends } = sessionOf(version)
    say(accepted(version))
    const published = session.publish(MESSAGE)
    session.end('it is over')
    const count = written.length
    expect(await published).toEqual({ kind: 'lost', reason: 'it is over' })
    expect(await session.publish(MESSAGE)).toMatchObject({ kind: 'lost' })
    session.ping()
    session.disconnect()
    session.end('again')
    say(accepted(version))
    expect([written.length, ends]).toEqual([count, ['it is over']])
  })

  test('survives whatever a server sends: each message has one answer, and the end comes once', async () => {
    const random = seededRandom(44)
    const packets: Packet[] = [
      accepted(version),
      { cmd: 'puback', messageId: 1 },
      {
        cmd: 'puback',
        messageId: 2,
        ...(version === 5 ? { reasonCode: 0x87, properties: { reasonString: 'no' } } : {}),
      },
      { cmd: 'pingresp' },
      { cmd: 'disconnect', ...(version === 5 ? { reasonCode: 0x8b } : {}) },
      { cmd: 'publish', qos: 0, dup: false, retain: false, topic: 'a', payload: 'b' },
    ]
    const noise = () => Buffer.from(Array.from({ length: 1 + random.int(40) }, () => random.int(256)))
    let reached = 0
    for (let at = 0; at < scaled(3_000); at += 1) {
      const { session, ends, ready } = sessionOf(version)
      const answers: Published[] = []
      const publish = () => void session.publish(MESSAGE).then((answer) => answers.push(answer))
      let published = 0
      if (random.chance(0.7)) session.read(mqtt.generate(accepted(version), { protocolVersion: version }))
      for (let step = random.int(12); step >= 0; step -= 1) {
        if (random.chance(0.4)) {
          publish()
          published += 1
        }
        const bytes = random.chance(0.6) ? mqtt.generate(random.pick(packets), { protocolVersion: version }) : noise()
        if (random.chance(0.2)) bytes[random.int(bytes.length)] = random.int(256)
        const cut = random.int(bytes.length + 1)
        session.read(bytes.subarray(0, cut))
        if (random.chance(0.9)) session.read(bytes.subarray(cut))
      }
      reached += ready()
      session.end('over')
      await Promise.resolve()
      await Promise.resolve()
      expect(answers).toHaveLength(published)
      expect(ends).toHaveLength(1)
    }
    expect(reached).toBeGreaterThan(0)
  })
})
