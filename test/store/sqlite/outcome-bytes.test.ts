import { expect, test } from 'bun:test'
import type { OutcomeBatch } from '../../../src/store/operations/queue.ts'
import { bytesOf, checksumOf, newOutcomeBytes, outcomesOf } from '../../../src/store/sqlite/outcome-bytes.ts'
import type { Random } from '../../help/random.ts'
import { playCase, seedsOf } from '../../help/seed.ts'

const TEXTS = ['', 'ok', '192.0.2.1', 'grüße, 你好 🙂', 'x'.repeat(4_096), '"\u0000\n']

function randomBatch({ int, pick }: Random): OutcomeBatch {
  const count = int(40)
  const each = <Value>(value: () => Value): Value[] => Array.from({ length: count }, value)
  const text = () => (int(3) === 0 ? null : pick(TEXTS))
  const time = () => (int(3) === 0 ? null : int(2 ** 31) * 2 ** 20)
  return {
    deliveryIds: each(() => int(2 ** 31) * 2 ** 21 + int(128)),
    generations: each(() => 1 + int(5)),
    states: each(() => int(4)),
    tries: each(() => int(100)),
    attemptsMade: each(() => int(100)),
    dueSteadyUs: each(time),
    endedUs: each(time),
    attemptUs: each(() => int(2 ** 31) * 2 ** 20),
    probes: each(() => int(2) === 0),
    statuses: each(() => (int(3) === 0 ? null : int(1_000))),
    durationsMs: each(() => int(20_000)),
    errors: each(text),
    addresses: each(text),
    responses: each(text),
  }
}

const rowsOf = (batch: OutcomeBatch) =>
  batch.deliveryIds.map((deliveryId, at) => ({
    deliveryId,
    generation: batch.generations[at],
    state: batch.states[at],
    tries: batch.tries[at],
    attemptsMade: batch.attemptsMade[at],
    dueSteadyUs: batch.dueSteadyUs[at],
    endedUs: batch.endedUs[at],
    attemptUs: batch.attemptUs[at],
    probe: batch.probes[at],
    status: batch.statuses[at],
    durationMs: batch.durationsMs[at],
    error: batch.errors[at],
    address: batch.addresses[at],
    response: batch.responses[at],
  }))

test('outcomes are read from their bytes as they were', () => {
  for (const seed of seedsOf(3, 200))
    playCase(seed, (random) => {
      const batch = randomBatch(random)
      expect([...outcomesOf(bytesOf(batch))]).toEqual(rowsOf(batch) as never)
    })
})

test('a record has the length and the checksum of its bytes, and another byte another checksum', () => {
  for (const seed of seedsOf(5, 50))
    playCase(seed, (random) => {
      const batch = randomBatch(random)
      const bytes = newOutcomeBytes()
      for (const place of batch.deliveryIds.keys()) {
        const at = bytes.add(batch, place)
        const words = bytes.words.slice(at, at + (bytes.words[at] ?? 0) / 4)
        const record = new Uint8Array(words.buffer)
        expect(words[0]).toBe(record.length)
        expect(words[1]).toBe(checksumOf(words, 0, record.length))
        const changed = 8 + random.int(64)
        record[changed] = (record[changed] ?? 0) ^ (1 + random.int(255))
        expect(checksumOf(words, 0, record.length)).not.toBe(words[1])
      }
      expect(bytes.count).toBe(batch.deliveryIds.length)
    })
})
