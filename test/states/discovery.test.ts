import { afterAll, describe, expect, test } from 'bun:test'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { Aedes } from 'aedes'
import { createBrokerConnector } from '../../src/deliveries/mqtt/broker-connector.ts'
import type { Phone, Queue, Trunk } from '../../src/events/states.ts'
import { createLog } from '../../src/lib/log.ts'
import { targetOf } from '../../src/outbound/target.ts'
import { startDiscovery } from '../../src/states/discovery/discovery.ts'
import { messagesOf } from '../../src/states/discovery/entities.ts'
import { DEFAULT_OPTIONS } from '../../src/store/webhook-options.ts'
import { allowing } from '../deliveries/run/rig.ts'
import { emptyFolder } from '../help/app.ts'
import { webhook } from '../help/client.ts'
import { MOSQUITTO, startMosquitto } from '../help/mosquitto.ts'
import { until } from '../help/receiver.ts'
import { openStore } from '../help/store.ts'

/** Home Assistant's discovery: what a real broker has afterwards, as a subscriber sees it. */

const SINCE = '2026-11-20T21:51:42.104118Z'
const phone = (extension: string, more: Partial<Phone> = {}): Phone & { pbx: string } => ({
  pbx: 'office',
  extension,
  name: null,
  state: 'registered',
  since: SINCE,
  device: 'idle',
  contacts: 1,
  ...more,
})
const trunk = (name: string, state: Trunk['state']): Trunk & { pbx: string } => ({
  pbx: 'office',
  trunk: name,
  state,
  since: SINCE,
  reason: null,
})
const queue = (name: string, waiting: number): Queue & { pbx: string } => ({
  pbx: 'office',
  queue: name,
  waiting,
  longest_wait: waiting,
  available: 1,
  busy: 0,
  paused: 0,
})

test('each phone, trunk and queue has a configuration and a state, whatever its name is', () => {
  const place = { account: 'acme', node: 'hookswitch_calls_1', root: 'calls/state' }
  const names = ['101', 'a/b', 'a_b', 'a+b', '#', 'ü', '', 'x'.repeat(300)]
  const messages = messagesOf(place, [
    {
      pbx: 'office/1',
      isConnected: true,
      phones: names.map((one) => phone(one)),
      trunks: names.map((one) => trunk(one, 'registered')),
      queues: names.map((one) => queue(one, 0)),
    },
  ])
  const configs = [...messages].filter(([topic]) => topic.startsWith('homeassistant/'))
  expect(configs).toHaveLength(3 * names.length)
  for (const [topic, text] of configs) {
    expect(topic).toMatch(/^homeassistant\/(sensor|binary_sensor)\/hookswitch_calls_1\/[A-Za-z0-9_-]+\/config$/)
    expect(messages.has(JSON.parse(text).state_topic)).toBe(true)
  }
  expect(new Set(configs.map(([, text]) => JSON.parse(text).unique_id)).size).toBe(configs.length)
  for (const topic of messages.keys()) expect(topic).not.toMatch(/[+#]/)
  // A wait that goes on is no change.
  const of = (wait: number) =>
    messagesOf(place, [
      { pbx: 'p', isConnected: true, phones: [], trunks: [], queues: [{ ...queue('q', 1), longest_wait: wait }] },
    ])
  expect(of(1)).toEqual(of(2))
})

async function startAedes() {
  const aedes = await Aedes.createBroker()
  const server = createServer(aedes.handle)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    async [Symbol.asyncDispose]() {
      await new Promise<void>((resolve) => aedes.close(() => resolve()))
      server.close()
    },
  }
}

const connector = createBrokerConnector({ allow: allowing('loopback') })

/** Everything that a broker has, as it changes. */
async function mirror(port: number) {
  const all = new Map<string, string>()
  const connection = await connector(
    targetOf(`mqtt://127.0.0.1:${port}/x`),
    undefined,
  )({
    will: { topic: 'gone', body: '', retain: false },
    onMessage({ topic, body }) {
      if (body === '') all.delete(topic)
      else all.set(topic, body)
    },
  })
  await connection.subscribe(['#'])
  return { all, publish: connection.publish, [Symbol.dispose]: () => connection.close() }
}

const folder = emptyFolder()
afterAll(() => folder[Symbol.dispose]())
let stores = 0

/** A service whose account has these phones, trunks and queues, and a webhook at the broker. */
async function newService(port: number, path = join(folder.path, `${++stores}.db`)) {
  const store = openStore(path)
  const url = `mqtt://127.0.0.1:${port}/calls/{account}/{event}`
  const state = {
    phone: [phone('101'), phone('102')],
    trunk: [trunk('carrier', 'registered')],
    queue: [queue('sales', 0)],
  }
  const up = new Set(['office'])
  const setList = (urls: readonly string[]) =>
    store.webhooks.listReplace({
      accountId: 1,
      list: urls.map((one) => webhook(one)),
      ifMatch: null,
      secrets: urls.map((one) => `whsec_${one}`),
      nowUs: 1,
    })
  let running: ReturnType<typeof startDiscovery> | undefined
  return {
    path,
    url,
    state,
    up,
    setList,
    async setDiscovery(discovery: 'homeassistant' | null) {
      await store.webhooks.optionsReplace({ accountId: 1, url, options: { ...DEFAULT_OPTIONS, discovery }, nowUs: 1 })
    },
    start() {
      running = startDiscovery({
        store,
        ownership: { ownsAccount: () => true },
        // Each kind has its own type.
        states: async (_, kind) => [...state[kind]] as never,
        connected: async () => up,
        connectTo: connector,
        log: createLog('silent'),
        everyMs: 20,
      })
    },
    async [Symbol.asyncDispose]() {
      await running?.stop()
      await store.stop()
    },
  }
}

const BROKERS = [
  ['aedes', startAedes],
  ...(MOSQUITTO === undefined ? [] : [['Mosquitto', startMosquitto] as const]),
] as const

describe.each(BROKERS)('at %s', (_, startBroker) => {
  const config = (of: string, component = 'sensor') =>
    `homeassistant/${component}/hookswitch_calls_default_7e79ca18/${of}/config`

  test('everything appears by itself, follows its state, and goes when the webhook leaves the list', async () => {
    await using broker = await startBroker()
    using seen = await mirror(broker.port)
    await seen.publish({
      topic: 'homeassistant/sensor/other/x/config',
      body: '{"of":"others"}',
      contentType: '',
      userProperties: {},
      retain: true,
    })
    await using service = await newService(broker.port)
    await service.setList([service.url])
    await service.setDiscovery('homeassistant')
    service.start()
    const names = ['phone_office_101', 'phone_office_102', 'queue_office_sales']
    await until('all is there', () => seen.all.has('calls/state/default/status') && seen.all.size === 1 + 8 + 2)
    for (const name of names) expect(seen.all.has(config(name))).toBe(true)
    expect(seen.all.has(config('trunk_office_carrier', 'binary_sensor'))).toBe(true)
    expect(JSON.parse(seen.all.get('calls/state/default/office/phone/101') ?? '')).toMatchObject({ device: 'idle' })
    expect([...seen.all].filter(([topic]) => topic.endsWith('/status'))).toEqual([
      ['calls/state/default/status', 'online'],
      ['calls/state/default/office/status', 'online'],
    ])

    service.state.phone = [phone('101', { device: 'ringing' })]
    service.up.clear()
    await until('the phone is gone', () => !seen.all.has(config('phone_office_102')))
    await until(
      'the other one rings',
      () => seen.all.get('calls/state/default/office/phone/101')?.includes('ringing') === true,
    )
    await until('the PBX is away', () => seen.all.get('calls/state/default/office/status') === 'offline')

    await service.setList([])
    await until('all is taken back', () => seen.all.size === 1)
    expect([...seen.all.keys()]).toEqual(['homeassistant/sensor/other/x/config'])
  })

  test('what went while the service was down is taken back after its start; switched off, nothing is left', async () => {
    await using broker = await startBroker()
    using seen = await mirror(broker.port)
    let path = ''
    {
      await using service = await newService(broker.port)
      path = service.path
      await service.setList([service.url])
      await service.setDiscovery('homeassistant')
      service.start()
      await until('all is there', () => seen.all.size === 8 + 2)
    }
    await until('it says that it is away', () => seen.all.get('calls/state/default/status') === 'offline')
    expect(seen.all.size).toBe(8 + 2)
    await using service = await newService(broker.port, path)
    service.state.phone = [phone('101')]
    service.start()
    await until('the phone is gone', () => !seen.all.has(config('phone_office_102')))
    await until('it is there again', () => seen.all.get('calls/state/default/status') === 'online')
    await until('nothing else is there', () => seen.all.size === 6 + 2)
    await service.setDiscovery(null)
    await until('nothing is left', () => seen.all.size === 0)
  })
})
