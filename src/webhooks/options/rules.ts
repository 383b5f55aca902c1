import { findValueError } from '../../events/filter.ts'
import { flowErrors, hasCredentials, headerErrors, requestAuthorizationErrors } from '../../flows/flows.ts'
import type { FieldError } from '../../lib/fault.ts'
import { objectOf } from '../../lib/foreign-json.ts'
import { pointerPart } from '../../lib/json-pointer.ts'
import { isMqttUrl } from '../../outbound/mqtt-url.ts'
import { bodyPresetOf, PRESET_NAMES, type PresetName } from './body-presets.ts'
import { tlsErrors } from './tls.ts'

/** Checks rules of options that the schema cannot express. Called before the schema has accepted the body. */
export function optionsRule(body: unknown): FieldError[] {
  const given = objectOf(body)
  const withCredentials = hasCredentials(given.url)
  return [
    ...headerErrors(given.headers, { pointer: '/headers', withCredentials }),
    ...filterErrors(given.filter),
    ...bodyErrors(given.body),
    ...flowErrors(given.flow, { url: given.url, body: given.body, withCredentials }),
    ...requestAuthorizationErrors(given.authorization, {
      url: given.url,
      flow: given.flow,
      headers: given.headers,
      withCredentials,
    }),
    ...tlsErrors(given.tls, given.url),
    ...discoveryErrors(given.discovery, given.url),
  ]
}

/** Names the values of a filter with which no event is sent. */
const filterErrors = (filter: unknown): FieldError[] =>
  Object.entries(objectOf(filter)).flatMap(([key, values]) =>
    (Array.isArray(values) ? values : []).flatMap((value: unknown, at) => {
      const message = typeof value === 'string' ? findValueError(key, value) : undefined
      return message === undefined ? [] : [{ path: `/filter/${pointerPart(key)}/${at}`, message }]
    }),
  )

function discoveryErrors(discovery: unknown, url: unknown): FieldError[] {
  if (discovery === undefined || discovery === null || typeof url !== 'string' || isMqttUrl(url)) return []
  return [{ path: '/discovery', message: 'needs a URL with mqtt: or mqtts:' }]
}

const isPreset = (name: unknown): name is PresetName => PRESET_NAMES.some((one) => one === name)

export function bodyErrors(value: unknown): FieldError[] {
  if (typeof value !== 'object' || value === null) return []
  const { preset, template, parameters, content_type } = objectOf(value)
  if (preset === undefined && template === undefined)
    return [{ path: '/body', message: 'must have a preset or a template' }]
  if (preset === undefined)
    return parameters === undefined ? [] : [{ path: '/body/parameters', message: 'are only allowed with a preset' }]
  const errors: FieldError[] = []
  if (template !== undefined) errors.push({ path: '/body/template', message: 'cannot be combined with a preset' })
  if (content_type !== undefined) errors.push({ path: '/body/content_type', message: 'comes from the preset' })
  if (!isPreset(preset)) return errors
  const wanted = Object.keys(bodyPresetOf(preset).parameters)
  const given = Object.keys(objectOf(parameters))
  for (const name of wanted.filter((one) => !given.includes(one)))
    errors.push({ path: `/body/parameters/${name}`, message: `is missing: ${bodyPresetOf(preset).parameters[name]}` })
  for (const name of given.filter((one) => !wanted.includes(one)))
    errors.push({ path: `/body/parameters/${name}`, message: `is not a parameter of ${preset}` })
  return errors
}
