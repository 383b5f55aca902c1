import { accountLease, type Ownership } from '../cluster/ownership.ts'
import type { Log } from '../lib/log.ts'
import { LeaseLost } from '../store/cluster-store.ts'
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
  readonly ownership: Ownership
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
export function createOutcomeWriter({ queue, ownership, log, recorded }: OutcomeWriterOptions) {
  /** By account where each has an owner of its own, else all together. */
  let waiting = new Map<number | undefined, { readonly items: LoadedDelivery[]; readonly batch: Batch }>()
  let count = 0
  let writing = 0
  let broken = false
  let giveUpAtMs = Number.POSITIVE_INFINITY
  let idle: (() => void) | undefined

  async function write(): Promise<void> {
    while (count > 0) {
      const groups = waiting
      waiting = new Map()
      writing = count
      count = 0
      // They go into one commit all the same; each account has a fence of its own.
      await Promise.all(
        [...groups].map(async ([accountId, { items, batch }]) => recorded(items, await untilTaken(batch, accountId))),
      )
      writing = 0
    }
    idle?.()
  }

  async function untilTaken(batch: OutcomeBatch, accountId: number | undefined): Promise<readonly number[]> {
    for (;;) {
      try {
        const fence = accountId === undefined ? undefined : ownership.fenceOf(accountLease(accountId))
        const overtaken = await queue.deliveryRecordOutcomes(batch, fence)
        if (broken) log.info('the store takes outcomes again')
        broken = false
        return overtaken
      } catch (error) {
        // Another node sends them again, or has recorded what it made of them.
        if (error instanceof LeaseLost) return batch.deliveryIds
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
      const key = ownership.isShared ? item.accountId : undefined
      const group = waiting.get(key) ?? { items: [], batch: newBatch() }
      waiting.set(key, group)
      group.items.push(item)
      append(group.batch, item, outcome)
      count += 1
      if (writing > 0 || count > 1) return
      queueMicrotask(() => void write())
    },
    /** Whether attempts must wait: what they would tell could not be written down. */
    congested: () => broken || count + writing >= MAX_UNRECORDED,
    async stop(): Promise<void> {
      if (writing === 0 && count === 0) return
      giveUpAtMs = performance.now() + LAST_TRY_MS
      const { promise, resolve } = Promise.withResolvers<void>()
      idle = resolve
      await promise
    },
  }
}
