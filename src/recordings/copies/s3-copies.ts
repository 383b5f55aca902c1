import { S3Client } from 'bun'
import type { S3Place } from '../../lib/s3-url.ts'
import { limitedReads, READ_LIMITS, type ReadLimits, withinMs } from '../sources/read-limits.ts'
import type { Opened, OpenFile } from '../sources/source.ts'
import { type Copies, hashInto, newHasher, notAsWritten, sha256Of } from './copies.ts'
import { COPIES_BEGIN, MARK_FILE, type MarkPlace } from './store-mark.ts'

/** The part size of an upload, small enough that parts of several copies fit into memory. */
const PART_BYTES = 8 * 1024 * 1024

/**
 * Creates the place of copies in a bucket of S3. Endpoint, region and keys come from the environment. Bun's client
 * waits for minutes for a server that accepts but does not answer: `limits` ends that.
 */
export function createS3Copies(
  { bucket, prefix }: S3Place,
  client = new S3Client({ bucket }),
  limits: ReadLimits = READ_LIMITS,
): Copies {
  const keyOf = (name: string) => (prefix === '' ? name : `${prefix}/${name}`)
  const fileOf = (name: string) => client.file(keyOf(name))

  const answered = <Result>(work: Promise<Result>) => withinMs(limits.answerMs, NO_ANSWER, work)
  const { problemOfList, explained } = problemsOf(client, bucket, answered)

  async function openObject(name: string): Promise<Opened> {
    const object = fileOf(name)
    try {
      const { size, etag, lastModified } = await answered(object.stat())
      const modifiedMs = lastModified.getTime()
      const file: OpenFile = {
        size,
        stamp: `${size}-${etag}`,
        modifiedMs: Number.isNaN(modifiedMs) ? null : modifiedMs,
        ageMs: null,
        read: (start, end) => complete(object.slice(start, end).stream(), end - start, limits),
        close: async () => undefined,
      }
      return { kind: 'file', file }
    } catch (error) {
      // A missing bucket and an unknown key may give the same answer: only a list proves that the file is missing.
      const problem = codeOf(error) === 'NoSuchKey' ? await problemOfList() : (await explained(error)).message
      if (problem === undefined) return { kind: 'missing', reason: 'there is no such object' }
      return { kind: 'unavailable', reason: problem }
    }
  }

  return {
    open: (segments) => openObject(segments.join('/')),
    async write({ stem, extension }, file) {
      const name = `${stem}.${extension}`
      const writer = fileOf(name).writer({ partSize: PART_BYTES, queueSize: 1, retry: 2 })
      const hasher = newHasher()
      try {
        await hashInto(hasher, file.read(0, file.size), async (chunk) => {
          writer.write(chunk)
          await withinMs(limits.silentMs, NO_ANSWER, Promise.resolve(writer.flush()))
        })
        await withinMs(limits.silentMs, NO_ANSWER, Promise.resolve(writer.end()))
      } catch (error) {
        // Otherwise a truncated copy would appear under its name.
        const aborted = Promise.resolve(writer.end(error instanceof Error ? error : new Error(String(error))))
        await answered(aborted).catch(() => undefined)
        throw await explained(error)
      }
      const sha256 = hasher.digest('hex')
      const written = await openObject(name)
      if (written.kind !== 'file') throw new Error(written.reason)
      if ((await sha256Of(written.file.read(0, written.file.size))) !== sha256) throw notAsWritten()
      return { name, sha256 }
    },
    async remove(stem) {
      const { contents = [] } = await answered(client.list({ prefix: keyOf(`${stem}.`) }))
      for (const { key } of contents) await answered(client.delete(key))
    },
  }
}

/** Returns a prefix of a bucket as a place of copies that is marked. */
export function createS3Mark(
  { bucket, prefix }: S3Place,
  client = new S3Client({ bucket }),
  limits: ReadLimits = READ_LIMITS,
): MarkPlace {
  const keyOf = (name: string) => (prefix === '' ? name : `${prefix}/${name}`)
  const name = `s3://${prefix === '' ? bucket : `${bucket}/${prefix}`}`
  const answered = <Result>(work: Promise<Result>) => withinMs(limits.answerMs, NO_ANSWER, work)
  const { explained } = problemsOf(client, bucket, answered)
  const asked = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      return await answered(work())
    } catch (error) {
      throw await explained(error)
    }
  }
  // A list, since the answer to a request for one object can be the same for a missing one and a wrong key.
  const has = (key: string, isKey: (found: string) => boolean) =>
    asked(
      async () => (await client.list({ prefix: key, maxKeys: 10 })).contents?.some((one) => isKey(one.key)) === true,
    )
  const hasObject = (key: string) => has(key, (found) => found === key)
  const markKey = keyOf(MARK_FILE)
  return {
    name,
    advice: 'give the bucket and prefix that have the copies, the same on every node',
    commandFor: (id) => `echo ${id} | aws s3 cp - ${name}/${MARK_FILE}`,
    async readMark() {
      if (!(await hasObject(markKey))) return undefined
      const object = client.file(markKey)
      const [text, { lastModified }] = await asked(() => Promise.all([object.text(), object.stat()]))
      return { text, writtenMs: lastModified.getTime() }
    },
    writeMark: (text) => asked(async () => void (await client.write(markKey, text))),
    hasCopy: (copy) => hasObject(keyOf(copy)),
    hasAnyCopy: () => has(keyOf(COPIES_BEGIN), () => true),
  }
}

/** Returns a function that finds out why requests of a client fail. */
function problemsOf(client: S3Client, bucket: string, answered: <Result>(work: Promise<Result>) => Promise<Result>) {
  const problemOfList = () =>
    answered(client.list({ maxKeys: 1 })).then(
      () => undefined,
      (error) => reasonOf(error) ?? String(error),
    )

  /** Returns an error of S3 with its reason. Responses to HEAD have none: then a list request finds it. */
  async function explained(error: unknown): Promise<Error> {
    if (!(error instanceof Error) || error.name !== 'S3Error')
      return error instanceof Error ? error : new Error(`${error}`)
    const reason = reasonOf(error) ?? (await problemOfList()) ?? error.message
    return new Error(`S3, bucket ${bucket}: ${reason}`, { cause: error })
  }
  return { problemOfList, explained }
}

const NO_ANSWER = 'it does not answer'

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '')

/** Returns an error of S3 in plain words; `undefined` for a code without a text here. */
function reasonOf(error: unknown): string | undefined {
  const code = codeOf(error)
  if (code === 'ConnectionRefused') return 'the connection is refused: check AWS_ENDPOINT'
  if (code === 'UnknownError') return undefined
  if (code === 'AuthorizationHeaderMalformed') return 'the region is another one: set AWS_REGION'
  return error instanceof Error && !/unexpected error/.test(error.message) ? error.message : code
}

/** Passes a stream on within limits. The stream fails if it ends early. */
function complete(stream: ReadableStream, bytes: number, limits: ReadLimits): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> = stream.getReader()
  const limited = limitedReads(limits)
  let left = bytes
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        try {
          const chunk = await limited(async () => (await reader.read()).value)
          if (chunk !== undefined) {
            left -= chunk.length
            controller.enqueue(chunk)
          } else if (left === 0) controller.close()
          else throw new Error('S3 ended before the end of the file')
        } catch (error) {
          void reader.cancel().catch(() => undefined)
          throw error
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}
