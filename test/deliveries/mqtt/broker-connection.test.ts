import { expect, test } from 'bun:test'
import { connectToBroker } from '../../../src/deliveries/mqtt/broker-connection.ts'
import { parseMqttUrl } from '../../../src/outbound/mqtt-url.ts'
import { type BrokerOptions, startBroker } from '../../help/mqtt-broker.ts'
import { until } from '../../help/receiver.ts'

const MESSAGE = { topic: 'x', body: '{}', contentType: 'text/plain', userProperties: {}, retain: false }
const NEVER_MS = 3_600_000

async function connectionTo(options: BrokerOptions = {}) {
  const broker = await startBroker(options)
  const parsed = parseMqttUrl(`${broker.url}/calls`)
  if ('problem' in parsed) throw new Error(parsed.problem)
  const connection = await connectToBroker({
    broker: parsed,
    address: '127.0.0.1',
    name: '127.0.0.1',
    version: 5,
    withinMs: NEVER_MS,
    connectMs: NEVER_MS,
    signal: new AbortController().signal,
  })
  const pings = () => broker.packets.filter((cmd) => cmd === 'pingreq').length
  return { broker, connection, pings, [Symbol.dispose]: () => broker[Symbol.dispose]() }
}

test('a connection is closed 60 s after its last use, and not while a message waits for its answer', async () => {
  using one = await connectionTo()
  const { broker, connection } = one
  await connection.publish(MESSAGE)
  const usedMs = performance.now()
  connection.check(usedMs + 59_000)
  expect(connection.isOpen()).toBe(true)
  broker.answerWith(() => 'silent')
  const waiting = connection.publish(MESSAGE)
  await until('it has arrived', () => broker.messages.length === 2)
  connection.check(usedMs + 61_000)
  expect(connection.isOpen()).toBe(true)
  broker.kill()
  expect((await waiting).kind).toBe('lost')
  expect(connection.isOpen()).toBe(false)

  using other = await connectionTo()
  await other.connection.publish(MESSAGE)
  other.connection.check(performance.now() + 60_000)
  expect(other.connection.isOpen()).toBe(false)
  await until('the broker has its goodbye', () => other.broker.packets.at(-1) === 'disconnect')
})

test('it is pinged after half of the time agreed on, and closed if there is no answer', async () => {
  using one = await connectionTo({ connack: { properties: { serverKeepAlive: 20 } } })
  const { connection, pings } = one
  const nowMs = performance.now()
  connection.check(nowMs + 9_000)
  expect(pings()).toBe(0)
  connection.check(nowMs + 11_000)
  await until('it is pinged', () => pings() === 1)
  // The answer may still be on its way.
  await until('it was answered', () => {
    connection.check(nowMs + 11_000)
    return connection.isOpen()
  })

  using mute = await connectionTo({ mute: true })
  mute.connection.check(nowMs + 31_000)
  await until('it is pinged', () => mute.pings() === 1)
  // A message that is sent meanwhile neither shortens nor extends the wait.
  void mute.connection.publish(MESSAGE)
  mute.connection.check(nowMs + 40_000)
  expect(mute.connection.isOpen()).toBe(true)
  mute.connection.check(nowMs + 42_000)
  expect(mute.connection.isOpen()).toBe(false)
})

test('one that is retired takes no message, and closes when the last one has its answer', async () => {
  using one = await connectionTo()
  const { broker, connection } = one
  broker.answerWith(() => 'silent')
  const waiting = connection.publish(MESSAGE)
  await until('it has arrived', () => broker.messages.length === 1)
  connection.retire()
  expect([connection.isOpen(), broker.open()]).toEqual([false, 1])
  broker.kill()
  await waiting
  await until('it is closed', () => broker.open() === 0)
})
