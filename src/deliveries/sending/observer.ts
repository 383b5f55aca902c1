import type { TurnAttempted } from '../../flows/flows.ts'
import type { Log } from '../../lib/log.ts'
import type { DeliveryState } from '../../store/operations/delivery-state.ts'
import type { LoadedDelivery } from '../queue/delivery.ts'

/** An attempt that ended. `waitedUs`: since its schedule began; `url` is redacted for logs. */
type EndedAttempt = {
  readonly delivery: LoadedDelivery
  readonly url: string
  readonly attempted: TurnAttempted
  readonly state: DeliveryState
  readonly probe: boolean
  readonly atUs: number
  readonly waitedUs: number
}

/**
 * Observes the dispatcher, for metrics and the log. Called for every attempt, so it must be quick. `waitedUs`: since
 * the schedule began, so since the event was stored or the delivery was retried by hand. The event itself may have
 * happened hours before: after a reconnect it is reported late.
 */
export type Observer = {
  started(delivery: LoadedDelivery, waitedUs: number): void
  ended(attempt: EndedAttempt): void
  /**
   * `count` deliveries ended without an attempt: they expired while their webhook was down, or its URL left the list.
   */
  endedUnsent(count: number, state: 'failed' | 'cancelled'): void
  /** Its URL has left the list and nothing of it is in flight: data about it can be removed. */
  webhookRemoved(webhookId: number): void
}

export const silent: Observer = {
  started: () => {},
  ended: () => {},
  endedUnsent: () => {},
  webhookRemoved: () => {},
}

/** Combines several observers into one. */
export function combinedObserver(...all: readonly Observer[]): Observer {
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

/** Creates an observer that logs each attempt, so that an event can be followed by its id to each webhook. */
export function newAttemptLog(log: Log): Observer {
  return {
    started() {},
    ended({ delivery, url, attempted, state, probe }) {
      const { uuid, callId, event, webhookId, attemptsMade } = delivery
      const { outcome, durationMs } = attempted
      log.debug(
        {
          call: callId,
          event: uuid,
          name: event,
          webhook: webhookId,
          url,
          ...('status' in outcome ? { status: outcome.status } : {}),
          ...('reason' in outcome ? { reason: outcome.reason } : {}),
          durationMs,
          attempt: attemptsMade,
          ...(probe ? { probe } : {}),
          state,
        },
        'attempt',
      )
    },
    endedUnsent() {},
    webhookRemoved() {},
  }
}
