import { findLackingKey } from '../../events/filter.ts'
import { EVENT_KINDS, type EventKind, type EventSwitch, SWITCH_NAMES } from '../../events/kinds.ts'
import {
  createStepRenderer,
  type Flow,
  flowOfSteps,
  flowPresetOf,
  flowProblems,
  flowRefusals,
  type NewFlow,
  pointerTo,
  presetIsGone,
  type StepEvent,
  stepOf,
} from '../../flows/flows.ts'
import { INVALID } from '../../http/validation.ts'
import { Fault, type FieldError } from '../../lib/fault.ts'
import { type NowUs, rfc3339, SECOND, nowUs as wallUs } from '../../lib/time.ts'
import type { AllowList } from '../../outbound/address-guard.ts'
import type { BodyOption, WebhookOptionsRecord } from '../../store/operations/webhooks.ts'
import type { Store } from '../../store/store.ts'
import { DEFAULT_OPTIONS } from '../../store/webhook-options.ts'
import type { TemplateRenderer } from '../../templates/templates.ts'
import { createBodyRenderer, type RenderedBody } from './body-renderer.ts'
import type { NewWebhookOptions, Preview, PreviewRequest, WebhookBody, WebhookOptions } from './model.ts'
import { separateOptionSecrets } from './option-secrets.ts'
import { tlsProblem } from './tls.ts'

export type OptionsService = ReturnType<typeof createOptionsService>

type Dependencies = {
  readonly webhooks: Store['webhooks']
  /** Absent: options show no problem of an authorization. */
  readonly authorizations?: Pick<Store['authorizations'], 'authorizationProblemList'>
  /** A default body of each kind of event. */
  readonly samples: ReadonlyMap<string, string>
  /** Returns the networks that flows may reach besides the internet. */
  readonly allow: () => AllowList | Promise<AllowList>
  /** Called after every change. */
  readonly onChanged?: (accountId: number) => void
  readonly templates: TemplateRenderer
  /** Returns the presets that other nodes have: a webhook that uses one is sent by them. Default: none. */
  readonly presetsElsewhere?: (() => Promise<readonly string[]>) | undefined
  readonly nowUs?: NowUs
}

const UNLISTED: FieldError = { path: '/url', message: 'is not in the list' }
const NOT_KEPT = 'has no stored value that null could keep'
const NO_KEY = 'is missing: no key of this certificate is stored'
const NOT_KEPT_FOR_ORIGINS = `${NOT_KEPT}: with a further origin in \`origins\` each has to be sent again`
const JSON_TYPE = 'application/json'
const DEFAULT_EVENT = 'call_started'

/** Creates the service for the options of the URLs of an account. */
export function createOptionsService({
  webhooks,
  authorizations,
  samples,
  allow,
  onChanged = () => {},
  templates,
  presetsElsewhere = async () => [],
  nowUs = wallUs,
}: Dependencies) {
  /** The presets of the start. */
  const startedUs = nowUs()

  /**
   * Renders a body with the sample of every kind of event.
   * @throws Fault 422 when one fails or is not the required JSON; 429 when the account has tried too many slow
   * templates.
   */
  async function tried(accountId: number, body: BodyOption): Promise<ReadonlyMap<string, Text>> {
    const render = createBodyRenderer(body, { templates, accountId, purpose: 'trying' })
    const events = [...samples.keys()]
    const rendered = await Promise.all(Array.from(samples.values(), render))
    return new Map(rendered.map((one, at) => [events[at] ?? '', textOf(one, events[at] ?? '')]))
  }

  /** @throws Fault 422 when a template of a step does not work with the samples of its events. */
  async function triedFlow(accountId: number, url: string, flow: Flow): Promise<void> {
    const renderer = createStepRenderer(templates, { accountId, purpose: 'trying' })
    const errors = await flowProblems(flow, { url, renderer, samples })
    if (errors.length > 0) throw invalid(errors)
  }

  /** Returns the events that a URL of the list gets. */
  async function eventsOf(accountId: number, url: string): Promise<readonly string[]> {
    const entry = (await webhooks.listGet(accountId)).find((one) => one.url === url)
    const options = (await webhooks.optionsList(accountId)).find((one) => one.url === url)?.options
    return [...SWITCH_NAMES.filter((name) => entry?.[name] === true), ...(options?.events ?? [])]
  }

  /** Returns why the webhook of a URL does not get events of a kind; `null` if it does. @throws Fault 422. */
  async function notSent(accountId: number, url: string, event: EventKind): Promise<string | null> {
    const found = (await webhooks.optionsList(accountId)).find((one) => one.url === url)
    if (found === undefined) throw invalid([UNLISTED])
    const { obeys } = EVENT_KINDS[event]
    const asked = await eventsOf(accountId, url)
    const start = 'this event is not sent to this webhook, because'
    if (!asked.includes(obeys ?? event))
      return `${start} ${obeys === null ? `its \`events\` do not name ${event}` : `its switch ${obeys} is off`}`
    const key = found.options?.filter == null ? undefined : findLackingKey(found.options.filter, event)
    return key === undefined ? null : `${start} its filter has \`${key}\`, which ${event} does not have`
  }

  return {
    /** Returns why the webhook of a URL does not get events of a kind; `null` if it does. @throws Fault 422. */
    notSent,
    /** Returns the options of each URL, in the order of the list. */
    async list(accountId: number): Promise<WebhookOptions[]> {
      const listed = await webhooks.optionsList(accountId)
      const problems = (await authorizations?.authorizationProblemList(accountId)) ?? []
      const presetOf = (options: WebhookOptionsRecord | null) => (options?.flow as NewFlow | null | undefined)?.preset
      const isUnknown = (preset: string | undefined) => preset !== undefined && flowPresetOf(preset) === undefined
      const elsewhere = listed.some(({ options }) => isUnknown(presetOf(options))) ? await presetsElsewhere() : []
      return listed.map(({ url, options }) => {
        const isAuthorized = options?.flow != null || options?.authorization != null
        const found = isAuthorized ? problems.find((problem) => problem.url === url) : undefined
        const preset = presetOf(options)
        const isGone = isUnknown(preset) && !elsewhere.some((one) => one === preset)
        const problem = isGone
          ? { since: rfc3339(startedUs), message: presetIsGone(preset ?? '') }
          : found
            ? { since: rfc3339(found.sinceUs), message: found.message }
            : tlsProblem(options?.tls ?? null, nowUs())
        return { ...shown(url, options ?? DEFAULT_OPTIONS), ...(problem && { problem }) }
      })
    },

    /**
     * Replaces the options of a URL. A preset switches on the events that it needs: `switchedOn` has those that were
     * off. @throws Fault 422 when the URL is not in the list, one of its templates does not work, or
     * its flow names a refused address.
     */
    async replace(accountId: number, sent: NewWebhookOptions): Promise<Replaced> {
      const { url } = sent
      const given = sent.flow ?? null
      const separated = separateOptionSecrets(sent)
      // Checked first, since the steps of the flow are joined to this URL.
      if (!URL.canParse(url)) throw invalid([UNLISTED])
      const { authorization = null } = sent
      const refusals = [
        ...(given === null ? [] : flowRefusals(given, await allow())),
        ...(authorization === null ? [] : flowRefusals({ authorization }, await allow(), '')),
      ]
      if (refusals.length > 0) throw invalid(refusals)
      const needed = given === null ? [] : (flowPresetOf(given.preset)?.events ?? [])
      const options = recordOf(sent, separated, needed)
      if (options.body !== null) await tried(accountId, options.body)
      if (given?.steps !== undefined) await triedFlow(accountId, url, flowOfSteps(given))
      const before = needed.length === 0 ? [] : await eventsOf(accountId, url)
      const replaced = await webhooks.optionsReplace({
        accountId,
        url,
        options,
        optionalSecrets: separated.optional,
        switchOn: needed.filter(isSwitch),
        nowUs: nowUs(),
      })
      if (replaced === 'unlisted') throw invalid([UNLISTED])
      const notKept = given?.origins?.length ? NOT_KEPT_FOR_ORIGINS : NOT_KEPT
      if ('unknownHeaders' in replaced)
        throw invalid(
          [
            ...replaced.unknownHeaders.map((name) => pointerTo(name)),
            ...replaced.unknownSecrets.map((key) => separated.pointers[key] ?? ''),
          ].map((path) => ({ path, message: path === '/tls/key' ? NO_KEY : notKept })),
        )
      onChanged(accountId)
      return { options: shown(url, replaced), switchedOn: needed.filter((event) => !before.includes(event)) }
    },

    /** Returns the body that a receiver would get for an event. @throws Fault 422 when the template does not work. */
    async preview(accountId: number, { event = DEFAULT_EVENT, body = null, url }: PreviewRequest): Promise<Preview> {
      const not_sent = url === undefined ? null : await notSent(accountId, url, event)
      const sample = samples.get(event)
      if (sample === undefined) throw invalid([{ path: '/event', message: 'has no sample' }])
      const option = bodyOf(body)
      if (option === null) return { content_type: JSON_TYPE, body: sample, not_sent }
      const { contentType = JSON_TYPE, text = '' } = (await tried(accountId, option)).get(event) ?? {}
      return { content_type: contentType, body: text, not_sent }
    },
  }
}

type Text = { readonly contentType: string; readonly text: string }

/** @throws Fault when the body of an event could not be rendered. */
function textOf(rendered: RenderedBody, event: string): Text {
  if (!('problem' in rendered)) return rendered
  const { problem, kind } = rendered
  if (kind === 'busy') {
    const headers = { 'retry-after': String(Math.max(1, Math.ceil(rendered.afterUs / SECOND))) }
    throw new Fault('too_many_requests', `The template ${problem}.`, { headers })
  }
  const message =
    kind === 'no_json'
      ? `must render to JSON, as its content type says, but does not for ${event}: ${problem}`
      : problem
  throw invalid([{ path: '/body/template', message }])
}

const invalid = (errors: readonly FieldError[]): Fault => new Fault('invalid', INVALID, { errors })

type Sent = Parameters<Store['webhooks']['optionsReplace']>[0]['options']

/** The stored options, and the events that were switched on. */
type Replaced = { readonly options: WebhookOptions; readonly switchedOn: readonly StepEvent[] }

const isSwitch = (event: StepEvent): event is EventSwitch => SWITCH_NAMES.some((name) => name === event)

/** Returns the row of the given options, with defaults for the others. `needed`: the events that the flow needs. */
function recordOf(
  sent: NewWebhookOptions,
  { flow, authorization, tls, secrets }: ReturnType<typeof separateOptionSecrets>,
  needed: readonly StepEvent[],
): Sent {
  const { filter = null, body = null } = sent
  return {
    name: sent.name ?? null,
    paused: sent.paused ?? false,
    filter: filter === null || Object.keys(filter).length === 0 ? null : filter,
    headers: sent.headers ?? {},
    order: sent.order ?? 'first_attempt',
    maxPerSecond: sent.max_per_second ?? null,
    body: bodyOf(body),
    retain: sent.retain ?? false,
    discovery: sent.discovery ?? null,
    events: [...new Set([...(sent.events ?? []), ...needed.filter((event) => !isSwitch(event))])],
    flow,
    authorization,
    tls,
    flowSecrets: secrets,
    sharePace: sent.share_pace ?? false,
  }
}

function bodyOf(body: WebhookBody | null): BodyOption | null {
  if (body === null) return null
  const { preset, parameters = {}, template = '', content_type: contentType = JSON_TYPE } = body
  return preset === undefined ? { template, contentType } : { preset, parameters }
}

function shown(url: string, options: WebhookOptionsRecord): WebhookOptions {
  const {
    maxPerSecond,
    headers,
    body,
    filter,
    events,
    flow,
    authorization,
    tls,
    sharePace,
    resumedSteadyUs: _,
    flowSecrets: __,
    ...rest
  } = options
  return {
    url,
    ...rest,
    filter: filter as WebhookOptions['filter'],
    headers: Object.fromEntries(Object.keys(headers).map((name) => [name, null])),
    max_per_second: maxPerSecond,
    body: body === null ? null : shownBody(body),
    events: [...events] as WebhookOptions['events'],
    flow: flow === null ? null : shownFlow(flow as NewFlow),
    authorization: authorization as WebhookOptions['authorization'],
    tls: tls === null ? null : { ...tls, key: null },
    share_pace: sharePace,
  }
}

/** Returns a flow with its defaults and without secrets; for a preset, its name and parameters. */
function shownFlow(stored: NewFlow): NewFlow {
  if (stored.preset !== undefined) return { preset: stored.preset, parameters: stored.parameters ?? {} }
  const { steps = [], origins = [], authorization = null, parameters = {} } = stored
  const { parallel } = flowOfSteps(stored)
  return { steps: steps.map(stepOf), origins, authorization, parallel, parameters }
}

function shownBody(body: BodyOption): WebhookBody {
  if ('template' in body) return { template: body.template, content_type: body.contentType }
  const { preset, parameters } = body
  return { preset: preset as NonNullable<WebhookBody['preset']>, parameters: { ...parameters } }
}
