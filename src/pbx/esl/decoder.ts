import { ByteBuffer } from '../connection/byte-buffer.ts'
import { LineMeter, MAX_LINE_BYTES, MAX_UNREAD_BYTES } from '../connection/line-meter.ts'
import { type EslEvent, eventFromJson, eventFromPlain } from './event.ts'
import { shortenJson, shortenPlain } from './long-values.ts'

export type { EslEvent } from './event.ts'

/** The beginning of the first line of an Asterisk. */
const ASTERISK = 'Asterisk Call Manager/'
const IS_ASTERISK =
  'an Asterisk answers at this address: use ami:// in its URL (ami://user:secret@host:5038), or the port of FreeSWITCH'

/** One ESL frame: a header block, and a body of exactly Content-Length bytes. */
export type EslFrame = {
  /** The byte offset of the frame in the stream of its connection. */
  readonly offset: number
  /** `auth/request`, `command/reply`, `api/response`, `text/event-json`, `text/disconnect-notice`, … */
  readonly contentType: string
  /** Returns a header of the frame itself (`Reply-Text`), `''` if it is absent; keys ignore case. */
  get(key: string): string
  readonly body: string
  /**
   * The event of an event frame, decoded by the frame's own type; `undefined` for other frames, and if it cannot be
   * read.
   */
  readonly event: EslEvent | undefined
  /** Drops the values that were read of the event, which take more memory than its bytes; they can be read again. */
  forget?(): void
}

/**
 * Decodes ESL bytes into frames, wherever chunks are cut. No clock, no I/O. Bodies are decoded only when they are read.
 */
export class EslDecoder {
  readonly #buffer = new ByteBuffer()
  readonly #meter = new LineMeter()
  /** No header block ends before this offset. */
  #searched = 0
  #longLines = 0
  /** The header block of a frame whose body is not complete yet. */
  #pending:
    | { readonly headers: ReadonlyMap<string, string>; readonly bodyStart: number; readonly end: number }
    | undefined
  #fault: string | undefined

  /**
   * Returns why the stream cannot be read any further, `undefined` while it can: the connection must be closed then.
   */
  get fault(): string | undefined {
    return this.#fault
  }

  /** Returns the number of header lines, and lines of events, that were left out because they were too long. */
  get longLines(): number {
    return this.#longLines
  }

  /** Returns the stream offset of the first byte that is not part of a complete frame. */
  get consumed(): number {
    return this.#buffer.offset
  }

  /** Returns the frames that this chunk completes. The chunk must not change afterwards: frames point into it. */
  push(chunk: Uint8Array): EslFrame[] {
    const frames: EslFrame[] = []
    // Only what completes the frame that has begun is copied, and not the rest of the chunk.
    const missing = (this.#pending?.end ?? 0) - this.#buffer.length
    const isSplit = missing > 0 && missing < chunk.length
    if (isSplit) this.#read(chunk.subarray(0, missing), frames)
    this.#read(isSplit ? chunk.subarray(missing) : chunk, frames)
    return frames
  }

  /** Reads bytes, and adds the frames that they complete. */
  #read(chunk: Uint8Array, frames: EslFrame[]): void {
    if (this.#fault !== undefined) return
    this.#buffer.append(chunk, this.#pending?.end)
    let start = 0
    while (this.#fault === undefined) {
      if (this.#pending === undefined) start = this.#readHeaders(start)
      if (this.#pending === undefined || this.#pending.end > this.#buffer.length) break
      const { headers, bodyStart, end } = this.#pending
      const body = this.#shortened(headers, this.#buffer.bytes.subarray(bodyStart, end))
      frames.push(new Frame(this.#buffer.offset + start, headers, body))
      this.#pending = undefined
      start = end
      this.#searched = start
    }
    this.#drop(start)
  }

  /** Leaves out the long lines of an event. */
  #shortened(headers: ReadonlyMap<string, string>, body: Buffer): Buffer {
    if (body.length <= MAX_LINE_BYTES) return body
    const type = headers.get('content-type')
    const shorten = type === JSON_EVENT ? shortenJson : type === PLAIN_EVENT ? shortenPlain : undefined
    const short = shorten?.(body)
    this.#longLines += short?.leftOut ?? 0
    return short?.bytes ?? body
  }

  /** Reads the next complete header block into `#pending`; returns its offset. */
  #readHeaders(from: number): number {
    const { bytes, length } = this.#buffer
    let start = from
    while (start < length && (bytes[start] === LF || bytes[start] === CR)) start++
    // Asterisk sends one line and waits: without this, so would we.
    if (
      this.#buffer.offset + start === 0 &&
      bytes.toString('latin1', 0, Math.min(length, ASTERISK.length)) === ASTERISK
    ) {
      this.#fault = IS_ASTERISK
      return start
    }
    const found = blankLine(bytes, length, Math.max(start, this.#searched))
    const blockEnd = found?.start ?? length
    if (blockEnd - start > MAX_HEADER_BYTES && this.#isTooLong(start, blockEnd)) {
      this.#fault = `a header block is longer than ${MAX_HEADER_BYTES} bytes`
      return start
    }
    if (found === undefined) {
      this.#searched = Math.max(start, length - 3)
      return start
    }
    const { headers, leftOut } = headersOf(bytes.toString('utf8', start, found.start))
    this.#longLines += leftOut
    const maxBytes = headers.get('content-type') === REPLY ? MAX_REPLY_BYTES : MAX_BODY_BYTES
    const bodyBytes = lengthOf(headers.get('content-length'), maxBytes)
    if (bodyBytes === undefined) this.#fault = `a Content-Length is not a number up to ${maxBytes}`
    else this.#pending = { headers, bodyStart: found.end, end: found.end + bodyBytes }
    return start
  }

  /** Returns whether a header block is too long, not counting the lines that are left out. */
  #isTooLong(start: number, end: number): boolean {
    const { bytes, length } = this.#buffer
    // Frames before it in this chunk count too; they leave the buffer with the chunk.
    return end - start > MAX_UNREAD_BYTES || this.#meter.read(bytes, length) > MAX_HEADER_BYTES + start
  }

  /** Drops the frames that were read. */
  #drop(start: number): void {
    if (start === 0) return
    this.#meter.reset()
    this.#buffer.drop(start)
    this.#searched = Math.max(0, this.#searched - start)
    if (this.#pending !== undefined) {
      const { headers, bodyStart, end } = this.#pending
      this.#pending = { headers, bodyStart: bodyStart - start, end: end - start }
    }
  }
}

class Frame implements EslFrame {
  readonly offset: number
  readonly contentType: string
  /** Of an event, none but its type and length: tens of thousands of them may wait at a time. */
  readonly #headers: ReadonlyMap<string, string> | undefined
  readonly #bytes: Buffer
  #event: EslEvent | undefined
  #decoded = false

  constructor(offset: number, headers: ReadonlyMap<string, string>, bytes: Buffer) {
    const type = headers.get('content-type') ?? ''
    this.offset = offset
    this.contentType = type === JSON_EVENT ? JSON_EVENT : type
    this.#headers = type === JSON_EVENT && headers.size <= 2 ? undefined : headers
    this.#bytes = bytes
  }

  get(key: string): string {
    if (this.#headers !== undefined) return this.#headers.get(key.toLowerCase()) ?? ''
    return key.toLowerCase() === 'content-type' ? this.contentType : ''
  }

  get body(): string {
    return this.#bytes.toString('utf8')
  }

  get event(): EslEvent | undefined {
    if (!this.#decoded) {
      this.#decoded = true
      if (this.contentType === JSON_EVENT) this.#event = eventFromJson(this.#bytes)
      else if (this.contentType === PLAIN_EVENT) this.#event = eventFromPlain(this.#bytes)
    }
    return this.#event
  }

  forget(): void {
    this.#event = undefined
    this.#decoded = false
  }
}

const JSON_EVENT = 'text/event-json'
const PLAIN_EVENT = 'text/event-plain'

/** Usually two lines; the command/reply to `connect` is a few kilobytes. */
const MAX_HEADER_BYTES = 64 * 1024
const MAX_BODY_BYTES = MAX_UNREAD_BYTES
/** The reply to a command of ours: a list of 40,000 legs has 27 MB. */
const REPLY = 'api/response'
const MAX_REPLY_BYTES = 64 * 1024 * 1024

const LF = 0x0a
const CR = 0x0d

/** Returns the first empty line: where the text before it ends, and where the text after it begins. */
function blankLine(bytes: Buffer, length: number, from: number): { start: number; end: number } | undefined {
  for (let at = bytes.indexOf(LF, from); at >= 0 && at < length; at = bytes.indexOf(LF, at + 1)) {
    if (at + 1 < length && bytes[at + 1] === LF) return { start: at, end: at + 2 }
    if (at + 2 < length && bytes[at + 1] === CR && bytes[at + 2] === LF) return { start: at, end: at + 3 }
  }
  return undefined
}

function headersOf(text: string): { readonly headers: Map<string, string>; readonly leftOut: number } {
  const headers = new Map<string, string>()
  let leftOut = 0
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':')
    if (line.length > MAX_LINE_BYTES) leftOut += 1
    else if (colon > 0) headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim())
  }
  return { headers, leftOut }
}

function lengthOf(text: string | undefined, maxBytes: number): number | undefined {
  if (text === undefined) return 0
  return /^\d{1,8}$/.test(text) && Number(text) <= maxBytes ? Number(text) : undefined
}
