import type { OptionsReplacement, UnknownSecrets, WebhookOptionsRecord } from './operations/webhooks.ts'

// The options of a webhook, as JSON beside the secret of its URL. Both engines use these functions; pure.

/**
 * Puts the stored values of headers and secrets in place of `null` values, and notes when a pause ends. Returns the
 * names of those without a stored value.
 */
export function mergeOptions(
  { options, optionalSecrets = [] }: Pick<OptionsReplacement, 'options' | 'optionalSecrets'>,
  stored: WebhookOptionsRecord | null,
  nowSteadyUs: number,
): WebhookOptionsRecord | UnknownSecrets {
  const kept = hasFurtherOrigin(options, stored) ? null : stored
  const before = new Map(Object.entries(kept?.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]))
  const headers = withStored(options.headers, (name) => before.get(name.toLowerCase()))
  const secrets = withStored(options.flowSecrets, (key) => kept?.flowSecrets[key])
  const unknownSecrets = secrets.unknown.filter((key) => !optionalSecrets.includes(key))
  if (headers.unknown.length > 0 || unknownSecrets.length > 0)
    return { unknownHeaders: headers.unknown, unknownSecrets }
  const resumes = stored?.paused === true && !options.paused
  const resumedSteadyUs = resumes ? nowSteadyUs : (stored?.resumedSteadyUs ?? null)
  return { ...options, headers: headers.values, flowSecrets: secrets.values, resumedSteadyUs }
}

/**
 * Returns whether the steps of a flow may go to an origin that was not there when the stored secrets were given: who
 * cannot read them could have them sent there.
 */
function hasFurtherOrigin({ flow }: Pick<WebhookOptionsRecord, 'flow'>, stored: WebhookOptionsRecord | null): boolean {
  const before = originsOf(stored?.flow)
  return originsOf(flow).some((origin) => !before.includes(origin))
}

const originsOf = (flow: WebhookOptionsRecord['flow'] | undefined): readonly unknown[] =>
  Array.isArray(flow?.origins) ? flow.origins : []

/** Puts stored values in place of `null` values. */
function withStored(given: Readonly<Record<string, string | null>>, storedOf: (name: string) => string | undefined) {
  const all = Object.entries(given).map(([name, value]) => [name, value ?? storedOf(name)] as const)
  return {
    values: Object.fromEntries(all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))),
    unknown: all.flatMap(([name, value]) => (value === undefined ? [name] : [])),
  }
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
  discovery: null,
  flow: null,
  authorization: null,
  tls: null,
  flowSecrets: {},
  sharePace: false,
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
