import type { Party, Stage, Transfer } from '../../../events/bodies.ts'
import { withNumber } from '../../../events/party-name.ts'
import { shownUrl } from '../../../lib/shown-url.ts'
import { partyTexts } from './contact.ts'

/** Names and numbers as people read them: in English, with 24 hours, and in the reader's time zone. */

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const clockWithSeconds = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const shortDay = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short' })
const longDay = new Intl.DateTimeFormat('en-GB', { weekday: 'long', day: 'numeric', month: 'long' })
const exact = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long' })

/** The reader's time zone, such as `Europe/Berlin`. */
export const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone

/** Formats a time as `21:42`. */
export const formatClock = (at: string): string => clock.format(new Date(at))

/** Formats a time as `21:42:07`. */
export const formatTime = (at: string): string => clockWithSeconds.format(new Date(at))

/** Formats a time as `21:42:07.123`. */
export function formatTimeMs(at: string): string {
  const date = new Date(at)
  return `${clockWithSeconds.format(date)}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

const isSameDay = (one: Date, other: Date): boolean => one.toDateString() === other.toDateString()

/** Formats a time of today as `21:42`, any other as `Fri 27 Nov, 21:42`. */
export function formatDateTime(at: string, nowMs = Date.now()): string {
  const date = new Date(at)
  if (isSameDay(date, new Date(nowMs))) return clock.format(date)
  return `${formatShortDay(date)}, ${clock.format(date)}`
}

/** `Fri, 27 Nov` of the locale reads better without the comma. */
const formatShortDay = (date: Date): string => shortDay.format(date).replace(',', '')

/** Formats a day as `Saturday 28 November`. */
export const formatDay = (at: string | number): string => longDay.format(new Date(at)).replace(',', '')

const DAY_MS = 86_400_000

/** Returns the heading of a day: `Today` and `Yesterday` by name, with the date beside it. */
export function dayHeading(at: string, nowMs: number): readonly [name: string, beside: string] {
  const date = new Date(at)
  const day = formatDay(at)
  if (isSameDay(date, new Date(nowMs))) return ['Today', day]
  if (isSameDay(date, new Date(nowMs - DAY_MS))) return ['Yesterday', day]
  return [day, date.getFullYear() === new Date(nowMs).getFullYear() ? '' : String(date.getFullYear())]
}

/** Formats how long ago a time was: `14 s ago` below an hour, then the time itself. */
export function formatAgo(at: string, nowMs: number): string {
  const seconds = Math.max(0, Math.floor((nowMs - Date.parse(at)) / 1_000))
  if (seconds < 60) return `${seconds} s ago`
  return seconds < 3_600 ? `${Math.floor(seconds / 60)} min ago` : formatDateTime(at, nowMs)
}

/** Formats how long a time has lasted: `9 min`, `2 h`, `3 days`. */
export function formatLasting(since: string, nowMs: number): string {
  const seconds = Math.max(0, Math.floor((nowMs - Date.parse(since)) / 1_000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} days`
}

/** Formats since when a state holds: `since 12:41, 26 min`. */
export const formatSince = (since: string, nowMs: number): string =>
  `since ${formatDateTime(since, nowMs)}, ${formatLasting(since, nowMs)}`

/** Formats the day on which something was made: `Fri 27 Nov`, with the year unless it is this one. */
export function formatDate(at: string, nowMs = Date.now()): string {
  const date = new Date(at)
  const year = date.getFullYear()
  return `${formatShortDay(date)}${year === new Date(nowMs).getFullYear() ? '' : ` ${year}`}`
}

/** Formats a time in full, with the API's own text: for a tooltip. */
export function formatExactTime(at: string): string {
  return `${exact.format(new Date(at))} (${at})`
}

/** Formats a duration as `0:07`, `12:34` or `1:02:03`. */
export function formatStopwatch(seconds: number | null): string {
  if (seconds === null) return '–'
  const whole = Math.max(0, Math.floor(seconds))
  const pad = (n: number) => String(n).padStart(2, '0')
  const minutes = Math.floor(whole / 60)
  return minutes < 60
    ? `${minutes}:${pad(whole % 60)}`
    : `${Math.floor(minutes / 60)}:${pad(minutes % 60)}:${pad(whole % 60)}`
}

/** Formats a short duration as `0.4 ms`, `120 ms`, `2.35 s` or `40.5 s`. */
export function formatMilliseconds(ms: number | null): string {
  if (ms === null) return '–'
  if (ms < 0.05) return '0 ms'
  if (ms < 10) return `${Number(ms.toFixed(1))} ms`
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${Number((ms / 1_000).toFixed(ms < 10_000 ? 2 : 1))} s`
}

/** Formats JSON with line breaks; returns any other text as it is. */
export function formatJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

/** Writes an identifier of the API with spaces: `dial_started` as `dial started`. */
export function humanize(name: string): string {
  return name.replaceAll('_', ' ')
}

/** Writes a party on one line: its name and number, as far as they are known. */
export function formatParty(party: Party | null): string {
  if (party === null) return 'nobody'
  const { main, beside } = partyTexts(party)
  return [main, ...beside].join(' · ')
}

/** Writes who was dialled in a stage: `Anna 101`, `Phone 102`. */
export const formatStageTarget = ({ name, target }: Pick<Stage, 'name' | 'target'>): string =>
  withNumber(name, target) ?? 'somebody'

/** Writes who was dialled in a stage and, once it has ended, its result. */
export function formatStage(stage: Stage): string {
  return stage.result === null ? formatStageTarget(stage) : `${formatStageTarget(stage)}: ${humanize(stage.result)}`
}

/** Writes who transferred the call to whom. */
export function formatTransfer({ by, to }: Transfer): string {
  return `${formatParty(by)} → ${formatParty(to)}`
}

/** Returns a URL without user and password, and without a mark in their place. */
export const urlWithoutUser = (url: string): string => shownUrl(url).replace('://***@', '://')

/** Shortens a URL to the part that distinguishes webhooks: host, path and query. */
export const shortenUrl = (url: string): string =>
  urlWithoutUser(url)
    .replace(/^\w+:\/\//, '')
    .replace(/\/$/, '')

/** Writes a count with its noun: `1 call`, `2 calls`. */
export function pluralize(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`
}

/** The server counts pending deliveries up to this bound; beyond it the count is only known to be larger. */
const MAX_COUNTED = 10_000

/** Writes a count of pending deliveries, as `10,000+` at the bound. */
export function formatPendingCount(count: number): string {
  return count < MAX_COUNTED ? count.toLocaleString('en') : `${MAX_COUNTED.toLocaleString('en')}+`
}

/** Writes a message of the API as a sentence: each part begins with a capital letter and ends with a full stop. */
export function formatSentence(text: string): string {
  const capital = text
    .trim()
    .replace(/(^|[.!?] )(\p{Ll})/gu, (_, before: string, letter: string) => before + letter.toUpperCase())
  return /[.!?…]$/.test(capital) ? capital : `${capital}.`
}
