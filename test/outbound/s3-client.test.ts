import { expect, test } from 'bun:test'
import { createS3Client } from '../../src/outbound/s3-client.ts'
import { S3_BUCKET, S3_KEYS, startS3Server } from '../help/s3-server.ts'

/** An S3 server whose responses never end. `left` resolves when a client gives one up. */
function startEndless(status: number) {
  const left = Promise.withResolvers<void>()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      request.signal.addEventListener('abort', () => left.resolve())
      const body = new ReadableStream({
        async pull(controller) {
          controller.enqueue(Buffer.alloc(16_384, 'x'))
          await Bun.sleep(1)
        },
      })
      return new Response(body, { status })
    },
  })
  const client = createS3Client({ endpoint: server.url.origin, bucket: 'b', accessKeyId: 'k', secretAccessKey: 's' })
  return { client, left: left.promise, [Symbol.asyncDispose]: () => server.stop(true) }
}

test('an error that S3 sends without end is read in part', async () => {
  await using s3 = startEndless(500)
  const failure = s3.client.request({ method: 'GET', key: 'x' })
  await expect(failure).rejects.toMatchObject({ name: 'S3Error', message: 'the S3 server answers 500' })
  await s3.left
})

test('the response to a deletion is not read', async () => {
  await using s3 = startEndless(200)
  await s3.client.request({ method: 'DELETE', key: 'x' })
  await s3.left
})

const PLACE = { ...S3_KEYS, bucket: S3_BUCKET }
/** More than two parts. */
const LONG = Buffer.alloc(20_000_000, 'a long file ')
const upload = (content: Buffer<ArrayBuffer>) => ({ body: new Blob([content]).stream(), size: content.length })

test('a file above the limit of one request is uploaded in parts', async () => {
  const server = startS3Server()
  const client = createS3Client({ ...PLACE, endpoint: server.url, maxPutBytes: 1_000 })
  await client.put('a b/ü+&.wav', upload(LONG))
  expect(server.objects.get('calls/a b/ü+&.wav')?.equals(LONG)).toBe(true)
  expect(server.uploads.size).toBe(0)
  expect(server.requests.filter((one) => one.endsWith('(part)')).length).toBe(3)
  expect(await client.list({ prefix: 'a b/' })).toEqual({ keys: ['a b/ü+&.wav'], isTruncated: false })
  await server.stop()
})

test('an upload in parts that fails leaves neither an object nor parts', async () => {
  const server = startS3Server()
  const client = createS3Client({ ...PLACE, endpoint: server.url, maxPutBytes: 1_000 })
  let chunks = 0
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      chunks++
      if (chunks === 3) controller.error(new Error('the disk is gone'))
      else controller.enqueue(LONG.subarray(0, 9_000_000))
    },
  })
  await expect(client.put('x', { body, size: LONG.length })).rejects.toThrow('the disk is gone')
  expect([server.objects.size, server.uploads.size]).toEqual([0, 0])
  await server.stop()
})

test('an error with which S3 completes an upload in parts is a failure, though its status is 200', async () => {
  const answers: Record<string, string> = {
    'POST uploads': '<UploadId>1</UploadId>',
    'POST uploadId': '<Error><Code>InternalError</Code><Message>try again</Message></Error>',
  }
  const methods: string[] = []
  await using server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      await request.arrayBuffer()
      const { searchParams } = new URL(request.url)
      const name = ['uploads', 'partNumber', 'uploadId'].find((one) => searchParams.has(one))
      methods.push(`${request.method} ${name}`)
      return new Response(answers[`${request.method} ${name}`], { headers: { etag: '"1"' } })
    },
  })
  const client = createS3Client({ ...PLACE, endpoint: server.url.origin, maxPutBytes: 0 })
  const failure = client.put('x', upload(Buffer.from('short')))
  await expect(failure).rejects.toMatchObject({ code: 'InternalError', message: 'try again' })
  expect(methods).toEqual(['POST uploads', 'PUT partNumber', 'POST uploadId', 'DELETE uploadId'])
})

test('a part that the server refuses for a moment is sent again', async () => {
  const server = startS3Server()
  let failures = 0
  await using gateway = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const body = await request.arrayBuffer()
      if (request.method === 'PUT' && failures++ < 2) return new Response(null, { status: 503 })
      const { pathname, search } = new URL(request.url)
      const headers = { host: request.headers.get('host') ?? '' }
      const init = { method: request.method, headers }
      return fetch(server.url + pathname + search, body.byteLength === 0 ? init : { ...init, body })
    },
  })
  const client = createS3Client({ ...PLACE, endpoint: gateway.url.origin, maxPutBytes: 1_000 })
  await client.put('x', upload(LONG.subarray(0, 5_000)))
  expect(server.objects.get('calls/x')?.length).toBe(5_000)
  await server.stop()
})

test('a list that is a web page is a failure, and a client without keys says what to set', async () => {
  await using server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('<html>a proxy</html>') })
  const place = { ...PLACE, endpoint: server.url.origin }
  await expect(createS3Client(place).list({})).rejects.toThrow('the server does not answer as S3 does')
  const withoutKeys = createS3Client({ ...place, accessKeyId: '' })
  await expect(withoutKeys.list({})).rejects.toThrow('set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY')
})
