import type { OpenFile, Source } from '../sources/source.ts'

/** The place of the copies of recordings. Names are of folders and a file, separated by slashes. */
export type Copies = Source & {
  /**
   * Copies a file under a name, in place of what is there, and returns its SHA-256 (hexadecimal). What is read back
   * from the copy has that
   * hash. @throws Error with the reason; then there may be a part under another name, which the next try replaces.
   */
  write(name: string, file: OpenFile): Promise<string>
  /** Deletes a copy, if there is one. @throws Error with the reason when it cannot be deleted. */
  remove(name: string): Promise<void>
}

/** Reads a stream to its end, and returns the hash of its bytes. `onChunk` is awaited for each of its chunks. */
export async function hashOf(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  onChunk: (chunk: Uint8Array<ArrayBuffer>) => Promise<unknown> = async () => undefined,
): Promise<string> {
  const hasher = new Bun.CryptoHasher('sha256')
  for await (const chunk of stream) {
    hasher.update(chunk)
    await onChunk(chunk)
  }
  return hasher.digest('hex')
}

/** Makes the error of a copy that is not what was written. */
export const notAsWritten = (): Error => new Error('the copy is not what was written: its SHA-256 is another')
