import type { RetryResult } from './operations/queue.ts'

/** The facts that may keep a delivery from being sent again. `leaving`: it is still to be cancelled. */
export type RetryFacts = {
  readonly webhookId: number
  readonly listed: boolean
  readonly erased: boolean
  readonly leaving: boolean
}

/** Returns why a delivery cannot be sent again now; `undefined`: it can. Without facts it is unknown. */
export function retryObstacle(facts: RetryFacts | undefined): Exclude<RetryResult, 'queued'> | undefined {
  if (facts === undefined) return 'unknown'
  if (!facts.listed) return 'unlisted'
  if (facts.erased) return 'erased'
  return facts.leaving ? facts.webhookId : undefined
}
