import {
  authorizationOf,
  flowErrors,
  flowOfPreset,
  flowPresetOf,
  hasCredentials,
  joinSecrets,
  type NewFlow,
  type Separated,
  STEP_DEFAULTS,
  secretParametersOf,
  separateSecrets,
} from '../flows/flows.ts'
import type { FieldError } from '../lib/fault.ts'
import { objectOf } from '../lib/foreign-json.ts'
import { SPELLINGS } from './look-up.ts'
import type { LookUp } from './look-up-request.ts'
import { DEFAULT_BUDGET_MS, DEFAULT_CACHE_MINUTES, type NewContactSettings } from './model.ts'

/**
 * Settings of a look-up are checked, and separated from their secrets, as a flow with one step: so the rules for
 * headers, URLs, authorization and presets are written once. Pure.
 */

/** Settings in the form in which they are stored, with `null` for each secret. */
export type StoredSettings = {
  readonly settings: NewContactSettings
  readonly secrets: Readonly<Record<string, string>>
}

/** A webhook of the account with the same preset: its URL and parameters are used for the look-up. */
export type PresetWebhook = { readonly url: string; readonly parameters: Readonly<Record<string, unknown>> }

const STEP = 'look_up'
/** A URL whose host is not made by a template: the part before the path, and the rest. */
const TEMPLATE_URL = /^(https?:\/\/[^/?#{}\s\\]+)([/?#][\s\S]*)?$/i
const OF_REQUEST = ['method', 'headers', 'body', 'authorization', 'item', 'fields', 'spellings'] as const

/**
 * Returns the errors of settings that the schema cannot express. Called before the schema has accepted the settings.
 */
export function settingsErrors(given: unknown): FieldError[] {
  if (given === null) return []
  const { url, preset, fields, ...rest } = objectOf(given)
  if (preset !== undefined) {
    const surplus = OF_REQUEST.filter((name) => objectOf(given)[name] != null)
    const errors = surplus.map((name) => ({ path: `/${name}`, message: 'comes from the preset' }))
    if (typeof preset !== 'string') return errors
    return [...errors, ...presetErrors(preset, url, rest.parameters)]
  }
  const errors: FieldError[] = []
  if (rest.parameters !== undefined) errors.push({ path: '/parameters', message: 'are only allowed with a preset' })
  if (fields === undefined)
    errors.push({ path: '/fields', message: 'is missing: give the pointer of at least one field' })
  if (typeof url !== 'string') return url === undefined ? [...errors, { path: '/url', message: 'is missing' }] : errors
  const parts = TEMPLATE_URL.exec(url)
  if (parts === null || !URL.canParse(`${parts[1]}/`))
    return [...errors, { path: '/url', message: 'must be an http: or https: URL without a tag before its path' }]
  return [...errors, ...requestErrors(objectOf(given), url)]
}

function requestErrors(given: Readonly<Record<string, unknown>>, url: string): FieldError[] {
  const { headers, body, authorization } = given
  // Only fields of the right type are checked here; the schema reports the others.
  const flow = {
    steps: [{ name: STEP, on: ['call_started'], ...present({ headers, body }) }],
    ...present({ authorization }),
  }
  const found = flowErrors(flow, { url: baseOf(url), body: null, withCredentials: hasCredentials(baseOf(url)) })
  const method = given.method === 'GET' && body != null ? [{ path: '/body', message: 'cannot be sent with GET' }] : []
  return [...found.map((error) => ({ ...error, path: pathOf(error.path) })), ...method]
}

const present = (fields: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

const pathOf = (path: string): string => path.replace(/^(\/flow)?(\/steps\/0)?/, '')

function presetErrors(name: string, url: unknown, parameters: unknown): FieldError[] {
  const preset = flowPresetOf(name)
  if (preset === undefined)
    return [{ path: '/preset', message: 'is not a preset of this version: GET /integration/webhook/preset lists them' }]
  if (preset.lookup === null) return [{ path: '/preset', message: 'has no look-up' }]
  const errors: FieldError[] = []
  if (typeof url === 'string' && !(TEMPLATE_URL.test(url) && URL.canParse(url)))
    errors.push({ path: '/url', message: 'must be an http: or https: URL' })
  if (url === undefined && parameters === undefined) return errors
  if (url === undefined) errors.push({ path: '/url', message: 'is missing: parameters need a URL' })
  const flow = { preset: name, parameters: parameters ?? {} }
  const found = flowErrors(flow, { url, body: null, withCredentials: false })
  // Parameters that only the preset's steps need are not required.
  const secret = preset.parameters.filter(({ type }) => type === 'secret').map((one) => `/parameters/${one.name}`)
  const own = found
    .map((error) => ({ ...error, path: pathOf(error.path) }))
    .filter(({ path, message }) => !message.startsWith('is missing') || secret.includes(path))
  return [...errors, ...own]
}

const baseOf = (url: string): string => `${TEMPLATE_URL.exec(url)?.[1] ?? ''}/`

/** Returns settings as a flow with the same secrets. */
function flowOf({ headers, authorization, preset, parameters }: NewContactSettings): NewFlow {
  if (preset !== undefined) return { preset, ...(parameters === undefined ? {} : { parameters }) }
  return {
    steps: [{ name: STEP, on: ['call_started'], ...(headers === undefined ? {} : { headers }) }],
    ...(authorization == null ? {} : { authorization }),
  }
}

function settingsWith(settings: NewContactSettings, flow: NewFlow): NewContactSettings {
  const { steps, authorization, parameters } = flow
  const headers = steps?.[0]?.headers
  return {
    ...settings,
    ...(headers === undefined ? {} : { headers }),
    ...(authorization === undefined ? {} : { authorization }),
    ...(parameters === undefined ? {} : { parameters }),
  }
}

/** The place to which a stored secret may be sent: only the host for which it was given. */
const placeOf = ({ url = '', preset }: NewContactSettings): string => `${preset ?? ''} ${baseOf(url)}`

/**
 * Returns settings as they are stored. Each secret that is `null` keeps its stored value; an error names those without
 * one.
 */
export function mergedSettings(
  given: NewContactSettings,
  stored: StoredSettings | null,
): StoredSettings | { readonly errors: readonly FieldError[] } {
  const flow = flowOf(given)
  const separated: Separated = separateSecrets(flow, secretParametersOf(flow))
  const before = stored !== null && placeOf(stored.settings) === placeOf(given) ? stored.secrets : {}
  const secrets: Record<string, string> = {}
  const errors: FieldError[] = []
  for (const [key, value] of Object.entries(separated.secrets)) {
    const kept = value ?? before[key]
    if (kept !== undefined) secrets[key] = kept
    else if (!separated.optional.includes(key))
      errors.push({ path: pathOf(separated.pointers[key] ?? ''), message: 'has no stored value that null could keep' })
  }
  return errors.length > 0 ? { errors } : { settings: settingsWith(given, separated.flow), secrets }
}

/** Returns settings for reading: with their defaults, without secrets. */
export function settingsWithoutSecrets({ settings }: StoredSettings): NewContactSettings {
  const { budget_ms = DEFAULT_BUDGET_MS, cache_minutes = DEFAULT_CACHE_MINUTES, preset, parameters, url } = settings
  if (preset !== undefined)
    return {
      ...present({ url }),
      preset,
      ...(parameters === undefined ? {} : { parameters }),
      budget_ms,
      cache_minutes,
    }
  const { headers = {}, body = null, authorization = null, item = '', fields = {}, spellings } = settings
  return {
    ...present({ url }),
    method: methodOf(settings),
    headers,
    body,
    authorization,
    item,
    fields,
    spellings: spellings ?? [...SPELLINGS],
    budget_ms,
    cache_minutes,
  }
}

const methodOf = ({ method, body = null }: NewContactSettings) => method ?? (body === null ? 'GET' : 'POST')

/**
 * Returns an account's look-up; `undefined` if this version lacks its preset, or its webhook is gone. `webhook`: the
 * webhook of the list with the preset.
 */
export function lookUpOf(
  accountId: number,
  { settings, secrets }: StoredSettings,
  webhook: PresetWebhook | undefined,
): LookUp | undefined {
  const flow = flowOf(settings)
  const whole = joinSecrets(flow, secretParametersOf(flow), secrets)
  if (settings.preset !== undefined) return ofPreset(accountId, { settings, whole, webhook })
  const { url = '', body = null, item = '', fields = {}, spellings = SPELLINGS } = settings
  const rest = TEMPLATE_URL.exec(url)?.[2] ?? '/'
  return {
    accountId,
    url: baseOf(url),
    origins: [],
    parameters: {},
    authorization: whole.authorization == null ? null : authorizationOf(whole.authorization),
    request: {
      ...STEP_DEFAULTS,
      method: methodOf(settings),
      url: rest.startsWith('/') ? rest : `/${rest}`,
      headers: whole.steps?.[0]?.headers ?? {},
      body,
    },
    item,
    fields,
    spellings,
    isOfWebhook: false,
  }
}

type OfPreset = {
  readonly settings: NewContactSettings
  readonly whole: NewFlow
  readonly webhook: PresetWebhook | undefined
}

function ofPreset(accountId: number, { settings, whole, webhook }: OfPreset): LookUp | undefined {
  const preset = flowPresetOf(settings.preset)
  const url = settings.url ?? webhook?.url
  if (preset === undefined || preset.lookup === null || url === undefined) return undefined
  const given = settings.url === undefined ? (webhook?.parameters ?? {}) : (whole.parameters ?? {})
  const { parameters, authorization, origins } = flowOfPreset(preset, given)
  const { item, fault, fields, spellings, page, user, source: _source, answer: _answer, ...request } = preset.lookup
  return {
    accountId,
    url,
    origins,
    parameters,
    authorization,
    request: { ...STEP_DEFAULTS, ...request },
    item: typeof item === 'string' ? item : item(parameters),
    ...(fault === undefined ? {} : { fault }),
    fields,
    spellings,
    ...(page === undefined ? {} : { page: pageFor(page, { url, parameters }) }),
    ...(user === undefined ? {} : { owner: { user, extensions: extensionsOf(preset, parameters) } }),
    isOfWebhook: settings.url === undefined,
  }
}

type PagePlace = Pick<LookUp, 'url' | 'parameters'>

/** Returns the page of a contact with the origin of the CRM. */
const pageFor = (
  page: string | ((parameters: LookUp['parameters']) => string),
  { url, parameters }: PagePlace,
): string => (typeof page === 'string' ? page : page(parameters)).replace('{origin}', new URL(url).origin)

/** Returns the extension of each user: of two extensions of one user the first of the map. */
function extensionsOf(
  { parameters: known }: NonNullable<ReturnType<typeof flowPresetOf>>,
  parameters: LookUp['parameters'],
): ReadonlyMap<string, string> {
  const maps = known.filter(({ type }) => type === 'map').map(({ name }) => parameters[name])
  const pairs = maps.flatMap((map) => (typeof map === 'object' && map !== null ? Object.entries(map) : []))
  return new Map(pairs.toReversed().map(([extension, user]) => [String(user), extension]))
}
