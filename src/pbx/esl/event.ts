import { parseForeignJson } from '../../lib/foreign-json.ts'

/** One FreeSWITCH event. Keys are case-sensitive; a value may be a list (an array in JSON, `ARRAY::a|:b` in plain). */
export type EslEvent = {
  /** `Event-Name`. */
  readonly name: string
  /** `Event-Subclass` of a CUSTOM event, else `''`. */
  readonly subclass: string
  /** Returns the value, or the first of a list; `''` if it is absent. */
  get(key: string): string
  has(key: string): boolean
  all(key: string): readonly string[]
  /** Returns all headers in their order, also repeated ones; a list is joined by commas. Reads the whole event. */
  entries(): readonly (readonly [key: string, value: string])[]
  /** The event's own body (`BACKGROUND_JOB` has one), else `''`. */
  readonly body: string
}

const LIST = 'ARRAY::'

function listOf(value: string): string | readonly string[] {
  return value.startsWith(LIST) ? value.slice(LIST.length).split('|:') : value
}

/** How an event is printed: how to find the values of a key in its bytes. */
type Format = {
  readonly name: keyof Prefix
  readonly find: (bytes: Buffer, needle: Needle) => Found
  readonly entries: (bytes: Buffer) => readonly (readonly [key: string, value: string])[]
}
/** The value of a key, or the values of a list; `null` if the event lacks the key. */
type Found = string | readonly string[] | null

/**
 * An event over its bytes. Each key is searched once, since several readers ask for the same ones. It takes few
 * objects, because tens of thousands of events may wait at a time.
 */
class FoundEvent implements EslEvent {
  readonly name: string
  readonly subclass: string
  readonly #bytes: Buffer
  readonly #format: Format
  readonly #body: string | undefined
  /** The values that were found, at the places of their keys: a map would take several times as much. */
  readonly #found: Found[] = []
  /** Whether families of keys occur: each is searched once, when one of its keys is read. */
  #families: Map<Prefix, boolean> | undefined

  /** An event without a `body` of its own has it in `_body`. */
  constructor(bytes: Buffer, format: Format, body?: string) {
    this.#bytes = bytes
    this.#format = format
    this.#body = body
    this.name = this.get('Event-Name')
    this.subclass = this.name === 'CUSTOM' ? this.get('Event-Subclass') : ''
  }

  #find(key: string): Found {
    const needle = needleOf(key)
    const known = this.#found[needle.place]
    if (known !== undefined) return known
    const found = this.#mayHave(needle) ? this.#format.find(this.#bytes, needle) : null
    if (needle.place >= 0) this.#found[needle.place] = found
    return found
  }

  #mayHave({ family }: Needle): boolean {
    if (family === undefined) return true
    this.#families ??= new Map()
    const known = this.#families.get(family)
    if (known !== undefined) return known
    const isThere = this.#bytes.includes(family[this.#format.name])
    this.#families.set(family, isThere)
    return isThere
  }

  get(key: string): string {
    const found = this.#find(key)
    return typeof found === 'string' ? found : (found?.[0] ?? '')
  }

  has(key: string): boolean {
    return this.#find(key) !== null
  }

  all(key: string): readonly string[] {
    const found = this.#find(key)
    return typeof found === 'string' ? [found] : (found ?? [])
  }

  entries(): readonly (readonly [key: string, value: string])[] {
    return this.#format.entries(this.#bytes)
  }

  get body(): string {
    return this.#body ?? this.get('_body')
  }
}

/**
 * Returns an event from JSON as FreeSWITCH prints it: one flat object of strings and arrays of strings. Keys are
 * searched in the bytes, since only a few of the hundreds of variables are ever read. `"key":` cannot occur within a
 * string, where quotes are escaped, so a hit is the key. `undefined` if it is no event: an invalid body costs only
 * itself.
 */
export function eventFromJson(bytes: Buffer): EslEvent | undefined {
  if (bytes[0] !== BRACE || bytes.lastIndexOf('}') < 0) return undefined
  const event = new FoundEvent(bytes, JSON_FORMAT)
  return event.name === '' ? undefined : event
}

const JSON_FORMAT: Format = {
  name: 'json',
  find(bytes, { json, isOnce }) {
    let at = endOf(bytes, json, isOnce)
    while (at >= 0 && (bytes[at] ?? QUOTE) <= SPACE) at += 1
    return at < 0 ? null : jsonValue(bytes, at)
  },
  entries(bytes) {
    const found: [string, string][] = []
    for (let at = nextString(bytes, 0); at >= 0; ) {
      const end = endOfString(bytes, at)
      const key = jsonValue(bytes, at)
      let from = bytes.indexOf(COLON, end) + 1
      while ((bytes[from] ?? QUOTE) <= SPACE) from += 1
      found.push([textOf(key), textOf(jsonValue(bytes, from))])
      at = nextString(bytes, bytes[from] === QUOTE ? endOfString(bytes, from) : endOfOther(bytes, from))
    }
    return found
  },
}

const nextString = (bytes: Buffer, from: number): number => bytes.indexOf(QUOTE, from)
const textOf = (found: Found): string => (typeof found === 'string' ? found : (found?.join(',') ?? ''))

function jsonValue(bytes: Buffer, start: number): Found {
  const end = bytes[start] === QUOTE ? endOfString(bytes, start) : endOfOther(bytes, start)
  if (bytes[start] === QUOTE) {
    // A slice of the text with its quotes would keep that text alive.
    const text = bytes.toString('utf8', start + 1, end - 1)
    if (!text.includes('\\')) return listOf(text)
  }
  try {
    const value: unknown = parseForeignJson(bytes.toString('utf8', start, end))
    if (value === null) return null
    return Array.isArray(value) ? value.map(String) : listOf(String(value))
  } catch {
    return null
  }
}

/** Returns the end of the string that begins after this quote. */
function endOfString(bytes: Buffer, start: number): number {
  for (let at = start + 1; at < bytes.length; at++) {
    if (bytes[at] === BACKSLASH) at += 1
    else if (bytes[at] === QUOTE) return at + 1
  }
  return bytes.length
}

/** Returns the end of the list, number or word that begins here. */
function endOfOther(bytes: Buffer, start: number): number {
  const isList = bytes[start] === BRACKET
  let at = start
  while (at < bytes.length) {
    const byte = bytes[at]
    if (byte === QUOTE) at = endOfString(bytes, at)
    else if (isList && byte === BRACKET_END) return at + 1
    else if (!isList && (byte === COMMA || byte === BRACE_END)) return at
    else at += 1
  }
  return at
}

/** Returns an event from `Key: value` lines with percent-encoded values; keys are searched as in JSON. */
export function eventFromPlain(bytes: Buffer): EslEvent | undefined {
  const end = bytes.indexOf('\n\n')
  const header = end < 0 ? bytes : bytes.subarray(0, end + 1)
  const event = new FoundEvent(header, PLAIN_FORMAT, end < 0 ? '' : bytes.toString('utf8', end + 2))
  return event.name === '' ? undefined : event
}

const PLAIN_FORMAT: Format = {
  name: 'plain',
  find(header, { plain, isOnce }) {
    const found = endOf(header, plain, isOnce)
    // The first header has no line break before it.
    const at = found < 0 && startsWith(header, plain) ? plain.length - 1 : found
    if (at < 0) return null
    const stop = header.indexOf(LF, at)
    const raw = header.toString('utf8', at, stop < 0 ? header.length : stop)
    return listOf(unescapePercent(raw.endsWith('\r') ? raw.slice(0, -1) : raw))
  },
  entries: (header) =>
    header
      .toString('utf8')
      .split(/\r?\n/)
      .flatMap((line) => {
        const cut = line.indexOf(': ')
        return cut < 0 ? [] : [[line.slice(0, cut), textOf(listOf(unescapePercent(line.slice(cut + 2))))] as const]
      }),
}

const LF = 0x0a
const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const BRACKET = 0x5b
const BRACKET_END = 0x5d
const BRACE = 0x7b
const BRACE_END = 0x7d

/**
 * Returns the offset after the last occurrence (of a repeated key, such as `Hangup-Cause`, the last one counts); -1 if
 * the key does not occur.
 */
function endOf(bytes: Buffer, needle: Buffer, isOnce: boolean): number {
  // Searching forward from hit to hit is much faster than lastIndexOf.
  let end = -1
  for (let at = bytes.indexOf(needle); at >= 0; at = bytes.indexOf(needle, end)) {
    end = at + needle.length
    if (isOnce) return end
  }
  return end
}

type Prefix = { readonly plain: Buffer; readonly json: Buffer }
type Needle = Prefix & {
  /** Its place among all needles; -1 if there are too many. */
  readonly place: number
  /** FreeSWITCH has this key at most once in an event, so the search may stop at it. */
  readonly isOnce: boolean
  /** The common beginning of this key and others, if most events have none of them. */
  readonly family: Prefix | undefined
}

const prefixOf = (text: string): Prefix => ({ plain: Buffer.from(`\n${text}`), json: Buffer.from(`"${text}`) })

const ONCE = /^(variable_|Caller-|Other-Leg-|Event-|Channel-|Unique-ID$)/
const FAMILIES: ReadonlyMap<string, Prefix> = new Map(
  ['variable_transfer_', 'variable_sip_redirect', 'variable_fifo_'].map((text) => [text, prefixOf(text)]),
)

const needles = new Map<string, Needle>()
/** Keys come from Hookswitch's own code, so there are few; the limit is for a caller that passes on foreign ones. */
const MAX_NEEDLES = 1_000

function needleOf(key: string): Needle {
  const known = needles.get(key)
  if (known !== undefined) return known
  const [, family] = [...FAMILIES].find(([text]) => key.startsWith(text)) ?? []
  const needle: Needle = {
    place: needles.size < MAX_NEEDLES ? needles.size : -1,
    plain: Buffer.from(`\n${key}: `),
    json: Buffer.from(`${JSON.stringify(key)}:`),
    isOnce: ONCE.test(key),
    family,
  }
  if (needles.size < MAX_NEEDLES) needles.set(key, needle)
  return needle
}

const startsWith = (header: Buffer, needle: Buffer): boolean =>
  header.length >= needle.length - 1 && header.compare(needle, 1, needle.length, 0, needle.length - 1) === 0

/**
 * Decodes FreeSWITCH's percent-encoding: a plus is a plus, a percent sign without two digits is itself, invalid UTF-8
 * becomes U+FFFD.
 */
function unescapePercent(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    const bytes = Buffer.from(text, 'utf8')
    let length = 0
    for (let at = 0; at < bytes.length; at++) {
      const digits = bytes[at] === 0x25 ? bytes.toString('latin1', at + 1, at + 3) : ''
      const isByte = /^[0-9a-f]{2}$/i.test(digits)
      bytes[length] = isByte ? Number.parseInt(digits, 16) : (bytes[at] ?? 0)
      length += 1
      if (isByte) at += 2
    }
    return bytes.toString('utf8', 0, length)
  }
}

/** The keys of variables: a string that was looked up before is found faster than one that is put together anew. */
const variableKeys = new Map<string, string>()

function variableKey(name: string): string {
  const known = variableKeys.get(name)
  if (known !== undefined) return known
  const key = `variable_${name}`
  if (variableKeys.size < MAX_NEEDLES) variableKeys.set(name, key)
  return key
}

/** Returns the value of a channel variable, `''` if it is absent. */
export const variableOf = (event: EslEvent, name: string): string => event.get(variableKey(name))
