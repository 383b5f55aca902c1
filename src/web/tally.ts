import type { Attempted } from '../deliveries/attempt.ts'
import type { Emitter } from '../deliveries/emitter.ts'
import type { Observer } from '../deliveries/observer.ts'
import { failureOf, statusOf } from '../deliveries/schedule.ts'
import { type NowUs, rfc3339, nowUs as wallUs } from '../lib/time.ts'
import { createMinutes, type Minutes } from './minutes.ts'
import type { WebhookHealth } from './model.ts'

export type LastAnswer = NonNullable<WebhookHealth['last']>

/**
 * What the page shows of the deliveries' past: counts for each minute, and the last answer of each webhook. In memory, from the
 * start of the process; it has an entry for a webhook that was sent something, and none else.
 */
export type Tally = {
  readonly observer: Observer
  minutes: Minutes['read']
  last(webhookId: number): LastAnswer | null
}

export type TallyOptions = { emitter: Emitter; nowUs?: NowUs }

export function createTally({ emitter, nowUs = wallUs }: TallyOptions): Tally {
  const minutes = createMinutes()
  const answers = new Map<number, readonly [atUs: number, attempted: Attempted]>()

  emitter.on('stored', (stored) => {
    const atUs = nowUs()
    for (const { accountId } of stored) minutes.events(accountId, 1, atUs)
  })

  return {
    observer: {
      started() {},
      ended({ delivery: { webhookId, accountId }, attempted, atUs, waitedUs }) {
        answers.set(webhookId, [atUs, attempted])
        if (attempted.outcome.kind === 'delivered') minutes.delivered(accountId, waitedUs, atUs)
        else minutes.failed(accountId, atUs)
      },
      dropped() {},
      left: (webhookId) => void answers.delete(webhookId),
    },
    minutes: minutes.read,
    last(webhookId) {
      const held = answers.get(webhookId)
      return held === undefined ? null : shown(held[0], held[1])
    },
  }
}

function shown(atUs: number, { outcome, durationMs }: Attempted): LastAnswer {
  return { at: rfc3339(atUs), status: statusOf(outcome), error: failureOf(outcome), duration_ms: durationMs }
}

/** Several watchers of the dispatcher as one. */
export function observers(...all: readonly Observer[]): Observer {
  return {
    started(item, waitedUs) {
      for (const one of all) one.started(item, waitedUs)
    },
    ended(attempt) {
      for (const one of all) one.ended(attempt)
    },
    dropped(count, state) {
      for (const one of all) one.dropped(count, state)
    },
    left(webhookId) {
      for (const one of all) one.left(webhookId)
    },
  }
}
