import { afterAll, describe, expect, test } from 'bun:test'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { Aedes } from 'aedes'
import { createMqttAttempts } from '../../../src/deliveries/mqtt/mqtt-attempt.ts'
import type { Request } from '../../../src/deliveries/sending/attempt.ts'
import { targetOf } from '../../../src/outbound/target.ts'
import { emptyFolder } from '../../help/app.ts'
import { attemptTrusting } from '../../help/attempts.ts'
import { certify, newAuthority } from '../../help/certificate.ts'
import { MOSQUITTO, startMosquitto } from '../../help/mosquitto.ts'
import { until } from '../../help/receiver.ts'
import { allowing } from '../run/rig.ts'

const stops: (() => unknown)[] = []
afterAll(async () => {
  for (const stop of stops) await stop()
})

function mqttTo(url: string) {
  const { attempt, stop } = createMqttAttempts({ allow: allowing('loopback'), timeoutMs: 3_600_000 })
  stops.unshift(stop)
  const target = targetOf(url)
  return (body: string, topic = 'calls/x', more: Partial<Request> & { retain?: boolean } = {}) => {
    const { retain = false, ...request } = more
    const publication = { webhookId: 1, topic, retain }
    const unsigned = { target, id: 'event-1', timestampS: 7, signature: 'v1,x', traceparent: '00-t' }
    return attempt({ ...unsigned, body, ...request, publication })
  }
}

describe('aedes, a broker of MQTT 3.1.1', () => {
  test('gets the body, on the topic, after MQTT 5 was refused', async () => {
    const aedes = await Aedes.createBroker()
    const got: string[] = []
    aedes.on('publish', ({ topic, payload, qos, retain }) => {
      if (!topic.startsWith('$SYS')) got.push(`${topic} ${qos} ${retain} ${payload}`)
    })
    const server = createServer(aedes.handle)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    stops.push(
      () => aedes.close(),
      () => server.close(),
    )
    const address = server.address()
    const send = mqttTo(`mqtt://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/calls`)
    expect(await send('{"a":1}')).toMatchObject({
      outcome: { kind: 'delivered', status: null },
      response: 'acknowledged (MQTT 3.1.1), topic calls/x',
    })
    await Promise.all(Array.from({ length: 100 }, (_, at) => send(`${at}`, `calls/${at}`, { retain: at === 99 })))
    // It acknowledges a message before it hands it on.
    await until('all have been handed on', () => got.length === 101)
    expect(got.slice(0, 2)).toEqual(['calls/x 1 false {"a":1}', 'calls/0 1 false 0'])
    expect(got.at(-1)).toBe('calls/99 1 true 99')
  })
})

describe.skipIf(MOSQUITTO === undefined)('Mosquitto, where it is installed,', () => {
  test('gets a message of MQTT 5 with content type and user properties, as a subscriber sees it', async () => {
    await using broker = await startMosquitto()
    const format = '{"topic":"%t","qos":%q,"retained":%r,"type":"%C","properties":"%P","body":%p}'
    const args = ['-p', `${broker.port}`, '-V', '5', '-q', '1', '-t', 'calls/#', '-F', format, '-C', '1']
    const subscriber = Bun.spawn(['mosquitto_sub', ...args], { stdio: ['ignore', 'pipe', 'ignore'] })
    await until('it has subscribed', () => /Sending SUBACK/.test(broker.log()))
    const send = mqttTo(`mqtt://127.0.0.1:${broker.port}/calls`)
    expect(await send('{"a":"ü"}', 'calls/ü', { headers: { 'x-tenant': 'acme' } })).toMatchObject({
      outcome: { kind: 'delivered' },
      response: 'acknowledged (MQTT 5), topic calls/ü',
    })
    expect(JSON.parse(await new Response(subscriber.stdout).text())).toEqual({
      topic: 'calls/ü',
      qos: 1,
      retained: 0,
      type: 'application/json',
      properties: 'x-tenant:acme webhook-id:event-1 webhook-timestamp:7 webhook-signature:v1,x traceparent:00-t',
      body: { a: 'ü' },
    })
    expect((await send('{}', 'nobody/listens')).response).toBe(
      'acknowledged (MQTT 5), topic nobody/listens, without a subscriber at present',
    )
  })

  test('retains the newest message of a topic for who subscribes later', async () => {
    await using broker = await startMosquitto()
    const send = mqttTo(`mqtt://127.0.0.1:${broker.port}/calls`)
    for (const body of ['1', '2']) await send(body, 'calls/kept', { retain: true })
    await send('3', 'calls/gone')
    await send('4', 'calls/last', { retain: true })
    const args = ['-p', `${broker.port}`, '-t', 'calls/#', '-v', '-C', '2', '--retained-only']
    const { stdout } = Bun.spawnSync(['mosquitto_sub', ...args])
    expect(stdout.toString().trim().split('\n').toSorted()).toEqual(['calls/kept 2', 'calls/last 4'])
  })

  test('knows its users, and refuses topics and messages that are too large; the attempt says so', async () => {
    await using broker = await startMosquitto({
      users: { hookswitch: 'sec/ret' },
      acl: ['user hookswitch', 'topic write calls/#'],
      lines: ['message_size_limit 1000'],
    })
    const as = (user: string) => mqttTo(`mqtt://${user}127.0.0.1:${broker.port}/calls`)
    const send = as('hookswitch:sec%2Fret@')
    expect((await send('{}')).outcome).toEqual({ kind: 'delivered', status: null })
    expect((await send('{}', 'other/topic')).outcome).toEqual({
      kind: 'rejected',
      reason: 'the broker refused the message: not authorized (reason code 135)',
    })
    expect((await send('x'.repeat(1_001))).outcome).toEqual({
      kind: 'rejected',
      reason: 'the broker refused the message: the packet is too large (reason code 149)',
    })
    expect((await send('{}')).outcome.kind).toBe('delivered')
    for (const user of ['hookswitch:wrong@', 'nobody:x@', ''])
      expect((await as(user)('{}')).outcome).toEqual({
        kind: 'unreachable',
        reason: 'the broker refused the connection: not authorized (reason code 135)',
      })
  })

  test('announces a largest packet: a larger one is not sent', async () => {
    await using broker = await startMosquitto({ lines: ['max_packet_size 2000'] })
    const { outcome } = await mqttTo(`mqtt://127.0.0.1:${broker.port}/calls`)('x'.repeat(2_000))
    expect(outcome).toMatchObject({ kind: 'rejected', reason: expect.stringMatching(/the broker takes 2000 at most$/) })
  })

  test('over TLS: an authority of its own, and the name of the URL', async () => {
    using folder = emptyFolder()
    const authority = newAuthority('An authority of this test')
    const CA = join(folder.path, 'ca.pem')
    await Bun.write(CA, authority.pem)
    const outcomes = async (names: readonly string[], hosts: readonly string[], days = 1) => {
      await using broker = await startMosquitto({ certified: certify(names, authority, days) })
      const urls = hosts.map((host) => `mqtts://${host}:${broker.port}/calls`)
      const [attempted = []] = await attemptTrusting(CA, [urls])
      const untrusted = await mqttTo(`mqtts://127.0.0.1:${broker.port}/calls`)('{}')
      expect(untrusted.outcome).toMatchObject({
        kind: 'unreachable',
        reason: expect.stringMatching(/^the certificate (is of an unknown authority|has expired)/),
      })
      expect(broker.topics()).toHaveLength(attempted.filter(({ outcome }) => outcome.kind === 'delivered').length)
      return attempted.map(({ outcome }) => ('reason' in outcome ? outcome.reason : outcome.kind))
    }
    const hosts = ['broker.example', 'Broker.Example', 'other.example', '127.0.0.1']
    const wrong = 'the certificate is for another name'
    expect(await outcomes(['broker.example'], hosts)).toEqual(['delivered', 'delivered', wrong, wrong])
    expect(await outcomes(['127.0.0.1'], hosts)).toEqual([wrong, wrong, wrong, 'delivered'])
    expect(await outcomes(['broker.example'], ['broker.example'], -1)).toEqual(['the certificate has expired'])
  })

  test('on a port without TLS refuses the handshake, and one with TLS refuses plain MQTT', async () => {
    using folder = emptyFolder()
    const authority = newAuthority('An authority of this test')
    const CA = join(folder.path, 'ca.pem')
    await Bun.write(CA, authority.pem)
    await using plain = await startMosquitto()
    await using secured = await startMosquitto({ certified: certify(['127.0.0.1'], authority) })
    const urls = [`mqtts://127.0.0.1:${plain.port}/calls`, `mqtt://127.0.0.1:${secured.port}/calls`]
    const [attempted = []] = await attemptTrusting(CA, [urls])
    const reasons = attempted.map(({ outcome }) => ('reason' in outcome ? outcome.reason : outcome.kind))
    expect(reasons).toEqual([
      'the TLS handshake failed: does the broker speak TLS on this port?',
      'the broker closed the connection before it accepted it: does this port want TLS (mqtts)?',
    ])
  })
})
