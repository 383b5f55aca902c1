import { type Ownership, pbxLease } from '../../cluster/cluster.ts'
import type { Log } from '../../lib/log.ts'
import type { CallBatch, CallStore, PlacedEvent } from '../../store/operations/calls.ts'
import { type Fence, LeaseLost } from '../../store/operations/cluster.ts'

/**
 * Stores the batches of one PBX, and retries for as long as the store cannot be written. All of them belong to the term
 * of the lease in which the writer was created, and once a batch was given up, so are all later ones: otherwise a node
 * that lost the PBX and got it back would store later events of a call without the earlier ones.
 */
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

/** Creates the writer of the batches of one PBX. To be created before the state is read that the batches continue. */
export function createBatchWriter({ calls, ownership, pbx, log }: BatchWriterOptions): BatchWriter {
  const fenceNow = createTermFence(ownership, pbxLease(pbx))
  let isStopping = false
  let isGivenUp = false

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
      if (isGivenUp) return undefined
      const facts = { pbx, events: batch.parts.reduce((sum, { events }) => sum + events.length, 0) }
      for (let tries = 0; ; tries++) {
        try {
          const placed = await calls.batchStore(batch, fenceNow())
          if (tries > 0)
            log.info({ ...facts, tries }, 'the store can be written again: the events that waited are stored')
          return placed
        } catch (error) {
          if (!isWorthRetry(error, tries, facts)) {
            isGivenUp = true
            return undefined
          }
          await Bun.sleep(RETRY_MS)
        }
      }
    },
    stop() {
      isStopping = true
    },
  }
}

/** Returns the fence of a lease, always of the same term. @throws LeaseLost once it has another term, or none. */
function createTermFence({ fenceOf }: Pick<Ownership, 'fenceOf'>, lease: string): () => Fence | undefined {
  const fence = fenceIfOwned(fenceOf, lease)
  return () => {
    if (fence === 'lost') throw new LeaseLost(lease)
    if (fenceOf(lease)?.terms[0] !== fence?.terms[0]) throw new LeaseLost(lease)
    return fence
  }
}

function fenceIfOwned(fenceOf: Ownership['fenceOf'], lease: string): Fence | undefined | 'lost' {
  try {
    return fenceOf(lease)
  } catch (error) {
    if (error instanceof LeaseLost) return 'lost'
    throw error
  }
}
