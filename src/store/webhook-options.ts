import type { OptionsReplacement, WebhookOptionsRecord } from './operations/webhooks.ts'

// Options are stored as JSON beside a URL's secret. What both engines share of it; pure.

/**
 * Puts the stored values of headers in place of `null` values, and notes when a pause ends. Returns the names of
 * headers without a stored value.
 */
export function mergeOptions(
  options: OptionsReplacement['options'],
  stored: WebhookOptionsRecord | null,
  nowSteadyUs: number,
): WebhookOptionsRecord | { readonly unknownHeaders: readonly string[] } {
  const before = new Map(Object.entries(stored?.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]))
  const headers = Object.entries(options.headers).map(
    ([name, value]) => [name, value ?? before.get(name.toLowerCase())] as const,
  )
  const unknownHeaders = headers.flatMap(([name, value]) => (value === undefined ? [name] : []))
  if (unknownHeaders.length > 0) return { unknownHeaders }
  const kept = headers.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
  const resumes = stored?.paused === true && !options.paused
  const resumedSteadyUs = resumes ? nowSteadyUs : (stored?.resumedSteadyUs ?? null)
  return { ...options, headers: Object.fromEntries(kept), resumedSteadyUs }
}

/** The default options of a webhook. */
export const DEFAULT_OPTIONS: WebhookOptionsRecord = {
  name: null,
  paused: false,
  filter: null,
  headers: {},
  order: 'first_attempt',
  maxPerSecond: null,
  body: null,
  events: [],
  retain: false,
  resumedSteadyUs: null,
}

/** Returns the text to store; `null` if all options have their defaults. */
export function storedOptions(options: WebhookOptionsRecord): string | null {
  return Bun.deepEquals(options, DEFAULT_OPTIONS) ? null : JSON.stringify(options)
}

/** Reads the result of `storedOptions`; a field that was added later has its default. */
export function readOptions(text: string | null): WebhookOptionsRecord | null {
  return text === null ? null : { ...DEFAULT_OPTIONS, ...JSON.parse(text) }
}
