import type { Party, Stage, Transfer } from '../../../calls/event.ts'

/** Words and numbers as people read them: the reader's own language for times, our words for everything else. */

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

export const zone = Intl.DateTimeFormat().resolvedOptions().timeZone

export function clockTime(at: string | null): string {
  return at === null ? '–' : clock.format(new Date(at))
}

export function clockTimeMs(at: string): string {
  const date = new Date(at)
  return `${clock.format(date)}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

/** Today the clock alone, else with the day. */
export function shortTime(at: string | null, nowMs = Date.now()): string {
  if (at === null) return '–'
  const date = new Date(at)
  return date.toDateString() === new Date(nowMs).toDateString() ? clock.format(date) : dayAndClock.format(date)
}

export function exactTime(at: string): string {
  return `${exact.format(new Date(at))} (${at})`
}

/** `0:07`, `12:34`, `1:02:03`. */
export function stopwatch(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
  const pad = (n: number) => String(n).padStart(2, '0')
  const minutes = Math.floor(whole / 60)
  return minutes < 60
    ? `${minutes}:${pad(whole % 60)}`
    : `${Math.floor(minutes / 60)}:${pad(minutes % 60)}:${pad(whole % 60)}`
}

/** `7 s`, `3 min`, `2 h`, `4 d`: how long ago or until. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`
  return `${Math.round(seconds / 86_400)} d`
}

export function milliseconds(ms: number | null): string {
  if (ms === null) return '–'
  if (ms < 0.05) return '0 ms'
  if (ms < 10) return `${Number(ms.toFixed(1))} ms`
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`
}

/** `callSaved` and `dial_started` alike: words with spaces. */
export function words(name: string): string {
  return name.replaceAll('_', ' ')
}

/** A party in one line: name and number, whatever is known. */
export function partyText(party: Party | null): string {
  if (party === null) return 'nobody'
  const number = party.extension ?? party.number
  if (party.name !== null && party.name !== number) return number === null ? party.name : `${party.name} · ${number}`
  return number ?? 'anonymous'
}

export function stageTarget(stage: Stage): string {
  if (stage.name?.toLowerCase() === stage.target?.toLowerCase()) return stage.name ?? 'unknown'
  if (stage.name !== null) return `${stage.target ?? ''} ${stage.name}`.trim()
  return stage.target ?? 'unknown'
}

/** `102 Phone 102`, and how it ended once it has. */
export const stageText = (stage: Stage): string =>
  stage.result === null ? stageTarget(stage) : `${stageTarget(stage)}: ${words(stage.result)}`

export const transferText = ({ by, to }: Transfer): string => `${partyText(by)} → ${partyText(to)}`

/** The part of a URL that tells receivers apart: host and path. */
export function shortUrl(url: string): string {
  try {
    const parsed = new URL(url)
    const path = parsed.pathname === '/' ? '' : parsed.pathname
    return `${parsed.host}${path}${parsed.search}`
  } catch {
    return url
  }
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`
}

/** What waits is counted up to a bound: beyond it, it is only known to be more. */
const MOST_COUNTED = 10_000

export function waitingCount(count: number): string {
  return count < MOST_COUNTED ? count.toLocaleString() : `${MOST_COUNTED.toLocaleString()}+`
}
