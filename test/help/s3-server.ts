import { createHash } from 'node:crypto'
import { parseRange } from '../../src/recordings/byte-range.ts'

/** Keeps objects in memory and speaks as much of S3 as copies need: objects, ranges, uploads in parts. */
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
      const id = String(uploads.size + 1)
      uploads.set(id, new Map())
      return xml(`<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`)
    }
    const parts = [...(uploads.get(query.get('uploadId') ?? '') ?? [])].toSorted(([one], [other]) => one - other)
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
  function list(bucket: string, prefix: string): Response {
    const keys = [...objects.keys()].filter((key) => key.startsWith(`${bucket}/${prefix}`))
    const contents = keys.map((key) => `<Contents><Key>${key.slice(bucket.length + 1)}</Key></Contents>`)
    return xml(`<ListBucketResult><IsTruncated>false</IsTruncated>${contents.join('')}</ListBucketResult>`)
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
      if (request.headers.get('authorization')?.startsWith('AWS4-HMAC-SHA256 ') !== true) return xml('<Error/>', 403)
      if (request.method === 'PUT') return put(key, request, searchParams)
      if (request.method === 'POST') return post(key, searchParams)
      if (searchParams.has('list-type')) return list(key.replace(/\/$/, ''), searchParams.get('prefix') ?? '')
      if (request.method !== 'DELETE') return get(key, request)
      if (searchParams.has('uploadId')) uploads.delete(searchParams.get('uploadId') ?? '')
      else objects.delete(key)
      return new Response(null, { status: 204 })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    objects,
    requests,
    /** From now on it answers 503, or again as it should. */
    setBroken(isBroken: boolean) {
      broken = isBroken
    },
    stop: () => server.stop(true),
  }
}
