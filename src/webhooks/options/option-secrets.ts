import {
  type Authorization,
  authorizationOf,
  joinSecrets,
  type NewAuthorization,
  type NewFlow,
  secretParametersOf,
  separateSecrets,
} from '../../flows/flows.ts'
import type { WebhookOptionsRecord } from '../../store/operations/webhooks.ts'
import type { NewWebhookOptions } from './model.ts'
import { separateTls, type TlsOption } from './tls.ts'

/** The options that have secrets, with `null` in their places, and the secrets. */
type SeparatedOptions = {
  readonly flow: NewFlow | null
  readonly authorization: NewAuthorization | null
  readonly tls: TlsOption | null
  /** Each secret by its key; `null` keeps the stored one. */
  readonly secrets: Readonly<Record<string, string | null>>
  /** The keys whose `null` needs no stored value. */
  readonly optional: readonly string[]
  /** The places of the secrets: JSON pointers into the options. */
  readonly pointers: Readonly<Record<string, string>>
}

/** Separates the secrets from options. A flow has an authorization of its own: only one of the two is there. */
export function separateOptionSecrets(sent: NewWebhookOptions): SeparatedOptions {
  const { flow = null, authorization = null } = sent
  const given = flow ?? (authorization === null ? {} : { authorization })
  const separated = separateSecrets(given, secretParametersOf(given))
  const { tls, secret } = separateTls(sent.tls)
  const within = flow === null ? '' : '/flow'
  const pointers = Object.entries(separated.pointers).map(([key, pointer]) => [key, `${within}${pointer}`] as const)
  const ofTls = secret === undefined ? [] : [secret]
  return {
    flow: flow === null ? null : separated.flow,
    authorization: flow === null ? (separated.flow.authorization ?? null) : null,
    tls,
    secrets: { ...separated.secrets, ...Object.fromEntries(ofTls.map(({ key, value }) => [key, value])) },
    optional: separated.optional,
    pointers: Object.fromEntries([...pointers, ...ofTls.map(({ key }) => [key, '/tls/key'] as const)]),
  }
}

/** Returns the authorization of the requests of a webhook without a flow; `null`: none. */
export function requestAuthorizationOf({
  authorization,
  flowSecrets,
}: Pick<WebhookOptionsRecord, 'authorization' | 'flowSecrets'>): Authorization | null {
  if (authorization === null) return null
  // It was checked against the schema before it was stored.
  const stored = authorization as NewAuthorization
  const whole = joinSecrets({ authorization: stored }, [], flowSecrets).authorization
  return whole == null ? null : authorizationOf(whole)
}
