import { Fault } from '../../lib/fault.ts'
import { newUuid } from '../../lib/id.ts'
import { type NowUs, rfc3339, SECOND, nowUs as wallUs } from '../../lib/time.ts'
import { TIMEOUT_MS } from '../../outbound/guarded-request.ts'
import { failureOf, type Outcome, statusOf } from '../../outbound/outcome.ts'
import { traceparentOf } from '../../outbound/trace-context.ts'
import type { WebhookRecord } from '../../store/operations/webhooks.ts'
import type { Store } from '../../store/store.ts'
import type { TemplateRenderer } from '../../templates/templates.ts'
import type { Dispatcher } from '../run/dispatcher-run.ts'
import type { Attempt } from '../sending/attempt.ts'
import { attemptFor } from '../sending/custom-attempt.ts'
import { cachedWebhookOf, ownRequestsOf } from '../sending/webhook-cache.ts'
import { type FlowTestOptions, testFlow } from './flow-test.ts'
import type { Tested, TestedFlow } from './model.ts'

type TestRequestOptions = {
  readonly store: Pick<Store, 'accounts' | 'webhooks' | 'queue'>
  readonly attempt: Attempt
  readonly templates: TemplateRenderer
  /** Waits until the limits of the running service allow a request; without it there is no limit. */
  readonly reserve?: Dispatcher['reserve']
  /** Returns whether this process sends the deliveries of an account; without it another one does. */
  readonly isOwner?: (accountId: number) => boolean
  readonly nowUs?: NowUs
  /** Present for a webhook with a flow. */
  readonly flow?: FlowTestOptions
}

/** Sends the test request to a URL of an account; of a flow, if `send` is true. */
export type SendTest = (
  accountId: number,
  url: string,
  how?: { readonly send: boolean },
) => Promise<Tested | TestedFlow>

/** Test requests of an account at a time. */
const MAX_AT_A_TIME = 2

async function sendTo(deps: TestRequestOptions, webhook: WebhookRecord, isSent: boolean): Promise<Tested | TestedFlow> {
  const { store, attempt, templates, reserve, isOwner = () => false, nowUs = wallUs } = deps
  const { accountId } = webhook
  const atUs = nowUs()
  const recipient = cachedWebhookOf(webhook, atUs, ownRequestsOf(webhook, { templates, purpose: 'trying' }))
  const { flow } = recipient
  if (flow !== undefined && deps.flow === undefined) throw new Error('flows cannot be tested here')
  const test = flow === undefined || deps.flow === undefined ? undefined : { options: deps.flow, flow }
  if (test !== undefined && !isSent) return await testFlow(test.options, test.flow, { send: false })
  const account = (await store.accounts.accountGetName(accountId)) ?? null
  const id = newUuid(atUs)
  const time = rfc3339(atUs)
  const body = JSON.stringify({ time, data: { name: 'test', id, account } })
  const timestampS = Math.floor(atUs / SECOND)
  const sent = { id, timestampS, traceparent: traceparentOf(id), body }
  const end = await reserve?.(webhook.id)
  let outcome: Outcome = { kind: 'aborted' }
  try {
    if (test !== undefined) {
      const tested = await testFlow(test.options, test.flow, { send: true })
      if (tested.steps.some(({ status, error }) => status !== null && error === null))
        outcome = { kind: 'delivered', status: 200 }
      return tested
    }
    // A broker must not keep a test in place of the last event.
    const attempted = await attemptFor(attempt, { ...recipient, retain: false }, sent)
    outcome = attempted.outcome
    const { durationMs, response } = attempted
    if (outcome.kind === 'delivered' && !isOwner(accountId))
      await store.queue.ownerRequestAdd({ webhookId: webhook.id, deliveryId: null, nowUs: nowUs() })
    return { status: statusOf(outcome), duration_ms: durationMs, error: failureOf(outcome), response }
  } finally {
    // Frees the place in flight, after an error too.
    end?.(outcome)
  }
}

/**
 * Creates the sender of test requests, at most two per account at a time.
 * @throws Fault 429 above that; 422 when the URL is not in the list.
 */
export function createTestSender(deps: TestRequestOptions): SendTest {
  const running = new Map<number, number>()
  const count = (accountId: number, by: number) => {
    const now = (running.get(accountId) ?? 0) + by
    if (now === 0) running.delete(accountId)
    else running.set(accountId, now)
  }
  return async (accountId, url, { send } = { send: false }) => {
    const webhook = await listedWebhook(deps.store, accountId, url)
    if ((running.get(accountId) ?? 0) >= MAX_AT_A_TIME)
      throw new Fault(
        'too_many_requests',
        `${MAX_AT_A_TIME} test requests are in flight: try again when one has ended.`,
        {
          headers: { 'retry-after': String(TIMEOUT_MS / 1_000) },
        },
      )
    count(accountId, 1)
    try {
      return await sendTo(deps, webhook, send)
    } finally {
      count(accountId, -1)
    }
  }
}

/** @throws Fault 422 when the URL is not in the list. */
async function listedWebhook(
  { webhooks }: TestRequestOptions['store'],
  accountId: number,
  url: string,
): Promise<WebhookRecord> {
  const webhook = await webhooks.webhookGetByUrl(accountId, url)
  if (webhook !== undefined) return webhook
  throw new Fault('invalid', 'This URL is not in the list.', {
    errors: [{ path: '/url', message: 'is not in the list' }],
  })
}
