import { afterAll, describe, expect, test } from 'bun:test'
import { bodyOf } from '../../src/recordings/response-body.ts'
import type { OpenFile } from '../../src/recordings/sources/source.ts'

// Bodies of files that are not of this machine, as the server sends them.

const LIMIT = 1024 * 1024
let closed = 0

/** A file from elsewhere of so many bytes; its source ends at `endsAt`, and begins when `begins` resolves. */
function remote(size: number, { endsAt = size, begins = Promise.resolve() } = {}): OpenFile {
  const read = (start: number, end: number) => {
    let at = start
    return new ReadableStream<Uint8Array<ArrayBuffer>>({
      async pull(controller) {
        await begins
        if (at >= end) return controller.close()
        if (at >= endsAt) throw new Error('the server ended before the end of the file')
        const bytes = Math.min(100_000, end - at)
        controller.enqueue(new Uint8Array(bytes).fill(1))
        at += bytes
      },
    })
  }
  const close = async () => {
    closed += 1
  }
  return { size, stamp: 's', modifiedMs: 1, ageMs: 1, read, close }
}

let file = remote(0)
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: async () => new Response(await bodyOf(file, 0, file.size)),
  error: (error) => new Response(error.message, { status: 503 }),
})
afterAll(() => server.stop(true))

test.each([
  ['as much as is read first', LIMIT, String(LIMIT)],
  ['more: it is streamed', LIMIT + 1, null],
])('%s: %d bytes have the length %p, come whole, and the file is closed', async (_, size, length) => {
  file = remote(size)
  closed = 0
  const response = await fetch(server.url)
  expect(response.headers.get('content-length')).toBe(length)
  expect((await response.bytes()).length).toBe(size)
  expect(closed).toBe(1)
})

describe('a source that ends early', () => {
  test('is an error before anything was sent, where it is read first', async () => {
    file = remote(LIMIT, { endsAt: 500_000 })
    closed = 0
    const response = await fetch(server.url)
    expect([response.status, await response.text(), closed]).toEqual([
      503,
      expect.stringContaining('does not answer'),
      1,
    ])
  })

  test('breaks the connection where it is streamed: half of it is never taken for the whole', async () => {
    file = remote(LIMIT + 1, { endsAt: 500_000 })
    closed = 0
    const response = await fetch(server.url)
    await expect(response.bytes()).rejects.toThrow()
    expect(closed).toBe(1)
  })
})

test('only so many are read first at a time; the others are streamed', async () => {
  const { promise: begins, resolve: goOn } = Promise.withResolvers<void>()
  const waiting = Array.from({ length: 64 }, () => bodyOf(remote(1_000, { begins }), 0, 1_000))
  expect(await bodyOf(remote(1_000), 0, 1_000)).toBeInstanceOf(ReadableStream)
  goOn()
  for (const body of await Promise.all(waiting)) expect(body).toBeInstanceOf(Uint8Array)
  expect(await bodyOf(remote(1_000), 0, 1_000)).toBeInstanceOf(Uint8Array)
})
