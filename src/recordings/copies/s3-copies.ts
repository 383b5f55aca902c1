import { createS3Client, readText, type S3Client } from '../../outbound/s3-client.ts'
import type { S3Place } from '../../outbound/s3-url.ts'
import { limitedReads, READ_LIMITS, type ReadLimits, withinMs } from '../sources/read-limits.ts'
import type { Opened, OpenFile } from '../sources/source.ts'
import { type Copies, newHasher, notAsWritten, sha256Of } from './copies.ts'
import { COPIES_BEGIN, MARK_FILE, type MarkPlace } from './store-mark.ts'

/**
 * Creates the place of copies in a bucket of S3. Endpoint, region and keys come from the environment. `limits` ends
 * the wait for a server that accepts but does not answer.
 */
export function createS3Copies(
  { bucket, prefix }: S3Place,
  client = createS3Client({ bucket }),
  limits: ReadLimits = READ_LIMITS,
): Copies {
  const keyOf = (name: string) => (prefix === '' ? name : `${prefix}/${name}`)
  const answered = <Result>(work: Promise<Result>) => withinMs(limits.answerMs, NO_ANSWER, work)
  const { problemOfList, explained } = problemsOf(client, bucket, answered)

  async function openObject(name: string): Promise<Opened> {
    const key = keyOf(name)
    try {
      const { size, etag, modifiedMs } = await answered(client.stat(key))
      const file: OpenFile = {
        size,
        stamp: `${size}-${etag}`,
        modifiedMs: Number.isNaN(modifiedMs) ? null : modifiedMs,
        ageMs: null,
        read: (start, end) => complete((signal) => readPart(client, key, { start, end, signal }), end - start, limits),
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

  type Hasher = ReturnType<typeof newHasher>

  async function upload(key: string, file: OpenFile, hasher: Hasher): Promise<void> {
    const silence = new AbortController()
    const reader = file.read(0, file.size).getReader()
    let timer: Timer | undefined
    let left = file.size
    let isOver = false
    let failure: unknown
    // The time that the PBX takes is limited where its file is read.
    const awaitS3 = () => {
      if (!isOver) timer = setTimeout(() => silence.abort(new Error(NO_ANSWER)), limits.silentMs)
    }
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        async pull(controller) {
          clearTimeout(timer)
          let value: Uint8Array<ArrayBuffer> | undefined
          try {
            value = (await reader.read()).value
            left -= value?.length ?? 0
            if (value === undefined && left > 0 && !isOver) throw new Error('the file ended before its end')
          } catch (error) {
            failure = error
            // Otherwise the request would wait for the rest of its body.
            silence.abort(error)
            throw error
          }
          // S3 may refuse the request before it has the whole body.
          if (isOver) return
          awaitS3()
          if (value === undefined) return controller.close()
          hasher.update(value)
          controller.enqueue(value)
        },
        cancel() {
          isOver = true
        },
      },
      { highWaterMark: 0 },
    )
    awaitS3()
    try {
      await client.put(key, { body, size: file.size, signal: silence.signal })
    } catch (error) {
      throw failure ?? error
    } finally {
      isOver = true
      clearTimeout(timer)
      await reader.cancel().catch(() => undefined)
    }
  }

  return {
    open: (segments) => openObject(segments.join('/')),
    async write({ stem, extension }, file) {
      const name = `${stem}.${extension}`
      const hasher = newHasher()
      try {
        await upload(keyOf(name), file, hasher)
      } catch (error) {
        throw await explained(error)
      }
      const sha256 = hasher.digest('hex')
      const written = await openObject(name)
      if (written.kind !== 'file') throw new Error(written.reason)
      if ((await sha256Of(written.file.read(0, written.file.size))) !== sha256) throw notAsWritten()
      return { name, sha256 }
    },
    async remove(stem) {
      const { keys } = await answered(client.list({ prefix: keyOf(`${stem}.`) }))
      for (const key of keys) await answered(client.request({ method: 'DELETE', key }))
    },
  }
}

export function createS3Mark(
  { bucket, prefix }: S3Place,
  client = createS3Client({ bucket }),
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
    asked(async () => (await client.list({ prefix: key, maxKeys: 10 })).keys.some(isKey))
  const hasObject = (key: string) => has(key, (found) => found === key)
  const markKey = keyOf(MARK_FILE)
  return {
    name,
    advice: 'give the bucket and prefix that have the copies, the same on every node',
    commandFor: (id) => `echo ${id} | aws s3 cp - ${name}/${MARK_FILE}`,
    async readMark() {
      if (!(await hasObject(markKey))) return undefined
      return asked(async () => {
        const response = await client.request({ method: 'GET', key: markKey })
        return { text: await readText(response), writtenMs: Date.parse(response.headers.get('last-modified') ?? '') }
      })
    },
    writeMark: (text) => asked(async () => void (await client.request({ method: 'PUT', key: markKey, body: text }))),
    hasCopy: (copy) => hasObject(keyOf(copy)),
    hasAnyCopy: () => has(keyOf(COPIES_BEGIN), () => true),
    hasDatabase: async () => false,
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
  if (code === 'ConnectionRefused' || code === 'ECONNREFUSED') return 'the connection is refused: check AWS_ENDPOINT'
  // A server may close the connection of an upload that it refuses: a list has the reason.
  if (code === 'UnknownError' || code === 'ECONNRESET') return undefined
  if (code === 'AuthorizationHeaderMalformed' || code === 'AuthorizationQueryParametersError')
    return 'the region is another one: set AWS_REGION'
  return error instanceof Error && !/unexpected error/.test(error.message) ? error.message : code
}

type Reader = ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>

type Part = { readonly start: number; readonly end: number; readonly signal: AbortSignal }

async function readPart(client: S3Client, key: string, { start, end, signal }: Part): Promise<Reader> {
  const headers = { range: `bytes=${start}-${end - 1}` }
  const { status, body } = await client.request({ method: 'GET', key, headers, signal })
  if (body === null) throw new Error('S3 sends no file')
  if (status === 206 || start === 0) return body.getReader()
  await body.cancel()
  throw new Error('S3 sends the whole file for a part of it')
}

/** Passes a stream on within limits. The stream fails if it ends early. */
function complete(
  open: (signal: AbortSignal) => Promise<Reader>,
  bytes: number,
  limits: ReadLimits,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let opening: Promise<Reader> | undefined
  const stopped = new AbortController()
  const stop = () => stopped.abort()
  const limited = limitedReads(limits)
  let left = bytes
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        try {
          if (bytes === 0) return controller.close()
          const chunk = await limited(async () => {
            opening ??= open(stopped.signal)
            return (await (await opening).read()).value
          })
          if (chunk !== undefined) {
            left -= chunk.length
            controller.enqueue(chunk)
          } else if (left === 0) controller.close()
          else throw new Error('S3 ended before the end of the file')
        } catch (error) {
          stop()
          throw error
        }
      },
      cancel: stop,
    },
    { highWaterMark: 0 },
  )
}
