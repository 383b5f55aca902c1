import type { Emitter, Observer } from '../../deliveries/deliveries.ts'
import type { TurnAttempted } from '../../flows/flows.ts'
import { type NowUs, rfc3339 } from '../../lib/time.ts'
import { type Attempted, failureOf, statusOf } from '../../outbound/outcome.ts'
import type { WebhookHealth } from '../model.ts'
import type { LastHour, WebhookKey } from './last-hour.ts'

export type LastResponse = NonNullable<WebhookHealth['last']>

/**
 * Counts the past for the page: the figures of the last hour, and the last response of each webhook since the start.
 */
export type DeliveryCounts = {
  readonly observer: Observer
  last(webhookId: number): LastResponse | null
  /** Returns the webhooks with a last response, and the ones that got one since the last call. */
  known(): readonly WebhookKey[]
  takeChanged(): readonly WebhookKey[]
}

type DeliveryCountsOptions = { emitter: Emitter; lastHour: LastHour; nowUs: NowUs }

/** Creates empty counts of the past deliveries that the page shows. They are counted through `observer`. */
export function createDeliveryCounts({ emitter, lastHour, nowUs }: DeliveryCountsOptions): DeliveryCounts {
  const responses = new Map<number, { readonly key: WebhookKey; atUs: number; attempted: TurnAttempted | undefined }>()
  let changed = new Map<number, WebhookKey>()

  emitter.on('stored', (stored) => {
    const atUs = nowUs()
    for (const { accountId } of stored) lastHour.addEvents(accountId, 1, atUs)
  })

  return {
    observer: {
      started() {},
      ended({ delivery: { webhookId, accountId }, attempted, state, probe, atUs, waitedUs }) {
        const { kind } = attempted.outcome
        const isEndOfFlow = attempted.turn !== undefined && state === 'delivered'
        // Nothing was asked of the receiver.
        if (kind === 'skipped' && !isEndOfFlow) return
        const known = responses.get(webhookId)
        const webhook = known?.key ?? { accountId, webhookId }
        // The last answer stays: a step that is skipped at the end of a flow asks for none.
        const answered = kind === 'skipped' ? undefined : attempted
        if (known === undefined) responses.set(webhookId, { key: webhook, atUs, attempted: answered })
        else if (answered !== undefined) {
          known.atUs = atUs
          known.attempted = answered
        }
        changed.set(webhookId, webhook)
        // A step that is done delivers nothing yet, and has not failed.
        if (kind === 'advanced' || kind === 'deferred') return
        if (kind === 'delivered' || isEndOfFlow) lastHour.addDelivered(webhook, waitedUs, atUs)
        else if (probe) lastHour.addFailedProbe(webhook, atUs)
        else lastHour.addFailedAttempt(webhook, atUs)
      },
      endedUnsent() {},
      webhookRemoved(webhookId) {
        responses.delete(webhookId)
        changed.delete(webhookId)
      },
    },
    last(webhookId) {
      const response = responses.get(webhookId)
      return response?.attempted === undefined ? null : describeResponse(response.atUs, response.attempted)
    },
    known: () => Array.from(responses.values(), ({ key }) => key),
    takeChanged() {
      const taken = [...changed.values()]
      changed = new Map()
      return taken
    },
  }
}

function describeResponse(atUs: number, { outcome, durationMs }: Attempted): LastResponse {
  return { at: rfc3339(atUs), status: statusOf(outcome), error: failureOf(outcome), duration_ms: durationMs }
}
