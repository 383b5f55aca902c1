import type { OutcomeBatch } from '../operations/queue.ts'

/**
 * Outcomes as bytes: some three times cheaper to hand to the writer's thread than arrays, and ready for the journal. A
 * record, in units of 4 bytes:
 *
 *   0 length in bytes   1 checksum   2 delivery   4 began   6 ended (NaN: null)   8 due (NaN: null)
 *   10 generation   11 tries   12 attempts made   13 duration   14 status (-1: null)   15 state + 256 for a probe
 *   16, 17, 18 length of error, address and response in bytes (-1: null)   19 left to the journal
 *
 * then the three texts in UTF-8. Its length is a multiple of 8.
 */
const FIXED_BYTES = 80
/** The place of the word that the checksum leaves out, in units of 4 bytes. */
export const JOURNAL_WORD = 19
const FIRST_BYTES = 16 * 1_024
const PROBE = 256

/** One outcome as its record has it. */
type StoredOutcome = {
  readonly deliveryId: number
  readonly generation: number
  readonly state: number
  readonly tries: number
  readonly attemptsMade: number
  readonly dueSteadyUs: number | null
  readonly endedUs: number | null
  readonly attemptUs: number
  readonly probe: boolean
  readonly status: number | null
  readonly durationMs: number
  readonly error: string | null
  readonly address: string | null
  readonly response: string | null
}

/** Returns the checksum of a record, whose first word is `at`. */
export function checksumOf(words: Int32Array, at: number, bytes: number): number {
  let sum = bytes
  const end = at + bytes / 4
  for (let word = at + 2; word < end; word += 1)
    if (word !== at + JOURNAL_WORD) sum = Math.imul(sum ^ (words[word] ?? 0), 16_777_619)
  return sum
}

/** Creates an empty buffer of records, which grows. */
export function newOutcomeBytes() {
  let buffer = Buffer.from(new ArrayBuffer(FIRST_BYTES))
  let words = new Int32Array(buffer.buffer)
  let doubles = new Float64Array(buffer.buffer)
  let length = 0
  let count = 0

  function grow(bytes: number): void {
    const larger = Buffer.from(new ArrayBuffer(Math.max(buffer.length * 2, Math.ceil((length + bytes) / 8) * 8)))
    larger.set(buffer.subarray(0, length))
    buffer = larger
    words = new Int32Array(buffer.buffer)
    doubles = new Float64Array(buffer.buffer)
  }
  function addText(text: string | null, at: number): number {
    if (text === null) return -1
    return text === '' ? 0 : buffer.write(text, at, 'utf8')
  }

  return {
    get count() {
      return count
    },
    /** All records, in words; valid until the next outcome is added. */
    get words() {
      return words
    },
    /** Adds the outcome at a place of a batch. Returns the index of its record's first word. */
    add(batch: OutcomeBatch, place: number): number {
      const [error, address, response] = [batch.errors[place], batch.addresses[place], batch.responses[place]]
      const texts = (error?.length ?? 0) + (address?.length ?? 0) + (response?.length ?? 0)
      // A unit of UTF-16 has at most three bytes in UTF-8.
      if (length + FIXED_BYTES + 3 * texts + 8 > buffer.length) grow(FIXED_BYTES + 3 * texts + 8)
      const word = length / 4
      const double = length / 8
      doubles[double + 1] = batch.deliveryIds[place] ?? 0
      doubles[double + 2] = batch.attemptUs[place] ?? 0
      doubles[double + 3] = batch.endedUs[place] ?? Number.NaN
      doubles[double + 4] = batch.dueSteadyUs[place] ?? Number.NaN
      words[word + 10] = batch.generations[place] ?? 0
      words[word + 11] = batch.tries[place] ?? 0
      words[word + 12] = batch.attemptsMade[place] ?? 0
      words[word + 13] = batch.durationsMs[place] ?? 0
      words[word + 14] = batch.statuses[place] ?? -1
      words[word + 15] = (batch.states[place] ?? 0) + (batch.probes[place] === true ? PROBE : 0)
      let end = length + FIXED_BYTES
      words[word + 16] = addText(error ?? null, end)
      end += Math.max(0, words[word + 16] ?? 0)
      words[word + 17] = addText(address ?? null, end)
      end += Math.max(0, words[word + 17] ?? 0)
      words[word + 18] = addText(response ?? null, end)
      end += Math.max(0, words[word + 18] ?? 0)
      const bytes = Math.ceil((end - length) / 8) * 8
      words[word] = bytes
      words[word + 1] = checksumOf(words, word, bytes)
      length += bytes
      count += 1
      return word
    },
    /** Returns a copy of all records: a view would be cloned with its whole buffer. */
    take: (): Uint8Array => new Uint8Array(buffer.buffer.slice(0, length)),
  }
}

export function bytesOf(batch: OutcomeBatch): Uint8Array {
  const bytes = newOutcomeBytes()
  for (const place of batch.deliveryIds.keys()) bytes.add(batch, place)
  return bytes.take()
}

const orNull = (value: number): number | null => (Number.isNaN(value) ? null : value)

/** Reads the outcomes of records, in their order. */
export function* outcomesOf(bytes: Uint8Array): Generator<StoredOutcome> {
  // A whole buffer of its own: the views need it to begin at a multiple of 8.
  const whole = bytes.byteOffset % 8 === 0 ? bytes : bytes.slice()
  const buffer = Buffer.from(whole.buffer, whole.byteOffset, whole.length)
  const words = new Int32Array(whole.buffer, whole.byteOffset, whole.length / 4)
  const doubles = new Float64Array(whole.buffer, whole.byteOffset, whole.length / 8)
  for (let at = 0; at < buffer.length; at += words[at / 4] ?? buffer.length) {
    const [word, double] = [at / 4, at / 8]
    let end = at + FIXED_BYTES
    const textOf = (length: number): string | null => {
      if (length < 0) return null
      end += length
      return buffer.toString('utf8', end - length, end)
    }
    const state = words[word + 15] ?? 0
    const status = words[word + 14] ?? -1
    yield {
      deliveryId: doubles[double + 1] ?? 0,
      generation: words[word + 10] ?? 0,
      state: state % PROBE,
      tries: words[word + 11] ?? 0,
      attemptsMade: words[word + 12] ?? 0,
      dueSteadyUs: orNull(doubles[double + 4] ?? Number.NaN),
      endedUs: orNull(doubles[double + 3] ?? Number.NaN),
      attemptUs: doubles[double + 2] ?? 0,
      probe: state >= PROBE,
      status: status < 0 ? null : status,
      durationMs: words[word + 13] ?? 0,
      error: textOf(words[word + 16] ?? -1),
      address: textOf(words[word + 17] ?? -1),
      response: textOf(words[word + 18] ?? -1),
    }
  }
}
