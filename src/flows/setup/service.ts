import { INVALID } from '../../http/validation.ts'
import { Fault, type FieldError } from '../../lib/fault.ts'
import { valueAt } from '../../lib/json-pointer.ts'
import type { EventRow } from '../../store/operations/log.ts'
import type { Store } from '../../store/store.ts'
import type { TemplateRenderer } from '../../templates/templates.ts'
import { mergedFrom, type PreviewedEvent, previewFlow } from '../flow-preview.ts'
import { joinSecrets, secretMask, separateSecrets } from '../flow-secrets.ts'
import { type Flow, flowOfSteps, type NewFlow } from '../model.ts'
import type { Explaining, PresetDirectoryRequest, PresetRequest } from '../preset.ts'
import { allPresets, presetByName } from '../presets/catalog.ts'
import { createStepRenderer } from '../step-renderer.ts'
import { flowOfPreset, secretParametersOf } from './flow-option.ts'
import { flowErrors } from './flow-rules.ts'
import type { CallPreview, FlowPreset, PresetCheck, PresetTrial, PresetDirectory as ShownDirectory } from './model.ts'
import { type NamedPhone, proposeExtensions } from './proposed-extensions.ts'
import { ADVICE_REFUSED } from './refusal.ts'
import { findSearchError } from './searches.ts'
import { type Asked, createTrialRequests, type Trial } from './trial-request.ts'
import { findWarnings } from './warnings.ts'

/** Tries presets before they are saved: checks the key, lists the users, previews the requests of a call. */
export type SetupService = ReturnType<typeof createSetupService>

type Dependencies = Parameters<typeof createTrialRequests>[0] & {
  readonly webhooks: Pick<Store['webhooks'], 'optionsList'>
  readonly events: Pick<Store['log'], 'eventListOfCall'>
  readonly calls: Pick<Store['calls'], 'callList'>
  /** Returns the phones of an account's PBXs; default: none are known. */
  readonly phones?: (accountId: number) => Promise<readonly NamedPhone[]>
  /** A default body of each kind of event. */
  readonly samples: ReadonlyMap<string, string>
  readonly templates: TemplateRenderer
}

/** The most merged calls whose events a preview reads. */
const MAX_MERGED = 20
/** The most users of one list. */
const MAX_USERS = 1_000

/** Returns the presets as the API shows them. */
export const shownPresets = (): FlowPreset[] =>
  allPresets().map(({ name, title, parameters, events, sources, lookup, tried = null, address = null }) => ({
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
    tried,
    address,
  }))

/** Creates the service. */
export function createSetupService({
  webhooks,
  events,
  calls,
  samples,
  templates,
  exchange,
  authorizer,
  phones = async () => [],
}: Dependencies) {
  const requests = createTrialRequests({ templates, exchange, authorizer })

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

  /** Sends a request of a preset that belongs to no event. */
  async function ask(trial: Trial, { source: _source, answer: _answer, ...request }: PresetRequest): Promise<Asked> {
    const asked = await requests.send(trial, request, { body: NO_EVENT, kept: {} })
    return 'skipped' in asked ? NO_REQUEST : asked
  }

  /** Returns the explanation of a preset's request; `null` if it explains nothing, or fails. */
  async function explain(trial: Trial, given: Explaining | undefined, status: number | null): Promise<string | null> {
    if (given === undefined || status === null) return null
    const { explanation: text, ...request } = given
    const { json: answer, error } = await ask(trial, request)
    if (error !== null) return null
    const { parameters } = trial.flow
    const { explanation } = await templates.render({
      accountId: trial.accountId,
      purpose: 'trying',
      templates: { explanation: { text, escaping: 'none' } },
      data: JSON.stringify({ answer, status, parameters }),
    })
    const explained = 'text' in explanation ? secretMask(trial.secrets)(explanation.text).trim() : ''
    return explained === '' ? null : explained
  }

  return {
    /**
     * Sends the requests of the preset that change nothing: those that show whether the key is right, what its user
     * may do and how long it works, then the searches of its calls. @throws Fault 422 when the preset has none.
     */
    async check(accountId: number, sent: PresetTrial): Promise<PresetCheck> {
      const trial = await trialOf(accountId, sent)
      const { check } = trial.preset
      if (check === null)
        throw invalid([{ path: '/preset', message: 'has nothing to check, since its receiver may be any system' }])
      const { json: _json, kept: _kept, ...asked } = await ask(trial, check)
      const parameters = trial.flow.parameters
      const warnings = await findWarnings(calls, accountId, { preset: trial.preset, parameters })
      const { diagnosis, rights, expiry } = trial.preset
      const { status } = asked
      if (asked.error !== null)
        return { ...asked, error: (await explain(trial, diagnosis, status)) ?? asked.error, warnings }
      const lacking = await explain(trial, rights, status)
      const ending = await explain(trial, expiry, status)
      if (ending !== null) warnings.push(ending)
      return { ...asked, error: lacking ?? (await findSearchError(requests, trial, samples)), warnings }
    },

    /** Reads the users of a CRM. @throws Fault 422 when the preset cannot. */
    async directory(accountId: number, sent: PresetTrial): Promise<ShownDirectory> {
      const trial = await trialOf(accountId, sent)
      const { directory } = trial.preset
      if (directory === null)
        throw invalid([{ path: '/preset', message: 'cannot list users: fill in the map by hand' }])
      const { json, response: _response, kept: _kept, ...asked } = await ask(trial, directory)
      if (asked.error !== null) return { ...asked, users: [] }
      const found = usersIn(json, directory)
      if (found === undefined)
        return { ...asked, users: [], error: `the answer of the CRM has no users: ${ADVICE_REFUSED}` }
      const proposed = proposeExtensions(found, await phones(accountId))
      const users = found.map(({ id, name, extension }) => ({
        id,
        name,
        extension: extension ?? proposed.get(id) ?? null,
      }))
      return { ...asked, users }
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
        {
          path: '/url',
          message:
            'has no flow, so each event is one request: give the kind of one event (event, --event KIND) in place of a call or a recording',
        },
      ])
    // It was checked against the schema before it was stored.
    return flow as NewFlow
  }
}

type PreviewedEvents = Pick<Parameters<typeof previewFlow>[0], 'events' | 'earlierEvents' | 'bodiesOf'>

/** The body for requests that belong to no event. */
const NO_EVENT = '{"time":null,"data":{}}'
const NO_REQUEST: Asked = {
  status: null,
  duration_ms: 0,
  error: 'the preset has no such request for these parameters',
  json: undefined,
  kept: {},
  response: null,
}

const invalid = (errors: readonly FieldError[]): Fault => new Fault('invalid', INVALID, { errors })

/** @throws Fault 422 when requests cannot be joined to the URL. */
function checkUrl(url: string): void {
  if (!/^https?:/i.test(url) || !URL.canParse(url))
    throw invalid([{ path: '/url', message: 'must be an absolute http: or https: URL' }])
}

/** Returns the users in an answer; `undefined` without a list. JSON-RPC puts the answer in an envelope. */
function usersIn(
  json: unknown,
  { items, id, name, extension, logins = [] }: PresetDirectoryRequest,
): (ShownDirectory['users'][number] & { names: string[] })[] | undefined {
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
    const names = [parts.join(' '), ...logins.map((pointer) => textAt(pointer) ?? '')]
    return [{ id: key, name: parts.join(' ') || key, extension: known === '' ? null : known, names }]
  })
}
