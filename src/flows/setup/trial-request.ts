import { foreignJsonOf } from '../../lib/foreign-json.ts'
import type { Exchange, Exchanged } from '../../outbound/exchange.ts'
import type { TemplateRenderer } from '../../templates/templates.ts'
import type { TrialAuthorizer } from '../authorizer.ts'
import { judge } from '../flow-machine.ts'
import { secretMask, secretsOfHeaders } from '../flow-secrets.ts'
import { type Flow, type Kept, MAX_ANSWER_BYTES, STEP_DEFAULTS, type Step } from '../model.ts'
import type { Preset } from '../preset.ts'
import { createStepRenderer, type StepData } from '../step-renderer.ts'
import { joinStepUrl } from '../step-url.ts'
import type { PresetAnswer } from './model.ts'
import { reasonOf } from './refusal.ts'

/** A preset with its parameters, for a URL that may not be in the list. */
export type Trial = {
  readonly accountId: number
  readonly url: string
  readonly preset: Preset
  readonly flow: Flow
  readonly secrets: readonly string[]
}

/** The outcome of a request. `kept` are the values that its step keeps; `json` is the answer, where it is JSON. */
export type Asked = PresetAnswer & { readonly json: unknown; readonly kept: Kept }

/** A request of a preset whose condition is not met sends nothing. */
type NotAsked = { readonly skipped: true }

export type TrialRequests = {
  /** Sends a request. Never rejects. `data`: for its templates. */
  send(trial: Trial, request: Partial<Step>, data: Pick<StepData, 'body' | 'kept'>): Promise<Asked | NotAsked>
}

type Dependencies = {
  readonly templates: TemplateRenderer
  readonly exchange: Exchange
  readonly authorizer: TrialAuthorizer
}

const TIMEOUT_MS = 10_000
const UNAUTHORIZED = 401
const NO_CONTENT = 204
const MAX_RESPONSE_CHARACTERS = 4_096

/** Creates the sender of a preset's requests before its parameters are saved. */
export function createTrialRequests({ templates, exchange, authorizer }: Dependencies): TrialRequests {
  /** Sends a joined request with the authorization of its flow, renewed once. `hide` gets each secret header. */
  async function exchangeOf(
    { accountId, url, flow }: Trial,
    request: Pick<Parameters<Exchange>[0], 'url' | 'method' | 'headers' | 'body'>,
    hide: (headers: Readonly<Record<string, string>>) => void,
  ): Promise<Exchanged | { readonly problem: string }> {
    const { authorization, origins, parameters } = flow
    const send = (authorized: string | undefined) =>
      exchange({
        ...request,
        headers: authorized === undefined ? request.headers : { ...request.headers, authorization: authorized },
        maxAnswerBytes: MAX_ANSWER_BYTES,
        timeoutMs: TIMEOUT_MS,
      })
    if (authorization === null) return await send(undefined)
    const webhook = { accountId, url, authorization, origins, parameters }
    const authorized = await authorizer.authorizeTrial(webhook, null)
    if (!('header' in authorized))
      return { problem: `${authorized.reason}. Compare the client and its secrets with those that the CRM shows` }
    hide({ authorization: authorized.header })
    const exchanged = await send(authorized.header)
    if (exchanged.status !== UNAUTHORIZED) return exchanged
    const renewed = await authorizer.authorizeTrial(webhook, authorized.header)
    if (!('header' in renewed)) return exchanged
    hide({ authorization: renewed.header })
    return await send(renewed.header)
  }

  return {
    async send(trial, request, { body, kept }) {
      const { accountId, url, preset, flow } = trial
      const hidden = [...trial.secrets]
      const masked = (text: string) => secretMask(hidden)(text)
      const failed = (error: string): Asked => ({
        status: null,
        duration_ms: 0,
        error: masked(error),
        json: undefined,
        kept: {},
        response: null,
      })
      const whole = { ...STEP_DEFAULTS, ...request }
      const data = { body, kept, merged: [], parameters: flow.parameters }
      const rendered = await createStepRenderer(templates, { accountId, purpose: 'trying' }).request(whole, data)
      if ('skipped' in rendered) return { skipped: true }
      if ('problem' in rendered) return failed(rendered.problem)
      const joined = joinStepUrl(url, rendered.request.url, flow.origins)
      if ('problem' in joined) return failed(joined.problem)
      const headers: Record<string, string> = { accept: 'application/json', ...rendered.request.headers }
      hidden.push(...secretsOfHeaders(rendered.request.headers))
      if (rendered.request.body !== null) headers['content-type'] = whole.content_type
      const exchanged = await exchangeOf(
        trial,
        { url: joined.url, method: whole.method, headers, body: rendered.request.body },
        (secret) => hidden.push(...secretsOfHeaders(secret)),
      )
      if ('problem' in exchanged) return failed(exchanged.problem)
      const json = foreignJsonOf(exchanged.text)
      const { status } = exchanged
      const judged = status === null ? undefined : judge(whole, { status, json }, false)
      // A page for people at a wrong URL is answered with 200, too.
      const isDone = judged?.verdict === 'done' && (json !== undefined || status === NO_CONTENT || status !== 200)
      return {
        status,
        duration_ms: Math.round(exchanged.durationMs),
        error: isDone ? null : reasonOf(exchanged, json, { masked, own: preset.advice ?? {} }),
        json,
        kept: isDone ? judged.kept : {},
        response: exchanged.text === null ? null : masked(exchanged.text.slice(0, MAX_RESPONSE_CHARACTERS)),
      }
    },
  }
}
