import { afterAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileBody } from '../../src/recordings/response-body.ts'
import type { OpenFile } from '../../src/recordings/sources/source.ts'
import { emptyFolder } from '../help/app.ts'
import { until } from '../help/receiver.ts'

// Bodies of responses with files of this machine and from elsewhere, as the server sends them.

const LIMIT = 1024 * 1024
let closed = 0

/** A remote file of `size` bytes; its source ends at `endsAt`, and begins when `begins` resolves. */
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
  fetch: async () => new Response(await fileBody(file, 0, file.size)),
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
  test('is an error before anything was sent, where not even its first part comes', async () => {
    file = remote(10 * LIMIT, { endsAt: 0 })
    closed = 0
    expect((await fetch(server.url)).status).toBe(503)
    expect(closed).toBe(1)
  })

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

  test('is no error of this service after its first part either', async () => {
    const body = await fileBody(remote(10 * LIMIT, { endsAt: 100_000 }), 0, 10 * LIMIT)
    if (!(body instanceof ReadableStream)) throw new Error('it is not streamed')
    const reader = body.getReader()
    expect((await reader.read()).done).toBe(false)
    expect(reader.read()).rejects.toMatchObject({ code: 'unavailable' })
  })

  test('breaks the connection where it is streamed: half of it is never taken for the whole', async () => {
    file = remote(LIMIT + 1, { endsAt: 500_000 })
    closed = 0
    const response = await fetch(server.url)
    await expect(response.bytes()).rejects.toThrow()
    expect(closed).toBe(1)
  })
})

test('only a limited number of files are read first at a time; the others are streamed', async () => {
  const { promise: begins, resolve: goOn } = Promise.withResolvers<void>()
  const waiting = Array.from({ length: 64 }, () => fileBody(remote(1_000, { begins }), 0, 1_000))
  expect(await fileBody(remote(1_000), 0, 1_000)).toBeInstanceOf(ReadableStream)
  goOn()
  for (const body of await Promise.all(waiting)) expect(body).toBeInstanceOf(Uint8Array)
  expect(await fileBody(remote(1_000), 0, 1_000)).toBeInstanceOf(Uint8Array)
})

describe('a file of this machine', () => {
  const MIB = 1024 * 1024
  const FROM = 1_000
  const folder = emptyFolder()
  const path = join(folder.path, 'sound.wav')
  writeFileSync(path, 'sound')
  afterAll(() => folder[Symbol.dispose]())

  /** Lets the reads that have begun proceed for `count` turns of the event loop. */
  const turns = async (count: number) => {
    for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => void setImmediate(resolve))
  }

  test.each([
    ['as a whole, where it is small', 5_000, [[FROM, 5_000]]],
    [
      'its beginning, then so much of the rest',
      100 * MIB,
      [
        [FROM, FROM + 8 * MIB],
        [FROM + 8 * MIB, FROM + 32 * MIB],
      ],
    ],
  ])('is in the cache of the system before the server sends it: %s', async (_, end, parts) => {
    const asked: number[][] = []
    const waiting: (() => void)[] = []
    const cache = (from: number, to: number) => {
      if (from < to) asked.push([from, to])
      return new Promise<void>((resolve) => void waiting.push(resolve))
    }
    closed = 0
    let body: unknown
    const made = fileBody({ ...remote(end), local: { path, cache } }, FROM, end).then((one) => {
      body = one
    })
    await turns(20)
    expect([asked, body]).toEqual([parts.slice(0, 1), undefined])
    waiting[0]?.()
    await made
    expect(asked).toEqual(parts)
    expect(body).toBeInstanceOf(Blob)
    expect(closed).toBe(0)
    waiting[1]?.()
    await until('the file is closed', () => closed === 1)
  })

  test('begins in a turn of the event loop of its own, however many are asked for at once', async () => {
    let turn = 0
    let counting = true
    const count = () => {
      turn += 1
      if (counting) setImmediate(count)
    }
    setImmediate(count)
    const file = { ...remote(5), local: { path, cache: async () => undefined } }
    const begun = await Promise.all(Array.from({ length: 100 }, () => fileBody(file, 0, 5).then(() => turn)))
    counting = false
    expect(new Set(begun).size).toBe(100)
  })
})
