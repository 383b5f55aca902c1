import type { MatchingRetry, RetryStep } from '../operations/queue.ts'
import { retryFound } from '../sql/retries.ts'
import { mutation, type Tx } from './engine/mutation.ts'
import { runWork } from './engine/run-operations.ts'
import { readLog } from './log.ts'

/** The oldest first, so that a call whose events lie in several parts is sent in their order. */
export const retryMatching = mutation(
  'queue.deliveryRetryMatching',
  (tx: Tx, { filter, fromId, nowSteadyUs, limit }: MatchingRetry): RetryStep | number =>
    runWork(tx, retryFound(readLog(tx, { filter, fromId, limit, order: 'oldest' }), nowSteadyUs)),
)
