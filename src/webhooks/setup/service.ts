import { INVALID } from '../../http/validation.ts'
import { Fault, type FieldError } from '../../lib/fault.ts'
import { foreignJsonOf } from '../../lib/foreign-json.ts'
import { valueAt } from '../../lib/json-pointer.ts'
import type { EventRow } from '../../store/operations/log.ts'
import type { Store } from '../../store/store.ts'
import type { TrialAuthorizer } from '../flows/authorizer.ts'
import type { Exchange, Exchanged } from '../flows/exchange.ts'
import { judge } from '../flows/flow-machine.ts'
import { mergedFrom, type PreviewedEvent, previewFlow } from '../flows/flow-preview.ts'
import { joinSecrets, secretMask, secretsOfHeaders, separateSecrets } from '../flows/flow-secrets.ts'
import { type Flow, flowOfSteps, MAX_ANSWER_BYTES, type NewFlow, STEP_DEFAULTS } from '../flows/model.ts'
import type { Preset, PresetDirectoryRequest, PresetRequest } from '../flows/preset.ts'
import { createStepRenderer } from '../flows/step-renderer.ts'
import { joinStepUrl } from '../flows/step-url.ts'
import { flowOfPreset, secretParametersOf } from '../options/flow-option.ts'
import { flowErrors } from '../options/flow-rules.ts'
import { FLOW_PRESETS, presetByName } from '../presets/catalog.ts'
import type { TemplateRenderer } from '../templates/renderer.ts'
import type { CallPreview, FlowPreset, PresetCheck, PresetTrial, PresetDirectory as ShownDirectory } from './model.ts'

/** Tries presets before they are saved: checks the key, lists the users, previews the requests of a call. */
export type SetupService = ReturnType<typeof createSetupService>

type Dependencies = {
  readonly webhooks: Pick<Store['webhooks'], 'optionsList'>
  readonly events: Pick<Store['log'], 'eventListOfCall'>
  readonly templates: TemplateRenderer
  readonly exchange: Exchange
  readonly authorizer: TrialAuthorizer
}

const TIMEOUT_MS = 10_000
const UNAUTHORIZED = 401
const MAX_RESPONSE_CHARACTERS = 4_096
const MAX_REASON_CHARACTERS = 500
/** The most merged calls whose events a preview reads. */
const MAX_MERGED = 20
/** The most users of one list. */
const MAX_USERS = 1_000

/** Returns the presets as the API shows them. */
export const shownPresets = (): FlowPreset[] =>
  FLOW_PRESETS.map(({ name, title, parameters, events, sources, lookup }) => ({
    name,
    title,
    parameters: parameters.map(({ choices, form: _form, default: byDefault, ...rest }) => ({
      ...rest,
      default: typeof byDefault === 'object' && byDefault !== null ? { ...byDefault } : byDefault,
      ...(choices === undefined ? {} : { choices: choices.map((one) => ({ ...one })) }),
    })),
    events: [...events],
    sources: [...sources],
    lookup: lookup !== null,
  }))

/** Creates the service. */
export function createSetupService({ webhooks, events, templates, exchange, authorizer }: Dependencies) {
  /** Replaces each `null` by its stored secret. @throws Fault 422 when it is missing. */
  async function withStoredSecrets(accountId: number, url: string, given: NewFlow): Promise<NewFlow> {
    const secretParameters = secretParametersOf(given)
    const { secrets, optional, pointers, flow } = separateSecrets(given, secretParameters)
    const wanted = Object.entries(secrets).filter(([, value]) => value === null)
    if (wanted.length === 0) return given
    const listed = await webhooks.optionsList(accountId)
    const stored = listed.find((one) => one.url === url)?.options?.flowSecrets ?? {}
    const missing = wanted.map(([key]) => key).filter((key) => stored[key] === undefined && !optional.includes(key))
    if (missing.length > 0)
      throw invalid(
        missing.map((key) => ({ path: pointers[key] ?? '', message: 'has no stored value that null could keep' })),
      )
    const all = Object.entries(secrets).map(([key, value]) => [key, value ?? stored[key]] as const)
    return joinSecrets(
      flow,
      secretParameters,
      Object.fromEntries(all.flatMap(([key, value]) => (value === undefined ? [] : [[key, value]]))),
    )
  }

  async function trialOf(accountId: number, { url, preset: name, parameters = {} }: PresetTrial): Promise<Trial> {
    checkUrl(url)
    const preset = presetByName(name)
    if (preset === undefined)
      throw invalid([
        { path: '/preset', message: 'is not a preset of this version: GET /integration/webhook/preset lists them' },
      ])
    const given = await withStoredSecrets(accountId, url, { preset: name, parameters })
    const flow = flowOfPreset(preset, given.parameters ?? {})
    const secretNames = secretParametersOf(given).map((one) => one.name)
    const secrets = secretNames.map((one) => flow.parameters[one]).filter((one) => typeof one === 'string')
    return { accountId, url, preset, flow, secrets }
  }

  /** Sends one request of a preset. */
  async function ask({ accountId, url, preset, flow, secrets }: Trial, request: PresetRequest): Promise<Asked> {
    const hidden = [...secrets]
    const masked = (text: string) => secretMask(hidden)(text)
    const failed = (error: string): Asked => ({
      status: null,
      duration_ms: 0,
      error: masked(error),
      json: undefined,
      response: null,
    })
    const { source: _source, answer: _answer, ...step } = request
    const whole = { ...STEP_DEFAULTS, ...step }
    const data = { body: NO_EVENT, kept: {}, merged: [], parameters: flow.parameters }
    const rendered = await createStepRenderer(templates, { accountId, purpose: 'trying' }).request(whole, data)
    if ('skipped' in rendered) return failed('the preset has no such request for these parameters')
    if ('problem' in rendered) return failed(rendered.problem)
    const joined = joinStepUrl(url, rendered.request.url, flow.origins)
    if ('problem' in joined) return failed(joined.problem)
    const headers: Record<string, string> = { accept: 'application/json', ...rendered.request.headers }
    hidden.push(...secretsOfHeaders(rendered.request.headers))
    if (rendered.request.body !== null) headers['content-type'] = whole.content_type
    const { authorization, origins, parameters } = flow
    const send = (authorized: string | undefined) =>
      exchange({
        url: joined.url,
        method: whole.method,
        headers: authorized === undefined ? headers : { ...headers, authorization: authorized },
        body: rendered.request.body,
        maxAnswerBytes: MAX_ANSWER_BYTES,
        timeoutMs: TIMEOUT_MS,
      })
    let exchanged: Exchanged
    if (authorization === null) exchanged = await send(undefined)
    else {
      const webhook = { accountId, url, authorization, origins, parameters }
      const authorized = await authorizer.authorizeTrial(webhook, null)
      if (!('header' in authorized))
        return failed(`${authorized.reason}. Compare the client and its secrets with those that the CRM shows`)
      hidden.push(...secretsOfHeaders({ authorization: authorized.header }))
      exchanged = await send(authorized.header)
      if (exchanged.status === UNAUTHORIZED) {
        const renewed = await authorizer.authorizeTrial(webhook, authorized.header)
        if ('header' in renewed) {
          hidden.push(...secretsOfHeaders({ authorization: renewed.header }))
          exchanged = await send(renewed.header)
        }
      }
    }
    const json = foreignJsonOf(exchanged.text)
    const isDone =
      exchanged.status !== null &&
      judge(whole, { status: exchanged.status, json }, false).verdict === 'done' &&
      // A page for people at a wrong URL is answered with 200, too.
      json !== undefined
    return {
      status: exchanged.status,
      duration_ms: Math.round(exchanged.durationMs),
      error: isDone ? null : reasonOf(exchanged, json, { masked, own: preset.advice ?? {} }),
      json,
      response: exchanged.text === null ? null : masked(exchanged.text.slice(0, MAX_RESPONSE_CHARACTERS)),
    }
  }

  return {
    /** Sends the preset's request that changes nothing. @throws Fault 422 when the preset has none. */
    async check(accountId: number, sent: PresetTrial): Promise<PresetCheck> {
      const trial = await trialOf(accountId, sent)
      const { check } = trial.preset
      if (check === null)
        throw invalid([{ path: '/preset', message: 'has nothing to check, since its receiver may be any system' }])
      const { json: _json, ...asked } = await ask(trial, check)
      return asked
    },

    /** Reads the users of a CRM. @throws Fault 422 when the preset cannot. */
    async directory(accountId: number, sent: PresetTrial): Promise<ShownDirectory> {
      const trial = await trialOf(accountId, sent)
      const { directory } = trial.preset
      if (directory === null)
        throw invalid([{ path: '/preset', message: 'cannot list users: fill in the map by hand' }])
      const { json, response: _response, ...asked } = await ask(trial, directory)
      if (asked.error !== null) return { ...asked, users: [] }
      const users = usersIn(json, directory)
      return users === undefined
        ? { ...asked, users: [], error: `the answer of the CRM has no users: ${ADVICE_REFUSED}` }
        : { ...asked, users }
    },

    /**
     * Returns the requests that a call would have caused.
     * @throws Fault 404 when no event of the call is kept; 422 when the URL has no flow, or the given one is wrong.
     */
    async preview(
      accountId: number,
      { url, call_id, flow }: { url: string; call_id: string; flow?: NewFlow },
    ): Promise<CallPreview> {
      const rows = await events.eventListOfCall(accountId, call_id)
      if (rows.length === 0)
        throw new Fault('not_found', 'No event of this call is stored: its id is wrong, or its events were deleted.')
      const asEvents = rows.map(({ name, body }) => ({ name, callId: call_id, body }))
      const bodiesOf = async (callId: string) =>
        (await events.eventListOfCall(accountId, callId)).map(({ body }) => body)
      return this.previewEvents(accountId, {
        url,
        events: asEvents,
        earlierEvents: await eventsOfMerged(accountId, call_id, rows),
        bodiesOf,
        ...(flow === undefined ? {} : { flow }),
      })
    },

    /** Returns the requests that events would cause. @throws Fault 422 when the URL has no flow. */
    async previewEvents(
      accountId: number,
      { url, flow, ...previewed }: { url: string; flow?: NewFlow } & PreviewedEvents,
    ): Promise<CallPreview> {
      checkUrl(url)
      const errors = flowErrors(flow, { url, body: null, withCredentials: false })
      if (errors.length > 0) throw invalid(errors)
      const given = await withStoredSecrets(accountId, url, flow ?? (await storedFlow(accountId, url)))
      const preset = given.preset === undefined ? undefined : presetByName(given.preset)
      const whole: Flow = preset === undefined ? flowOfSteps(given) : flowOfPreset(preset, given.parameters ?? {})
      const { secrets } = separateSecrets(given, secretParametersOf(given))
      const { steps, truncated } = await previewFlow({
        ...previewed,
        flow: whole,
        answers: new Map(preset?.steps.map(({ name, answer }) => [name, answer])),
        webhookUrl: url,
        secrets: Object.values(secrets).filter((one) => one !== null),
        renderer: createStepRenderer(templates, { accountId, purpose: 'trying' }),
        // A preset's documented answers are known.
        areValuesAssumed: preset === undefined,
      })
      return {
        steps: steps.map((one) => ({
          ...one,
          headers: [...one.headers],
          answer: one.answer === null ? null : { ...one.answer },
        })),
        truncated,
      }
    },
  }

  /** Returns the events of the calls that were merged into a call, directly or through another one, by time. */
  async function eventsOfMerged(accountId: number, callId: string, rows: readonly EventRow[]) {
    const read = new Set([callId])
    const found: (PreviewedEvent & { readonly atUs: number })[] = []
    const waiting = rows.slice(-1).flatMap(({ body }) => mergedFrom(body))
    for (let id = waiting.shift(); id !== undefined && read.size <= MAX_MERGED; id = waiting.shift()) {
      if (read.has(id)) continue
      read.add(id)
      const ofMerged = await events.eventListOfCall(accountId, id)
      for (const { name, body, atUs } of ofMerged) found.push({ name, callId: id, body, atUs })
      waiting.push(...ofMerged.slice(-1).flatMap(({ body }) => mergedFrom(body)))
    }
    return found.sort((one, other) => one.atUs - other.atUs)
  }

  async function storedFlow(accountId: number, url: string): Promise<NewFlow> {
    const listed = await webhooks.optionsList(accountId)
    const stored = listed.find((one) => one.url === url)
    if (stored === undefined) throw invalid([{ path: '/url', message: 'is not in the list' }])
    const flow = stored.options?.flow ?? null
    if (flow === null)
      throw invalid([
        { path: '/url', message: 'has no flow: its requests are those of POST /integration/webhook/preview' },
      ])
    // It was checked against the schema before it was stored.
    return flow as NewFlow
  }
}

type Trial = {
  readonly accountId: number
  readonly url: string
  readonly preset: Preset
  readonly flow: Flow
  readonly secrets: readonly string[]
}
type PreviewedEvents = Pick<Parameters<typeof previewFlow>[0], 'events' | 'earlierEvents' | 'bodiesOf'>
type Asked = PresetCheck & { readonly json: unknown }

/** The body for requests that belong to no event. */
const NO_EVENT = '{"time":null,"data":{}}'

const invalid = (errors: readonly FieldError[]): Fault => new Fault('invalid', INVALID, { errors })

/** @throws Fault 422 when requests cannot be joined to the URL. */
function checkUrl(url: string): void {
  if (!/^https?:/i.test(url) || !URL.canParse(url))
    throw invalid([{ path: '/url', message: 'must be an absolute http: or https: URL' }])
}

/** The usual mistakes, by the answer's status. */
const ADVICE: Readonly<Record<number, string>> = {
  401: 'the key is wrong, has expired, or belongs to another account: make a new one',
  402: 'the plan of the CRM does not include its API',
  403: 'the key has no permission for this: give its user or application the permissions in the guide',
  404: 'the URL is wrong: compare it with the guide',
  405: 'the URL is wrong: compare it with the guide',
  429: 'too many requests: wait a minute',
}
const ADVICE_REDIRECT = 'the URL leads to another one: compare it with the guide'
const ADVICE_WRONG_URL = 'the URL is that of its web pages: compare it with the guide'
const ADVICE_REFUSED = 'compare the key, its user and the URL with the guide'

/** Where CRMs put the text of an error. */
const WORDS = [
  '/error_description',
  '/error/data/message',
  '/error/message',
  '/message',
  '/detail',
  '/title',
  '/error',
  '/errors/0/message',
  '/data/0/message',
  '/error/code',
  '/category',
  '/code',
]

/** `own`: the preset's advice, by the answer's status. */
type Explaining = { readonly masked: (text: string) => string; readonly own: Readonly<Record<number, string>> }

/** Returns the CRM's own explanation of an error, and what to do about it. */
function reasonOf({ status, failure, text }: Exchanged, json: unknown, { masked, own }: Explaining): string {
  // The refusal of an address says what to do.
  if (status === null && failure?.includes('--allow-net')) return failure
  if (status === null) return `${failure ?? 'no answer'}: is the URL right, and reachable from here?`
  const isSuccess = status >= 200 && status < 300
  const isPage = json === undefined && /^\s*</.test(text ?? '')
  const words = WORDS.map((pointer) => valueAt(json, pointer)).find((one) => typeof one === 'string' && one !== '')
  // The JSON of a success has no error to show.
  const said = masked(String(words ?? (isPage || isSuccess ? '' : (text ?? ''))).slice(0, MAX_REASON_CHARACTERS))
  const answer = `the CRM answered ${status}${isPage ? ' with a web page' : ''}`
  const advice = isSuccess
    ? json === undefined
      ? ADVICE_WRONG_URL
      : (own[status] ?? ADVICE_REFUSED)
    : status < 400
      ? ADVICE_REDIRECT
      : (own[status] ?? ADVICE[status])
  const refusal = isSuccess && json !== undefined ? `${answer}, but with an error` : answer
  return [`${refusal}${said === '' ? '' : `: ${said}`}`, ...(advice === undefined ? [] : [advice])].join('. ')
}

/** Returns the users in an answer; `undefined` without a list. JSON-RPC puts the answer in an envelope. */
function usersIn(
  json: unknown,
  { items, id, name, extension }: PresetDirectoryRequest,
): ShownDirectory['users'] | undefined {
  const body = valueAt(json, '/jsonrpc') === undefined ? json : valueAt(json, '/result')
  const list = valueAt(body, items)
  if (!Array.isArray(list)) return undefined
  return list.slice(0, MAX_USERS).flatMap((user: unknown) => {
    const textAt = (pointer: string): string | null => {
      const value = valueAt(user, pointer)
      return typeof value === 'string' || typeof value === 'number' ? String(value) : null
    }
    const key = textAt(id)
    if (key === null) return []
    const parts = name.map(textAt).filter((part) => part !== null && part !== '')
    const known = extension === undefined ? null : textAt(extension)
    return [{ id: key, name: parts.join(' ') || key, extension: known === '' ? null : known }]
  })
}
