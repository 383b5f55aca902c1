import { openDatabase } from '../../src/db/database.ts'
import { TIMEOUT_MS, USER_AGENT } from '../../src/deliveries/attempt.ts'
import { createDeadlines } from '../../src/deliveries/deadlines.ts'
import { enqueue, storedOf } from '../../src/deliveries/outbox.ts'
import { ENDED_FIELDS, type Ended, recordEnded } from '../../src/deliveries/record-store.ts'
import { newFifo } from '../../src/lib/fifo.ts'
import { newUuid } from '../../src/lib/id.ts'
import { nowUs, SECOND } from '../../src/lib/time.ts'
import { newSecret, signerOf } from '../../src/webhooks/signature.ts'
import { newStore } from './delivery.ts'

const HOW = { method: 'POST', redirect: 'manual', proxy: false } as const
const AT_A_TIME = 64
const EVENTS_A_COMMIT = 32
/** So many that wait are always on disk, and so many outcomes go into a commit at least while there is more to do. */
const READY = 256
const OUTCOMES_A_COMMIT = 64

/**
 * The least that stores, signs, sends and logs, per second, to tell what the service adds: our tables, statements and group commits, but on
 * the same thread, and a `fetch` with the headers and the limit in time that receivers are promised. There is no order, no limit for a
 * webhook, no address guard and nobody who may ask; on a slow disk all of it stands still.
 */
export async function floorRate(urls: readonly string[], body: string, deliveries: number): Promise<number> {
  using store = await newStore([urls])
  const db = openDatabase(store.path)
  const sign = signerOf([newSecret()])
  const deadlines = createDeadlines(TIMEOUT_MS)
  const ready = newFifo<{ id: number; uuid: string; sinceUs: number }>()
  let ended: Ended[number][] = []
  let running = 0
  let told = 0

  const send = async (id: number, uuid: string, sinceUs: number) => {
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
    ended.push(1, 1, 1, null, nowUs(), sinceUs, id, atUs, 0, response.status, 1, null, '127.0.0.1', text)
    running -= 1
    begin()
  }
  const begin = () => {
    for (; running < AT_A_TIME && ready.size > 0; running += 1) {
      const next = ready.shift()
      if (next !== undefined) void send(next.id, next.uuid, next.sinceUs)
    }
  }
  const eventsToTell = (atUs: number) =>
    Array.from({ length: ready.size < READY && told < deliveries ? EVENTS_A_COMMIT : 0 }, () => {
      const uuid = newUuid(atUs)
      return { uuid, callId: uuid, name: 'call_started', sequence: 1, atUs, body }
    })

  const startedMs = performance.now()
  for (let done = 0; told < deliveries || done < told; ) {
    const atUs = nowUs()
    const event = { accountId: 1, events: eventsToTell(atUs), nowUs: atUs }
    const outcomes = ended
    ended = []
    const [placed] = await Promise.all([db.commit(enqueue, event), db.commit(recordEnded, outcomes)])
    done += outcomes.length / ENDED_FIELDS
    for (const { uuid, sinceUs, deliveries: all } of storedOf(event, placed)) {
      for (const { id } of all) ready.push({ id, uuid, sinceUs })
      told += all.length
    }
    begin()
    while (
      ended.length < OUTCOMES_A_COMMIT * ENDED_FIELDS &&
      running > 0 &&
      (ready.size >= READY || told >= deliveries)
    )
      await new Promise((resolve) => setImmediate(resolve))
  }
  const rate = (told / (performance.now() - startedMs)) * 1_000
  await db.stop()
  return rate
}
