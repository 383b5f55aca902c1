import { readFileSync } from 'node:fs'
import { findValueError } from '../events/filter.ts'
import { type EventSwitch, FURTHER_NAMES, type FurtherEvent, forSwitches, SWITCH_NAMES } from '../events/kinds.ts'
import { wrongUsage } from '../lib/usage.ts'
import type { WebhookOptions } from '../webhooks/webhooks.ts'
import { unreadable } from './unreadable.ts'

/** The flags of `webhook set`, as they come. */
export type OptionFlags = {
  name?: string
  paused?: boolean
  filter?: string
  headers?: string
  order?: string
  maxPerSecond?: string
  preset?: string
  parameter?: string[]
  template?: string
  contentType?: string
  defaultBody?: boolean
  retain?: boolean
  /** `homeassistant`; `false`: none again. */
  discovery?: string | false
  /** A file; `false`: one request again. */
  flow?: string | false
  sharePace?: boolean
  /** Files of PEM; `tls` is `false` for none again. */
  certificate?: string
  key?: string
  ca?: string
  tls?: boolean
  /** A file; `false`: no token again. */
  authorization?: string | false
}

/**
 * Returns which events a webhook gets: its switches, and the further kinds.
 * @throws CommanderError when one is unknown.
 */
export function eventsOf(names: readonly string[]): {
  switches: Record<EventSwitch, boolean>
  events: FurtherEvent[]
} {
  const wanted = new Set(names.flatMap((name) => (name === 'all' ? SWITCH_NAMES : name.split(','))))
  const known = new Set<string>([...SWITCH_NAMES, ...FURTHER_NAMES])
  for (const name of wanted)
    if (!known.has(name))
      throw wrongUsage(`--events has ${JSON.stringify(name)}: give all, or some of ${[...known].join(', ')}`)
  return { switches: forSwitches((name) => wanted.has(name)), events: FURTHER_NAMES.filter((name) => wanted.has(name)) }
}

/** Returns the fields of options that flags change; an empty text takes one back to its default. */
export function changesOf(flags: OptionFlags): Partial<Record<keyof WebhookOptions, unknown>> {
  const { name, paused, filter, headers, order, maxPerSecond, retain, discovery, flow, sharePace, authorization } =
    flags
  const tls = tlsOf(flags)
  const body = bodyOf(flags)
  return {
    ...(name === undefined ? {} : { name: name === '' ? null : name }),
    ...(paused === undefined ? {} : { paused }),
    ...(filter === undefined ? {} : { filter: filter === '' ? null : filterOf(filter) }),
    ...(headers === undefined ? {} : { headers: headers === '' ? {} : headersOf(textOf('--headers', headers)) }),
    ...(order === undefined ? {} : { order }),
    ...(maxPerSecond === undefined ? {} : { max_per_second: maxPerSecond === '' ? null : Number(maxPerSecond) }),
    ...(body === undefined ? {} : { body }),
    ...(retain === undefined ? {} : { retain }),
    ...(discovery === undefined ? {} : { discovery: discovery === false ? null : discovery }),
    ...(flow === undefined ? {} : { flow: flow === false ? null : jsonOf('--flow', textOf('--flow', flow)) }),
    ...(sharePace === undefined ? {} : { share_pace: sharePace }),
    ...(tls === undefined ? {} : { tls }),
    ...(authorization === undefined
      ? {}
      : {
          authorization:
            authorization === false ? null : jsonOf('--authorization', textOf('--authorization', authorization)),
        }),
  }
}

/** Returns the certificates of files; `undefined` where no flag is about them. */
function tlsOf({ certificate, key, ca, tls }: OptionFlags): unknown {
  if (certificate === undefined && key === undefined && ca === undefined) return tls === false ? null : undefined
  return {
    ...(certificate === undefined ? {} : { certificate: textOf('--certificate', certificate) }),
    ...(key === undefined ? {} : { key: textOf('--key', key) }),
    ...(ca === undefined ? {} : { ca: textOf('--ca', ca) }),
  }
}

function bodyOf({ preset, parameter = [], template, contentType, defaultBody }: OptionFlags): unknown {
  if (contentType !== undefined && template === undefined)
    throw wrongUsage('--content-type is the type of a template: give --template, too')
  if (parameter.length > 0 && preset === undefined)
    throw wrongUsage(
      '--parameter is a parameter of a built-in body: give --preset, too; a flow has its own in its file',
    )
  if (defaultBody) return null
  if (preset !== undefined) return { preset, parameters: Object.fromEntries(parameter.map(pairOf)) }
  if (template === undefined) return undefined
  return {
    template: textOf('--template', template),
    ...(contentType === undefined ? {} : { content_type: contentType }),
  }
}

function pairOf(text: string): [string, string] {
  const at = text.indexOf('=')
  if (at < 1) throw wrongUsage(`--parameter is ${JSON.stringify(text)}: give name=value`)
  return [text.slice(0, at), text.slice(at + 1)]
}

/** Returns a filter; the API accepts values that match no event, a person has mistyped them. */
function filterOf(text: string): unknown {
  const filter = jsonOf('--filter', text)
  for (const [key, values] of Object.entries(Object(filter)))
    for (const value of [values].flat()) {
      const problem = findValueError(key, String(value))
      if (problem !== undefined) throw wrongUsage(`--filter: ${key} ${problem}`)
    }
  return filter
}

function headersOf(text: string): Record<string, string> {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '')
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(':')
      if (at < 1) throw wrongUsage('--headers: each line of the file is a name, a colon and a value')
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    }),
  )
}

function jsonOf(flag: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    if (flag === '--filter') throw wrongUsage(`--filter is no JSON: give an object like '{"direction":["inbound"]}'`)
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw wrongUsage(`${flag}: the file is no JSON (${reason}): hookswitch help flows shows one`)
  }
}

/** Reads a file, or standard input for `-`. */
function textOf(flag: string, path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8')
  } catch (cause) {
    throw wrongUsage(`${flag}: cannot read ${path} (${unreadable(cause)}): give the path of a file`)
  }
}
