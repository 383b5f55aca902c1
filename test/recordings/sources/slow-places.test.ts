import { afterAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createS3Client } from '../../../src/outbound/s3-client.ts'
import { createS3Copies } from '../../../src/recordings/copies/s3-copies.ts'
import { createFolderSource } from '../../../src/recordings/sources/folder-source.ts'
import { createHttpSource } from '../../../src/recordings/sources/http-source.ts'
import { limitedReads, READ_LIMITS, type ReadLimits } from '../../../src/recordings/sources/read-limits.ts'
import { emptyFolder } from '../../help/app.ts'

// Places that accept a request and hardly answer, or do not answer at all.

const folder = emptyFolder()
const stops: (() => unknown)[] = []
afterAll(() => {
  for (const stop of stops) stop()
  folder[Symbol.dispose]()
})

/** The service's limits, with the short ones of a test. */
const limits = (short: Partial<ReadLimits>): ReadLimits => ({ ...READ_LIMITS, ...short })

/** Sends the headers of a file, and a byte of it now and then, without end. */
function startTrickle(everyMs: number) {
  const server = Bun.listen<{ timer?: Timer }>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket) {
        socket.data = {}
      },
      data(socket, chunk) {
        socket.write('HTTP/1.1 200 OK\r\nContent-Type: audio/wav\r\nContent-Length: 1000000\r\n\r\n')
        if (chunk.toString().startsWith('GET')) socket.data.timer = setInterval(() => void socket.write('x'), everyMs)
      },
      close: (socket) => clearInterval(socket.data.timer),
    },
  })
  stops.push(() => server.stop(true))
  return `http://127.0.0.1:${server.port}/`
}

/** Accepts connections, and never sends a byte. */
function startSilence() {
  const server = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  stops.push(() => server.stop(true))
  return `http://127.0.0.1:${server.port}/`
}

async function readingOf(url: string, given: ReadLimits): Promise<string> {
  const opened = await createHttpSource({ url, limits: given }).open(['a.wav'])
  if (opened.kind !== 'file') return opened.reason
  return new Response(opened.file.read(0, opened.file.size)).bytes().then(
    () => 'read',
    (error) => (error instanceof Error ? error.message : String(error)),
  )
}

/** Answers HEAD with 10 bytes, and GET with another response. */
function startLiar(get: () => Response) {
  const head = () => new Response('0123456789')
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, routes: { '/*': { HEAD: head, GET: get } } })
  stops.push(() => server.stop(true))
  return server.url.href
}

describe('a web server', () => {
  test('has no whole file if its size differs from the one that it named before', async () => {
    expect(
      await readingOf(
        startLiar(() => new Response('0123456789abc')),
        READ_LIMITS,
      ),
    ).toBe('the file has 13 bytes now and had 10: it is still being written')
    expect(
      await readingOf(
        startLiar(() => new Response('012345678')),
        READ_LIMITS,
      ),
    ).toMatch(/has 9 bytes now and had 10/)
    expect(
      await readingOf(
        startLiar(() => new Response('0123456789')),
        READ_LIMITS,
      ),
    ).toBe('read')
  })

  test('has no whole file if an answer without a size is longer', async () => {
    const unsized = (text: string) => () =>
      new Response(
        new ReadableStream({
          async pull(controller) {
            for (const one of text) {
              controller.enqueue(new TextEncoder().encode(one))
              await Bun.sleep(0)
            }
            controller.close()
          },
        }),
      )
    expect(await readingOf(startLiar(unsized('0123456789abc')), READ_LIMITS)).toMatch(/sends more than the 10 bytes/)
    expect(await readingOf(startLiar(unsized('0123456789')), READ_LIMITS)).toBe('read')
  })

  test('is given up for its rate if it trickles', async () => {
    expect(await readingOf(startTrickle(10), limits({ spanMs: 500 }))).toBe('it sends less than 8000 bytes a second')
  })

  test('is given up after the whole time if it sends as little as is allowed', async () => {
    const slow = limits({ spanMs: 100, leastBytesPerS: 0, wholeMs: 700 })
    expect(await readingOf(startTrickle(10), slow)).toMatch(/it takes too long|it sends no more/)
  })

  test('is given up if it falls silent', async () => {
    expect(await readingOf(startTrickle(3_600_000), limits({ silentMs: 300 }))).toBe('it sends no more')
  })

  test('is given up if it does not answer', async () => {
    expect(await readingOf(startSilence(), limits({ answerMs: 300 }))).toContain('does not answer')
  })
})

test('a client that takes a file slowly breaks no limit', async () => {
  const read = limitedReads(limits({ spanMs: 50, wholeMs: 100, leastBytesPerS: 1e6 }))
  for (let parts = 0; parts < 8; parts += 1) {
    await Bun.sleep(30)
    expect(await read(async () => new Uint8Array(10))).toHaveLength(10)
  }
})

test('an S3 that accepts and does not answer: nothing waits for longer than is allowed', async () => {
  writeFileSync(join(folder.path, 'a.wav'), 'sound')
  const keys = { accessKeyId: 'key', secretAccessKey: 'secret' }
  const client = createS3Client({ bucket: 'calls', endpoint: startSilence(), ...keys })
  const copies = createS3Copies({ bucket: 'calls', prefix: '' }, client, limits({ answerMs: 300, silentMs: 300 }))
  const opened = await createFolderSource(folder.path).open(['a.wav'])
  if (opened.kind !== 'file') throw new Error(opened.reason)
  const beganMs = performance.now()
  expect(await copies.open(['x', 'a.wav'])).toMatchObject({ kind: 'unavailable' })
  expect(copies.remove('x/a')).rejects.toThrow('does not answer')
  expect(copies.write({ stem: 'x/a', extension: 'wav' }, opened.file)).rejects.toThrow('does not answer')
  await copies.write({ stem: 'x/a', extension: 'wav' }, opened.file).catch(() => undefined)
  // Bun's own client takes minutes.
  expect(performance.now() - beganMs).toBeLessThan(60_000)
  await opened.file.close()
})
