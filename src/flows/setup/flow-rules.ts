import { lazyValidator } from '../../http/validation.ts'
import type { FieldError } from '../../lib/fault.ts'
import { objectOf } from '../../lib/foreign-json.ts'
import { pointerPart } from '../../lib/json-pointer.ts'
import { textProblem } from '../../lib/text.ts'
import type { AllowList } from '../../outbound/address-guard.ts'
import { literalRefusal } from '../../outbound/literal-address.ts'
import { headerErrors } from '../header-rules.ts'
import { NewAuthorization, NewFlow, type NewStep } from '../model.ts'
import type { Preset, PresetParameter } from '../preset.ts'
import { presetByName } from '../presets/catalog.ts'
import { urlTemplateProblem } from '../step-url.ts'

/** The fields beside a flow, not checked yet. */
type Beside = { readonly url: unknown; readonly body: unknown; readonly withCredentials: boolean }

const validator = lazyValidator(NewFlow)
const authorizationValidator = lazyValidator(NewAuthorization)
const FLOW = '/flow'
const AUTHORIZATION = '/authorization'
const WITH_CREDENTIALS = 'cannot be combined with a user and password in the URL'

/** Returns the errors of a flow that its schema cannot express. Called before the schema has accepted the flow. */
export function flowErrors(flow: unknown, beside: Beside): FieldError[] {
  if (flow === undefined || flow === null) return []
  const errors: FieldError[] = []
  if (beside.body !== undefined && beside.body !== null)
    errors.push({ path: FLOW, message: 'cannot be combined with `body`: each step has its own' })
  if (typeof beside.url === 'string' && /^mqtts?:/i.test(beside.url))
    errors.push({ path: FLOW, message: 'needs a URL with http: or https:' })
  if (!validator().Check(flow)) return errors
  const { steps, preset } = flow
  if (steps === undefined && preset === undefined) errors.push({ path: FLOW, message: 'must have steps or a preset' })
  if (preset !== undefined) errors.push(...presetErrors(preset, flow))
  else if (steps !== undefined) errors.push(...stepsErrors({ ...flow, steps }, beside))
  return errors
}

/**
 * Returns the errors of the authorization of a webhook without a flow that its schema cannot express. Called before the
 * schema has accepted it.
 */
export function requestAuthorizationErrors(
  authorization: unknown,
  { url, flow, headers, withCredentials }: Omit<Beside, 'body'> & { readonly flow: unknown; readonly headers: unknown },
): FieldError[] {
  if (authorization === undefined || authorization === null) return []
  const path = AUTHORIZATION
  const errors: FieldError[] = []
  if (flow !== undefined && flow !== null)
    errors.push({ path, message: 'cannot be combined with `flow`: a flow has its own' })
  if (typeof url === 'string' && /^mqtts?:/i.test(url))
    errors.push({ path, message: 'needs a URL with http: or https:' })
  if (withCredentials) errors.push({ path, message: WITH_CREDENTIALS })
  if (Object.keys(objectOf(headers)).some((name) => name.toLowerCase() === 'authorization'))
    errors.push({ path, message: 'cannot be combined with a header `authorization`' })
  if (!authorizationValidator().Check(authorization)) return errors
  const context = { url, origins: [], kept: new Set<string>(), hasAuthorization: true, withCredentials }
  return [...errors, ...authorizationErrors(authorization, path, context)]
}

/**
 * Returns the refused literal addresses among the hosts that a checked flow names, or an authorization alone, at
 * `within`; steps and log-ins reach no others but the webhook's own. Names are checked at each request.
 */
export function flowRefusals({ origins = [], authorization }: NewFlow, allow: AllowList, within = FLOW): FieldError[] {
  const named = origins.map((url, at): [path: string, url: string] => [`${within}/origins/${at}`, url])
  const tokenUrl = authorization?.token_url
  if (tokenUrl !== undefined) named.push([`${within}${AUTHORIZATION}/token_url`, tokenUrl])
  return named.flatMap(([path, url]) => {
    const message = literalRefusal(new URL(url), allow)
    return message === undefined ? [] : [{ path, message }]
  })
}

function presetErrors(name: string, flow: NewFlow): FieldError[] {
  const beside = (['steps', 'origins', 'authorization', 'parallel'] as const).filter((one) => flow[one] != null)
  const errors = beside.map((one) => ({ path: `${FLOW}/${one}`, message: 'comes from the preset' }))
  const preset = presetByName(name)
  if (preset === undefined)
    return [
      ...errors,
      {
        path: `${FLOW}/preset`,
        message: 'is not a preset of this version: GET /integration/webhook/preset lists them',
      },
    ]
  return [...errors, ...parameterErrors(preset, flow.parameters ?? {})]
}

/** The most characters of a parameter, and entries of a map. */
const MAX_PARAMETER_CHARACTERS = 4_096
const MAX_MAP_ENTRIES = 1_000
/** The most characters of a wrong text that its error repeats. */
const MAX_SHOWN = 40

function parameterErrors(
  { name, parameters, oneOf = [] }: Preset,
  given: Readonly<Record<string, unknown>>,
): FieldError[] {
  const known = new Map(parameters.map((one) => [one.name, one]))
  const surplus = Object.keys(given).filter((one) => !known.has(one))
  return [
    ...surplus.map((one) => ({ path: `${FLOW}/parameters/${one}`, message: `is not a parameter of ${name}` })),
    ...parameters.flatMap((one) => {
      const path = `${FLOW}/parameters/${one.name}`
      const message = parameterProblem(one, given[one.name])
      return message === undefined ? textErrors(one, given[one.name], path) : [{ path, message }]
    }),
    ...(oneOf.length === 0 || oneOf.some((set) => set.every((one) => isGiven(given[one])))
      ? []
      : [{ path: `${FLOW}/parameters`, message: `must have ${oneOf.map((set) => set.join(' and ')).join(', or ')}` }]),
  ]
}

/** `null` keeps a stored secret. */
const isGiven = (value: unknown): boolean => value !== undefined && (typeof value !== 'string' || value.trim() !== '')

/** Returns the errors of the texts of a parameter, by its form and for everyone. An empty text counts as absent. */
function textErrors({ form }: PresetParameter, value: unknown, path: string): FieldError[] {
  if (value === undefined || value === null || value === '') return []
  const texts =
    typeof value === 'object'
      ? Object.entries(value).map(([key, text]) => ({ path: `${path}/${pointerPart(key)}`, key, text: String(text) }))
      : [{ path, key: '', text: String(value) }]
  return texts.flatMap(({ path, key, text }) => {
    const isWrong = form !== undefined && !form.pattern.test(text)
    const message = isWrong
      ? `${form.sentence}, not ${JSON.stringify(text.slice(0, MAX_SHOWN))}`
      : textProblem(`${key}${text}`)
    return message === undefined ? [] : [{ path, message }]
  })
}

function parameterProblem(parameter: PresetParameter, value: unknown): string | undefined {
  const { type, required, title, choices = [] } = parameter
  if (value === undefined) return required && parameter.default === null ? `is missing: ${title}` : undefined
  // Keeps the stored secret; whether there is one shows when the options are stored.
  if (value === null && type === 'secret') return undefined
  if (value === null) return required && parameter.default === null ? `is missing: ${title}` : undefined
  switch (type) {
    case 'text':
    case 'secret':
      if (typeof value !== 'string') return 'must be a string'
      if (value.trim() === '' && required) return `is missing: ${title}`
      return value.length > MAX_PARAMETER_CHARACTERS
        ? `may have ${MAX_PARAMETER_CHARACTERS} characters at most`
        : undefined
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'must be true or false'
    case 'choice':
      return choices.some((one) => one.value === value)
        ? undefined
        : `must be one of ${choices.map((one) => one.value).join(', ')}`
    case 'map':
      return mapProblem(value)
    default:
      return type satisfies never
  }
}

function mapProblem(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'must be an object'
  const entries = Object.entries(value)
  if (entries.length > MAX_MAP_ENTRIES) return `may have ${MAX_MAP_ENTRIES} entries at most`
  const fits = (text: unknown) => typeof text === 'string' && text.length <= MAX_PARAMETER_CHARACTERS
  return entries.every(([key, text]) => fits(key) && fits(text)) ? undefined : 'must have strings as values'
}

type FlowOfSteps = NewFlow & { readonly steps: readonly NewStep[] }

function stepsErrors(flow: FlowOfSteps, { url, withCredentials }: Beside): FieldError[] {
  const { steps, origins = [], authorization } = flow
  const hasAuthorization = authorization != null
  const kept = new Set(
    steps.flatMap(({ keep = {}, when = [] }) => [keep, ...when.map((rule) => rule.keep ?? {})].flatMap(Object.keys)),
  )
  const context: StepContext = { url, origins, kept, hasAuthorization, withCredentials }
  const names = steps.map(({ name }) => name)
  return [
    ...origins.flatMap((origin, at) =>
      isOrigin(origin)
        ? []
        : [{ path: `${FLOW}/origins/${at}`, message: 'must be like https://api.example.com, without a path' }],
    ),
    ...steps.flatMap((step, at) => [
      ...(names.indexOf(step.name) < at
        ? [{ path: `${FLOW}/steps/${at}/name`, message: 'is the name of another step' }]
        : []),
      ...stepErrors(step, `${FLOW}/steps/${at}`, context),
      ...againErrors(steps, at),
    ]),
    ...(hasAuthorization ? authorizationErrors(authorization, `${FLOW}${AUTHORIZATION}`, context) : []),
    ...(hasAuthorization && withCredentials ? [{ path: `${FLOW}${AUTHORIZATION}`, message: WITH_CREDENTIALS }] : []),
  ]
}

/** A repetition begins again at an earlier step, which every event that begins the step has to begin, too. */
function againErrors(steps: readonly NewStep[], at: number): FieldError[] {
  const { again = null, on = [], when = [] } = steps[at] ?? {}
  const targets = [
    { path: 'again', again },
    ...when.map(({ step = null }, rule) => ({ path: `when/${rule}/step`, again: step })),
  ]
  return targets.flatMap((target) => {
    if (target.again === null) return []
    const path = `${FLOW}/steps/${at}/${target.path}`
    const earlier = steps.slice(0, at).find(({ name }) => name === target.again)
    if (earlier === undefined) return [{ path, message: 'must be the name of an earlier step' }]
    const lacking = on.filter((event) => !earlier.on.includes(event))
    if (lacking.length === 0) return []
    return [{ path, message: `must be a step that also has ${lacking.join(', ')} in its \`on\`` }]
  })
}

const isOrigin = (text: string): boolean =>
  /^https:\/\/[^/?#\\@\s]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text.toLowerCase()

type StepContext = {
  readonly url: unknown
  readonly origins: readonly string[]
  /** The names of all values that some step keeps. */
  readonly kept: ReadonlySet<string>
  readonly hasAuthorization: boolean
  readonly withCredentials: boolean
}
type AnyStep = Omit<NewStep, 'name' | 'on'> & Partial<Pick<NewStep, 'on'>>

function stepErrors(step: AnyStep, pointer: string, context: StepContext): FieldError[] {
  const { url, origins, kept, hasAuthorization } = context
  const { on, upload = null, body = null, method = 'POST', needs = [], when = [], again = null } = step
  const errors: FieldError[] = [
    ...headerErrors(step.headers, {
      pointer: `${pointer}/headers`,
      withCredentials: context.withCredentials || hasAuthorization,
      areTemplates: true,
    }),
  ]
  const add = (path: string, message: string) => errors.push({ path: `${pointer}${path}`, message })
  const urlProblem = typeof url === 'string' ? urlTemplateProblem(step.url ?? '', url, origins) : undefined
  if (urlProblem !== undefined) add('/url', urlProblem)
  if (upload !== null) {
    if (on === undefined || on.some((event) => event !== 'recording_saved'))
      add('/upload', 'is possible only for recording_saved')
    if (body !== null) add('/body', 'cannot be combined with an upload, which is the body')
    if (/^(GET|DELETE)$/.test(method)) add('/method', 'must be POST, PUT or PATCH: the recording is the body')
  } else if (method === 'GET' && body !== null) add('/body', 'cannot be sent with GET')
  for (const [at, name] of needs.entries()) if (!kept.has(name)) add(`/needs/${at}`, 'is kept by no step')
  for (const [at, rule] of when.entries()) {
    if (rule.status === undefined && rule.pointer === undefined) add(`/when/${at}`, 'must have a status or a pointer')
    if (rule.values !== undefined && rule.pointer === undefined) add(`/when/${at}/values`, 'belong to a pointer')
    if (rule.then === 'again' && again === null && rule.step === undefined)
      add(`/when/${at}/then`, 'needs `step` or `again`, the step at which to begin')
    if (rule.then !== 'again' && rule.step !== undefined) add(`/when/${at}/step`, 'belongs to `again`')
    if (rule.then === 'renew' && !hasAuthorization) add(`/when/${at}/then`, 'needs an authorization to renew')
  }
  return errors
}

const OAUTH2 = ['token_url', 'client_id', 'client_secret', 'refresh_token', 'scope'] as const
const LOGIN = ['request', 'token', 'expires_in', 'header'] as const
const REQUIRED = {
  oauth2: ['token_url', 'client_id', 'client_secret'],
  login: ['request', 'token', 'expires_in'],
} as const

const TOKEN_URL = /^https?:\/\/[^/\\?#\s@]+([/?][^\s\\]*)?$/i

function authorizationErrors(given: NewAuthorization, pointer: string, context: StepContext): FieldError[] {
  const surplus = (given.kind === 'oauth2' ? LOGIN : OAUTH2).filter((name) => given[name] !== undefined)
  const missing = REQUIRED[given.kind].filter((name) => given[name] === undefined)
  const errors = [
    ...surplus.map((name) => ({ path: `${pointer}/${name}`, message: `does not belong to ${given.kind}` })),
    ...missing.map((name) => ({ path: `${pointer}/${name}`, message: 'is missing' })),
  ]
  const { token_url: tokenUrl, request } = given
  const isTokenUrl = (text: string) => TOKEN_URL.test(text) && URL.canParse(text)
  if (tokenUrl !== undefined && !isTokenUrl(tokenUrl))
    errors.push({ path: `${pointer}/token_url`, message: 'must be an absolute http: or https: URL' })
  if (request === undefined) return errors
  const unknown = (['if', 'each', 'upload', 'again', 'keep', 'needs', 'when'] as const).filter(
    (name) => request[name] !== undefined,
  )
  return [
    ...errors,
    ...unknown.map((name) => ({
      path: `${pointer}/request/${name}`,
      message: 'is not allowed in the request of a login',
    })),
    ...stepErrors({ ...request, upload: null }, `${pointer}/request`, { ...context, hasAuthorization: false }),
  ]
}
