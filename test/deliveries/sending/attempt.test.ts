import { afterAll, expect, test } from 'bun:test'
import { createServer, type Socket } from 'node:net'
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { newAttempt } from '../../../src/deliveries/sending/attempt.ts'
import { targetOf } from '../../../src/outbound/target.ts'
import { attemptWithoutFiles } from '../../help/few-files.ts'
import { withEnoughTime } from '../../help/receiver.ts'
import { listenSilently } from '../../help/silent-listener.ts'
import { allowing } from '../run/rig.ts'

const stops: (() => void)[] = []
afterAll(() => {
  for (const stop of stops) stop()
})

/** A receiver that speaks bytes: `speak` is called once for each connection, when the first request has come. */
async function rawReceiver(speak: (socket: Socket, connection: number) => void) {
  const requests: string[] = []
  let connections = 0
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    connections += 1
    const number = connections
    sockets.add(socket)
    let begun = false
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      requests.push(bytes.toString())
      if (!begun || bytes.toString().startsWith('POST')) speak(socket, number)
      begun = true
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stops.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return { port, url: `http://127.0.0.1:${port}/x?y=1`, requests, connections: () => connections }
}

/** Longer than any test may take, so that an earlier end is not a timeout. */
const NEVER_MS = 3_600_000
const TIMEOUT_MS = 400
const attempt = newAttempt({ allow: allowing('loopback'), timeoutMs: NEVER_MS })
const hasty = newAttempt({ allow: allowing('loopback'), timeoutMs: TIMEOUT_MS })
const post = (url: string, using = attempt) =>
  using({ target: targetOf(url), id: 'id', timestampS: 1, signature: 'v1,x', traceparent: '', body: '{"time":1}' })

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

/** Writes without end, as fast as the reader reads. */
function flood(socket: Socket, piece: string): void {
  const more = () => {
    while (!socket.destroyed && socket.write(piece));
  }
  socket.on('drain', more)
  more()
}

type Hostile = readonly [string, (socket: Socket, connection: number) => void, object, typeof attempt?]
const HOSTILE: readonly Hostile[] = [
  [
    'an upgrade that nobody asked for: a plain reason',
    (socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    { outcome: { kind: 'unreachable', reason: 'the answer wants another protocol' } },
  ],
  [
    'headers without end: a plain reason',
    (socket) => socket.write(`HTTP/1.1 200 OK\r\n${`x: ${'y'.repeat(1_000)}\r\n`.repeat(10_000)}\r\n`),
    {
      outcome: {
        kind: 'unreachable',
        reason: expect.stringMatching(/^(the answer is not HTTP|64 KiB came before an answer)$/),
      },
    },
  ],
  ['an answer', (socket) => socket.write(OK), { outcome: { kind: 'delivered', status: 200 }, response: 'ok' }],
  [
    'no answer: given up in time',
    () => {},
    { outcome: { kind: 'unreachable', reason: 'no answer within 0.4 s' }, response: null },
    hasty,
  ],
  [
    'one byte of the header a moment',
    (socket) => {
      let at = 0
      const timer = setInterval(() => {
        if (socket.destroyed) clearInterval(timer)
        else socket.write(OK[at++] ?? ' ')
      }, 50)
    },
    { outcome: { kind: 'unreachable', reason: 'no answer within 0.4 s' } },
    hasty,
  ],
  [
    'a redirect is not followed',
    (socket) => socket.write('HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n'),
    {
      outcome: {
        kind: 'refused',
        status: 302,
        reason: 'it redirects to http://127.0.0.1:1/, which is not followed: give that URL if it is right',
      },
    },
  ],
  [
    'Retry-After',
    (socket) => socket.write('HTTP/1.1 503 No\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n'),
    { outcome: { kind: 'refused', status: 503, retryAfterMs: 7_000 } },
  ],
  [
    'a reset before the answer',
    (socket) => socket.resetAndDestroy(),
    { outcome: { kind: 'unreachable' }, response: null },
  ],
  [
    'a reset in the middle of the body: the status counts',
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf', () => socket.resetAndDestroy())
    },
    { outcome: { kind: 'delivered', status: 200 } },
  ],
  [
    'a body that never ends',
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      flood(socket, 'x'.repeat(65_536))
    },
    { outcome: { kind: 'delivered', status: 200 }, response: 'x'.repeat(4_096) },
  ],
  [
    'headers without end',
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      flood(socket, `x-filler: ${'y'.repeat(16_384)}\r\n`)
    },
    { outcome: { kind: 'unreachable' } },
  ],
  [
    'a flood of 1xx',
    (socket) => flood(socket, 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(1_000)),
    { outcome: { kind: 'unreachable' } },
    hasty,
  ],
  ...[brotliCompressSync, gzipSync, zstdCompressSync].map((compress, at): Hostile => {
    const bomb = compress(Buffer.alloc(at === 1 ? 3_500_000 : 64_000_000))
    const head = `HTTP/1.1 200 OK\r\ncontent-encoding: ${['br', 'gzip', 'zstd'][at]}\r\ncontent-length: ${bomb.length}\r\n\r\n`
    return [
      `an answer that is ${['Brotli', 'gzip', 'Zstandard'][at]} though none was asked for: kept as it came`,
      (socket) => socket.write(Buffer.concat([Buffer.from(head), bomb])),
      { outcome: { kind: 'delivered', status: 200 }, response: bomb.toString() },
    ]
  }),
  [
    'a body in chunks without end that is announced as short',
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n')
      flood(socket, `10000\r\n${'x'.repeat(65_536)}\r\n`)
    },
    { outcome: { kind: 'delivered', status: 200 }, response: 'x'.repeat(4_096) },
  ],
  ...['-1', '99999999999999999999', '0\r\ncontent-length: 5'].map(
    (length): Hostile => [
      `a length of ${JSON.stringify(length)}: a plain reason`,
      (socket) => socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\nhello`),
      { outcome: { kind: 'unreachable', reason: 'the answer has a wrong Content-Length' } },
    ],
  ),
  [
    'one header without end: a plain reason',
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nx: ')
      flood(socket, 'y'.repeat(65_536))
    },
    {
      outcome: {
        kind: 'unreachable',
        reason: expect.stringMatching(/^(the headers of the answer are too large|64 KiB came before an answer)$/),
      },
    },
  ],
  ['what is not HTTP', (socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n'), { outcome: { kind: 'unreachable' } }],
]

const WHEN = ['its first answer', 'after an answer'] as const
const CASES = WHEN.flatMap((when) => HOSTILE.map((hostile) => [when, ...hostile] as const))
test.each(CASES)('%s: %s', async (when, _, speak, expected, using = attempt) => {
  const isFirst = when === 'its first answer'
  const receiver = await rawReceiver((socket, connection) =>
    isFirst || connection > 1
      ? speak(socket, connection)
      : socket.end(OK.replace('200 OK', '200 OK\r\nconnection: close')),
  )
  if (!isFirst) expect((await post(receiver.url, using)).outcome.kind).toBe('delivered')
  const beforeBytes = process.memoryUsage.rss()
  const attempted = await post(receiver.url, using)
  expect(attempted).toMatchObject(expected)
  // No name of an error in place of a reason.
  expect(JSON.stringify(attempted.outcome)).not.toMatch(/[a-z][A-Z]\w+\)/)
  expect(process.memoryUsage.rss() - beforeBytes).toBeLessThan(100 * 1024 * 1024)
  expect(attempted.address).toBe('127.0.0.1')
})

test('interim answers without end are not read on, neither at the first request nor after a slow one', async () => {
  const MAX_BYTES = 32 * 1024 * 1024
  const piece = 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(1_000)
  let isHostile = true
  let written = 0
  const { promise: muchWritten, resolve } = Promise.withResolvers<void>()
  const receiver = await rawReceiver((socket) => {
    if (!isHostile) return void setTimeout(() => socket.write(OK), 2_100)
    const more = () => {
      while (!socket.destroyed && written < MAX_BYTES) {
        written += piece.length
        if (!socket.write(piece)) return
      }
      if (written >= MAX_BYTES) resolve()
    }
    socket.on('drain', more)
    more()
  })
  for (const kind of ['unreachable', 'delivered', 'unreachable'] as const) {
    isHostile = kind === 'unreachable'
    written = 0
    const attempted = post(receiver.url)
    await Promise.race([attempted, muchWritten])
    expect(written).toBeLessThan(MAX_BYTES)
    expect((await attempted).outcome.kind).toBe(kind)
  }
})

test('a body that trickles: the status counts, and what came in time is kept', async () => {
  const receiver = await rawReceiver((socket) => {
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n')
  })
  await withEnoughTime(async (timeoutMs) => {
    const attempted = await post(receiver.url, newAttempt({ allow: allowing('loopback'), timeoutMs }))
    expect(attempted).toMatchObject({ outcome: { kind: 'delivered', status: 200 }, response: 'a' })
  })
})

test('a connection that was kept and closed meanwhile is no failure', async () => {
  const receiver = await rawReceiver((socket) => {
    socket.write(OK, () => setTimeout(() => socket.destroy(), 5))
  })
  for (let round = 0; round < 20; round += 1) {
    expect((await post(receiver.url)).outcome.kind).toBe('delivered')
    await Bun.sleep(round)
  }
})

test('a kept connection is used again', async () => {
  const receiver = await rawReceiver((socket) => socket.write(OK))
  for (let round = 0; round < 5; round += 1) await post(receiver.url)
  // The first answer of a receiver comes on a separate connection.
  expect(receiver.connections()).toBe(2)
})

test('requests that find their kept connections dead at the same moment are each sent again, on a new one', async () => {
  const AT_ONCE = 8
  const first: Socket[] = []
  const receiver = await rawReceiver((socket, connection) => {
    if (connection === 1 || connection > AT_ONCE + 1) socket.write(OK)
    else if (first.includes(socket)) socket.resetAndDestroy()
    else if (first.push(socket) === AT_ONCE) for (const one of first) one.write(OK)
  })
  const round = () => Promise.all(Array.from({ length: AT_ONCE }, () => post(receiver.url)))
  await post(receiver.url)
  receiver.requests.length = 0
  expect((await round()).map(({ outcome }) => outcome.kind)).toEqual(Array(AT_ONCE).fill('delivered'))
  expect((await round()).map(({ outcome }) => outcome.kind)).toEqual(Array(AT_ONCE).fill('delivered'))
  expect(receiver.requests).toHaveLength(3 * AT_ONCE)
})

test('a request whose new connection breaks is not sent again, and one that was sent again not a third time', async () => {
  let answers = true
  const receiver = await rawReceiver((socket) => (answers ? socket.write(OK) : socket.resetAndDestroy()))
  for (let round = 0; round < 2; round += 1) await post(receiver.url)
  answers = false
  for (const requests of [2, 1, 1]) {
    receiver.requests.length = 0
    expect((await post(receiver.url)).outcome).toMatchObject({ kind: 'unreachable' })
    expect(receiver.requests).toHaveLength(requests)
  }
})

test('user and password go out as Basic authorization, and never in the request line', async () => {
  const receiver = await rawReceiver((socket) => socket.write(OK))
  await post(`http://an%40na:pa%3Ass@127.0.0.1:${receiver.port}/x`)
  expect(receiver.requests[0]).toContain(`${Buffer.from('an@na:pa:ss').toString('base64')}`)
  expect(receiver.requests[0]).toContain(`Host: 127.0.0.1:${receiver.port}`)
  expect(receiver.requests[0]).not.toContain('an%40na')
})

const NAMES: readonly (readonly [string, readonly string[], string, object])[] = [
  ['is called at the address that was checked', ['127.0.0.1'], 'loopback', { outcome: { kind: 'delivered' } }],
  ['that is at a refused address names the setting', ['127.0.0.1'], 'private', { address: null }],
  [
    'with a refused and an allowed address is called at the allowed one',
    ['10.1.2.3', '127.0.0.1'],
    'loopback',
    { address: '127.0.0.1' },
  ],
  ['without an address is unreachable', [], 'loopback', { outcome: { kind: 'unreachable' }, address: null }],
  [
    'is called at the next address when the first refuses',
    ['127.0.0.9', '127.0.0.1'],
    'loopback',
    { address: '127.0.0.1' },
  ],
]

test.each(NAMES)('a name %s', async (_, addresses, net, expected) => {
  const receiver = await rawReceiver((socket) => socket.write(OK))
  const using = newAttempt({ allow: allowing(net), timeoutMs: NEVER_MS, resolve: async () => addresses })
  const attempted = await post(`http://receiver.example:${receiver.port}/x`, using)
  expect(attempted).toMatchObject(expected)
  if (attempted.outcome.kind === 'delivered')
    expect(receiver.requests[0]).toContain(`Host: receiver.example:${receiver.port}`)
  else expect(receiver.connections()).toBe(0)
  if (net === 'private') expect(JSON.stringify(attempted.outcome)).toContain('--allow-net loopback')
})

test('a name whose first address swallows packets is called at the next one soon, and at that one first from then on', async () => {
  const receiver = await rawReceiver((socket) => socket.end(OK))
  const silent = await listenSilently('127.0.0.7', receiver.port)
  stops.push(silent.stop)
  const resolve = async () => ['127.0.0.7', '127.0.0.1']
  const url = `http://receiver.example:${receiver.port}/x`
  await withEnoughTime(async (nextAddressMs) => {
    const using = newAttempt({ allow: allowing('loopback'), timeoutMs: NEVER_MS, nextAddressMs, resolve })
    const first = await post(url, using)
    expect(first).toMatchObject({ outcome: { kind: 'delivered' }, address: '127.0.0.1' })
    expect(first.durationMs).toBeGreaterThan(nextAddressMs - 10)
    const second = await post(url, using)
    expect(second).toMatchObject({ outcome: { kind: 'delivered' }, address: '127.0.0.1' })
    expect(second.durationMs).toBeLessThan(nextAddressMs - 10)
  })
})

test('an address that takes its time to answer is not taken for one that swallows packets', async () => {
  const resolve = async () => ['127.0.0.1', '127.0.0.8']
  await withEnoughTime(async (nextAddressMs) => {
    const receiver = await rawReceiver((socket) => setTimeout(() => socket.write(OK), 2 * nextAddressMs))
    const using = newAttempt({ allow: allowing('loopback'), timeoutMs: NEVER_MS, nextAddressMs, resolve })
    const attempted = await post(`http://receiver.example:${receiver.port}/x`, using)
    expect(attempted).toMatchObject({ outcome: { kind: 'delivered' }, address: '127.0.0.1' })
    expect(receiver.requests.filter((request) => request !== '')).toHaveLength(1)
  })
})

test('nothing is sent without a file descriptor, and the receiver is not to blame', async () => {
  const receiver = await rawReceiver((socket) => socket.write(OK))
  const [without, then] = await attemptWithoutFiles([receiver.url, `http://localhost:${receiver.port}/`])
  const reason = expect.stringContaining('no free file descriptor')
  for (const { outcome } of without) expect(outcome).toEqual({ kind: 'unsent', reason })
  expect(then.map(({ outcome }) => outcome.kind)).toEqual(['delivered', 'delivered'])
})

test('a resolver that changes its answer is believed once: the checked address is the one that is called', async () => {
  const receiver = await rawReceiver((socket) => socket.write(OK))
  let asked = 0
  const resolve = async () => {
    asked += 1
    return asked === 1 ? ['127.0.0.1'] : ['169.254.169.254']
  }
  const using = newAttempt({ allow: allowing('loopback'), timeoutMs: NEVER_MS, resolve })
  expect((await post(`http://rebind.example:${receiver.port}/`, using)).outcome.kind).toBe('delivered')
  const second = await post(`http://rebind.example:${receiver.port}/`, using)
  expect(second.outcome).toMatchObject({ kind: 'unreachable' })
  expect(asked).toBe(2)
})

const hang = new Promise<string[]>(() => {})
const resolveOrHang = (name: string) => (name.startsWith('hang') ? hang : Promise.resolve(['127.0.0.1']))

test('a look-up that hangs delays no other', async () => {
  const receiver = await rawReceiver((socket) => socket.write(OK))
  const using = newAttempt({ allow: allowing('loopback'), timeoutMs: NEVER_MS, resolve: resolveOrHang })
  const over: string[] = []
  for (let n = 0; n < 40; n += 1)
    void post(`http://hang${n}.example/`, using).then(({ outcome }) => void over.push(outcome.kind))
  expect((await post(`http://good.example:${receiver.port}/`, using)).outcome.kind).toBe('delivered')
  expect(over).toEqual([])
})

test('a look-up that hangs is given up in time', async () => {
  const using = newAttempt({ allow: allowing('loopback'), timeoutMs: TIMEOUT_MS, resolve: resolveOrHang })
  const hanging = Array.from({ length: 40 }, (_, n) => post(`http://hang${n}.example/`, using))
  for (const { outcome } of await Promise.all(hanging)) expect(outcome.kind).toBe('unreachable')
})

test('a proxy of the environment is not used', async () => {
  const receiver = await rawReceiver((socket) => socket.write(OK))
  const before = process.env.HTTP_PROXY
  process.env.HTTP_PROXY = 'http://127.0.0.1:1'
  try {
    expect((await post(receiver.url)).outcome.kind).toBe('delivered')
  } finally {
    if (before === undefined) delete process.env.HTTP_PROXY
    else process.env.HTTP_PROXY = before
  }
})

test('the proxy of the setting is used, and resolves names itself', async () => {
  const proxy = await rawReceiver((socket) => socket.write(OK))
  const using = newAttempt({ allow: [], proxy: `http://127.0.0.1:${proxy.port}`, timeoutMs: NEVER_MS })
  expect((await post('http://inside.example/x', using)).outcome.kind).toBe('delivered')
  expect(proxy.requests[0]).toStartWith('POST http://inside.example/x HTTP/1.1')
})
