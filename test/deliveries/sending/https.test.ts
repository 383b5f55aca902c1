import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { emptyFolder, startServe } from '../../help/app.ts'
import { attemptTrusting } from '../../help/attempts.ts'
import { certify, newAuthority } from '../../help/certificate.ts'
import { ask, newToken, webhook } from '../../help/client.ts'
import { startTlsReceiver } from '../../help/tls-receiver.ts'

/** A name is pinned to the address that was checked, and TLS is still for the name: several names at one address and port. */

const folder = emptyFolder()
const authority = newAuthority('An authority of this test')
const CA = join(folder.path, 'ca.pem')
const CERTIFICATES = {
  '': certify(['127.0.0.1'], authority),
  'a.example': certify(['a.example'], authority),
  'b.example': certify(['b.example'], authority),
  'xn--bcher-kva.example': certify(['xn--bcher-kva.example'], authority),
  localhost: certify(['localhost'], authority),
  'other.example': certify(['elsewhere.example'], authority),
  'self.example': certify(['self.example']),
  'stranger.example': certify(['stranger.example'], newAuthority('An authority that nobody knows')),
  'old.example': certify(['old.example'], authority, -1),
}
let receiver: Awaited<ReturnType<typeof startTlsReceiver>>

beforeAll(async () => {
  await Bun.write(CA, authority.pem)
  receiver = await startTlsReceiver(CERTIFICATES)
})
afterAll(() => {
  receiver[Symbol.dispose]()
  folder[Symbol.dispose]()
})

const urlOf = (host: string) => `https://${host}:${receiver.port}/hook`
const one = async (url: string, timeoutMs?: number) => (await attemptTrusting(CA, [[url]], timeoutMs))[0]?.[0]

test.each([
  ['a name', 'a.example', 'a.example', 'a.example'],
  ['a name in capitals', 'A.Example', 'a.example', 'a.example'],
  ['a name with a dot behind it', 'a.example.', 'a.example', 'a.example.'],
  ['a name in another script', 'bücher.example', 'xn--bcher-kva.example', 'xn--bcher-kva.example'],
  ['an address, which has no name to show', '127.0.0.1', undefined, '127.0.0.1'],
])('%s: the handshake is for it, and so is the Host header', async (_, host, sni, shown) => {
  receiver.requests.length = 0
  expect(await one(urlOf(host))).toMatchObject({ outcome: { kind: 'delivered' }, address: '127.0.0.1' })
  expect(receiver.requests).toEqual([{ connection: expect.any(Number), sni, host: `${shown}:${receiver.port}` }])
})

describe('refused, before anything is sent, with a plain reason:', () => {
  test.each([
    ['a certificate for another name', 'other.example', 'the certificate is for another name'],
    ['a certificate for the address alone', 'unknown.example', 'the certificate is for another name'],
    ['a self-signed certificate', 'self.example', 'the certificate is self-signed'],
    ['an authority that is not trusted', 'stranger.example', /^the certificate is of an unknown authority/],
    ['a certificate that has run out', 'old.example', 'the certificate has expired'],
  ])('%s', async (_, host, reason) => {
    receiver.requests.length = 0
    expect(await one(urlOf(host))).toMatchObject({
      outcome: { kind: 'unreachable', reason: typeof reason === 'string' ? reason : expect.stringMatching(reason) },
      address: '127.0.0.1',
      response: null,
    })
    expect(receiver.requests).toEqual([])
  })

  test.each([
    ['a port that does not speak TLS', 'HTTP/1.1 400 Bad Request\r\n\r\n', /^the TLS handshake failed/, undefined],
    [
      'a server that wants a client certificate',
      '\x15\x03\x03\x00\x02\x02\x74',
      /^the server wants a client certificate/,
      undefined,
    ],
    ['a server that speaks HTTP/2 only', '\x15\x03\x03\x00\x02\x02\x78', /^the server speaks HTTP\/2 only/, undefined],
    ['a server with an old version of TLS', '\x15\x03\x01\x00\x02\x02\x46', /TLS version older than 1\.2/, undefined],
    [
      'a server that refuses the handshake',
      '\x15\x03\x03\x00\x02\x02\x28',
      /^the server refuses the TLS handshake/,
      undefined,
    ],
    ['a handshake that hangs', '', 'no answer within 2 s', 2_000],
  ])('%s', async (_, greeting, reason, timeoutMs) => {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.on('data', () => socket.write(Buffer.from(greeting, 'latin1')))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    expect(await one(`https://a.example:${port}/`, timeoutMs)).toMatchObject({
      outcome: { kind: 'unreachable', reason: typeof reason === 'string' ? reason : expect.stringMatching(reason) },
    })
    server.close()
  })
})

test('a connection that was opened for one name is never used for another at the same address', async () => {
  receiver.requests.length = 0
  const hosts = ['a.example', 'b.example', '127.0.0.1', 'other.example', 'a.example', 'stranger.example', 'b.example']
  const alone = hosts.map((host) => [urlOf(host)])
  const together = Array.from({ length: 5 }, () =>
    hosts.flatMap((host) => Array.from({ length: 5 }, () => urlOf(host))),
  )
  const came = await attemptTrusting(CA, [...alone, ...together, ...alone])
  const delivered = came.flat().filter(({ outcome }) => outcome.kind === 'delivered')
  expect(delivered).toHaveLength(came.flat().length * (5 / 7))
  expect(receiver.requests).toHaveLength(delivered.length)
  for (const { sni, host } of receiver.requests) expect(host).toBe(`${sni ?? '127.0.0.1'}:${receiver.port}`)
  const names = Map.groupBy(receiver.requests, ({ connection }) => connection)
  for (const requests of names.values()) expect(new Set(requests.map(({ host }) => host)).size).toBe(1)
  // They were kept: else this has proven nothing.
  expect(names.size).toBeLessThan(receiver.requests.length / 2)
})

test('the executable pins a name of /etc/hosts, and trusts the authorities that its environment names', async () => {
  using home = emptyFolder()
  const args = ['--allow-net', 'loopback']
  const tested = async (env: Record<string, string>) => {
    const app = await startServe({ cwd: home.path, args, env })
    try {
      const token = await newToken(app, `${Object.keys(env).length}@example.com`)
      const body = { url: urlOf('localhost') }
      await ask(app, 'PUT', '/integration/webhook', { token, body: [webhook(body.url)] })
      return (await ask(app, 'POST', '/integration/webhook/test', { token, body })).body.result
    } finally {
      await app.stop()
    }
  }
  expect(await tested({ NODE_EXTRA_CA_CERTS: CA })).toMatchObject({ status: 200, error: null })
  expect(receiver.requests.at(-1)).toMatchObject({ sni: 'localhost', host: `localhost:${receiver.port}` })
  const error = expect.stringContaining('the certificate is of an unknown authority')
  expect(await tested({})).toMatchObject({ status: null, error })
})
