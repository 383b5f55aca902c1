const LF = 0x0a

/** A longer line (a channel variable may have any length) is left out of its frame. */
export const MAX_LINE_BYTES = 64 * 1024
/** The most bytes that wait for the end of a frame, lines that will be left out included. */
export const MAX_UNREAD_BYTES = 16 * 1024 * 1024

/** Measures the lines of a frame that has begun, each once, without the lines that are too long. */
export class LineMeter {
  #end = 0
  #bytes = 0

  /** Begins anew: the buffer's first byte is another one. */
  reset(): void {
    this.#end = 0
    this.#bytes = 0
  }

  /** Returns the bytes of the whole lines so far that are not too long. */
  read(bytes: Buffer, length: number): number {
    for (let at = bytes.indexOf(LF, this.#end); at >= 0 && at < length; at = bytes.indexOf(LF, this.#end)) {
      const line = at + 1 - this.#end
      if (line <= MAX_LINE_BYTES) this.#bytes += line
      this.#end = at + 1
    }
    return this.#bytes
  }
}
