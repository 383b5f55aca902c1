import type { EventFilter } from '../../events/filter.ts'
import type { EventSwitch } from '../../events/kinds.ts'

// The list of an account's webhooks, with the secrets and options of its URLs.

/** A URL of an account's list with its switches. */
export type WebhookEntry = { url: string } & { [name in EventSwitch]: boolean }

export type ListReplacement = {
  readonly accountId: number
  readonly list: readonly WebhookEntry[]
  /** The list is replaced only if its entity tag is one of these; `null`: unconditionally. */
  readonly ifMatch: string | null
  /** One new secret for each entry of the list, used where its URL has none yet. */
  readonly secrets: readonly string[]
  readonly nowUs: number
}

export type SecretRecord = { readonly url: string; readonly secret: string; readonly previousUntilUs: number | null }

/** The options of a URL; `null`: all have their defaults. */
export type ListedOptions = { readonly url: string; readonly options: WebhookOptionsRecord | null }

export type SecretRotation = {
  readonly accountId: number
  readonly url: string
  readonly secret: string
  readonly nowUs: number
  readonly previousUntilUs: number
  /** Ends a secret that still signs beside the present one. */
  readonly force: boolean
}

/** The body of a webhook's requests instead of the default one. */
export type BodyOption =
  | { readonly preset: string; readonly parameters: Readonly<Record<string, string>> }
  | { readonly template: string; readonly contentType: string }

/** A flow as it was sent, without its secrets. */
type FlowOption = Readonly<Record<string, unknown>>

/** An authorization as it was sent, without its secrets. */
type AuthorizationOption = Readonly<Record<string, unknown>>

/** The options of one URL of an account; an absent one has its default. */
export type WebhookOptionsRecord = {
  readonly name: string | null
  readonly paused: boolean
  readonly filter: EventFilter | null
  /** Further request headers: secrets. */
  readonly headers: Readonly<Record<string, string>>
  readonly order: 'first_attempt' | 'strict'
  readonly maxPerSecond: number | null
  readonly body: BodyOption | null
  /** Kinds of event beyond the switches. */
  readonly events: readonly string[]
  /** An MQTT broker keeps the newest message of each topic for later subscribers. */
  readonly retain: boolean
  /** The home automation for which phones, trunks and queues are published at an MQTT broker. */
  readonly discovery: 'homeassistant' | null
  /** Several requests for one event, in place of a body; JSON, with `null` in the place of each secret. */
  readonly flow: FlowOption | null
  /** How the value of the header `authorization` is obtained; JSON, with `null` in the place of each secret. */
  readonly authorization: AuthorizationOption | null
  /** The certificates, in PEM, with which it takes part in TLS handshakes. */
  readonly tls: { readonly certificate: string | null; readonly ca: string | null } | null
  /** The secrets of the flow, of the authorization and of the certificates, by their keys. */
  readonly flowSecrets: Readonly<Record<string, string>>
  /** It shares one pace with the others of its account that have its host and this option. */
  readonly sharePace: boolean
  /** When its last pause ended, in steady time: no delivery is older than this. `null`: it was never paused. */
  readonly resumedSteadyUs: number | null
}

/** Options to store. The value of a header or secret that is `null` stays as it is stored. */
export type OptionsReplacement = {
  readonly accountId: number
  readonly url: string
  readonly options: Omit<WebhookOptionsRecord, 'headers' | 'flowSecrets' | 'resumedSteadyUs'> & {
    readonly headers: Readonly<Record<string, string | null>>
    readonly flowSecrets: Readonly<Record<string, string | null>>
  }
  /** Secrets whose `null` needs no stored value. */
  readonly optionalSecrets?: readonly string[]
  /** Switches that are turned on for every webhook of the URL: its flow needs their events. */
  readonly switchOn?: readonly EventSwitch[]
  /** Wall time. */
  readonly nowUs: number
}

/**
 * `unlisted`: the URL is not in the list. Or the names of headers and keys of secrets that have no stored value: then
 * nothing was changed.
 */
export type OptionsReplaced = WebhookOptionsRecord | 'unlisted' | UnknownSecrets
export type UnknownSecrets = { readonly unknownHeaders: readonly string[]; readonly unknownSecrets: readonly string[] }

/** A webhook as sending to it needs it. */
export type WebhookRecord = {
  readonly id: number
  readonly accountId: number
  readonly url: string
  readonly listed: boolean
  /** Set when the URL left the list: pending deliveries up to this id are still to be cancelled; 0: none. */
  readonly cancelledTo: number
  readonly secret: string | null
  /** The secret before, which signs too until `previousUntilUs` (wall time). */
  readonly previous: string | null
  readonly previousUntilUs: number | null
  /** `null`: all have their defaults. */
  readonly options: WebhookOptionsRecord | null
}

/** An account with a webhook whose flow is this preset. */
export type AccountPreset = { readonly accountId: number; readonly preset: string }

export type AccountVersion = { readonly accountId: number; readonly version: number }

/** A webhook of a list with how many deliveries are pending for it, counted up to 10,000 of each kind. */
export type ListedWebhook = {
  readonly id: number
  readonly url: string
  readonly occurrence: number
  readonly pending: number
}

/** The kept secrets of URLs that left the account's list. */
export const LEFT_SECRETS_KEPT = 1_000

export type WebhookStore = {
  /** Returns an account's list in its order. */
  listGet(accountId: number): Promise<WebhookEntry[]>
  /**
   * Replaces an account's list; returns false and changes nothing if `ifMatch` does not name the current list. A
   * webhook that stays keeps its id; the pending deliveries of one that leaves are to be cancelled
   * (`queue.deliveryCancelUnlisted`).
   */
  listReplace(replacement: ListReplacement): Promise<boolean>
  /** Returns the secret of each URL of the list, in the list's order, each URL once. */
  secretList(accountId: number): Promise<SecretRecord[]>
  /**
   * Gives a URL of the list a new secret; the one before signs too until `previousUntilUs`. Returns `unlisted` if the
   * URL is not in the list, or until when (microseconds) an earlier secret still signs, in which case nothing is
   * changed unless it is forced.
   */
  secretRotate(rotation: SecretRotation): Promise<'rotated' | 'unlisted' | number>
  /** Returns the options of each URL of the list, in the list's order, each URL once. */
  optionsList(accountId: number): Promise<ListedOptions[]>
  /**
   * Replaces the options of a URL of the list. Returns them as they are stored; or `unlisted`, or the headers whose
   * value should stay and that have none: then nothing is changed. Options are kept as long as the URL's secret.
   */
  optionsReplace(replacement: OptionsReplacement): Promise<OptionsReplaced>
  /** Returns the presets of CRMs that the listed webhooks of each account use, each once. */
  webhookListPresets(): Promise<AccountPreset[]>
  /** Returns webhooks by id; ids that are unknown are left out. */
  webhookGetMany(ids: readonly number[]): Promise<WebhookRecord[]>
  /** Returns the first webhook of the list with this URL, or `undefined`. */
  webhookGetByUrl(accountId: number, url: string): Promise<WebhookRecord | undefined>
  /** Returns the webhooks of an account's list in order, with how many deliveries are pending for each. */
  webhookListWithPending(accountId: number): Promise<ListedWebhook[]>
  /**
   * Returns the ids of the webhooks that may have pending deliveries: listed ones, and removed ones whose deliveries
   * are not yet all cancelled.
   */
  webhookListActive(): Promise<number[]>
  /**
   * Returns the version of each account's webhooks, or of `only` one account's: it changes with every change of the
   * list, of a secret or of options.
   */
  webhookListVersions(only?: number): Promise<AccountVersion[]>
  /** Returns a text that changes whenever one of these versions changes, or an account is added or deleted. */
  webhookGetVersionsMark(): Promise<string>
  /** Returns the active webhooks of some accounts, as `webhookListActive` has them. */
  webhookListOfAccounts(accountIds: readonly number[]): Promise<WebhookRecord[]>
}
