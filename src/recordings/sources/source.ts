/** An open file of recordings. Call `close` once. */
export type OpenFile = {
  readonly size: number
  /** Changes with every write, as far as size and times show. */
  readonly stamp: string
  /** The time of the last write in milliseconds since 1970; `null`: unknown. */
  readonly modifiedMs: number | null
  /** The time since the last write, by the clock of the writer where possible; `null`: unknown. */
  readonly ageMs: number | null
  /**
   * Streams bytes from `start` to before `end`. The stream fails if it cannot give all of them, so that a part never
   * passes for the whole. Cancelling it stops reading.
   */
  read(start: number, end: number): ReadableStream<Uint8Array<ArrayBuffer>>
  close(): Promise<void>
  /** Only for files on this machine. */
  readonly local?: {
    /** A path that opens this very file again while it is open. */
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
  /** Opens a file. Never rejects: a failure is a value. */
  open(segments: readonly string[]): Promise<Opened>
}

/** Reads the first bytes of a file, at most `length`. */
export async function readHead(file: OpenFile, length: number): Promise<Uint8Array> {
  return new Uint8Array(await new Response(file.read(0, Math.min(length, file.size))).arrayBuffer())
}
