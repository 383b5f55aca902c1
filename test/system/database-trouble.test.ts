import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, chownSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { SQL } from 'bun'
import { emptyFolder, run, startServe } from '../help/app.ts'
import { certify, newAuthority } from '../help/certificate.ts'
import { ask, logIn, PASSWORD, webhook } from '../help/client.ts'
import { canMount, mountSmallDisk } from '../help/disk.ts'
import { reservePort } from '../help/ports.ts'
import { emptyDatabase, POSTGRES_MISSING, type PostgresServer, startPostgres } from '../help/postgres.ts'
import { until } from '../help/receiver.ts'

/** The messages when a database cannot be used: the compiled file against real servers, one line each. */

const NOBODY = 65_534
const folder = emptyFolder()
/** The result of `serve` without a server: it takes half a minute, in which the other tests run. */
let unanswered: ReturnType<typeof serveUnanswered>
beforeAll(() => {
  unanswered = serveUnanswered()
})
afterAll(() => folder[Symbol.dispose]())

const userList = (url: string, env: Record<string, string> = {}) =>
  run(['user', 'list', '--database-url', url], { cwd: folder.path, env })

/** Checks that a command ended with one line, without the password of the URL. */
function expectLine({ code, stderr }: { code: number; stderr: string }, url: string, expected: string, exitCode = 1) {
  expect([code, stderr.trim().split('\n')]).toEqual([exitCode, [expect.stringContaining(expected)]])
  expect(stderr).toStartWith('hookswitch: ')
  const { password } = new URL(url)
  if (password !== '') expect(stderr).not.toContain(password)
}

test.each([
  ['not-a-url', 'is not a URL like postgres://user:password@host/database'],
  ['postgres://u:ge#heim@h/d', 'write /, ?, # and @ in a password as'],
  ['mysql://u:geheim@h/d', 'starts with mysql://: use postgres://'],
  ['postgres://h/d', 'has no user'],
  ['postgres://u:geheim@h', 'has no database'],
  ['postgres://u:gehe%im@h/d', 'has a % that is not percent-encoding'],
  ['postgres://u:geheim@h/d?sslmod=x', 'has the unknown parameter sslmod'],
  ['postgres://u:geheim@localhost/d?sslrootcert=/x', 'has sslrootcert, which needs sslmode=verify-full'],
  ['postgres://u:geheim@h/d?sslmode=verify-full&sslrootcert=/nowhere', 'which cannot be read'],
])('the URL %s is wrong usage', async (url, expected) => {
  for (const args of [['user', 'list'], ['serve'], ['nodes'], ['store', 'copy']]) {
    const ran = await run([...args, '--database-url', url], { cwd: folder.path })
    expect([args, ran.code]).toEqual([args, 2])
    expect(ran.stderr).toContain(expected)
    expect(ran.stderr).not.toContain('geheim')
  }
})

describe.skipIf(POSTGRES_MISSING !== undefined)('a server', () => {
  test('is refused with its version if it is too old', async () => {
    await using database = await emptyDatabase()
    const { hostname, port } = new URL(database.url)
    // A server of today whose version is another number on the way.
    const server = createServer((near) => {
      const far = connect(Number(port), hostname)
      near.on('error', () => far.destroy())
      far.on('error', () => near.destroy())
      near.pipe(far)
      far.on('data', (bytes) => near.write(olderVersion(Buffer.from(bytes))))
      far.on('end', () => near.end())
    })
    server.listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const address = server.address()
    const url = new URL(database.url)
    url.port = String(typeof address === 'object' ? address?.port : 0)
    url.searchParams.set('sslmode', 'disable')
    expectLine(await userList(url.href), url.href, 'is PostgreSQL 14: 15 or newer is needed')
    server.close()
  })

  test('is refused at once if it is a standby, and doctor names it', async () => {
    const server = await startPostgres()
    const standby = await server.standby()
    try {
      const refused = 'is a standby, or read-only: give the URL of the primary'
      expectLine(await userList(standby.url), standby.url, refused)
      const served = await run(['serve', '--listen', '127.0.0.1:0', '--database-url', standby.url], {
        cwd: folder.path,
      })
      expectLine(served, standby.url, refused)
      const doctor = (url: string) =>
        run(['doctor', '--listen', '127.0.0.1:1', '--database-url', url], { cwd: folder.path })
      expect((await doctor(standby.url)).stdout).toMatch(/^wrong +database: it is a standby, which cannot be written$/m)
      await until('it follows', async () =>
        /1 of its standbys are asynchronous/.test((await doctor(server.url)).stdout),
      )
    } finally {
      await standby.stop()
      await server.stop()
    }
  })
})

describe.skipIf(POSTGRES_MISSING !== undefined)('sslmode=verify-full', () => {
  const authority = newAuthority('ours')
  const files = emptyFolder()
  const file = (name: string, text: string) => {
    const path = join(files.path, name)
    writeFileSync(path, text)
    chmodSync(path, 0o600)
    if (process.getuid?.() === 0) chownSync(path, NOBODY, NOBODY)
    return path
  }
  const ours = file('ours.pem', authority.pem)
  const others = file('others.pem', newAuthority('others').pem)
  let server: PostgresServer

  beforeAll(async () => {
    chmodSync(files.path, 0o755)
    const { cert, key } = certify(['127.0.0.1'], authority)
    const [ssl_cert_file, ssl_key_file] = [file('server.pem', cert), file('server.key', key)]
    server = await startPostgres({ ssl: 'on', ssl_cert_file, ssl_key_file })
  })
  afterAll(async () => {
    await server?.stop()
    files[Symbol.dispose]()
  })

  test.each([
    ['an authority that is trusted', '127.0.0.1', ours, undefined],
    ['another authority', '127.0.0.1', others, 'with the TLS that was asked for'],
    ['the authorities of the system', '127.0.0.1', undefined, 'with the TLS that was asked for'],
    ['a certificate for another name', 'localhost', ours, 'with the TLS that was asked for'],
  ])('proves who the server is, regardless of the environment: %s', async (_, host, ca, expected) => {
    const url = new URL(server.url)
    url.hostname = host
    url.searchParams.set('sslmode', 'verify-full')
    if (ca !== undefined) url.searchParams.set('sslrootcert', ca)
    for (const env of [{}, { NODE_TLS_REJECT_UNAUTHORIZED: '0' }]) {
      const ran = await userList(url.href, env)
      if (expected === undefined)
        expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('There is no user')])
      else expectLine(ran, url.href, expected)
    }
  })
})

describe.skipIf(POSTGRES_MISSING !== undefined || !canMount)('a disk of the server that is full (needs mount)', () => {
  test('is named in one line, and work goes on when there is space again', async () => {
    await using cleaning = new AsyncDisposableStack()
    const place = emptyFolder()
    cleaning.defer(() => place[Symbol.dispose]())
    cleaning.use(mountSmallDisk(place.path, '40m'))
    chmodSync(place.path, 0o700)
    if (process.getuid?.() === 0) chownSync(place.path, NOBODY, NOBODY)
    const server = await startPostgres()
    cleaning.defer(() => server.stop())
    const sql = new SQL({ url: server.url, max: 1 })
    await sql.unsafe(`CREATE TABLESPACE small LOCATION '${place.path}'`)
    await sql.unsafe('CREATE DATABASE calls TABLESPACE small')
    await sql.close()
    const url = new URL(server.url)
    url.pathname = '/calls'
    const added = await run(['user', 'add', '--email', 'a@example.com', '--name', 'A', '--database-url', url.href], {
      cwd: folder.path,
      stdin: `${PASSWORD}\n`,
    })
    expect(added.code).toBe(0)
    const app = await startServe({ cwd: folder.path, args: ['--database-url', url.href] })
    cleaning.defer(async () => void (await app.stop()))
    const token = await logIn(app, 'a@example.com')
    // The list is larger than the free space of any page, so it needs a new page.
    const list = Array.from({ length: 100 }, (_, n) => webhook(`https://${n}.example/${'x'.repeat(2_000)}`))
    const put = () => ask(app, 'PUT', '/integration/webhook', { token, body: list })
    Bun.spawnSync(['dd', 'if=/dev/zero', `of=${place.path}/filler`, 'bs=4096'])
    const refused = await put()
    expect([refused.status, refused.body.result]).toEqual([503, []])
    expect(refused.body.message).toMatch(/disk of its server is full/)
    expect(refused.body.message).not.toContain(url.password)
    expect((await ask(app, 'GET', '/integration/webhook', { token })).body.result).toEqual([])
    Bun.spawnSync(['rm', `${place.path}/filler`])
    await until('there is space again', async () => (await put()).status === 200)
  })
})

/** Starts `serve` with a server that never answers, and with a missing one. Returns how and when they end. */
async function serveUnanswered() {
  const silent: Server = createServer((socket) => void socket.on('error', () => undefined))
  silent.listen(0, '127.0.0.1')
  await new Promise((resolve) => silent.once('listening', resolve))
  const address = silent.address()
  const ports = [typeof address === 'object' ? (address?.port ?? 0) : 0, reservePort()]
  const startedMs = performance.now()
  const ends = await Promise.all(
    ports.map(async (port) => {
      const url = `postgres://u:geheim@127.0.0.1:${port}/d`
      const ran = await run(['serve', '--listen', '127.0.0.1:0', '--database-url', url], { cwd: folder.path })
      return { ran, url, tookMs: performance.now() - startedMs }
    }),
  )
  silent.close()
  return ends
}

test('a server that never answers is tried for 30 s at the start, as one that is not there, and the log has it at once', async () => {
  for (const { ran, url, tookMs } of await unanswered) {
    const [first = '', ...more] = ran.stderr.trim().split('\n')
    expect(JSON.parse(first)).toMatchObject({
      level: 'warn',
      msg: expect.stringMatching(/^the database d on .* does not answer yet: waiting for it, for some 30 s$/),
    })
    expectLine({ ...ran, stderr: more.join('\n') }, url, 'does not answer')
    expect(tookMs).toBeGreaterThan(30_000)
  }
})

/** Returns bytes of a server with the number of its version replaced, as text and as an integer. */
function olderVersion(bytes: Buffer): Buffer {
  const changed = Buffer.from(bytes)
  for (let version = 180_000; version < 180_100; version += 1) {
    const [number, text] = [Buffer.alloc(4), Buffer.from(String(version))]
    number.writeInt32BE(version)
    for (let at = changed.indexOf(number); at >= 0; at = changed.indexOf(number, at + 1))
      changed.writeInt32BE(140_009, at)
    for (let at = changed.indexOf(text); at >= 0; at = changed.indexOf(text, at + 1)) changed.write('140009', at)
  }
  return changed
}
