import { Drop } from 'liquidjs'
import type { Escaping } from './content-escaping.ts'
import { textOf, type Writing } from './engine-limits.ts'

/** The filters whose result is escaped already. */
export const ESCAPING_FILTERS = ['json', 'url_encode', 'escape', 'raw'] as const
type EscapingFilter = (typeof ESCAPING_FILTERS)[number]

/** The result of an escaping filter. Every other filter makes plain text of it again. */
export class Escaped extends Drop {
  readonly text: string
  readonly by: EscapingFilter

  constructor(text: string, by: EscapingFilter) {
    super()
    this.text = text
    this.by = by
  }

  override valueOf(): string {
    return this.text
  }
}

/** Creates the writing of a text, which follows the place where each output stands. */
export function createWriting(escaping: Escaping): Writing {
  if (escaping === 'json') return createJsonWriting()
  if (escaping === 'xml') return createXmlWriting()
  if (escaping === 'form') return writingOf(['url_encode'], formEncoded)
  if (escaping === 'url') return writingOf(['url_encode'], percentEncoded)
  return writingOf([], (text) => text)
}

/** Returns the finished text of a template. @throws Error when it cannot be used. */
export function finished(escaping: Escaping, text: string): string {
  if (escaping === 'header') return text.trim().replace(/[^ -~]/gu, '?')
  return escaping === 'url' ? finishedUrl(text.trim()) : text
}

const isBy = (value: unknown, filters: readonly EscapingFilter[]): value is Escaped =>
  value instanceof Escaped && (value.by === 'raw' || filters.includes(value.by))

const writingOf = (filters: readonly EscapingFilter[], escaped: (text: string) => string): Writing => ({
  pass() {},
  put: (value) => (isBy(value, filters) ? value.text : escaped(textOf(value))),
})

/** Inside a string the escaped text; elsewhere the whole JSON value, texts with their quotes. */
function createJsonWriting(): Writing {
  let isInString = false
  let isAfterBackslash = false

  function pass(text: string): void {
    for (let at = 0; at < text.length; at += 1) {
      if (isAfterBackslash) isAfterBackslash = false
      else if (text[at] === '"') isInString = !isInString
      else if (text[at] === '\\') isAfterBackslash = isInString
    }
  }
  return {
    pass,
    put(value) {
      if (isAfterBackslash) throw new Error('an output cannot stand after a backslash in JSON')
      if (isBy(value, ['json'])) {
        pass(value.text)
        return value.text
      }
      if (isInString) return JSON.stringify(textOf(value)).slice(1, -1)
      return JSON.stringify(value instanceof Drop ? value.valueOf() : (value ?? null)) ?? 'null'
    },
  }
}

type XmlMode = 'text' | 'tag' | '"' | "'" | 'comment' | 'instruction' | 'cdata'
const XML_OPENINGS = [
  ['<!--', 'comment'],
  ['<![CDATA[', 'cdata'],
  ['<?', 'instruction'],
] as const
const XML_ENDS: Readonly<Partial<Record<XmlMode, string>>> = { comment: '-->', cdata: ']]>', instruction: '?>' }
const LONGEST_XML_OPENING = 9

function createXmlWriting(): Writing {
  let mode: XmlMode = 'text'
  let tail = ''

  function pass(text: string): void {
    const all = tail + text
    for (let end = tail.length + 1; end <= all.length; end += 1) mode = xmlModeAfter(mode, all, end)
    tail = all.slice(-LONGEST_XML_OPENING)
  }
  return {
    pass,
    put(value) {
      if (isBy(value, [])) {
        pass(value.text)
        return value.text
      }
      tail = ''
      const text = textOf(value).toWellFormed().replace(NO_XML_CHARACTER, '\uFFFD')
      if (mode === 'tag') return text.replace(/[^\p{L}\p{N}_.:-]/gu, '_')
      if (mode === 'comment' || mode === 'instruction') return text.replace(/[-?]/g, '_')
      const escaped = isBy(value, ['escape']) ? text : text.replace(/[&<>"']/g, (found) => XML_ENTITIES[found] ?? found)
      // Text has no ending that a section of characters could take for its own.
      return mode === 'cdata' ? `]]>${escaped}<![CDATA[` : escaped
    },
  }
}

/** Returns the mode after the character that ends at `end`. */
function xmlModeAfter(mode: XmlMode, all: string, end: number): XmlMode {
  const char = all[end - 1]
  if (mode === 'text') return char === '<' ? 'tag' : 'text'
  if (mode === '"' || mode === "'") return char === mode ? 'tag' : mode
  const ending = XML_ENDS[mode]
  if (ending !== undefined) return char === '>' && all.endsWith(ending, end) ? 'text' : mode
  if (char === '>') return 'text'
  if (char === '"' || char === "'") return char
  return XML_OPENINGS.find(([opening]) => all.endsWith(opening, end))?.[1] ?? mode
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 has no way to write these characters
const NO_XML_CHARACTER = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g
const XML_ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Encodes a component of a URL. Half of a surrogate pair becomes U+FFFD. */
const percentEncoded = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`,
  )
const formEncoded = (text: string): string => percentEncoded(text).replaceAll('%20', '+')

/** A segment of dots changes the path before it, also when it is percent-encoded. */
function finishedUrl(url: string): string {
  const [path = ''] = url.split(/[?#]/, 1)
  if (path.split(/[/\\]/).some((segment) => /^(\.|%2e){1,2}$/i.test(segment)))
    throw new Error('gives a URL whose path has a segment of dots only')
  return url
}
