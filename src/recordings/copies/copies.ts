import type { RecordingRecord } from '../../store/operations/recordings.ts'
import type { OpenFile, Source } from '../sources/source.ts'

/** The name of a copy: folders and a file, separated by slashes. All files of one recording have the same stem. */
type CopyName = { readonly stem: string; readonly extension: string }

/** The place of the copies of recordings. */
export type Copies = Source & {
  /** Checks that this is the place of the copies of this store. @throws Error with the reason if it is not. */
  check?(): Promise<void>
  /**
   * Copies a file, replacing an earlier copy. Returns the name and the SHA-256 (hexadecimal), which was verified by
   * reading the copy back. @throws Error with the reason; a part may be left under another name.
   */
  write(name: CopyName, file: OpenFile): Promise<{ readonly name: string; readonly sha256: string }>
  /** Deletes the copy of a recording and its parts, if there are any. @throws Error with the reason. */
  remove(stem: string): Promise<void>
}

/** Returns the stem of the names of a recording's files. It never changes, so that another try replaces the copy. */
export function copyStemOf({ accountId, callId, id, sinceUs, copy }: RecordingRecord): string {
  if (copy !== null) return copy.replace(/\.[^./]*$/, '')
  const day = new Date(sinceUs / 1_000).toISOString().slice(0, 10)
  const plain = (text: string) => text.replace(/[^\w-]/g, '_')
  return `account-${accountId}/${day}/${plain(callId)}-${plain(id)}`
}

/** Reads a stream to its end into a hash. `onChunk` is awaited for each of its chunks. */
export async function hashInto(
  hasher: Bun.CryptoHasher,
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  onChunk: (chunk: Uint8Array<ArrayBuffer>) => Promise<unknown> = async () => undefined,
): Promise<void> {
  for await (const chunk of stream) {
    hasher.update(chunk)
    await onChunk(chunk)
  }
}

/** Makes the hasher of copies. */
export const newHasher = () => new Bun.CryptoHasher('sha256')

/** Reads a stream to its end, and returns the hash of its bytes (hexadecimal). */
export async function sha256Of(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string> {
  const hasher = newHasher()
  await hashInto(hasher, stream)
  return hasher.digest('hex')
}

/** Makes the error of a copy that differs from the file. */
export const notAsWritten = (): Error => new Error('the copy is not what was written: its SHA-256 is another')
