/** A file of recordings as it is at this moment. `close` has to be called once. */
export type OpenFile = {
  readonly size: number
  /** Another text whenever the file was written, as far as its size and times show it. */
  readonly stamp: string
  /** When it was written last (milliseconds since 1970), where that is known. */
  readonly modifiedMs: number | null
  /** How long ago it was written, by the clock that wrote it where possible; `null` where it is not known. */
  readonly ageMs: number | null
  /**
   * Streams bytes from `start` to before `end`. The stream fails if it cannot give all of them: never is a part taken
   * for the whole. Cancelling it stops reading.
   */
  read(start: number, end: number): ReadableStream<Uint8Array<ArrayBuffer>>
  close(): Promise<void>
  /** Only files of this machine may have it. */
  readonly local?: {
    /** A path that opens this very file again, until it is closed. */
    readonly path: string
    /** Reads bytes into the cache of the operating system, so that sending them waits for no disk. Never rejects. */
    cache(start: number, end: number): Promise<void>
  }
}

/**
 * `missing`: there is no such file, or none that may be opened. `unavailable`: the source does not answer, or not as it
 * should.
 */
export type Opened =
  | { readonly kind: 'file'; readonly file: OpenFile }
  | { readonly kind: 'missing' | 'unavailable'; readonly reason: string }

/**
 * A place where files are kept: the recordings of a PBX, or the copies of them. Names are folders and a file below it.
 */
export type Source = {
  /** Opens a file. Never rejects for what the name or the place is. */
  open(segments: readonly string[]): Promise<Opened>
}

/** Reads the first bytes of a file, at most `length`. */
export async function readHead(file: OpenFile, length: number): Promise<Uint8Array> {
  return new Uint8Array(await new Response(file.read(0, Math.min(length, file.size))).arrayBuffer())
}
