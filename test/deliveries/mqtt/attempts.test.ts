import { afterAll, describe, expect, test } from 'bun:test'
import { createTestSender } from '../../../src/deliveries/log/test-request.ts'
import { createAttempts } from '../../../src/deliveries/mqtt/attempts.ts'
import { nowUs } from '../../../src/lib/time.ts'
import { faultOfSigned } from '../../../src/outbound/signature.ts'
import { DEFAULT_OPTIONS } from '../../../src/store/webhook-options.ts'
import { startBroker } from '../../help/mqtt-broker.ts'
import { startReceiver, until } from '../../help/receiver.ts'
import { TEMPLATES } from '../../help/templates.ts'
import { ACCOUNT, allowing, newRig } from '../run/rig.ts'

const stops: (() => unknown)[] = []
afterAll(async () => {
  for (const stop of stops) await stop()
})
const newAttempts = () => {
  const attempts = createAttempts({ allow: allowing('loopback'), timeoutMs: 3_600_000 })
  stops.push(attempts.stop)
  return attempts
}

describe('the service', () => {
  test('sends to HTTP and MQTT, each with the signature of its URL, and logs both', async () => {
    using broker = await startBroker()
    const receiver = startReceiver()
    stops.push(receiver.stop)
    await using rig = await newRig({ attempt: newAttempts().attempt })
    const url = `${broker.url}/calls/{event}/{call_id}`
    await rig.setUrls(url, `${receiver.url}/calls`)
    const options = { ...DEFAULT_OPTIONS, retain: true, headers: { 'X-Tenant': 'acme' } }
    await rig.store.webhooks.optionsReplace({ accountId: ACCOUNT, url, options, nowUs: nowUs() })
    rig.emitter.emit('webhooks', ACCOUNT)
    const [id = ''] = await rig.emit('call-1')
    await until('both have it', () => broker.messages.length === 1 && receiver.received.length === 1)

    const [message] = broker.messages
    expect(message).toMatchObject({ topic: 'calls/-/-', retain: true, body: receiver.received[0]?.body })
    const signed = { ...message?.properties?.userProperties } as Record<string, string>
    expect(signed).toMatchObject({ 'webhook-id': id, 'X-Tenant': 'acme', traceparent: expect.stringMatching(/^00-/) })
    const secret = (await rig.webhooks.secrets(ACCOUNT)).find((one) => one.url === url)?.secret ?? ''
    expect(faultOfSigned(secret, signed, message?.body ?? '', Date.now() / 1_000)).toBeUndefined()

    const list = () => rig.deliveries.list(ACCOUNT, { url }, 10)
    await until('it is recorded', async () => (await list()).items[0]?.state === 'delivered')
    const shown = await rig.deliveries.show(ACCOUNT, (await list()).items[0]?.id ?? '')
    expect(shown.attempts).toMatchObject([
      { status: null, error: null, address: '127.0.0.1', response: 'acknowledged (MQTT 5), topic calls/-/-' },
    ])
  })

  test('tries a refused message again, and the log has the reason', async () => {
    using broker = await startBroker()
    broker.answerWith(() => (broker.messages.length === 1 ? { code: 135 } : {}))
    await using rig = await newRig({ attempt: newAttempts().attempt, scheduleMs: [1, 3_600_000] })
    await rig.setUrls(`${broker.url}/calls`)
    await rig.emit('call-1')
    await until(
      'it is delivered',
      async () => (await rig.deliveries.list(ACCOUNT, {}, 1)).items[0]?.state === 'delivered',
    )
    const [delivery] = (await rig.deliveries.list(ACCOUNT, {}, 1)).items
    const { attempts } = await rig.deliveries.show(ACCOUNT, delivery?.id ?? '')
    expect(attempts.map(({ error }) => error)).toEqual([
      'the broker refused the message: not authorized (reason code 135)',
      null,
    ])
  })

  test('sends a test to the topic of the event test, and never lets the broker keep it', async () => {
    using broker = await startBroker()
    const { attempt } = newAttempts()
    await using rig = await newRig({ attempt })
    const url = `${broker.url}/calls/{account}/{event}/{extension}`
    await rig.setUrls(url)
    const options = { ...DEFAULT_OPTIONS, retain: true }
    await rig.store.webhooks.optionsReplace({ accountId: ACCOUNT, url, options, nowUs: nowUs() })
    const send = createTestSender({ store: rig.store, attempt, templates: TEMPLATES, reserve: rig.dispatcher.reserve })
    expect(await send(ACCOUNT, url)).toEqual({
      status: null,
      duration_ms: expect.any(Number),
      error: null,
      response: 'acknowledged (MQTT 5), topic calls/default/test/-',
    })
    expect(broker.messages.map(({ retain }) => retain)).toEqual([false])
    broker.answerWith(() => ({ code: 135 }))
    expect(await send(ACCOUNT, url)).toMatchObject({ status: null, error: expect.stringContaining('not authorized') })
  })

  test('publishes the result of a template, and nothing if the result is empty', async () => {
    using broker = await startBroker()
    await using rig = await newRig({ attempt: newAttempts().attempt })
    const url = `${broker.url}/calls`
    await rig.setUrls(url)
    const template = '{% if data.sequence == 2 %}call {{ data.call }}{% endif %}'
    const body = { template, contentType: 'text/plain' }
    await rig.store.webhooks.optionsReplace({
      accountId: ACCOUNT,
      url,
      options: { ...DEFAULT_OPTIONS, body },
      nowUs: nowUs(),
    })
    rig.emitter.emit('webhooks', ACCOUNT)
    await rig.emit('one', 'two')
    const delivered = async () => (await rig.deliveries.list(ACCOUNT, { state: 'delivered' }, 10)).items.length
    await until('both are done', async () => (await delivered()) === 2)
    expect(broker.messages.map((one) => [one.body, one.properties?.contentType])).toEqual([['call two', 'text/plain']])
  })

  test('closes the connection of a webhook whose URL leaves the list', async () => {
    using broker = await startBroker()
    const { attempt, forget } = newAttempts()
    const observer = {
      started: () => {},
      ended: () => {},
      endedUnsent: () => {},
      webhookRemoved: forget,
    }
    await using rig = await newRig({ attempt, observer })
    await rig.setUrls(`${broker.url}/calls`)
    await rig.emit('call-1')
    await until('it is delivered', () => broker.messages.length === 1)
    await rig.setUrls()
    await until('the connection is closed', () => broker.open() === 0)
    expect(broker.packets.at(-1)).toBe('disconnect')
  })
})
