const EMPTY = Buffer.alloc(0)

/**
 * The bytes of a stream that are not part of a complete frame yet. A chunk that arrives when nothing is left over is
 * used as it is; otherwise it is appended to a larger buffer. Dropped bytes are never written again, so that frames may
 * point into them.
 */
export class ByteBuffer {
  /** Only the first `length` bytes are used: the rest is spare. */
  bytes: Buffer = EMPTY
  length = 0
  /** The stream offset of the first byte. */
  offset = 0
  #isOwned = false

  /**
   * Appends a chunk, which must not change afterwards. `expected` bytes have room without another copy, and no more:
   * a frame of known length keeps no spare bytes alive.
   */
  append(chunk: Uint8Array, expected = 0): void {
    if (this.length === 0 && chunk.length >= expected) {
      this.bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
      this.length = chunk.length
      this.#isOwned = false
      return
    }
    const needed = this.length + chunk.length
    if (!this.#isOwned || needed > this.bytes.length) {
      // Most frames are complete with the second chunk: spare bytes, which frames keep alive, come with the third.
      const spare = this.#isOwned ? needed : 0
      const grown = Buffer.allocUnsafeSlow(expected >= needed ? expected : needed + spare)
      grown.set(this.bytes.subarray(0, this.length))
      this.bytes = grown
      this.#isOwned = true
    }
    this.bytes.set(chunk, this.length)
    this.length = needed
  }

  /** Drops the first `count` bytes. */
  drop(count: number): void {
    if (count === 0) return
    this.bytes = count === this.length ? EMPTY : Buffer.from(this.bytes.subarray(count, this.length))
    this.#isOwned = false
    this.offset += count
    this.length -= count
  }
}
