import { MAX_LINE_BYTES } from '../connection/line-meter.ts'

/** An event without the lines that are too long, and the number of lines that were left out. */
type Shortened = { readonly bytes: Buffer; readonly leftOut: number }

/**
 * The most bytes of an event's lines, its own body apart: FreeSWITCH prints what it knows of the call first, and then
 * the channel's variables. The lines beyond count as one that is too long.
 */
const MAX_EVENT_BYTES = 1024 * 1024

const LF = 0x0a
const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const BRACKET = 0x5b
const BRACKET_END = 0x5d
const BRACE_END = 0x7d
const SPACE = 0x20
/** The event's own body, which is no line and may be long. */
const BODY_KEY = Buffer.from('"_body"')

/** Leaves out the long pairs of an event in JSON: one flat object of strings and lists of strings. */
export function shortenJson(bytes: Buffer): Shortened {
  const kept: Buffer[] = []
  let length = 0
  let leftOut = 0
  let at = 1
  for (;;) {
    while (at < bytes.length && (bytes[at] === COMMA || (bytes[at] ?? 0) <= SPACE)) at += 1
    // Whatever is no pair is the end: the rest of an invalid event is not read.
    if (bytes[at] !== QUOTE) break
    const end = endOfPair(bytes, at)
    const isBody = bytes.subarray(at, at + BODY_KEY.length).equals(BODY_KEY)
    if (!isBody && end - at > MAX_LINE_BYTES) leftOut += 1
    else if (!isBody && length + end - at > MAX_EVENT_BYTES) {
      leftOut += 1
      break
    } else {
      kept.push(bytes.subarray(at, end))
      length += isBody ? 0 : end - at
    }
    at = end
  }
  if (leftOut === 0) return { bytes, leftOut }
  return { bytes: joined(kept, '{', ',', '}'), leftOut }
}

/** Leaves out the long lines of an event of `Key: value` lines; its own body, after an empty line, stays. */
export function shortenPlain(bytes: Buffer): Shortened {
  const kept: Buffer[] = []
  let length = 0
  let leftOut = 0
  let at = 0
  while (at < bytes.length && bytes[at] !== LF) {
    const found = bytes.indexOf(LF, at)
    const end = found < 0 ? bytes.length : found
    if (end - at > MAX_LINE_BYTES) leftOut += 1
    else if (length + end - at > MAX_EVENT_BYTES) {
      leftOut += 1
      break
    } else {
      kept.push(bytes.subarray(at, end))
      length += end - at
    }
    at = end + 1
  }
  if (leftOut === 0) return { bytes, leftOut }
  const body = bytes[at] === LF ? bytes.subarray(at) : Buffer.from('\n')
  return { bytes: Buffer.concat([joined(kept, '', '\n', '\n'), body]), leftOut }
}

function joined(parts: readonly Buffer[], before: string, between: string, after: string): Buffer {
  const separator = Buffer.from(between)
  return Buffer.concat([
    Buffer.from(before),
    ...parts.flatMap((part, at) => (at === 0 ? [part] : [separator, part])),
    Buffer.from(after),
  ])
}

/** Returns the end of the pair whose key begins at this quote. */
function endOfPair(bytes: Buffer, start: number): number {
  let at = endOfString(bytes, start)
  while (at < bytes.length && (bytes[at] === COLON || (bytes[at] ?? 0) <= SPACE)) at += 1
  if (bytes[at] === QUOTE) return endOfString(bytes, at)
  const isList = bytes[at] === BRACKET
  while (at < bytes.length) {
    const byte = bytes[at]
    if (byte === QUOTE) at = endOfString(bytes, at)
    else if (isList && byte === BRACKET_END) return at + 1
    else if (!isList && (byte === COMMA || byte === BRACE_END)) return at
    else at += 1
  }
  return at
}

/** Returns the end of the string that begins at this quote: after the next quote that is not escaped. */
function endOfString(bytes: Buffer, start: number): number {
  for (let at = bytes.indexOf(QUOTE, start + 1); at >= 0; at = bytes.indexOf(QUOTE, at + 1)) {
    let before = at
    while (bytes[before - 1] === BACKSLASH) before -= 1
    if ((at - before) % 2 === 0) return at + 1
  }
  return bytes.length
}
