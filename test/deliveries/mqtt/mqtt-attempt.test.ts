import { afterEach, describe, expect, test } from 'bun:test'
import { createMqttAttempts } from '../../../src/deliveries/mqtt/mqtt-attempt.ts'
import type { Request } from '../../../src/deliveries/sending/attempt.ts'
import { newAbortGroup } from '../../../src/outbound/abort-group.ts'
import { targetOf } from '../../../src/outbound/target.ts'
import { type BrokerOptions, startBroker, startTalker } from '../../help/mqtt-broker.ts'
import { until, withEnoughTime } from '../../help/receiver.ts'
import { listenSilently } from '../../help/silent-listener.ts'
import { allowing } from '../run/rig.ts'

/** Longer than any test may take, so that an earlier end is not a timeout. */
const NEVER_MS = 3_600_000
const ended: (() => void)[] = []
afterEach(() => {
  for (const end of ended.splice(0)) end()
})

function mqttTo(url: string, options: Partial<Parameters<typeof createMqttAttempts>[0]> = {}) {
  const attempts = createMqttAttempts({ allow: allowing('loopback'), timeoutMs: NEVER_MS, ...options })
  ended.push(attempts.stop)
  const target = targetOf(url)
  return {
    ...attempts,
    send: (body = '{}', more: Partial<Request> = {}, publication: Partial<NonNullable<Request['publication']>> = {}) =>
      attempts.attempt({
        target,
        id: 'event-1',
        timestampS: 7,
        signature: 'v1,signed',
        traceparent: '00-trace',
        body,
        ...more,
        publication: { webhookId: 1, topic: 'calls/x', retain: false, ...publication },
      }),
  }
}

async function brokerOf(options: BrokerOptions = {}) {
  const broker = await startBroker(options)
  ended.push(() => broker[Symbol.dispose]())
  return broker
}

describe('a message', () => {
  test('has QoS 1, its content type, and in MQTT 5 the headers of a webhook as user properties', async () => {
    const broker = await brokerOf()
    const { send } = mqttTo(`${broker.url}/calls`)
    const headers = { 'x-tenant': 'acme', 'webhook-id': 'not this one' }
    const attempted = await send('{"a":"ü"}', { headers, contentType: 'text/plain' }, { retain: true })
    expect(attempted).toEqual({
      outcome: { kind: 'delivered', status: null },
      durationMs: expect.any(Number),
      address: '127.0.0.1',
      response: 'acknowledged (MQTT 5), topic calls/x',
    })
    expect(broker.messages).toMatchObject([
      {
        topic: 'calls/x',
        body: '{"a":"ü"}',
        retain: true,
        properties: {
          contentType: 'text/plain',
          payloadFormatIndicator: true,
          userProperties: {
            'x-tenant': 'acme',
            'webhook-id': 'event-1',
            'webhook-timestamp': '7',
            'webhook-signature': 'v1,signed',
            traceparent: '00-trace',
          },
        },
      },
    ])
    expect(broker.connects).toMatchObject([
      { protocolVersion: 5, clean: true, clientId: expect.stringMatching(/^hookswitch\w{12}$/) },
    ])
  })

  test.each([
    ['answers so', false],
    ['closes the connection', true],
  ])('of MQTT 3.1.1, to a broker that does not know MQTT 5 and %s, is the body alone', async (_, closes) => {
    const broker = await brokerOf({ version: 4, closes })
    const { send } = mqttTo(`${broker.url}/calls`)
    expect(await send('{}', { headers: { 'x-tenant': 'acme' } })).toMatchObject({
      outcome: { kind: 'delivered' },
      response: 'acknowledged (MQTT 3.1.1), topic calls/x',
    })
    expect(await send()).toMatchObject({ outcome: { kind: 'delivered' } })
    expect(broker.messages.map(({ properties }) => properties)).toEqual([undefined, undefined])
    broker.kill()
    await send()
    // The version is remembered: MQTT 5 was tried once.
    expect(broker.connects.map(({ protocolVersion }) => protocolVersion)).toEqual([5, 4, 4])
  })

  test('has the user and password of the URL, decoded', async () => {
    const broker = await brokerOf()
    await mqttTo(`mqtt://us%40er:p%2Fass@127.0.0.1:${broker.port}/calls`).send()
    const [{ username, password } = {}] = broker.connects
    expect([username, password?.toString()]).toEqual(['us@er', 'p/ass'])
  })

  test('is not delivered before its PUBACK, and several wait at a time', async () => {
    const broker = await brokerOf()
    broker.answerWith(() => 'silent')
    const { send } = mqttTo(`${broker.url}/calls`)
    let done = 0
    const sent = Array.from({ length: 16 }, () => send().then(() => (done += 1)))
    await until('all have arrived', () => broker.messages.length === 16)
    expect([done, broker.connections()]).toEqual([0, 1])
    broker.answerWith(() => ({}))
    broker.kill()
    await Promise.all(sent)
    // All messages are sent again, except for the one that made the connection.
    expect(broker.messages).toHaveLength(31)
  })

  test('waits while as many are unacknowledged as the broker allows, and order is kept', async () => {
    const broker = await brokerOf({ connack: { properties: { receiveMaximum: 2 } } })
    let unacknowledged = 0
    let most = 0
    broker.answerWith(() => {
      unacknowledged += 1
      most = Math.max(most, unacknowledged)
      queueMicrotask(() => {
        unacknowledged -= 1
      })
      return {}
    })
    const { send } = mqttTo(`${broker.url}/calls`)
    await Promise.all(Array.from({ length: 50 }, (_, at) => send(`${at}`)))
    expect(broker.messages.map(({ body }) => Number(body))).toEqual(Array.from({ length: 50 }, (_, at) => at))
    expect(most).toBeLessThanOrEqual(2)
  })
})

describe('a failed attempt says why:', () => {
  const refusing = (code: number) => ({ accept: () => code })
  test.each([
    [
      'a wrong password',
      refusing(134),
      'the broker refused the connection: the user name or password is wrong (reason code 134)',
    ],
    ['no right to connect', refusing(135), 'the broker refused the connection: not authorized (reason code 135)'],
    ['an unknown code', refusing(200), 'the broker refused the connection: an unknown reason (reason code 200)'],
    [
      'a wrong password in MQTT 3.1.1',
      { version: 4, ...refusing(4) } as const,
      'the broker refused the connection: the user name or password is wrong (reason code 134)',
    ],
    [
      'no acknowledgements at all',
      { connack: { properties: { maximumQoS: 0 } } },
      'the broker acknowledges no messages: it supports quality of service 0 alone',
    ],
  ])('%s', async (_, options, reason) => {
    const broker = await brokerOf(options)
    expect(await mqttTo(`${broker.url}/calls`).send()).toMatchObject({ outcome: { kind: 'unreachable', reason } })
    expect(broker.messages).toEqual([])
  })

  test.each([
    ['a refused topic', { code: 135 }, 'rejected', 'the broker refused the message: not authorized (reason code 135)'],
    [
      'a refused topic, with the words of the broker',
      { code: 135, text: 'see the ACL' },
      'rejected',
      'the broker refused the message: not authorized (reason code 135: see the ACL)',
    ],
    ['a quota', { code: 151 }, 'unreachable', 'the broker refused the message: a quota is exceeded (reason code 151)'],
    [
      'an oversize message',
      { code: 149 },
      'rejected',
      'the broker refused the message: the packet is too large (reason code 149)',
    ],
    [
      'a goodbye',
      { cmd: 'disconnect', reasonCode: 152 } as const,
      'unreachable',
      'the broker closed the connection: an administrator closed the connection (reason code 152)',
    ],
    ['a broken connection', 'close', 'unreachable', 'the broker closed the connection without a reason'],
  ] as const)('%s', async (_, answer, kind, reason) => {
    const broker = await brokerOf()
    broker.answerWith(() => answer)
    const { send } = mqttTo(`${broker.url}/calls`)
    expect(await send()).toMatchObject({ outcome: { kind, reason }, address: '127.0.0.1', response: null })
    broker.answerWith(() => ({}))
    expect(await send()).toMatchObject({ outcome: { kind: 'delivered' } })
  })

  test('a message that is larger than the broker takes is not sent, and others are', async () => {
    const broker = await brokerOf({ connack: { properties: { maximumPacketSize: 1_000 } } })
    const { send } = mqttTo(`${broker.url}/calls`)
    const [large, small] = await Promise.all([send('x'.repeat(1_000)), send('y')])
    expect(large.outcome).toMatchObject({
      kind: 'rejected',
      reason: expect.stringMatching(/^the message has 1\d\d\d bytes, and the broker takes 1000 at most$/),
    })
    expect(small.outcome.kind).toBe('delivered')
    expect(broker.messages.map(({ body }) => body)).toEqual(['y'])
  })

  test('a message to retain, at a broker that retains none', async () => {
    const broker = await brokerOf({ connack: { properties: { retainAvailable: false } } })
    const { send } = mqttTo(`${broker.url}/calls`)
    expect((await send('{}', {}, { retain: true })).outcome).toEqual({
      kind: 'rejected',
      reason: 'the broker keeps no retained messages',
    })
    expect((await send()).outcome.kind).toBe('delivered')
  })

  test('nobody listens', async () => {
    const broker = await startBroker()
    broker[Symbol.dispose]()
    expect(await mqttTo(`${broker.url}/calls`).send()).toMatchObject({
      outcome: { kind: 'unreachable', reason: 'connection refused' },
      address: null,
    })
  })

  test('no acknowledgement in time, after which a new connection is made', async () => {
    await withEnoughTime(async (timeoutMs) => {
      const broker = await brokerOf()
      broker.answerWith(() => 'silent')
      const { send } = mqttTo(`${broker.url}/calls`, { timeoutMs })
      const reason = `no answer within ${timeoutMs / 1_000} s`
      expect(await send()).toMatchObject({ outcome: { kind: 'unreachable', reason }, address: '127.0.0.1' })
      broker.answerWith(() => ({}))
      expect(await send()).toMatchObject({ outcome: { kind: 'delivered' } })
      expect(broker.messages.map(({ connection }) => connection)).toEqual([1, 2])
    })
  })

  test('a server that accepts connections and says nothing', async () => {
    using silent = await startTalker(new Uint8Array())
    const { outcome } = await mqttTo(`${silent.url}/calls`, { timeoutMs: 300 }).send()
    expect(outcome).toMatchObject({ kind: 'unreachable', reason: expect.stringMatching(/within 0.3 s$/) })
  })

  test.each([
    ['a web server', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'), /not MQTT|which is not for a publisher/],
    [
      'a packet without end',
      Buffer.concat([Buffer.from([0x20, 0xff, 0xff, 0xff, 0x7f]), Buffer.alloc(1 << 20)]),
      /too large for a publisher/,
    ],
    [
      'a message to us',
      Buffer.from([0x30, 0x03, 0x00, 0x01, 0x61]),
      /publish packet, which is not for a publisher|not MQTT/,
    ],
    ['a length without end', Buffer.from([0x20, 0xff, 0xff, 0xff, 0xff, 0xff]), /not MQTT/],
  ])('%s', async (_, bytes, reason) => {
    using talker = await startTalker(bytes)
    const { outcome } = await mqttTo(`${talker.url}/calls`).send()
    expect(outcome).toMatchObject({ kind: 'unreachable', reason: expect.stringMatching(reason) })
  })

  test('a proxy for HTTP: nothing is connected', async () => {
    const broker = await brokerOf()
    const { outcome } = await mqttTo(`${broker.url}/calls`, { proxy: 'http://proxy.example:3128' }).send()
    expect(outcome).toMatchObject({ kind: 'unreachable', reason: expect.stringContaining('--proxy') })
    expect(broker.connections()).toBe(0)
  })
})

describe('addresses', () => {
  test('a refused one is not connected to, and the setting is named', async () => {
    const broker = await brokerOf()
    const { outcome } = await mqttTo(`${broker.url}/calls`, { allow: allowing() }).send()
    expect(outcome).toMatchObject({ kind: 'unreachable', reason: expect.stringContaining('--allow-net loopback') })
    expect(broker.connections()).toBe(0)
  })

  test('a name is resolved once for a connection, which goes to the address that was checked', async () => {
    const broker = await brokerOf()
    const asked: string[] = []
    // A second answer would lead to an address that is refused.
    const resolve = async (name: string) => {
      asked.push(name)
      return asked.length === 1 ? ['127.0.0.1'] : ['10.0.0.1']
    }
    const { send } = mqttTo(`mqtt://broker.example:${broker.port}/calls`, { resolve })
    for (let at = 0; at < 3; at += 1) expect((await send()).outcome.kind).toBe('delivered')
    expect(asked).toEqual(['broker.example'])
    broker.kill()
    await until('the connection is gone', () => broker.open() === 0)
    await until('the attempt sees that', async () => (await send()).outcome.kind === 'unreachable')
    expect((await send()).outcome).toMatchObject({ reason: expect.stringContaining('--allow-net private') })
  })

  test('MQTT 3.1.1 is tried at the same address', async () => {
    const broker = await brokerOf({ version: 4 })
    let asked = 0
    const resolve = async () => {
      asked += 1
      return asked === 1 ? ['127.0.0.1'] : ['10.0.0.1']
    }
    const { outcome } = await mqttTo(`mqtt://broker.example:${broker.port}/calls`, { resolve }).send()
    expect([outcome.kind, asked]).toEqual(['delivered', 1])
  })

  test('the allowed ones of a name are tried one after the other, never a refused one', async () => {
    const broker = await brokerOf({ host: '127.0.0.3' })
    const resolve = async () => ['10.0.0.1', '127.0.0.2', '127.0.0.3']
    const url = `mqtt://broker.example:${broker.port}/calls`
    expect(await mqttTo(url, { resolve }).send()).toMatchObject({
      outcome: { kind: 'delivered' },
      address: '127.0.0.3',
    })
  })

  test('one that accepts no connection gives way to the next', async () => {
    const broker = await brokerOf({ host: '127.0.0.3' })
    // On 127.0.0.1 another process may have this port.
    const silent = await listenSilently('127.0.0.9', broker.port)
    ended.push(silent.stop)
    const resolve = async () => ['127.0.0.9', '127.0.0.3']
    const { send } = mqttTo(`mqtt://broker.example:${broker.port}/calls`, { resolve, nextAddressMs: 200 })
    expect(await send()).toMatchObject({ outcome: { kind: 'delivered' }, address: '127.0.0.3' })
  })
})

describe('the connection of a webhook', () => {
  test('is its own', async () => {
    const broker = await brokerOf()
    const { send } = mqttTo(`${broker.url}/calls`)
    for (const webhookId of [1, 2, 1, 2]) await send('{}', {}, { webhookId })
    expect(broker.messages.map(({ connection }) => connection)).toEqual([1, 2, 1, 2])
  })

  test('may be closed by the broker just as a message is sent: the message is sent again, once, and none has failed', async () => {
    const broker = await brokerOf()
    const { send } = mqttTo(`${broker.url}/calls`)
    await send('first')
    broker.answerWith(({ connection }) => (connection === 1 ? 'close' : {}))
    expect((await send('second')).outcome.kind).toBe('delivered')
    broker.answerWith(() => 'close')
    expect((await send('third')).outcome.kind).toBe('unreachable')
    const bodies = broker.messages.map(({ body, connection }) => `${body} ${connection}`)
    expect(bodies).toEqual(['first 1', 'second 1', 'second 2', 'third 2', 'third 3'])
  })

  test('is closed with a goodbye when the webhook is forgotten, and at the end', async () => {
    const broker = await brokerOf()
    const { send, forget, stop } = mqttTo(`${broker.url}/calls`)
    await send('{}', {}, { webhookId: 1 })
    await send('{}', {}, { webhookId: 2 })
    forget(1)
    await until('one is closed', () => broker.open() === 1)
    stop()
    await until('both are closed', () => broker.open() === 0)
    expect(broker.packets.filter((cmd) => cmd === 'disconnect')).toHaveLength(2)
  })

  test('is closed when another node sends for its account; attempts in flight do not count', async () => {
    const broker = await brokerOf()
    broker.answerWith(() => 'silent')
    const group = newAbortGroup()
    const { send } = mqttTo(`${broker.url}/calls`)
    const attempted = send('{}', { group })
    await until('it is in flight', () => broker.messages.length === 1)
    group.abort()
    expect((await attempted).outcome).toEqual({ kind: 'aborted' })
    expect((await send('{}', { group })).outcome).toEqual({ kind: 'aborted' })
    await until('it is closed', () => broker.open() === 0)
  })
})
