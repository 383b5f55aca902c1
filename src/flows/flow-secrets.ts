import { pointerPart } from '../lib/json-pointer.ts'
import type { NewAuthorization, NewFlow, NewStep } from './model.ts'

/**
 * The secrets of a flow: header values, its authorization, and secret parameters of a preset. They are stored beside
 * the flow, which has `null` in their places, so that nothing shows them by mistake. The key of a secret says where it
 * may be used: it is not kept for another step, token URL or preset.
 */
export type Separated = {
  /** The flow with `null` for each secret. */
  readonly flow: NewFlow
  /** Each secret by its key; `null` keeps the stored one. */
  readonly secrets: Readonly<Record<string, string | null>>
  /** The keys whose `null` needs no stored value. */
  readonly optional: readonly string[]
  /** The places of the secrets: JSON pointers into the flow. */
  readonly pointers: Readonly<Record<string, string>>
}

/** One secret of a flow. `isOptional`: `null` without a stored value means no secret. */
type Place = { readonly key: string; readonly pointer: string; readonly isOptional: boolean }
type Replace = (value: string | null, place: Place) => string | null

/**
 * Separates the secrets from a flow. `secretParameters`: the secret parameters of its preset, each with whether it is
 * required.
 */
export function separateSecrets(flow: NewFlow, secretParameters: SecretParameters): Separated {
  const secrets: Record<string, string | null> = {}
  const pointers: Record<string, string> = {}
  const optional: string[] = []
  const without = replaceSecrets(flow, secretParameters, (value, { key, pointer, isOptional }) => {
    secrets[key] = value
    pointers[key] = pointer
    if (isOptional) optional.push(key)
    return null
  })
  return { flow: without, secrets, optional, pointers }
}

/** Puts secrets back into their places in a flow. */
export const joinSecrets = (
  flow: NewFlow,
  secretParameters: SecretParameters,
  secrets: Readonly<Record<string, string>>,
): NewFlow => replaceSecrets(flow, secretParameters, (_, { key }) => secrets[key] ?? null)

/** The secret parameters of a preset, by name. */
export type SecretParameters = readonly { readonly name: string; readonly required: boolean }[]

function replaceSecrets(flow: NewFlow, secretParameters: SecretParameters, replace: Replace): NewFlow {
  const { steps, authorization, parameters, preset } = flow
  return {
    ...flow,
    ...(steps === undefined ? {} : { steps: steps.map((step, at) => inStep(step, at, replace)) }),
    ...(authorization == null ? {} : { authorization: inAuthorization(authorization, replace) }),
    ...(parameters === undefined || preset === undefined
      ? {}
      : { parameters: inParameters(parameters, preset, secretParameters, replace) }),
  }
}

function inHeaders<Value extends string | null>(
  headers: Readonly<Record<string, Value>>,
  { key, pointer }: Omit<Place, 'isOptional'>,
  replace: Replace,
): Record<string, string | null> {
  const place = (name: string) => ({
    key: `${key}/${name.toLowerCase()}`,
    pointer: `${pointer}/${pointerPart(name)}`,
    isOptional: false,
  })
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, replace(value, place(name))]))
}

function inStep(step: NewStep, at: number, replace: Replace): NewStep {
  if (step.headers === undefined) return step
  const place = { key: `steps/${step.name}/headers`, pointer: `/steps/${at}/headers` }
  return { ...step, headers: inHeaders(step.headers, place, replace) }
}

function inAuthorization(given: NewAuthorization, replace: Replace): NewAuthorization {
  const pointer = '/authorization'
  if (given.kind === 'oauth2') {
    const key = `authorization/${given.token_url}/${given.client_id}`
    const { client_secret = null, refresh_token } = given
    const secret = { key: `${key}/client_secret`, pointer: `${pointer}/client_secret`, isOptional: false }
    const refresh = { key: `${key}/refresh_token`, pointer: `${pointer}/refresh_token`, isOptional: true }
    return {
      ...given,
      client_secret: replace(client_secret, secret),
      ...(refresh_token === undefined ? {} : { refresh_token: replace(refresh_token, refresh) }),
    }
  }
  const { request = {} } = given
  const { headers, body } = request
  const key = `authorization/request/${request.url ?? ''}`
  const place = { key: `${key}/headers`, pointer: `${pointer}/request/headers` }
  const ofBody = { key: `${key}/body`, pointer: `${pointer}/request/body`, isOptional: true }
  return {
    ...given,
    request: {
      ...request,
      ...(headers === undefined ? {} : { headers: inHeaders(headers, place, replace) }),
      ...(body === undefined ? {} : { body: replace(body, ofBody) }),
    },
  }
}

function inParameters(
  parameters: Readonly<Record<string, unknown>>,
  preset: string,
  secretParameters: SecretParameters,
  replace: Replace,
): Record<string, unknown> {
  const replaced: Record<string, unknown> = { ...parameters }
  for (const { name, required } of secretParameters) {
    if (!Object.hasOwn(parameters, name)) continue
    const value = parameters[name]
    const place = { key: `parameters/${preset}/${name}`, pointer: `/parameters/${name}`, isOptional: !required }
    replaced[name] = replace(typeof value === 'string' ? value : null, place)
  }
  return replaced
}

/** Shorter secrets are not masked, since they occur in every text. */
const LEAST_CHARACTERS = 4

/** The headers whose values say who asks. */
const CREDENTIALS = /authorization|token|secret|api-?key/i

/** Returns the secrets in headers as they are sent: there one may be encoded, as in Basic authorization. */
export const secretsOfHeaders = (headers: Readonly<Record<string, string>>): string[] =>
  Object.entries(headers).flatMap(([name, value]) =>
    CREDENTIALS.test(name) ? [value, ...value.split(' ').slice(1)] : [],
  )

/** Makes the function that replaces secrets by `***`, also encoded ones. */
export function secretMask(secrets: Iterable<string>): (text: string) => string {
  const spellings = [...secrets]
    .filter(({ length }) => length >= LEAST_CHARACTERS)
    .flatMap((one) => [one, encodeURIComponent(one), JSON.stringify(one).slice(1, -1)])
  // The longest first, since one may be part of another.
  const found = [...new Set(spellings)].toSorted((one, other) => other.length - one.length)
  return (text) =>
    withoutCutSecret(
      found.reduce((rest, one) => rest.replaceAll(one, '***'), text),
      found,
    )
}

/** A long text is cut somewhere: its end may be the first part of a secret. */
function withoutCutSecret(text: string, secrets: readonly string[]): string {
  for (const secret of secrets)
    for (let length = secret.length - 1; length >= LEAST_CHARACTERS; length -= 1)
      if (text.endsWith(secret.slice(0, length))) return `${text.slice(0, -length)}***`
  return text
}
