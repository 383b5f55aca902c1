import { NOTHING_TO_SEND } from '../../store/operations/log.ts'
import type { WebhookOptionsRecord } from '../../store/operations/webhooks.ts'
import { type AccountTemplates, type BodyRenderer, createBodyRenderer } from '../../webhooks/options/body-renderer.ts'
import type { Signer } from '../../webhooks/signature.ts'
import type { Attempt, Attempted, Request } from './attempt.ts'

/** How the requests to a webhook differ from the default: its own headers and body. */
export type CustomRequest = {
  readonly headers: Readonly<Record<string, string>>
  /** `undefined`: the default body. */
  readonly render: BodyRenderer | undefined
}

/** Returns how the requests to a webhook with these options differ; `undefined`: not at all. */
export function customRequestOf(
  { headers, body }: Pick<WebhookOptionsRecord, 'headers' | 'body'>,
  templates: AccountTemplates,
): CustomRequest | undefined {
  if (body === null && Object.keys(headers).length === 0) return undefined
  return { headers, render: body === null ? undefined : createBodyRenderer(body, templates) }
}

/** The parts of a webhook that its requests are made of. */
type Recipient = {
  readonly target: Request['target']
  readonly sign: Signer
  readonly custom: CustomRequest | undefined
}

/** A request with the default body of an event, before it is signed. */
type Sent = Pick<Request, 'id' | 'timestampS' | 'traceparent' | 'body' | 'group'>

/** Makes an attempt with the request that a webhook gets: the default one, or one that its options have changed. */
export function attemptFor(attempt: Attempt, { target, sign, custom }: Recipient, sent: Sent): Promise<Attempted> {
  const { id, timestampS, traceparent, body, group } = sent
  if (custom !== undefined) return attemptCustom(attempt, { target, sign, custom }, sent)
  // The common case, thousands of times a second: no further promise, no copy.
  return attempt({ target, id, timestampS, traceparent, signature: sign(id, timestampS, body), body, group })
}

/** Renders the body first, since the signature covers it. */
async function attemptCustom(
  attempt: Attempt,
  { target, sign, custom: { headers, render } }: Recipient & { readonly custom: CustomRequest },
  sent: Sent,
): Promise<Attempted> {
  const { id, timestampS, body } = sent
  const request = { ...sent, target, headers }
  if (render === undefined) return await attempt({ ...request, signature: sign(id, timestampS, body) })
  const rendered = await render(body)
  if ('problem' in rendered) return unsent('unrendered', `the template: ${rendered.problem}`)
  const { text, contentType } = rendered
  if (text === '') return unsent('skipped', NOTHING_TO_SEND)
  return await attempt({ ...request, signature: sign(id, timestampS, text), body: text, contentType })
}

const unsent = (kind: 'skipped' | 'unrendered', reason: string): Attempted => ({
  outcome: { kind, reason },
  durationMs: 0,
  address: null,
  response: null,
})
