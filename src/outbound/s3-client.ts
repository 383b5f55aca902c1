import { AwsClient } from 'aws4fetch'

// An S3 client that follows no redirect. Bun's client follows each one to any address and has no option against it: a
// server could direct a backup to an inner address, or what an inner server answers to a customer.

/**
 * The place of a bucket, and the credentials for it. An absent one is read from the environment variables of the AWS
 * tools.
 */
type S3Options = {
  readonly bucket: string
  readonly endpoint?: string
  readonly region?: string
  readonly accessKeyId?: string
  readonly secretAccessKey?: string
  readonly sessionToken?: string
  /** The largest object of one request: a larger one is uploaded in parts. */
  readonly maxPutBytes?: number
}

type ObjectRequest = {
  readonly method: 'DELETE' | 'GET' | 'HEAD' | 'POST' | 'PUT'
  /** Without a key the request is for the bucket. */
  readonly key?: string
  readonly query?: Record<string, string>
  readonly headers?: Record<string, string>
  readonly body?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>
  readonly signal?: AbortSignal
}

type Upload = {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>
  readonly size: number
  readonly signal?: AbortSignal
}

export type S3Client = ReturnType<typeof createS3Client>

/** The most bytes that S3 accepts in one PUT. */
const MAX_PUT_BYTES = 5 * 1024 ** 3
const MIN_PART_BYTES = 8 * 1024 ** 2
/** S3 takes 10,000 parts; with fewer a part may be larger by a chunk of the stream. */
const MAX_PARTS = 9_000
const PART_ATTEMPTS = 3

/** S3 compares its clock with the time of the signature when a request begins. */
const SIGNED_FOR_S = 900
/** A request without a signal of its own ends then, whatever its caller waits for. */
const ENDS_AFTER_MS = 60_000
/** Errors and marks are far shorter: a server may send without end. */
const MAX_TEXT_BYTES = 65_536
/** A list has 1,000 keys of at most 1,024 bytes, each with its facts. */
const MAX_LIST_BYTES = 4 * 1024 ** 2

/** A failure that S3 answers, with its code. */
class S3Error extends Error {
  override readonly name = 'S3Error'
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/**
 * Creates a client of one bucket, which is a folder of its endpoint's address. Each operation throws an error named
 * `S3Error`, with the `code` that S3 gives, for each response but a success.
 */
export function createS3Client(options: S3Options) {
  const { bucket, maxPutBytes = MAX_PUT_BYTES } = options
  const region = options.region ?? fromEnvironment('REGION')
  const endpoint = endpointOf(options.endpoint ?? fromEnvironment('ENDPOINT'), region)
  const accessKeyId = options.accessKeyId ?? fromEnvironment('ACCESS_KEY_ID')
  const secretAccessKey = options.secretAccessKey ?? fromEnvironment('SECRET_ACCESS_KEY')
  const sessionToken = options.sessionToken ?? fromEnvironment('SESSION_TOKEN')
  const signer =
    !accessKeyId || !secretAccessKey
      ? undefined
      : new AwsClient({
          accessKeyId,
          secretAccessKey,
          service: 's3',
          ...(sessionToken === undefined ? {} : { sessionToken }),
          ...(region === undefined ? {} : { region }),
        })

  async function signedUrl({ method, key, query }: ObjectRequest): Promise<string> {
    if (signer === undefined)
      throw new S3Error('MissingCredentials', 'there are no keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY')
    const path = key === undefined ? '' : key.split('/').map(encodeURIComponent).join('/')
    const url = new URL(`${endpoint}/${bucket}/${path}`)
    for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value)
    url.searchParams.set('X-Amz-Expires', String(SIGNED_FOR_S))
    return (await signer.sign(url.href, { method, aws: { signQuery: true } })).url
  }

  /** Makes a request. Only the response to a success of GET and POST has a body. */
  async function request(asked: ObjectRequest): Promise<Response> {
    const url = await signedUrl(asked)
    const { method, body, signal = AbortSignal.timeout(ENDS_AFTER_MS) } = asked
    const headers = { 'accept-encoding': 'identity', ...asked.headers }
    const init = { method, headers, signal, redirect: 'manual', decompress: false } as const
    let response: Response
    try {
      response = await fetch(url, body === undefined ? init : { ...init, body })
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'UnknownError'
      // The error itself has the signed address, which must not be logged.
      throw new S3Error(code, error instanceof Error ? error.message : String(error))
    }
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel()
      throw new S3Error('Redirect', 'the S3 server redirects to another address: name the right endpoint and region')
    }
    if (!response.ok) throw errorOf(await readText(response), response.status)
    if (method !== 'GET' && method !== 'POST') await response.body?.cancel()
    return response
  }

  async function putParts(key: string, { body, size, signal }: Upload): Promise<void> {
    const started = await readText(await request({ method: 'POST', key, query: { uploads: '' } }))
    const uploadId = valueIn(started, 'UploadId') ?? ''
    if (uploadId === '') throw errorOf(started, 200)
    const parts: string[] = []
    async function putPart(part: Uint8Array<ArrayBuffer>) {
      const partNumber = String(parts.length + 1)
      const asked = { method: 'PUT', key, query: { partNumber, uploadId }, body: part } as const
      for (let attempt = 1; ; attempt++)
        try {
          const { headers } = await request(signal === undefined ? asked : { ...asked, signal })
          const etag = (headers.get('etag') ?? '').replaceAll('"', '&quot;')
          parts.push(`<Part><PartNumber>${partNumber}</PartNumber><ETag>${etag}</ETag></Part>`)
          return
        } catch (error) {
          if (attempt === PART_ATTEMPTS || signal?.aborted === true) throw error
        }
    }
    try {
      const partBytes = Math.max(MIN_PART_BYTES, Math.ceil(size / MAX_PARTS))
      let chunks: Uint8Array<ArrayBuffer>[] = []
      let bytes = 0
      for await (const chunk of body) {
        chunks.push(chunk)
        bytes += chunk.length
        if (bytes < partBytes) continue
        await putPart(Buffer.concat(chunks))
        chunks = []
        bytes = 0
      }
      if (bytes > 0) await putPart(Buffer.concat(chunks))
      const complete = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`
      const ended = await readText(await request({ method: 'POST', key, query: { uploadId }, body: complete }))
      // S3 begins this response before it knows whether it succeeds.
      if (valueIn(ended, 'ETag') === undefined) throw errorOf(ended, 200)
    } catch (error) {
      // Otherwise the bucket would keep the parts, unseen.
      await request({ method: 'DELETE', key, query: { uploadId } }).catch(() => undefined)
      throw error
    }
  }

  return {
    request,
    async stat(key: string) {
      const { headers } = await request({ method: 'HEAD', key })
      const size = headers.get('content-length') ?? ''
      if (!/^\d+$/.test(size)) throw new S3Error('UnknownError', 'the S3 server does not give the size of an object')
      return {
        size: Number(size),
        etag: headers.get('etag') ?? '',
        modifiedMs: Date.parse(headers.get('last-modified') ?? ''),
      }
    },
    /** Lists keys in their order. `isTruncated` says that more keys follow the last one. */
    async list({ prefix, startAfter, maxKeys }: { prefix?: string; startAfter?: string; maxKeys?: number }) {
      const query: Record<string, string> = { 'list-type': '2' }
      if (prefix !== undefined) query.prefix = prefix
      if (startAfter !== undefined) query['start-after'] = startAfter
      if (maxKeys !== undefined) query['max-keys'] = String(maxKeys)
      const text = await readText(await request({ method: 'GET', query }), MAX_LIST_BYTES)
      if (!text.includes('</ListBucketResult>')) throw errorOf(text, 200)
      const keys = [...text.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key = '']) => unescaped(key))
      return { keys, isTruncated: valueIn(text, 'IsTruncated') === 'true' }
    },
    /** Writes an object of `size` bytes. S3 keeps nothing unless all of them arrive. */
    async put(key: string, upload: Upload): Promise<void> {
      if (upload.size > maxPutBytes) return putParts(key, upload)
      const { size, ...rest } = upload
      await request({ method: 'PUT', key, headers: { 'content-length': String(size) }, ...rest })
    },
  }
}

/** Returns the beginning of a response as text, 64 KiB unless more is asked for. */
export async function readText({ body }: Response, maxBytes = MAX_TEXT_BYTES): Promise<string> {
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (let bytes = 0; reader !== undefined && bytes < maxBytes; ) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    text += decoder.decode(value.subarray(0, maxBytes - bytes), { stream: true })
    bytes += value.length
  }
  await reader?.cancel()
  return text
}

const fromEnvironment = (name: string) => process.env[`S3_${name}`] || process.env[`AWS_${name}`] || undefined

function endpointOf(given: string | undefined, region = 'us-east-1'): string {
  if (given === undefined) return `https://s3.${region}.amazonaws.com`
  return (/^https?:\/\//i.test(given) ? given : `https://${given}`).replace(/\/+$/, '')
}

function errorOf(text: string, status: number): S3Error {
  const code = valueIn(text, 'Code') ?? (status === 404 ? 'NoSuchKey' : 'UnknownError')
  const message = valueIn(text, 'Message')
  if (message !== undefined) return new S3Error(code, message)
  return new S3Error(code, status === 200 ? 'the server does not answer as S3 does' : `the S3 server answers ${status}`)
}

function valueIn(xml: string, tag: string): string | undefined {
  const [, value] = new RegExp(`<${tag}>([^<]*)</${tag}>`).exec(xml) ?? []
  return value === undefined ? undefined : unescaped(value)
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

function unescaped(xml: string): string {
  return xml.replace(/&(?:#x([\da-f]{1,6})|#(\d{1,7})|(amp|lt|gt|quot|apos));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? whole
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
}
