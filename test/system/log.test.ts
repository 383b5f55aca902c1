import { expect, test } from 'bun:test'
import { closeSync, constants, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { startReplay } from '../../src/pbx/tools/replay/replay.ts'
import { buildOnce, EXECUTABLE, emptyFolder, run, startServe } from '../help/app.ts'
import { ask, newToken, PASSWORD, webhook } from '../help/client.ts'
import { canMount, mountSmallDisk } from '../help/disk.ts'
import { fixture } from '../help/pbx.ts'
import { reservePort } from '../help/ports.ts'
import { startReceiver, until } from '../help/receiver.ts'

test('a call can be followed by its id from the PBX to each receiver; its numbers are masked', async () => {
  using folder = emptyFolder()
  const receiver = startReceiver()
  const go = Promise.withResolvers<void>()
  const replay = startReplay({ files: [fixture('a-inbound-answered.ami')], speed: 50, after: go.promise })
  const app = await startServe({
    cwd: folder.path,
    args: ['--pbx', `ami://u:s3cret@127.0.0.1:${replay.port}?name=office`, '--log-mask-numbers'],
    env: { HOOKSWITCH_ALLOW_NET: 'loopback', HOOKSWITCH_LOG_LEVEL: 'debug' },
  })
  const token = await newToken(app, 'anna@example.com')
  const list = [webhook(`http://u:passw0rd@127.0.0.1:${receiver.port}/one`), webhook(`${receiver.url}/two`)]
  await ask(app, 'PUT', '/integration/webhook', { token, body: list })
  go.resolve()
  await until('both have the call', () => receiver.received.length === 12)
  await app.stop()
  await replay.stop()
  await receiver.stop()

  const facts = app
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
  for (const { id, body } of receiver.received) {
    const { name, call } = JSON.parse(body).data
    expect(facts).toContainEqual(
      expect.objectContaining({
        msg: 'event emitted',
        event: id,
        call: call.id,
        name,
        pbx: 'office',
        from: '*********01',
      }),
    )
    for (const path of ['one', 'two'])
      expect(facts).toContainEqual(
        expect.objectContaining({
          msg: 'attempt',
          event: id,
          call: call.id,
          url: `${receiver.url}/${path}`,
          status: 200,
          state: 'delivered',
        }),
      )
  }
  expect(app.output()).not.toMatch(/15551230001|passw0rd|s3cret|whsec_|hks_/)
})

test("secrets in a webhook's URL are in no line of the log, but on the page", async () => {
  using folder = emptyFolder()
  const receiver = startReceiver(({ path }) => new Response('', { status: path.startsWith('/gone') ? 410 : 500 }))
  const go = Promise.withResolvers<void>()
  const replay = startReplay({ files: [fixture('a-inbound-answered.ami')], speed: 50, after: go.promise })
  const net = { HOOKSWITCH_ALLOW_NET: 'loopback' }
  const app = await startServe({
    cwd: folder.path,
    args: ['--pbx', `ami://u:s3cret@127.0.0.1:${replay.port}?name=office`],
    env: { ...net, HOOKSWITCH_LOG_LEVEL: 'debug' },
  })
  const token = await newToken(app, 'anna@example.com')
  const { port } = receiver
  const urls = [
    `http://u5er:passw0rd@127.0.0.1:${port}/services/T0KEN1/B0KEN?key=K3Y#fr4gment`,
    `http://127.0.0.1:${port}/bot123:T0KEN2/sendMessage`,
    `http://127.0.0.1:${port}/gone?key=K3Y`,
  ]
  await ask(app, 'PUT', '/integration/webhook', { token, body: urls.map((url) => webhook(url)) })
  for (const url of urls) {
    await ask(app, 'PUT', '/integration/webhook/options', { token, body: { url, headers: { 'X-Key': 'he4der' } } })
    await ask(app, 'POST', '/integration/webhook/test', { token, body: { url } })
    await ask(app, 'POST', '/integration/webhook/secret/rotate', { token, body: { url } })
  }
  go.resolve()
  for (const line of ['webhook is down', 'delivery has failed for good', '"attempt"'])
    await until(line, () => app.output().includes(line))
  const doctor = await run(['doctor', '--listen', new URL(app.url).host], { cwd: folder.path, env: net })
  const shown = await ask(app, 'GET', '/integration/webhook', { token })
  await app.stop()
  await replay.stop()
  await receiver.stop()

  expect(shown.body.result).toMatchObject(urls.map((url) => ({ url })))
  const secret = /passw0rd|u5er|[TB]0KEN|K3Y|fr4gment|he4der|sendMessage/
  expect(
    app
      .output()
      .split('\n')
      .filter((line) => secret.test(line)),
  ).toEqual([])
  expect(app.output()).toContain(`"url":"http://127.0.0.1:${port}/services/…"`)
  expect(doctor.stdout).toContain(`http://127.0.0.1:${port}/services/…`)
  expect(doctor.stdout + doctor.stderr).not.toMatch(secret)
})

/** `serve` of the compiled file from its start to its end. @returns its two outputs. */
async function startAndStop(env: Record<string, string> = {}, errors?: string) {
  await buildOnce()
  using folder = emptyFolder()
  const pbx = 'ami://u:s3cret@127.0.0.1:1?name=office'
  const child = Bun.spawn([EXECUTABLE, 'serve', '--listen', '127.0.0.1:0', '--pbx', pbx], {
    cwd: folder.path,
    env,
    stdout: 'pipe',
    stderr: errors === undefined ? 'pipe' : Bun.file(errors),
  })
  const log = child.stderr instanceof ReadableStream ? new Response(child.stderr).text() : undefined
  const reader = child.stdout.getReader()
  let out = new TextDecoder().decode((await reader.read()).value)
  child.kill('SIGTERM')
  for (let part = await reader.read(); !part.done; part = await reader.read())
    out += new TextDecoder().decode(part.value)
  expect(await child.exited).toBe(0)
  return { out, log: errors === undefined ? ((await log) ?? '') : readFileSync(errors, 'utf8') }
}

const messages = (log: string) =>
  log
    .trimEnd()
    .split('\n')
    .map((line): Record<string, unknown> => JSON.parse(line))

test('standard output has the line that reports that it is ready, and standard error the log from its start to its end', async () => {
  const { out, log } = await startAndStop()
  expect(out).toMatch(/^hookswitch ready on http:\/\/127\.0\.0\.1:\d+\n$/)
  const lines = messages(log)
  expect(lines.find(({ msg }) => msg === 'hookswitch has started')).toMatchObject({
    level: 'info',
    version: manifest.version,
    url: out.trim().split(' ').at(-1),
    pbxs: ['office (ami://127.0.0.1:1)'],
  })
  expect(lines).toContainEqual(
    expect.objectContaining({ level: 'warn', msg: expect.stringMatching(/nobody can log in/) }),
  )
  expect(lines.at(-1)).toMatchObject({ level: 'info', msg: 'hookswitch has stopped', seconds: expect.any(Number) })
  expect(log).not.toContain('s3cret')
})

test('the journal gets the priority of each line, and a file that has its place does not', async () => {
  using folder = emptyFolder()
  const journal = join(folder.path, 'journal')
  writeFileSync(journal, '')
  const { dev, ino } = statSync(journal, { bigint: true })
  const env = { JOURNAL_STREAM: `${dev}:${ino}` }
  const { log } = await startAndStop(env, journal)
  const lines = log.trimEnd().split('\n')
  expect(lines.every((line) => /^<[3-7]>\{"level":"/.test(line))).toBe(true)
  expect(lines.some((line) => line.startsWith('<4>{"level":"warn"'))).toBe(true)
  expect(messages(log.replace(/^<\d>/gm, '')).length).toBe(lines.length)
  const other = join(folder.path, 'other')
  writeFileSync(other, '')
  expect(messages((await startAndStop(env, other)).log).length).toBeGreaterThan(0)
})

/** `serve` whose two outputs are `output`, from its start to its end, which has to be in order. */
async function serveInto(output: number, check: (url: string) => Promise<void> = async () => {}) {
  await buildOnce()
  using folder = emptyFolder()
  const port = reservePort()
  const url = `http://127.0.0.1:${port}`
  const child = Bun.spawn([EXECUTABLE, 'serve', '--listen', `127.0.0.1:${port}`, '--log-level', 'debug'], {
    cwd: folder.path,
    env: { HOOKSWITCH_USER_EMAIL: 'a@example.com', HOOKSWITCH_USER_PASSWORD: PASSWORD },
    stdout: output,
    stderr: output,
  })
  const isHealthy = async () => (await fetch(`${url}/health`).catch(() => undefined))?.ok === true
  await until('it is healthy', async () => child.exitCode !== null || (await isHealthy()))
  // Passwords and files are read by the threads that also write the log.
  const body = JSON.stringify({ email: 'a@example.com', password: PASSWORD })
  const headers = { 'content-type': 'application/json' }
  expect((await fetch(`${url}/auth/login`, { method: 'POST', headers, body })).status).toBe(200)
  await check(url)
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
}

test('a device that is full ends nothing', async () => {
  const full = openSync('/dev/full', 'w')
  await serveInto(full)
  closeSync(full)
})

test('a pipe whose reader has gone ends nothing', async () => {
  using folder = emptyFolder()
  const path = join(folder.path, 'pipe')
  Bun.spawnSync(['mkfifo', path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const writer = openSync(path, constants.O_WRONLY)
  closeSync(reader)
  await serveInto(writer)
  closeSync(writer)
})

test('a pipe that is full, and that nobody reads, delays neither the start nor the end', async () => {
  using folder = emptyFolder()
  const path = join(folder.path, 'pipe')
  Bun.spawnSync(['mkfifo', path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const writer = openSync(path, constants.O_WRONLY)
  Bun.spawnSync(['dd', 'if=/dev/zero', 'bs=65536', 'count=1'], { stdout: writer })
  await serveInto(writer)
  closeSync(writer)
  closeSync(reader)
})

test.skipIf(!canMount)(
  'a file on a full disk ends nothing; the lines are there when there is space again',
  async () => {
    using folder = emptyFolder()
    using _disk = mountSmallDisk(folder.path, '256k')
    const path = join(folder.path, 'log')
    const file = openSync(path, 'a')
    const filler = join(folder.path, 'filler')
    Bun.spawnSync(['dd', 'if=/dev/zero', `of=${filler}`, 'bs=4096'])
    await serveInto(file, async () => {
      expect(readFileSync(path, 'utf8')).toBe('')
      rmSync(filler)
      await until('the log is written', () => readFileSync(path, 'utf8').includes('a user logged in'))
    })
    // Both outputs are one, so every line is JSON.
    const lines = messages(readFileSync(path, 'utf8'))
    expect(lines.filter(({ msg }) => String(msg).startsWith('hookswitch ready on http://'))).toHaveLength(1)
    expect(lines.at(-1)).toMatchObject({ msg: 'hookswitch has stopped' })
  },
)

test('a request that never ends costs its connection, and no line of the log that is no JSON', async () => {
  using folder = emptyFolder()
  const app = await startServe({ cwd: folder.path })
  const { hostname, port } = new URL(app.url)
  const closed = Promise.withResolvers<void>()
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: { data() {}, close: () => closed.resolve() },
  })
  socket.write(
    'POST /auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
  )
  await closed.promise
  await app.stop()
  const lines = app
    .output()
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('hookswitch ready'))
  expect(lines.filter((line) => !line.startsWith('{'))).toEqual([])
})
