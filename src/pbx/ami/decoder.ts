import { ByteBuffer } from '../connection/byte-buffer.ts'
import { LineMeter, MAX_LINE_BYTES, MAX_UNREAD_BYTES } from '../connection/line-meter.ts'
import { hasShape, misshape } from './event-shapes.ts'
import { CUSTOM_EVENT } from './events.ts'
import { type AmiFrame, AmiHeaders, copyHeaders } from './frame.ts'
import { CR, HeaderScan, LF } from './scan.ts'
import { readUserEvent } from './user-event.ts'

export type { AmiFrame } from './frame.ts'

/** The first line of a FreeSWITCH. */
const FREESWITCH_GREETING = 'Content-Type: auth/request'
const IS_FREESWITCH =
  'a FreeSWITCH answers at this address: use esl:// in its URL (esl://:password@host:8021), or the port of Asterisk'

/** Returns whether to skip an event. `peek` reads one header (its key as Asterisk writes it) at little cost. */
type Skip = (name: string, peek: (key: string) => string) => boolean

/**
 * Decodes AMI bytes into frames, wherever chunks are cut. No clock, no I/O.
 *
 * The greeting (one line, no empty line after it) is skipped. Asterisk ends its lines with CRLF, some proxies with
 * LF: the first line of the first frame decides for the connection. Header lines are found on bytes, values are
 * decoded only when they are read.
 *
 * Asterisk prints a caller's number into its events exactly as received, so a caller can end a line and write headers,
 * even whole events. A frame is `tainted`, not to be trusted, if
 * - a header occurs twice that Asterisk prints once (except in a UserEvent, whose headers come from the dialplan),
 * - it does not begin with `Event:` or `Response:`: it is the rest of an event that a forged one cut short. Then the
 *   frames before it in the same push are tainted too, back to the last whole event of a channel,
 * - an event has neither `Privilege:` (every live event has it) nor `ActionID:` (a row of a requested list),
 * - an event that is read lacks a part of its shape (see event-shapes.ts): it was cut short or forged (79 bytes are too
 *   few for all of it). Then the following frames are tainted too, up to one that no caller can write: a whole event
 *   of a channel, or an answer to an action,
 * - there is text between two headers that Asterisk prints one after the other,
 * - a line has a bare CR or LF, or no colon.
 *
 * A line longer than `MAX_LINE_BYTES` is left out of its frame, and counted.
 */
export class AmiDecoder {
  readonly #skip: Skip
  readonly #idPrefix: string | undefined
  readonly #scan = new HeaderScan()
  readonly #buffer = new ByteBuffer()
  /** No frame ends before this offset. */
  #searched = 0
  #greeted = false
  #greeting = ''
  #crlf: boolean | undefined
  #skipped = 0
  readonly #meter = new LineMeter()
  /** An event was cut short: a caller wrote the following bytes, up to the rest of the event. */
  #forging = false

  /**
   * Events for which `skip` returns `true` are not read. `idPrefix`: the beginning of the ids of the connection's
   * actions, if it has any.
   */
  constructor({ skip = () => false, idPrefix }: { skip?: Skip; idPrefix?: string | undefined } = {}) {
    this.#skip = skip
    this.#idPrefix = idPrefix
  }

  /**
   * Returns why the stream cannot be read any further, `undefined` while it can: the connection must be closed then.
   */
  get fault(): string | undefined {
    return this.#scan.fault
  }

  /** Returns the first line, which names the version of the protocol; empty before it came. */
  get greeting(): string {
    return this.#greeting
  }

  /** Returns the number of skipped events. */
  get skipped(): number {
    return this.#skipped
  }

  /** Returns the number of lines that were left out of their frames because they were too long. */
  get longLines(): number {
    return this.#scan.longLines
  }

  /** Returns the stream offset of the first byte that is not part of a complete frame. */
  get consumed(): number {
    return this.#buffer.offset
  }

  /** Returns the frames that this chunk completes. The chunk must not change afterwards: frames point into it. */
  push(chunk: Uint8Array): AmiFrame[] {
    const frames: AmiHeaders[] = []
    if (this.#scan.fault !== undefined) return frames
    this.#buffer.append(chunk)
    if (!this.#open()) return frames
    const ending = this.#crlf ? CRLF_END : LF_END
    const line = ending.length / 2
    let start = this.#emptyLines(0)
    for (;;) {
      const end = this.#buffer.bytes.indexOf(ending, Math.max(start, this.#searched))
      if (end < 0 || end + ending.length > this.#buffer.length) break
      this.#searched = 0
      this.#frame(start, end, frames)
      if (this.#scan.fault !== undefined) return frames
      start = this.#emptyLines(end + 2 * line)
    }
    this.#buffer.drop(start)
    if (start > 0) this.#meter.reset()
    if (this.#isTooLong()) this.#scan.fault = TOO_LONG
    this.#searched = Math.max(0, this.#buffer.length - ending.length + 1)
    return frames
  }

  /** Skips the greeting and detects the line ending, once enough has arrived; `false` before. */
  #open(): boolean {
    if (this.#crlf !== undefined) return true
    for (;;) {
      const end = this.#buffer.bytes.subarray(0, this.#buffer.length).indexOf(LF)
      if (end < 0) {
        if (this.#buffer.length > MAX_LINE_BYTES)
          this.#scan.fault = 'this is no Asterisk manager interface: it sends no greeting'
        return false
      }
      if (!this.#greeted && this.#buffer.bytes.toString('latin1', 0, end).trim() === FREESWITCH_GREETING) {
        this.#scan.fault = IS_FREESWITCH
        return false
      }
      if (this.#greeted || startsFrame(this.#buffer.bytes, 0)) {
        this.#crlf = this.#buffer.bytes[end - 1] === CR
        return true
      }
      this.#greeted = true
      this.#greeting = this.#buffer.bytes.toString('latin1', 0, Math.min(end, MAX_GREETING_BYTES)).trim()
      this.#buffer.drop(end + 1)
    }
  }

  /** Skips empty lines before a frame. */
  #emptyLines(from: number): number {
    const { bytes, length } = this.#buffer
    let at = from
    if (this.#crlf) while (at + 1 < length && bytes[at] === CR && bytes[at + 1] === LF) at += 2
    else while (at < length && bytes[at] === LF) at += 1
    return at
  }

  /** Returns whether the frame that has begun is too long, not counting the lines that will be left out. */
  #isTooLong(): boolean {
    const { bytes, length } = this.#buffer
    if (length <= MAX_FRAME_BYTES) return false
    return this.#meter.read(bytes, length) > MAX_FRAME_BYTES || length > MAX_UNREAD_BYTES
  }

  #frame(start: number, end: number, frames: AmiHeaders[]): void {
    const bytes = this.#buffer.bytes
    const type = startsWith(bytes, start, 'event:')
      ? 'event'
      : startsWith(bytes, start, 'response:')
        ? 'response'
        : 'other'
    const name = type === 'other' ? '' : nameOf(bytes, start + (type === 'event' ? 6 : 9), end)
    if (type === 'event' && this.#skip(name, (key) => peek(bytes, start, end, key))) {
      this.#skipped += 1
      return
    }
    const longLines = this.#scan.longLines
    const table = this.#scan.read(bytes, start, end, this.#crlf === true, name === 'UserEvent')
    const kept = this.#scan.longLines > longLines ? copyHeaders(bytes, table) : { bytes, table }
    if ((kept.bytes === bytes ? end - start : kept.bytes.length) > MAX_FRAME_BYTES) this.#scan.fault = TOO_LONG
    if (this.#scan.fault !== undefined) return
    const offset = this.#buffer.offset + start
    const frame = new AmiHeaders(offset, type, name, this.#scan.tainted, kept.bytes, kept.table)
    this.#judge(frame, frames)
    frames.push(frame)
  }

  #judge(frame: AmiHeaders, before: readonly AmiHeaders[]): void {
    const { type } = frame
    if (type === 'other') this.#taintBefore(before)
    const wrong = type === 'event' ? misshape(frame) : undefined
    const cut = wrong === 'cut' || (type === 'event' && isCutShort(frame))
    const stray = type === 'event' && !frame.has('Privilege') && !frame.has('ActionID')
    // A forged event without an empty line at its end swallows the rest of the event it was written into, so nothing
    // shows the end of the caller's text but the next frame that no caller can write.
    const isForged = this.#forging && !this.#isWhole(frame)
    if (type === 'other' || wrong !== undefined || cut || stray || isForged) frame.tainted = true
    this.#forging = cut || isForged
  }

  /** Taints the text of a caller, between the event that it cut short and the rest of that event. */
  #taintBefore(frames: readonly AmiHeaders[]): void {
    for (let at = frames.length - 1; at >= 0; at--) {
      const frame = frames[at]
      if (frame?.type !== 'event' || hasLinkedid(frame) || this.#isWhole(frame)) return
      frame.tainted = true
    }
  }

  /** Returns whether a frame is from Asterisk itself: it has the complete shape of an event, or answers an action. */
  #isWhole(frame: AmiHeaders): boolean {
    return isWholeEvent(frame) || this.#isAnswer(frame)
  }

  /**
   * Returns whether a frame begins with the id of an action, as a response and the rows and the end of a list do. The
   * id alone may be the rest of a row that a caller has cut short, and proves nothing.
   */
  #isAnswer(frame: AmiHeaders): boolean {
    if (this.#idPrefix === undefined || frame.count < 3 || !frame.isKeyAt(1, 'ActionID')) return false
    return frame.get('ActionID').startsWith(this.#idPrefix)
  }
}

/** Without the lines that are left out. */
const MAX_FRAME_BYTES = 1024 * 1024
const TOO_LONG = `a frame is longer than ${MAX_FRAME_BYTES} bytes`
const MAX_GREETING_BYTES = 100

const CRLF_END = Buffer.from('\r\n\r\n')
const LF_END = Buffer.from('\n\n')

const hasLinkedid = (frame: AmiHeaders): boolean => frame.has('Linkedid') || frame.has('DestLinkedid')

/** An event of a channel that ends before its Linkedid, including events that are not read. */
const isCutShort = (frame: AmiHeaders): boolean =>
  !hasLinkedid(frame) && (frame.has('ChannelStateDesc') || frame.has('DestChannelStateDesc'))

/** A `UserEvent` has no shape, but a channel as others have it. */
const isWholeEvent = (frame: AmiHeaders): boolean => {
  if (frame.type !== 'event') return false
  if (frame.name === CUSTOM_EVENT) return (readUserEvent(frame)?.channel ?? null) !== null
  return hasShape(frame.name) && misshape(frame) === undefined
}

function peek(bytes: Buffer, start: number, end: number, key: string): string {
  // Search only within the frame: without the key the search would run to the end of the chunk, for thousands of
  // frames.
  const at = bytes.subarray(start, end).indexOf(`\n${key}: `, 0, 'latin1')
  return at < 0 ? '' : nameOf(bytes, start + at + key.length + 3, end)
}

function nameOf(bytes: Buffer, start: number, end: number): string {
  let from = start
  while (from < end && bytes[from] === 0x20) from++
  let to = from
  while (to < end && bytes[to] !== CR && bytes[to] !== LF) to++
  return bytes.toString('latin1', from, to)
}

const startsFrame = (bytes: Uint8Array, start: number): boolean =>
  startsWith(bytes, start, 'event:') || startsWith(bytes, start, 'response:')

function startsWith(bytes: Uint8Array, start: number, word: string): boolean {
  for (let at = 0; at < word.length; at++)
    if (((bytes[start + at] ?? 0) | 0x20) !== (word.charCodeAt(at) | 0x20)) return false
  return true
}
