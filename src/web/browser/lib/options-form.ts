import { type EventFilter, findValueError } from '../../../events/filter.ts'
import type { FieldError } from '../../../lib/fault.ts'
import type { NewWebhookOptions, WebhookBody, WebhookOptions } from '../../../webhooks/webhooks.ts'
import { type AuthorizationForm, authorizationFormOf, authorizationOf } from './authorization-form.ts'
import { type HeaderLine, headerLinesOf, headersOfLines } from './header-lines.ts'
import { type TlsForm, tlsFormOf, tlsOf } from './tls-form.ts'

/** The options of a URL as a form holds them: every field a text, a choice or a list. */
export type OptionsForm = {
  readonly name: string
  readonly paused: boolean
  /** The values of each filter key, separated by commas. */
  readonly filter: Readonly<Record<string, string>>
  readonly headers: readonly HeaderLine[]
  readonly strict: boolean
  readonly maxPerSecond: string
  /** `default`, `template`, or a preset. */
  readonly body: string
  readonly chatId: string
  readonly template: string
  readonly contentType: string
  readonly events: readonly string[]
  readonly retain: boolean
  /** Whether Home Assistant finds phones, trunks and queues by itself. */
  readonly discovery: boolean
  readonly authorization: AuthorizationForm
  readonly tls: TlsForm
  /** Stored options that the form does not show, or sends unchanged. */
  readonly others: Pick<WebhookOptions, 'flow' | 'authorization' | 'tls' | 'share_pace'>
}

/** Returns the form of stored options. */
export function formOf(options: WebhookOptions): OptionsForm {
  const { body, filter, headers } = options
  return {
    name: options.name ?? '',
    paused: options.paused,
    filter: Object.fromEntries(Object.entries(filter ?? {}).map(([key, values]) => [key, (values ?? []).join(', ')])),
    headers: headerLinesOf(headers),
    strict: options.order === 'strict',
    maxPerSecond: options.max_per_second === null ? '' : String(options.max_per_second),
    body: body === null ? 'default' : (body.preset ?? 'template'),
    chatId: body?.parameters?.chat_id ?? '',
    template: body?.template ?? '',
    contentType: body?.content_type ?? 'application/json',
    events: options.events,
    retain: options.retain,
    discovery: options.discovery !== null,
    authorization: authorizationFormOf(options.authorization),
    tls: tlsFormOf(options.tls),
    others: {
      flow: options.flow,
      authorization: options.authorization,
      tls: options.tls,
      share_pace: options.share_pace,
    },
  }
}

/** Returns the body that a form describes; `null`: the default body. */
export function bodyOf({ body, chatId, template, contentType }: OptionsForm): WebhookBody | null {
  if (body === 'default') return null
  if (body === 'template') return { template, content_type: contentType.trim() }
  // The choices are the presets of the API: it checks them.
  const preset = body as NonNullable<WebhookBody['preset']>
  return preset === 'telegram' ? { preset, parameters: { chat_id: chatId.trim() } } : { preset }
}

/**
 * Returns the errors that the API would not find: texts that are not numbers, and filter values that match no event.
 */
export function findFormErrors({ maxPerSecond, filter }: OptionsForm): FieldError[] {
  const wrong = Object.entries(filter).flatMap(([key, text]) =>
    valuesOf(text).flatMap((value) => {
      const problem = findValueError(key, value)
      return problem === undefined ? [] : [{ path: `/filter/${key}`, message: `${problem}.` }]
    }),
  )
  if (!Number.isNaN(Number(maxPerSecond))) return wrong
  return [
    ...wrong,
    { path: '/max_per_second', message: `${maxPerSecond} is not a number: use 0.1 to 1000, or leave it empty.` },
  ]
}

const valuesOf = (text: string): string[] => text.split(',').flatMap((value) => value.trim() || [])

/** Returns the filter that a form describes; `null` without one. */
export function filterOf({ filter }: Pick<OptionsForm, 'filter'>): EventFilter | null {
  const filled = Object.entries(filter).flatMap(([key, text]) =>
    valuesOf(text).length === 0 ? [] : [[key, valuesOf(text)] as const],
  )
  return filled.length === 0 ? null : Object.fromEntries(filled)
}

/** The schema of the API has mutable lists. */
const mutable = (filter: EventFilter | null): NonNullable<NewWebhookOptions['filter']> | null =>
  filter === null ? null : Object.fromEntries(Object.entries(filter).map(([key, values]) => [key, [...(values ?? [])]]))

/** Returns the options of a part of the form; the stored options for an unchanged part. */
function changed<Form, Option>(
  form: Form,
  stored: Option,
  formOf: (stored: Option) => Form,
  optionOf: (form: Form) => Option,
): Option {
  return JSON.stringify(form) === JSON.stringify(formOf(stored)) ? stored : optionOf(form)
}

/** Returns the options that a form describes, to be sent. */
export function optionsOf(url: string, form: OptionsForm): NewWebhookOptions {
  const { name, paused, strict, maxPerSecond } = form
  return {
    url,
    name: name.trim() === '' ? null : name.trim(),
    paused,
    filter: mutable(filterOf(form)),
    headers: headersOfLines(form.headers),
    order: strict ? 'strict' : 'first_attempt',
    max_per_second: maxPerSecond.trim() === '' ? null : Number(maxPerSecond),
    body: bodyOf(form),
    // The choices are the further kinds of the API: it checks them.
    events: [...form.events] as NonNullable<NewWebhookOptions['events']>,
    retain: form.retain,
    discovery: form.discovery ? 'homeassistant' : null,
    flow: form.others.flow,
    authorization: changed(form.authorization, form.others.authorization, authorizationFormOf, authorizationOf),
    tls: changed(form.tls, form.others.tls, tlsFormOf, tlsOf),
    share_pace: form.others.share_pace,
  }
}
