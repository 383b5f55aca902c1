import { createHash, createHmac } from 'node:crypto'
import { parseRange } from '../../src/recordings/byte-range.ts'

export const S3_KEYS = { accessKeyId: 'key', secretAccessKey: 'secret' }
export const S3_BUCKET = 'calls'
/** Few, so that short lists have several pages. */
const PAGE_OF_LIST = 3

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** Whether a request is signed with the secret (AWS Signature Version 4). */
function isSigned(request: Request): boolean {
  const { pathname, searchParams } = new URL(request.url)
  const header = request.headers.get('authorization') ?? ''
  const inUrl = searchParams.get('X-Amz-Signature')
  const given = inUrl ?? /, ?Signature=(\w+)$/.exec(header)?.[1]
  const [, key0, scope = ''] =
    (inUrl === null
      ? /Credential=([^/]+)\/([^,]+)/.exec(header)
      : /^([^/]+)\/(.+)$/.exec(searchParams.get('X-Amz-Credential') ?? '')) ?? []
  if (key0 !== S3_KEYS.accessKeyId) return false
  const signed = searchParams.get('X-Amz-SignedHeaders') ?? /SignedHeaders=([^,]+)/.exec(header)?.[1] ?? ''
  const date = searchParams.get('X-Amz-Date') ?? request.headers.get('x-amz-date')
  const plain = (text: string) =>
    encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
  const query = [...searchParams]
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => `${plain(name)}=${plain(value)}`)
    .toSorted()
  const headers = signed.split(';').map((name) => `${name}:${request.headers.get(name)?.trim()}\n`)
  const body = inUrl === null ? (request.headers.get('x-amz-content-sha256') ?? '') : 'UNSIGNED-PAYLOAD'
  const canonical = [request.method, pathname, query.join('&'), headers.join(''), signed, body].join('\n')
  const text = ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n')
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${S3_KEYS.secretAccessKey}`)
  return hmac(key, text).toString('hex') === given
}

/** Keeps objects in memory and speaks as much of S3 as copies need: signatures, objects, ranges, lists, uploads in parts. */
export function startS3Server() {
  const objects = new Map<string, Buffer>()
  const uploads = new Map<string, Map<number, Buffer>>()
  const requests: string[] = []
  let broken = false
  const xml = (text: string, status = 200) =>
    new Response(`<?xml version="1.0"?>${text}`, { status, headers: { 'content-type': 'application/xml' } })
  const etagOf = (content: Buffer) => `"${createHash('md5').update(content).digest('hex')}"`

  async function put(key: string, request: Request, query: URLSearchParams): Promise<Response> {
    const content = Buffer.from(await request.arrayBuffer())
    const upload = uploads.get(query.get('uploadId') ?? '')
    if (upload === undefined) objects.set(key, content)
    else upload.set(Number(query.get('partNumber')), content)
    return new Response(null, { headers: { etag: etagOf(content) } })
  }
  function post(key: string, query: URLSearchParams): Response {
    if (query.has('uploads')) {
      const id = `upload ${requests.length} &`
      uploads.set(id, new Map())
      return xml(
        `<InitiateMultipartUploadResult><UploadId>${Bun.escapeHTML(id)}</UploadId></InitiateMultipartUploadResult>`,
      )
    }
    const parts = [...(uploads.get(query.get('uploadId') ?? '') ?? [])].toSorted(([one], [other]) => one - other)
    uploads.delete(query.get('uploadId') ?? '')
    objects.set(key, Buffer.concat(parts.map(([, content]) => content)))
    return xml(`<CompleteMultipartUploadResult><ETag>"x"</ETag></CompleteMultipartUploadResult>`)
  }
  function get(key: string, request: Request): Response {
    const content = objects.get(key)
    if (content === undefined) return xml('<Error><Code>NoSuchKey</Code><Message>none</Message></Error>', 404)
    const range = parseRange(request.headers.get('range'), content.length)
    const part = typeof range === 'string' ? content : content.subarray(range.start, range.end)
    const headers = {
      etag: etagOf(content),
      'last-modified': new Date(0).toUTCString(),
      'content-length': `${part.length}`,
    }
    return new Response(request.method === 'HEAD' ? null : new Uint8Array(part), {
      status: range === 'whole' ? 200 : 206,
      headers,
    })
  }
  function list(bucket: string, query: URLSearchParams): Response {
    const [prefix, after] = [query.get('prefix') ?? '', query.get('start-after') ?? '']
    const keys = [...objects.keys()]
      .filter((key) => key.startsWith(`${bucket}/${prefix}`))
      .map((key) => key.slice(bucket.length + 1))
      .filter((key) => key > after)
      .toSorted()
    const contents = keys.slice(0, PAGE_OF_LIST).map((key) => `<Contents><Key>${Bun.escapeHTML(key)}</Key></Contents>`)
    const isTruncated = keys.length > PAGE_OF_LIST
    return xml(`<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${contents.join('')}</ListBucketResult>`)
  }
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    maxRequestBodySize: 1e9,
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url)
      const key = decodeURIComponent(pathname.slice(1))
      requests.push(`${request.method} ${pathname}${searchParams.has('partNumber') ? ' (part)' : ''}`)
      if (broken) return xml('<Error><Code>SlowDown</Code><Message>later</Message></Error>', 503)
      // Like S3 itself, it gives no reason to HEAD.
      const failure = (code: string, message: string, status: number) =>
        request.method === 'HEAD'
          ? new Response(null, { status })
          : xml(`<Error><Code>${code}</Code><Message>${message}</Message></Error>`, status)
      if (!isSigned(request)) return failure('SignatureDoesNotMatch', 'SignatureDoesNotMatch: check the secret', 403)
      if (key.split('/')[0] !== S3_BUCKET) return failure('NoSuchBucket', 'The specified bucket does not exist', 404)
      if (request.method === 'PUT') return put(key, request, searchParams)
      if (request.method === 'POST') return post(key, searchParams)
      if (searchParams.has('list-type')) return list(key.replace(/\/$/, ''), searchParams)
      if (request.method !== 'DELETE') return get(key, request)
      if (searchParams.has('uploadId')) uploads.delete(searchParams.get('uploadId') ?? '')
      else objects.delete(key)
      return new Response(null, { status: 204 })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    objects,
    /** Uploads that are neither complete nor given up. */
    uploads,
    requests,
    /** Answers 503 from now on, or works again. */
    setBroken(isBroken: boolean) {
      broken = isBroken
    },
    stop: () => server.stop(true),
  }
}
