import { type Ownership, pbxLease } from '../../cluster/ownership.ts'
import type { Log } from '../../lib/log.ts'
import type { CallBatch, CallStore, PlacedEvent } from '../../store/operations/calls.ts'
import { LeaseLost } from '../../store/operations/cluster.ts'

/** Stores the batches of one PBX, and retries for as long as the store cannot be written. */
type BatchWriter = {
  /** Stores a batch. Returns the places of its events, or `undefined` if it was given up. Never rejects. */
  store(batch: CallBatch): Promise<PlacedEvent[] | undefined>
  /** From now on a batch is given up if the store cannot be written for 5 s. */
  stop(): void
}

type BatchWriterOptions = {
  readonly calls: Pick<CallStore, 'batchStore'>
  readonly ownership: Pick<Ownership, 'fenceOf'>
  readonly pbx: string
  readonly log: Log
}

const RETRY_MS = 250
const LAST_TRY_MS = 5_000

/** Creates the writer of the batches of one PBX. */
export function createBatchWriter({ calls, ownership, pbx, log }: BatchWriterOptions): BatchWriter {
  let isStopping = false

  /** Logs a failure. Returns whether to try the batch again. */
  function isWorthRetry(error: unknown, tries: number, facts: { pbx: string; events: number }): boolean {
    if (error instanceof LeaseLost) {
      log.warn(
        { ...facts, err: error },
        'another node has taken over this PBX: it produces the events that are not stored yet',
      )
      return false
    }
    if (tries === 0)
      log.error(
        { ...facts, err: error },
        'cannot write to the store: events wait in memory and are stored when it can be written again',
      )
    if (!isStopping || tries * RETRY_MS < LAST_TRY_MS) return true
    log.error(facts, 'stopped although the store cannot be written: these events are lost')
    return false
  }

  return {
    async store(batch) {
      const facts = { pbx, events: batch.parts.reduce((sum, { events }) => sum + events.length, 0) }
      for (let tries = 0; ; tries++) {
        try {
          const placed = await calls.batchStore(batch, ownership.fenceOf(pbxLease(pbx)))
          if (tries > 0)
            log.info({ ...facts, tries }, 'the store can be written again: the events that waited are stored')
          return placed
        } catch (error) {
          if (!isWorthRetry(error, tries, facts)) return undefined
          await Bun.sleep(RETRY_MS)
        }
      }
    },
    stop() {
      isStopping = true
    },
  }
}
