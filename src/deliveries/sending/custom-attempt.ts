import type { AuthorizedWebhook } from '../../flows/flows.ts'
import type { ClientTls } from '../../outbound/client-tls.ts'
import type { Attempted } from '../../outbound/outcome.ts'
import type { Signer } from '../../outbound/signature.ts'
import { NOTHING_TO_SEND } from '../../store/operations/log.ts'
import type { WebhookOptionsRecord } from '../../store/operations/webhooks.ts'
import {
  type AccountTemplates,
  type BodyRenderer,
  clientTlsOf,
  createBodyRenderer,
  type RenderedBody,
  requestAuthorizationOf,
  topicOfEvent,
} from '../../webhooks/webhooks.ts'
import type { Attempt, Request } from './attempt.ts'

/** How the requests to a webhook differ from the default: its own headers, body, token and certificates. */
export type CustomRequest = {
  readonly headers: Readonly<Record<string, string>>
  readonly authorization: AuthorizedWebhook | undefined
  readonly tls: ClientTls | undefined
  /** `undefined`: the default body. */
  readonly render: BodyRenderer | undefined
}

/** Returns how the requests to a webhook with these options differ; `undefined`: not at all. */
export function customRequestOf(
  { url, options }: { readonly url: string; readonly options: WebhookOptionsRecord },
  templates: AccountTemplates,
): CustomRequest | undefined {
  const { headers, body } = options
  const tls = clientTlsOf(options)
  const authorization = requestAuthorizationOf(options)
  if (body === null && Object.keys(headers).length === 0 && tls === undefined && authorization === null)
    return undefined
  const { accountId } = templates
  return {
    headers,
    authorization:
      authorization === null ? undefined : { accountId, url, authorization, origins: [], parameters: {}, tls },
    tls,
    render: body === null ? undefined : createBodyRenderer(body, templates),
  }
}

/** The parts of a webhook that its requests are made of. */
type Recipient = {
  readonly id: number
  readonly target: Request['target']
  readonly sign: Signer
  readonly custom: CustomRequest | undefined
  /** A broker keeps the message for later subscribers. */
  readonly retain: boolean
}

/** A request with the default body of an event, before it is signed. */
type Sent = Pick<Request, 'id' | 'timestampS' | 'traceparent' | 'body' | 'group'>

/** Makes an attempt with the request that a webhook gets: the default request, or as its options change it. */
export function attemptFor(attempt: Attempt, webhook: Recipient, sent: Sent): Promise<Attempted> {
  const { target, sign } = webhook
  const { id, timestampS, traceparent, body, group } = sent
  if (webhook.custom !== undefined || target.broker !== undefined) return attemptCustom(attempt, webhook, sent)
  // The common case, thousands of times a second: no further promise, no copy.
  return attempt({ target, id, timestampS, traceparent, signature: sign(id, timestampS, body), body, group })
}

/** Renders the body first, since the signature covers it. The topic is made of the default body. */
async function attemptCustom(attempt: Attempt, webhook: Recipient, sent: Sent): Promise<Attempted> {
  const { target, sign, custom, retain } = webhook
  const { id, timestampS, body } = sent
  const { headers = NO_HEADERS, authorization, tls } = custom ?? {}
  const unsigned = { ...sent, target, headers, authorization, tls }
  const request =
    target.broker === undefined
      ? unsigned
      : { ...unsigned, publication: { webhookId: webhook.id, topic: topicOfEvent(target.broker.topic, body), retain } }
  if (custom?.render === undefined) return await attempt({ ...request, signature: sign(id, timestampS, body) })
  const rendered = await custom.render(body)
  if ('problem' in rendered) return unsent('unrendered', problemOf(rendered))
  const { text, contentType } = rendered
  if (text === '') return unsent('skipped', NOTHING_TO_SEND)
  return await attempt({ ...request, signature: sign(id, timestampS, text), body: text, contentType })
}

const NO_HEADERS = {}

const problemOf = ({ problem, kind }: Extract<RenderedBody, { readonly problem: string }>): string =>
  kind === 'no_json'
    ? `the template: its content type says JSON, but for this event it renders to something else: ${problem}`
    : `the template: ${problem}`

const unsent = (kind: 'skipped' | 'unrendered', reason: string): Attempted => ({
  outcome: { kind, reason },
  durationMs: 0,
  address: null,
  response: null,
})
