import type { NowUs } from '../../lib/time.ts'
import { NOTHING_TO_SEND } from '../../store/operations/log.ts'
import type { WebhookOptionsRecord } from '../../store/operations/webhooks.ts'
import { createRenderer, type RenderBudget, type Renderer } from '../../webhooks/options/body-renderer.ts'
import { TemplateError } from '../../webhooks/options/body-template.ts'
import type { Signer } from '../../webhooks/signature.ts'
import type { Attempt, Attempted, Request } from './attempt.ts'

/** How the requests to a webhook differ from the default: its own headers and body. */
export type CustomRequest = {
  readonly headers: Readonly<Record<string, string>>
  /** `undefined`: the default body. */
  readonly render: Renderer | undefined
}

/** Returns how the requests to a webhook with these options differ; `undefined`: not at all. */
export function customRequestOf(
  { headers, body }: Pick<WebhookOptionsRecord, 'headers' | 'body'>,
  steadyUs: NowUs,
  budget: RenderBudget,
): CustomRequest | undefined {
  if (body === null && Object.keys(headers).length === 0) return undefined
  return { headers, render: body === null ? undefined : rendererOf(body, steadyUs, budget) }
}

type Head = Pick<Request, 'target' | 'id' | 'timestampS' | 'traceparent' | 'group'>
type Parts = { readonly body: string; readonly sign: Signer }

/** Makes an attempt with the request that a webhook gets: the default one, or one that its options have changed. */
export function attemptFor(
  attempt: Attempt,
  request: Head,
  { body, sign, custom }: Parts & { readonly custom: CustomRequest | undefined },
): Promise<Attempted> {
  if (custom !== undefined) return attemptCustom(attempt, request, { body, sign, custom })
  // No promise of its own: of thousands of attempts a second nearly all are this one.
  return attempt({ ...request, signature: sign(request.id, request.timestampS, body), body })
}

/** The signature covers what is sent. */
async function attemptCustom(
  attempt: Attempt,
  request: Head,
  { body, sign, custom: { headers, render } }: Parts & { readonly custom: CustomRequest },
): Promise<Attempted> {
  const { id, timestampS } = request
  if (render === undefined) return await attempt({ ...request, signature: sign(id, timestampS, body), body, headers })
  try {
    const { text, contentType } = render(body)
    if (text === '') return unsent('skipped', NOTHING_TO_SEND)
    return await attempt({ ...request, signature: sign(id, timestampS, text), body: text, contentType, headers })
  } catch (error) {
    if (error instanceof TemplateError) return unsent('unrendered', `the template: ${error.message}`)
    throw error
  }
}

const unsent = (kind: 'skipped' | 'unrendered', reason: string): Attempted => ({
  outcome: { kind, reason },
  durationMs: 0,
  address: null,
  response: null,
})

/** Returns the renderer of a body. A template that can no longer be read fails each attempt, with the reason. */
function rendererOf(body: NonNullable<WebhookOptionsRecord['body']>, steadyUs: NowUs, budget: RenderBudget): Renderer {
  try {
    return createRenderer(body, steadyUs, budget)
  } catch (error) {
    return () => {
      throw error
    }
  }
}
