import type { S3Client } from 'bun'

// Requests to S3 that follow no redirect. Bun's client follows each one to any address and has no option against it: a
// server could direct a backup to an inner address, or what an inner server answers to a customer. So the client only
// signs, and `fetch` makes the requests.

/** The largest object of one PUT. Only an upload in parts makes a larger one. */
export const MAX_PUT_BYTES = 5 * 1024 ** 3

/** S3 compares its clock with the time of the signature when a request begins. */
const SIGNED_FOR_S = 900
/** A request without a signal of its own ends then, whatever its caller waits for. */
const ENDS_AFTER_MS = 60_000
/** Errors and marks are far shorter: a server may send without end. */
const MAX_TEXT_BYTES = 65_536

type ObjectRequest = {
  readonly method: 'DELETE' | 'GET' | 'HEAD' | 'PUT'
  readonly key: string
  readonly headers?: Record<string, string>
  readonly body?: string | ReadableStream<Uint8Array<ArrayBuffer>>
  readonly signal?: AbortSignal
}

/** A failure that S3 answers, with its code, as Bun's client throws it. */
class S3RequestError extends Error {
  override readonly name = 'S3Error'
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/**
 * Makes a request for one object. Only a GET has a body in its response. Throws an error named `S3Error` for each
 * answer but a success.
 */
export async function requestObject(client: S3Client, request: ObjectRequest): Promise<Response> {
  const response = await send(client, request)
  if (response.ok) {
    if (request.method !== 'GET') await response.body?.cancel()
    return response
  }
  const text = await textOf(response)
  const code = valueIn(text, 'Code') ?? (response.status === 404 ? 'NoSuchKey' : 'UnknownError')
  throw new S3RequestError(code, valueIn(text, 'Message') ?? `the S3 server answers ${response.status}`)
}

/** Returns the beginning of a response as text, 64 KiB at most. */
export async function textOf({ body }: Response): Promise<string> {
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (let bytes = 0; reader !== undefined && bytes < MAX_TEXT_BYTES; ) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    text += decoder.decode(value.subarray(0, MAX_TEXT_BYTES - bytes), { stream: true })
    bytes += value.length
  }
  await reader?.cancel()
  return text
}

/** Returns what S3 knows of an object. */
export async function statObject(client: S3Client, key: string) {
  const { headers } = await requestObject(client, { method: 'HEAD', key })
  const size = headers.get('content-length') ?? ''
  if (!/^\d+$/.test(size)) throw new S3RequestError('UnknownError', 'the S3 server does not give the size of an object')
  return {
    size: Number(size),
    etag: headers.get('etag') ?? '',
    modifiedMs: Date.parse(headers.get('last-modified') ?? ''),
  }
}

/** Writes an object of at most `MAX_PUT_BYTES`. S3 keeps nothing unless all `size` bytes arrive. */
export async function putStream(
  client: S3Client,
  key: string,
  { body, size, signal }: { body: ReadableStream<Uint8Array<ArrayBuffer>>; size: number; signal?: AbortSignal },
): Promise<void> {
  const headers = { 'content-length': `${size}` }
  await requestObject(client, { method: 'PUT', key, headers, body, ...(signal === undefined ? {} : { signal }) })
}

/**
 * Throws if the server redirects. To be called before a list and an upload in parts, which Bun's client makes since it
 * signs no address for them.
 */
export async function requireNoRedirect(client: S3Client): Promise<void> {
  const { body } = await send(client, { method: 'HEAD', key: 'hookswitch' })
  await body?.cancel()
}

async function send(client: S3Client, { method, key, ...init }: ObjectRequest): Promise<Response> {
  const url = client.presign(key, { method, expiresIn: SIGNED_FOR_S })
  const headers = { 'accept-encoding': 'identity', ...init.headers }
  let response: Response
  try {
    const signal = init.signal ?? AbortSignal.timeout(ENDS_AFTER_MS)
    response = await fetch(url, { ...init, signal, method, headers, redirect: 'manual', decompress: false })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'UnknownError'
    // The error itself has the signed address, which must not be logged.
    throw new S3RequestError(code, error instanceof Error ? error.message : String(error))
  }
  if (response.status < 300 || response.status >= 400) return response
  await response.body?.cancel()
  throw new S3RequestError('Redirect', 'the S3 server redirects to another address: name the right endpoint and region')
}

const valueIn = (xml: string, tag: string): string | undefined => new RegExp(`<${tag}>([^<]*)</${tag}>`).exec(xml)?.[1]
