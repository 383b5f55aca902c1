import type { Call, Party, Stage, Transfer } from '../../../events/bodies.ts'
import { shownUrl } from '../../../lib/shown-url.ts'
import { partyTexts } from './contact.ts'

/** Names and numbers as people read them: times in the reader's own language and zone, everything else in English. */

const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
})
const dayAndClock = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
})
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' })

/** The reader's time zone, such as `Europe/Berlin`. */
export const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone

/** Formats a time as `21:42:07`. */
export function formatTime(at: string | null): string {
  return at === null ? '–' : clock.format(new Date(at))
}

/** Formats a time as `21:42:07.123`. */
export function formatTimeMs(at: string): string {
  const date = new Date(at)
  return `${clock.format(date)}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

/** Formats a time of today as `21:42:07`, any other with its day. */
export function formatDateTime(at: string | null, nowMs = Date.now()): string {
  if (at === null) return '–'
  const date = new Date(at)
  return date.toDateString() === new Date(nowMs).toDateString() ? clock.format(date) : dayAndClock.format(date)
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

/** Writes who was dialled in a stage: `102 Phone 102`. */
export function formatStageTarget(stage: Pick<Stage, 'name' | 'target'>): string {
  if (stage.name?.toLowerCase() === stage.target?.toLowerCase()) return stage.name ?? 'unknown'
  if (stage.name !== null) return `${stage.target ?? ''} ${stage.name}`.trim()
  return stage.target ?? 'unknown'
}

/** Writes who was dialled in a stage and, once it has ended, its result. */
export function formatStage(stage: Stage): string {
  return stage.result === null ? formatStageTarget(stage) : `${formatStageTarget(stage)}: ${humanize(stage.result)}`
}

/** Writes who transferred the call to whom. */
export function formatTransfer({ by, to }: Transfer): string {
  return `${formatParty(by)} → ${formatParty(to)}`
}

const HANGUP_BY = { caller: 'the caller', callee: 'the called party', system: 'the PBX', unknown: null } as const

/** Writes who ended a call and, unless that is the usual one, the cause: `ended by the PBX: no answer`. */
export function formatHangup({ cause, by }: NonNullable<Call['hangup']>): string {
  const ended = HANGUP_BY[by] === null ? 'ended' : `ended by ${HANGUP_BY[by]}`
  return cause === 'normal' ? ended : `${ended}: ${humanize(cause)}`
}

/** Shortens a URL to the part that distinguishes webhooks: host, path and query. */
export const shortenUrl = (url: string): string =>
  shownUrl(url)
    .replace(/^\w+:\/\/(\*\*\*@)?/, '')
    .replace(/\/$/, '')

/** Writes a count with its noun: `1 call`, `2 calls`. */
export function pluralize(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`
}

/** The server counts pending deliveries up to this bound; beyond it the count is only known to be larger. */
const MAX_COUNTED = 10_000

/** Writes a count of pending deliveries, as `10,000+` at the bound. */
export function formatPendingCount(count: number): string {
  return count < MAX_COUNTED ? count.toLocaleString() : `${MAX_COUNTED.toLocaleString()}+`
}

/** Writes what the API reports as a sentence: each part begins with a capital letter and ends with a full stop. */
export function formatSentence(text: string): string {
  const capital = text
    .trim()
    .replace(/(^|[.!?] )(\p{Ll})/gu, (_, before: string, letter: string) => before + letter.toUpperCase())
  return /[.!?]$/.test(capital) ? capital : `${capital}.`
}
