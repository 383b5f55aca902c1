import { Value } from '@sinclair/typebox/value'
import { errorsOf, INVALID } from '../../http/validation.ts'
import { Fault, type FieldError } from '../../lib/fault.ts'
import { PRESET_NAMES, type PresetName, presetOf } from './body-presets.ts'
import { NewWebhookOptions } from './model.ts'

/**
 * Checks options from another source than a request, such as the command line, and returns them.
 * @throws Fault `invalid` with every error.
 */
export function optionsFrom(value: unknown): NewWebhookOptions {
  const rest = optionsRule(value)
  if (Value.Check(NewWebhookOptions, value) && rest.length === 0) return value
  throw new Fault('invalid', INVALID, { errors: [...errorsOf(Value.Errors(NewWebhookOptions, value)), ...rest] })
}

/** Checks options for what their schema cannot express. It gets the body before the schema has accepted it. */
export function optionsRule(body: unknown): FieldError[] {
  const given = objectOf(body)
  return [...headerErrors(given.headers, hasCredentials(given.url)), ...bodyErrors(given.body)]
}

const objectOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}

/** Names that are ours to set, or that would change how the request is read. */
const REFUSED_HEADERS =
  /^(host|content-.*|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|user-agent|accept-encoding|proxy-.*|webhook-.*|traceparent|tracestate)$/
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/
const VALUE = /^[ -~]*$/

const hasCredentials = (url: unknown): boolean =>
  typeof url === 'string' && URL.canParse(url) && new URL(url).username + new URL(url).password !== ''

/** Escapes a header's name for a JSON pointer (RFC 6901). */
export const pointerTo = (name: string): string => `/headers/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`

function headerErrors(headers: unknown, withCredentials: boolean): FieldError[] {
  const seen = new Set<string>()
  return Object.entries(objectOf(headers)).flatMap(([name, value]) => {
    const lower = name.toLowerCase()
    const isRepeated = seen.has(lower)
    seen.add(lower)
    const message = headerProblem(lower, value, isRepeated, withCredentials)
    return message === undefined ? [] : [{ path: pointerTo(name), message }]
  })
}

function headerProblem(
  name: string,
  value: unknown,
  isRepeated: boolean,
  withCredentials: boolean,
): string | undefined {
  if (!TOKEN.test(name)) return "must have a name of letters, digits and !#$%&'*+.^_`|~-, 100 at most"
  if (REFUSED_HEADERS.test(name)) return 'is a header that cannot be set here'
  if (name === 'authorization' && withCredentials) return 'is made of the user and password that are in the URL'
  if (isRepeated) return 'occurs twice: names are compared without case'
  return typeof value !== 'string' || VALUE.test(value)
    ? undefined
    : 'may have visible ASCII characters and spaces alone'
}

const isPreset = (name: unknown): name is PresetName => PRESET_NAMES.some((one) => one === name)

/** Returns the errors of a body option. */
export function bodyErrors(value: unknown): FieldError[] {
  if (typeof value !== 'object' || value === null) return []
  const { preset, template, parameters, content_type } = objectOf(value)
  if (preset === undefined && template === undefined)
    return [{ path: '/body', message: 'must have a preset or a template' }]
  if (preset === undefined)
    return parameters === undefined ? [] : [{ path: '/body/parameters', message: 'belong to a preset' }]
  const errors: FieldError[] = []
  if (template !== undefined) errors.push({ path: '/body/template', message: 'cannot stand beside a preset' })
  if (content_type !== undefined) errors.push({ path: '/body/content_type', message: 'is that of the preset' })
  if (!isPreset(preset)) return errors
  const wanted = Object.keys(presetOf(preset).parameters)
  const given = Object.keys(objectOf(parameters))
  for (const name of wanted.filter((one) => !given.includes(one)))
    errors.push({ path: `/body/parameters/${name}`, message: `is missing: ${presetOf(preset).parameters[name]}` })
  for (const name of given.filter((one) => !wanted.includes(one)))
    errors.push({ path: `/body/parameters/${name}`, message: `is not a parameter of ${preset}` })
  return errors
}
