import type { Log } from '../../lib/log.ts'
import type { Observer } from '../sending/observer.ts'

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
