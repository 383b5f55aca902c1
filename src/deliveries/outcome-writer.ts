import type { Log } from '../lib/log.ts'
import type { OutcomeBatch } from '../store/records.ts'
import type { Store } from '../store/store.ts'
import type { LoadedDelivery } from './queue/delivery.ts'

/**
 * Outcomes that are not on disk yet: beyond this no more attempts begin. What ends without a warning repeats these, and the 64 or so that
 * are in flight: 300 at most.
 */
const MAX_UNRECORDED = 224
const AGAIN_MS = 250
/** How long stopping waits for a store that cannot be written. */
const LAST_TRY_MS = 5_000

export type OutcomeWriter = ReturnType<typeof createOutcomeWriter>

export type OutcomeWriterOptions = {
  readonly queue: Store['queue']
  readonly log: Log
  /** These are on disk now; of those `overtaken` something else was asked for meanwhile. */
  readonly recorded: (items: readonly LoadedDelivery[], overtaken: readonly number[]) => void
}

/** What came of one attempt, and what its delivery is then. */
export type OutcomeRecord = {
  readonly state: number
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

type Batch = { [name in keyof OutcomeBatch]: OutcomeBatch[name][number][] }

const newBatch = (): Batch => ({
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
})

function append(batch: Batch, { id, generation, tries, attemptsMade }: LoadedDelivery, outcome: OutcomeRecord): void {
  batch.deliveryIds.push(id)
  batch.generations.push(generation)
  batch.states.push(outcome.state)
  batch.tries.push(tries)
  batch.attemptsMade.push(attemptsMade)
  batch.dueSteadyUs.push(outcome.dueSteadyUs)
  batch.endedUs.push(outcome.endedUs)
  batch.attemptUs.push(outcome.attemptUs)
  batch.probes.push(outcome.probe)
  batch.statuses.push(outcome.status)
  batch.durationsMs.push(outcome.durationMs)
  batch.errors.push(outcome.error)
  batch.addresses.push(outcome.address)
  batch.responses.push(outcome.response)
}

/** Writes what came of attempts, as one mutation for all that came while the last commit ran, and until the store takes it. */
export function createOutcomeWriter({ queue, log, recorded }: OutcomeWriterOptions) {
  let waiting: LoadedDelivery[] = []
  /** What came of each of `waiting`. */
  let outcomes = newBatch()
  let writing = 0
  let broken = false
  let giveUpAtMs = Number.POSITIVE_INFINITY
  let idle: (() => void) | undefined

  async function write(): Promise<void> {
    while (waiting.length > 0) {
      const [items, batch] = [waiting, outcomes]
      waiting = []
      outcomes = newBatch()
      writing = items.length
      const overtaken = await untilTaken(batch)
      writing = 0
      recorded(items, overtaken)
    }
    idle?.()
  }

  async function untilTaken(batch: OutcomeBatch): Promise<readonly number[]> {
    for (;;) {
      try {
        const overtaken = await queue.deliveryRecordOutcomes(batch)
        if (broken) log.info('the store takes outcomes again')
        broken = false
        return overtaken
      } catch (error) {
        if (!broken)
          log.error({ err: error }, 'the store cannot be written: sending waits, outcomes are kept in memory')
        broken = true
        if (performance.now() > giveUpAtMs) {
          log.error({ outcomes: batch.deliveryIds.length }, 'stopping: outcomes are not on disk, those are sent again')
          return []
        }
        await Bun.sleep(AGAIN_MS)
      }
    }
  }

  return {
    add(item: LoadedDelivery, outcome: OutcomeRecord): void {
      waiting.push(item)
      append(outcomes, item, outcome)
      if (writing > 0 || waiting.length > 1) return
      queueMicrotask(() => void write())
    },
    /** Whether attempts must wait: what they would tell could not be written down. */
    congested: () => broken || waiting.length + writing >= MAX_UNRECORDED,
    async stop(): Promise<void> {
      if (writing === 0 && waiting.length === 0) return
      giveUpAtMs = performance.now() + LAST_TRY_MS
      const { promise, resolve } = Promise.withResolvers<void>()
      idle = resolve
      await promise
    },
  }
}
