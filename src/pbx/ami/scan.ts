import { MAX_LINE_BYTES } from '../connection/line-meter.ts'
import { SLOTS } from './frame.ts'

const MAX_HEADERS = 2_000

export const LF = 0x0a
export const CR = 0x0d
const COLON = 0x3a
const SPACE = 0x20

/** Headers that Asterisk itself repeats; the first ones may have a prefix (`DestChanVariable`). */
const REPEATABLE = /(chanvariable|^variables?|^output)$/i
const SEEN_SLOTS = 256

/**
 * Finds the header lines of one frame after another. Reads each byte once, and creates only the table of the frame:
 * this is the hottest loop of the program.
 */
export class HeaderScan {
  /** The last frame has a repeated header, a bare CR or LF, or a line without a colon. */
  tainted = false
  /** Set if the last frame exceeded a limit. */
  fault: string | undefined
  /** The number of lines that were left out, of all frames. */
  longLines = 0
  readonly #table = new Int32Array(MAX_HEADERS * SLOTS)
  #rows = 0
  /**
   * The frame in which a key with this slot was last seen, so that most keys are recognized as new without comparing.
   */
  readonly #seenIn = new Int32Array(SEEN_SLOTS)
  #frame = 0

  /** `crlf`: lines end with CRLF, and a bare CR or LF is part of a forged value; else lines end with LF. */
  read(bytes: Buffer, start: number, end: number, crlf: boolean, mayRepeat: boolean): Int32Array {
    this.tainted = false
    this.#rows = 0
    this.#frame = (this.#frame + 1) | 0
    let at = start
    while (at < end && this.fault === undefined) {
      const stop = crlf ? this.#lineEnd(bytes, at, end) : lineEndLf(bytes, at, end)
      if (stop - at > MAX_LINE_BYTES) this.longLines += 1
      else this.#line(bytes, at, !crlf && bytes[stop - 1] === CR ? stop - 1 : stop, mayRepeat)
      at = stop + (crlf ? 2 : 1)
    }
    return this.#table.slice(0, this.#rows * SLOTS)
  }

  #lineEnd(bytes: Buffer, start: number, end: number): number {
    for (let at = start; at < end; at++) {
      const byte = bytes[at]
      if (byte === CR && bytes[at + 1] === LF && at + 1 < end) return at
      if (byte === CR || byte === LF) this.tainted = true
    }
    return end
  }

  #line(bytes: Buffer, start: number, end: number, mayRepeat: boolean): void {
    let hash = 0
    let colon = start
    for (; colon < end; colon++) {
      const byte = bytes[colon] ?? 0
      if (byte === COLON) break
      hash = (Math.imul(hash, 31) + (byte | 0x20)) | 0
    }
    if (colon === end || colon === start) {
      this.tainted = true
      return
    }
    if (this.#rows === MAX_HEADERS) {
      this.fault = `a frame has more than ${MAX_HEADERS} headers`
      return
    }
    const row = this.#rows * SLOTS
    this.#table[row] = hash
    this.#table[row + 1] = start
    this.#table[row + 2] = bytes[colon + 1] === SPACE && colon + 1 < end ? colon + 2 : colon + 1
    this.#table[row + 3] = end
    this.#rows += 1
    if (!mayRepeat && !this.tainted) this.tainted = this.#repeats(bytes, row, start, colon)
  }

  #repeats(bytes: Buffer, row: number, start: number, colon: number): boolean {
    const slot = (this.#table[row] ?? 0) & (SEEN_SLOTS - 1)
    if (this.#seenIn[slot] !== this.#frame) {
      this.#seenIn[slot] = this.#frame
      return false
    }
    for (let other = 0; other < row; other += SLOTS)
      if (
        this.#table[other] === this.#table[row] &&
        sameText(bytes, this.#table[other + 1] ?? 0, start, colon + 1 - start)
      )
        return !REPEATABLE.test(bytes.toString('latin1', start, colon))
    return false
  }
}

function lineEndLf(bytes: Buffer, start: number, end: number): number {
  for (let at = start; at < end; at++) if (bytes[at] === LF) return at
  return end
}

function sameText(bytes: Buffer, one: number, other: number, length: number): boolean {
  for (let at = 0; at < length; at++)
    if (((bytes[one + at] ?? 0) | 0x20) !== ((bytes[other + at] ?? 0) | 0x20)) return false
  return true
}
