import type { Emitter } from '../deliveries/emitter.ts'
import type { Observer } from '../deliveries/observer.ts'
import { failureOf, statusOf } from '../deliveries/retry-policy.ts'
import type { Attempted } from '../deliveries/sending/attempt.ts'
import { type NowUs, rfc3339, nowUs as wallUs } from '../lib/time.ts'
import type { LastHour } from './last-hour.ts'
import type { WebhookHealth } from './model.ts'

export type LastResponse = NonNullable<WebhookHealth['last']>

/**
 * Counts what the page shows of the past: the figures of the last hour, and the last response of each webhook since the
 * start.
 */
export type Tally = {
  readonly observer: Observer
  last(webhookId: number): LastResponse | null
}

export type TallyOptions = { emitter: Emitter; lastHour: LastHour; nowUs?: NowUs }

/** Creates empty counts of the past deliveries that the page shows. They are counted through `observer`. */
export function createTally({ emitter, lastHour, nowUs = wallUs }: TallyOptions): Tally {
  const responses = new Map<number, readonly [atUs: number, attempted: Attempted]>()

  emitter.on('stored', (stored) => {
    const atUs = nowUs()
    for (const { accountId } of stored) lastHour.addEvents(accountId, 1, atUs)
  })

  return {
    observer: {
      started() {},
      ended({ delivery: { webhookId, accountId }, attempted, probe, atUs, waitedUs }) {
        responses.set(webhookId, [atUs, attempted])
        const webhook = { accountId, webhookId }
        if (attempted.outcome.kind === 'delivered') lastHour.addDelivered(webhook, waitedUs, atUs)
        else if (probe) lastHour.addFailedProbe(webhook, atUs)
        else lastHour.addFailedAttempt(webhook, atUs)
      },
      endedUnsent() {},
      webhookRemoved: (webhookId) => void responses.delete(webhookId),
    },
    last(webhookId) {
      const response = responses.get(webhookId)
      return response === undefined ? null : describeResponse(response[0], response[1])
    },
  }
}

function describeResponse(atUs: number, { outcome, durationMs }: Attempted): LastResponse {
  return { at: rfc3339(atUs), status: statusOf(outcome), error: failureOf(outcome), duration_ms: durationMs }
}

/** Combines several observers of the dispatcher into one. */
export function observers(...all: readonly Observer[]): Observer {
  return {
    started(item, waitedUs) {
      for (const one of all) one.started(item, waitedUs)
    },
    ended(attempt) {
      for (const one of all) one.ended(attempt)
    },
    endedUnsent(count, state) {
      for (const one of all) one.endedUnsent(count, state)
    },
    webhookRemoved(webhookId) {
      for (const one of all) one.webhookRemoved(webhookId)
    },
  }
}
