import { newFifo } from '../../src/lib/fifo.ts'
import { newUuid } from '../../src/lib/id.ts'
import { nowUs, SECOND } from '../../src/lib/time.ts'
import { createDeadlines } from '../../src/outbound/deadlines.ts'
import { TIMEOUT_MS, USER_AGENT } from '../../src/outbound/guarded-request.ts'
import { newSecret, signerOf } from '../../src/outbound/signature.ts'
import type { OutcomeBatch } from '../../src/store/operations/queue.ts'
import { openStore, storeEvents } from '../help/store.ts'
import { newStore } from './delivery.ts'

const HOW = { method: 'POST', redirect: 'manual', proxy: false } as const
const AT_A_TIME = 64
const EVENTS_A_COMMIT = 32
/**
 * While there is more to do, at least this many pending deliveries are on disk and this many outcomes share a commit.
 */
const READY = 256
const OUTCOMES_A_COMMIT = 64

/**
 * The rate of a minimal program that stores, signs, sends and logs, to show what the service adds. It uses our tables,
 * statements and group commits, but on the same thread, and a `fetch` with the promised headers and timeout. It has no
 * order, no limits per webhook, no address guard and no API; on a slow disk it stops.
 */
export async function floorRate(urls: readonly string[], body: string, deliveries: number): Promise<number> {
  using store = await newStore([urls])
  const db = openStore(store.path)
  const sign = signerOf([newSecret()])
  const deadlines = createDeadlines(TIMEOUT_MS)
  const ready = newFifo<{ id: number; uuid: string }>()
  let ended = newBatch()
  let running = 0
  let emitted = 0

  const send = async (id: number, uuid: string) => {
    const url = urls[id % urls.length] ?? ''
    const atUs = nowUs()
    const timestampS = Math.floor(atUs / SECOND)
    const headers = {
      'content-type': 'application/json',
      'user-agent': USER_AGENT,
      'accept-encoding': 'identity',
      'webhook-id': uuid,
      'webhook-timestamp': String(timestampS),
      'webhook-signature': sign(uuid, timestampS, body),
    }
    const deadline = deadlines.begin(performance.now())
    const response = await fetch(url, { ...HOW, body, headers, signal: deadline.signal })
    const text = await response.text()
    deadline.end()
    append(ended, { id, endedUs: nowUs(), attemptUs: atUs, status: response.status, response: text })
    running -= 1
    begin()
  }
  const begin = () => {
    for (; running < AT_A_TIME && ready.size > 0; running += 1) {
      const next = ready.shift()
      if (next !== undefined) void send(next.id, next.uuid)
    }
  }
  const eventsToEmit = (atUs: number) =>
    Array.from({ length: ready.size < READY && emitted < deliveries ? EVENTS_A_COMMIT : 0 }, () => {
      const uuid = newUuid(atUs)
      return { uuid, callId: uuid, name: 'call_started' as const, sequence: 1, atUs, body }
    })

  const startedMs = performance.now()
  for (let done = 0; emitted < deliveries || done < emitted; ) {
    const atUs = nowUs()
    const outcomes = ended
    ended = newBatch()
    const stored = storeEvents(db, eventsToEmit(atUs), { nowSteadyUs: atUs })
    await Promise.all([stored, db.queue.deliveryRecordOutcomes(outcomes)])
    done += outcomes.deliveryIds.length
    for (const { uuid, deliveries: all } of await stored) {
      for (const { id } of all) ready.push({ id, uuid })
      emitted += all.length
    }
    begin()
    while (
      ended.deliveryIds.length < OUTCOMES_A_COMMIT &&
      running > 0 &&
      (ready.size >= READY || emitted >= deliveries)
    )
      await new Promise((resolve) => setImmediate(resolve))
  }
  const rate = (emitted / (performance.now() - startedMs)) * 1_000
  await db.stop()
  return rate
}

type Batch = { [name in keyof OutcomeBatch]: OutcomeBatch[name][number][] }

function newBatch(): Batch {
  return {
    deliveryIds: [],
    generations: [],
    states: [],
    tries: [],
    attemptsMade: [],
    dueSteadyUs: [],
    endedUs: [],
    attemptUs: [],
    probes: [],
    statuses: [],
    durationsMs: [],
    errors: [],
    addresses: [],
    responses: [],
  }
}

type Delivered = { id: number; endedUs: number; attemptUs: number; status: number; response: string }

function append(batch: Batch, { id, endedUs, attemptUs, status, response }: Delivered): void {
  batch.deliveryIds.push(id)
  batch.generations.push(1)
  batch.states.push(1)
  batch.tries.push(1)
  batch.attemptsMade.push(1)
  batch.dueSteadyUs.push(null)
  batch.endedUs.push(endedUs)
  batch.attemptUs.push(attemptUs)
  batch.probes.push(false)
  batch.statuses.push(status)
  batch.durationsMs.push(1)
  batch.errors.push(null)
  batch.addresses.push('127.0.0.1')
  batch.responses.push(response)
}
