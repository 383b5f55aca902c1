import { EVENT_NAMES, EVENT_SWITCHES, type EventKind, isOfState } from '../../../events/kinds.ts'
import { shownUrl } from '../../../lib/shown-url.ts'
import { isMqttUrl } from '../../../outbound/mqtt-url.ts'
import { formatLasting, formatSince, humanize, shortenUrl } from './format.ts'
import type { WebhookHealth } from './resources.ts'
import type { Tone } from './tone.ts'

/** How webhooks are called, and how they do, in words. Pure. */

/** Returns the name of a webhook for people: of its options, else its address. */
export const webhookName = ({ name, url }: Pick<WebhookHealth, 'name' | 'url'>): string => name ?? shortenUrl(url)

/**
 * Returns what the page's address calls a webhook: its URL without its password, and its place among those that look
 * alike.
 */
export function webhookKey({ url, occurrence }: Pick<WebhookHealth, 'url' | 'occurrence'>): string {
  return occurrence === 0 ? shownUrl(url) : `${shownUrl(url)} ${occurrence + 1}`
}

type Shown = Pick<WebhookHealth, 'last' | 'paused' | 'down_since' | 'refusing_since'>

/** Returns the state of a webhook: `up` only if its receiver accepts the requests. */
export function webhookState(webhook: Shown, nowMs: number): { readonly tone: Tone; readonly text: string } {
  const { last, paused, down_since: downSince, refusing_since: refusingSince } = webhook
  if (paused) return { tone: 'none', text: 'paused' }
  if (downSince !== null) return { tone: 'bad', text: `down ${formatLasting(downSince, nowMs)}` }
  if (refusingSince !== null) return { tone: 'bad', text: 'refuses' }
  return last === null ? { tone: 'none', text: 'new' } : { tone: 'good', text: 'up' }
}

/** Returns since when a webhook has trouble; `null` if it has none. */
export const troubleSince = ({ paused, down_since: down, refusing_since: refusing }: Shown): string | null =>
  paused ? null : (down ?? refusing)

/** Returns the headline and the advice for a webhook in trouble. */
export function describeTrouble(
  webhook: WebhookHealth,
  nowMs: number,
): { readonly what: string; readonly advice: string } {
  const { last, down_since: downSince, refusing_since: refusingSince, pending, url } = webhook
  const since = downSince ?? refusingSince
  const lasting = since === null ? '' : `${formatSince(since, nowMs)}: `
  const what = `${lasting}${describeLast(last)}`
  if (downSince !== null) {
    const waiting =
      pending === 1 ? '1 delivery waits. It is' : `${pending.toLocaleString('en')} deliveries wait. They are`
    return {
      what,
      advice: pending === 0 ? 'It is tried again and again.' : `${waiting} sent in order as soon as it answers.`,
    }
  }
  return { what, advice: adviceOn(last?.status ?? null, isMqttUrl(url)) }
}

/** Writes the last answer of a webhook: `503`, or why there was none. */
export function describeLast(last: WebhookHealth['last']): string {
  if (last === null) return 'no attempt yet'
  if (last.status !== null) return `${last.status}${STATUS_TEXTS[last.status] ?? ''}`
  return last.error ?? 'acknowledged'
}

/** The reason phrases of usual answers. */
const STATUS_TEXTS: Readonly<Record<number, string>> = {
  400: ' Bad Request',
  401: ' Unauthorized',
  403: ' Forbidden',
  404: ' Not Found',
  405: ' Method Not Allowed',
  410: ' Gone',
  413: ' Content Too Large',
  422: ' Unprocessable Content',
  429: ' Too Many Requests',
  500: ' Internal Server Error',
  502: ' Bad Gateway',
  503: ' Service Unavailable',
  504: ' Gateway Timeout',
}

function adviceOn(status: number | null, isMqtt: boolean): string {
  if (isMqtt) return 'Look at the user and its rights at the broker, and at the topic.'
  if (status === 401 || status === 403) return 'Was its key changed? Enter the new one under Headers.'
  if (status === 404 || status === 410) return 'Is its address still right?'
  return 'Look at its answer: perhaps it expects another body.'
}

const CALL_KINDS = EVENT_NAMES.filter((name) => Object.hasOwn(EVENT_SWITCHES, name) || name.includes('transferred'))

/** Writes which events a webhook gets: `most of a call`, `ended, missed`, `dial started, answered, ended`. */
export function describeEvents(events: readonly EventKind[]): string {
  if (events.length === 0) return 'nothing'
  const isAll = CALL_KINDS.every((name) => events.includes(name))
  const rest = isAll ? events.filter((name) => !CALL_KINDS.includes(name)) : events
  const names = new Set(rest.map((name) => (name.includes('transferred') ? 'transferred' : shortName(name))))
  const dials = [...names].filter((name) => name.startsWith('dial '))
  const others = [...names].filter((name) => !name.startsWith('dial '))
  const dialled = dials.length === 0 ? [] : [`dial ${dials.map((name) => name.slice('dial '.length)).join(', ')}`]
  return [...(isAll ? ['most of a call'] : []), ...others, ...dialled].join(', ')
}

function shortName(name: EventKind): string {
  if (isOfState(name)) return name.slice(0, -'_changed'.length)
  return humanize(name.replace(/^call_/, '').replace('recording_saved', 'recording'))
}
