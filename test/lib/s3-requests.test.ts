import { expect, test } from 'bun:test'
import { S3Client } from 'bun'
import { requestObject } from '../../src/lib/s3-requests.ts'

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
  const client = new S3Client({ endpoint: server.url.origin, bucket: 'b', accessKeyId: 'k', secretAccessKey: 's' })
  return { client, left: left.promise, [Symbol.asyncDispose]: () => server.stop(true) }
}

test('an error that S3 sends without end is read in part', async () => {
  await using s3 = startEndless(500)
  const failure = requestObject(s3.client, { method: 'GET', key: 'x' })
  await expect(failure).rejects.toMatchObject({ name: 'S3Error', message: 'the S3 server answers 500' })
  await s3.left
})

test('the response to a deletion is not read', async () => {
  await using s3 = startEndless(200)
  await requestObject(s3.client, { method: 'DELETE', key: 'x' })
  await s3.left
})
