import type { Tx } from '../db/mutation.ts'
import type { Log } from '../lib/log.ts'
import type { Observer } from './observer.ts'
import { readReceiver } from './receiver-store.ts'

/** Each attempt in the log, so that an event can be followed by its id to each receiver. */
export function newJournal(log: Log, read: Tx): Observer {
  /** A webhook's URL never changes: another URL is another webhook. */
  const urls = new Map<number, string>()
  const urlOf = (webhookId: number): string => {
    const url = urls.get(webhookId) ?? readReceiver(read, webhookId, 0)?.target.plain ?? ''
    urls.set(webhookId, url)
    return url
  }
  return {
    started() {},
    ended({ uuid, callId, event, webhookId, attemptsMade }, { outcome, durationMs }, state, probe) {
      log.debug(
        {
          call: callId,
          event: uuid,
          name: event,
          webhook: webhookId,
          url: urlOf(webhookId),
          ...('reason' in outcome ? { reason: outcome.reason } : { status: outcome.status }),
          durationMs,
          attempt: attemptsMade,
          ...(probe ? { probe } : {}),
          state,
        },
        'attempt',
      )
    },
    dropped() {},
    left: (webhookId) => void urls.delete(webhookId),
  }
}
