import { describe, expect, test } from 'bun:test'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createAttempts } from '../../src/deliveries/mqtt/attempts.ts'
import { exampleTexts } from '../../src/events/samples.ts'
import { newUuid } from '../../src/lib/id.ts'
import { nowUs } from '../../src/lib/time.ts'
import type { Store } from '../../src/store/store.ts'
import { DEFAULT_OPTIONS } from '../../src/store/webhook-options.ts'
import { allowing, newRig } from '../deliveries/run/rig.ts'
import { emptyFolder, startServe } from '../help/app.ts'
import { webhook } from '../help/client.ts'
import { MOSQUITTO, startMosquitto } from '../help/mosquitto.ts'
import { startBroker } from '../help/mqtt-broker.ts'
import { until } from '../help/receiver.ts'
import { scaled, seededRandom } from '../help/seed.ts'
import { openStore, storeEvents } from '../help/store.ts'

// A broker or the service is killed again and again during deliveries by MQTT: the broker gets every message at least
// once, and with strict order the messages of each call in order.

const KILLS = scaled(100)
/** The service needs a second to start. */
const SERVICE_KILLS = scaled(12)
const CALLS = 20
/** The most messages between two kills. */
const BETWEEN = 20

/** The broker of a test: the topics of all messages that it has got, in their order. */
type Killable = { readonly url: string; topics(): string[]; kill(): Promise<void>; stop(): Promise<void> }

async function startKillable(kind: string): Promise<Killable> {
  if (kind === 'Mosquitto') {
    const broker = await startMosquitto()
    return {
      url: `mqtt://127.0.0.1:${broker.port}`,
      topics: broker.topics,
      async kill() {
        await broker.kill()
        await broker.start()
      },
      stop: () => broker[Symbol.asyncDispose](),
    }
  }
  const broker = await startBroker()
  return {
    url: broker.url,
    topics: () => broker.messages.map(({ topic }) => topic),
    kill: async () => broker.kill(),
    stop: async () => broker[Symbol.dispose](),
  }
}

/** Puts a webhook with strict order in the list, whose topic has the call and the place of an event in it. */
async function listWebhook({ webhooks }: Pick<Store, 'webhooks'>, broker: string): Promise<void> {
  const url = `${broker}/calls/{call_id}/{pbx}`
  await webhooks.listReplace({
    accountId: 1,
    list: [webhook(url)],
    ifMatch: null,
    secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    nowUs: nowUs(),
  })
  const options = { ...DEFAULT_OPTIONS, order: 'strict' as const }
  await webhooks.optionsReplace({ accountId: 1, url, options, nowUs: nowUs() })
}

const STARTED = JSON.parse(exampleTexts().get('call_started') ?? '')

/** Returns `eachCall` events of each call, the calls in turn. The PBX of an event is its place in the call. */
const eventsOf = (eachCall: number) =>
  Array.from({ length: eachCall }, (_, at) => at + 1).flatMap((sequence) =>
    Array.from({ length: CALLS }, (_, call) => {
      const [atUs, callId] = [nowUs(), `call-${call}`]
      const uuid = newUuid(atUs)
      const data = {
        ...STARTED.data,
        id: uuid,
        sequence,
        pbx: `${sequence}`,
        call: { ...STARTED.data.call, id: callId },
      }
      return { uuid, callId, name: 'call_started' as const, sequence, atUs, body: JSON.stringify({ time: '', data }) }
    }),
  )

/** Returns the places of the messages of each call in the order of their arrival, without immediate repeats. */
function placesOf(topics: readonly string[]): Record<string, number[]> {
  const places: Record<string, number[]> = {}
  for (const topic of topics) {
    const [, call = '', place] = topic.split('/')
    const known = places[call] ?? []
    places[call] = known
    if (known.at(-1) !== Number(place)) known.push(Number(place))
  }
  return places
}

const inOrder = (eachCall: number) =>
  Object.fromEntries(
    Array.from({ length: CALLS }, (_, call) => [`call-${call}`, Array.from({ length: eachCall }, (_, at) => at + 1)]),
  )

describe.each([
  ['a broker of this test', true],
  ['Mosquitto', MOSQUITTO !== undefined],
])('%s', (kind, isThere) => {
  test.skipIf(!isThere)(`has got everything, in order, after ${KILLS} kills in the middle`, async () => {
    const broker = await startKillable(kind)
    const { attempt, stop } = createAttempts({ allow: allowing('loopback') })
    const random = seededRandom(26)
    const startMs = performance.now()
    // A clock that is fast: a broken connection opens the circuit breaker, which waits for a second.
    const steadyUs = () => Math.round((performance.now() - startMs) * 50_000)
    // Nothing expires, however long the broker takes to start.
    const scheduleMs = [...Array<number>(KILLS).fill(1_000), 1_000_000_000]
    const eachCall = Math.ceil((KILLS * BETWEEN) / CALLS)
    {
      await using rig = await newRig({ attempt, asleep: true, steadyUs, scheduleMs })
      await listWebhook(rig.store, broker.url)
      await storeEvents(rig.store, eventsOf(eachCall), { nowSteadyUs: rig.clock.steadyUs() })
      rig.wake()
      const isDone = () => rig.db.read.query('SELECT 1 FROM deliveries WHERE state = 0 LIMIT 1').get() === null
      for (let kill = 0; kill < KILLS; kill += 1) {
        const wanted = broker.topics().length + 1 + random.int(BETWEEN - 1)
        await until('messages have come', () => broker.topics().length >= wanted || isDone())
        await broker.kill()
      }
      await until('all is delivered', isDone)
      expect(placesOf(broker.topics())).toEqual(inOrder(eachCall))
    }
    await stop()
    await broker.stop()
  })
})

test(`the service that is killed ${SERVICE_KILLS} times in the middle has sent everything, in order`, async () => {
  using folder = emptyFolder()
  const broker = await startKillable(MOSQUITTO === undefined ? 'a broker of this test' : 'Mosquitto')
  const random = seededRandom(27)
  const eachCall = Math.ceil((SERVICE_KILLS * BETWEEN) / CALLS)
  mkdirSync(join(folder.path, 'data'))
  const store = openStore(join(folder.path, 'data', 'hookswitch.db'))
  await listWebhook(store, broker.url)
  await storeEvents(store, eventsOf(eachCall))
  await store.stop()
  const all = CALLS * eachCall
  const distinct = () => new Set(broker.topics()).size
  const args = ['--allow-net', 'loopback', '--log-level', 'error']
  let kills = 0
  while (distinct() < all) {
    const app = await startServe({ cwd: folder.path, args })
    const wanted = broker.topics().length + 1 + random.int(BETWEEN - 1)
    await until('messages have come', () => broker.topics().length >= wanted || distinct() === all)
    await app.stop('SIGKILL')
    kills += 1
  }
  await broker.stop()
  expect(kills).toBeGreaterThan(1)
  expect(placesOf(broker.topics())).toEqual(inOrder(eachCall))
})
