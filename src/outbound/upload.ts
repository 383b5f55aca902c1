import { basename } from 'node:path'

/** An open file of a recording. Call `close` once. */
export type RecordingFile = {
  readonly size: number
  readonly mediaType: string
  /** Streams the whole file, each time from its beginning; fails if it cannot give all of it. */
  read(): ReadableStream<Uint8Array<ArrayBuffer>>
  close(): Promise<void>
}

/** Opens the file of a recording. @throws Fault when no file can be sent now. */
export type OpenRecording = (
  accountId: number,
  recording: { readonly callId: string; readonly recordingId: string },
) => Promise<RecordingFile>

/** The body of a request that has a recording: the file alone, or a part of a form. */
export type Upload = {
  readonly contentType: string
  readonly size: number
  read(): ReadableStream<Uint8Array<ArrayBuffer>>
}

/** The content of an upload. */
type UploadOf = {
  readonly step: { readonly upload: 'recording' | { readonly field: string } | null; readonly content_type: string }
  readonly fields: Readonly<Record<string, string>>
  /** The path that the PBX reported. */
  readonly path: string
  readonly file: RecordingFile
  /** Separates the parts of a form: random. */
  readonly boundary: string
}

/** The content type that a step has unless it is given: no recording is JSON. */
const NOT_GIVEN = 'application/json'

/** Returns the body of an upload; `undefined` if the step has none. Nothing is read before the request. */
export function uploadOf({ step, fields, path, file, boundary }: UploadOf): Upload | undefined {
  const { upload, content_type: given } = step
  if (upload === null) return undefined
  if (upload === 'recording')
    return { contentType: given === NOT_GIVEN ? file.mediaType : given, size: file.size, read: file.read }
  const head = headOf(fields, { field: upload.field, name: fileNameOf(path), mediaType: file.mediaType }, boundary)
  const tail = new TextEncoder().encode(`\r\n--${boundary}--\r\n`)
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    size: head.byteLength + file.size + tail.byteLength,
    read: () => joined([head], file.read(), [tail]),
  }
}

/** Characters that could end a quoted name, or a header. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are searched for
const UNSAFE = /[\u0000-\u001f\u007f"\\]/g

function headOf(
  fields: Readonly<Record<string, string>>,
  part: { readonly field: string; readonly name: string; readonly mediaType: string },
  boundary: string,
): Uint8Array<ArrayBuffer> {
  const quoted = (text: string) => `"${text.replace(UNSAFE, '_')}"`
  const values = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name=${quoted(name)}\r\n\r\n${value}\r\n`,
  )
  const file =
    `--${boundary}\r\ncontent-disposition: form-data; name=${quoted(part.field)}; filename=${quoted(part.name)}\r\n` +
    `content-type: ${part.mediaType}\r\n\r\n`
  return new TextEncoder().encode(values.join('') + file)
}

/** Returns a name that any file system takes. */
const fileNameOf = (path: string): string => basename(path).replace(/[^\w.-]/g, '_') || 'recording'

type Chunk = Uint8Array<ArrayBuffer>

/** Streams parts around another stream. Cancelling it cancels that one. */
function joined(
  before: readonly Chunk[],
  inner: ReadableStream<Chunk>,
  after: readonly Chunk[],
): ReadableStream<Chunk> {
  const reader = inner.getReader()
  const first = [...before]
  return new ReadableStream<Chunk>(
    {
      async pull(controller) {
        const head = first.shift()
        if (head !== undefined) return controller.enqueue(head)
        const { done, value } = await reader.read()
        if (!done) return controller.enqueue(value)
        for (const part of after) controller.enqueue(part)
        controller.close()
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}
