import { FURTHER_NAMES, forSwitches, SWITCH_NAMES } from '../../../events/kinds.ts'
import type { FieldError } from '../../../lib/fault.ts'
import { isMqttUrl } from '../../../outbound/mqtt-url.ts'
import type { NewWebhookOptions } from '../../../webhooks/webhooks.ts'
import { CHAT_EVENTS, choicesOf, type EventChoice } from './event-choices.ts'
import { findFormErrors, formOf, type OptionsForm, optionsOf } from './options-form.ts'
import type { Webhook, WebhookOptions } from './resources.ts'

/** One webhook as its drawer edits it: its entry in the list, and its options. Pure. */
export type WebhookForm = {
  readonly url: string
  readonly chosen: readonly EventChoice[]
  readonly options: OptionsForm
  /** Why its receiver refuses the authorization of its requests; read only. */
  readonly problem?: string
}

/** Where a new webhook leads. */
export type WebhookKind = 'address' | 'crm' | 'chat' | 'mqtt'

/** The chats that a new webhook may lead to: the preset of its body, its name, and what its address looks like. */
export const CHATS = [
  ['slack', 'Slack', 'https://hooks.slack.com/services/…'],
  ['teams', 'Microsoft Teams', 'https://….environment.api.powerplatform.com/…'],
  ['mattermost', 'Mattermost', 'https://chat.example.com/hooks/…'],
  ['discord', 'Discord', 'https://discord.com/api/webhooks/…'],
  ['telegram', 'Telegram', 'https://api.telegram.org/bot<token>/sendMessage'],
] as const

const NO_OPTIONS: Omit<WebhookOptions, 'url'> = {
  name: null,
  paused: false,
  filter: null,
  headers: {},
  order: 'first_attempt',
  max_per_second: null,
  body: null,
  events: [],
  retain: false,
  discovery: null,
  flow: null,
  authorization: null,
  tls: null,
  share_pace: false,
}

/** Returns the form of a new webhook of a kind, with the address that was typed already. */
export function newWebhookForm(kind: WebhookKind, url = ''): WebhookForm {
  const options = formOf({ url, ...NO_OPTIONS })
  if (kind === 'chat') return { url, chosen: CHAT_EVENTS, options: { ...options, body: 'slack' } }
  return { url, chosen: SWITCH_NAMES, options }
}

/** Returns the form of a stored webhook. */
export function webhookFormOf(webhook: Webhook, options: WebhookOptions): WebhookForm {
  const { problem } = options
  const form = { url: webhook.url, chosen: choicesOf(webhook, options.events), options: formOf(options) }
  return problem === undefined ? form : { ...form, problem: problem.message }
}

/** Returns the entry of the list that a form describes. */
export const webhookOf = ({ url, chosen }: WebhookForm): Webhook => ({
  url: url.trim(),
  ...forSwitches((name) => chosen.includes(name)),
})

/** Returns the options that a form describes. */
export function webhookOptionsOf({ url, chosen, options }: WebhookForm): NewWebhookOptions {
  return optionsOf(url.trim(), { ...options, events: FURTHER_NAMES.filter((name) => chosen.includes(name)) })
}

/** Returns the errors that the API would not find, or would find only after another change was saved. */
export function findWebhookErrors(form: WebhookForm, storedUrl: string | null): FieldError[] {
  const url = form.url.trim()
  const errors = findFormErrors(form.options)
  if (!/^https?:\/\/./i.test(url) && !isMqttUrl(url))
    errors.unshift({
      path: '/url',
      message: 'Give an address that begins with https://, http://, mqtts:// or mqtt://.',
    })
  return storedUrl === null || storedUrl === url ? errors : [...errors, ...findLostSecrets(form.options)]
}

/** Secrets belong to an address: a new address has no secrets. */
function findLostSecrets({ headers, tls, authorization }: OptionsForm): FieldError[] {
  const { kind, clientSecret } = authorization
  const isWhole = (lines: OptionsForm['headers']) => lines.every(({ name, value }) => name === '' || value !== '')
  const lost: readonly (readonly [isThere: boolean, path: string, what: string])[] = [
    [isWhole(headers), '/headers', 'the values of its headers'],
    [tls.certificate.trim() === '' || tls.key !== '', '/tls/key', 'its key'],
    [kind !== 'oauth2' || clientSecret !== '', '/authorization/client_secret', 'its client secret'],
    [kind !== 'login' || isWhole(authorization.headers), '/authorization', 'the values of the headers of its log-in'],
  ]
  return lost.flatMap(([isThere, path, what]) =>
    isThere ? [] : [{ path, message: `A new address needs ${what} again: what is stored cannot be read back.` }],
  )
}

type OptionsKey = Exclude<keyof NewWebhookOptions, 'url' | 'problem'>
const OPTION_NAMES: Readonly<Record<OptionsKey, string>> = {
  name: 'the name',
  paused: 'whether it is paused',
  filter: 'the filter',
  headers: 'the headers',
  order: 'the order',
  max_per_second: 'the pace',
  body: 'the body',
  events: 'the further events',
  retain: 'whether messages are retained',
  discovery: 'Home Assistant',
  flow: 'the requests',
  authorization: 'the authorization',
  tls: 'the certificates',
  share_pace: 'the shared pace',
}
// Object.keys loses the type of the keys.
const OPTION_KEYS = Object.keys(OPTION_NAMES) as readonly OptionsKey[]

/**
 * Makes my changes of options since `base` again on top of `theirs`. `conflicts` names what both have changed
 * differently: there mine are taken.
 */
export function mergeOptions(
  base: NewWebhookOptions,
  mine: NewWebhookOptions,
  theirs: NewWebhookOptions,
): { readonly merged: NewWebhookOptions; readonly conflicts: readonly string[] } {
  const isSame = (one: NewWebhookOptions, other: NewWebhookOptions, key: OptionsKey) =>
    JSON.stringify(one[key] ?? null) === JSON.stringify(other[key] ?? null)
  const changed = OPTION_KEYS.filter((key) => !isSame(base, mine, key))
  const conflicts = changed.filter((key) => !isSame(base, theirs, key) && !isSame(mine, theirs, key))
  const merged = { ...theirs, url: mine.url, ...Object.fromEntries(changed.map((key) => [key, mine[key]])) }
  return { merged, conflicts: conflicts.map((key) => OPTION_NAMES[key]) }
}

/** Makes my changes of switches since `base` again on top of `theirs`. Two changes of one switch always agree. */
export function mergeSwitches(base: Webhook, mine: Webhook, theirs: Webhook): Webhook {
  const merged = { ...theirs, url: mine.url }
  for (const name of SWITCH_NAMES) if (mine[name] !== base[name]) merged[name] = mine[name]
  return merged
}
