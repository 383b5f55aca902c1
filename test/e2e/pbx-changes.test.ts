import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { CallEvent } from '../../src/events/bodies.ts'
import { startReplay } from '../../src/pbx/tools/replay/replay.ts'
import type { PbxInfo } from '../../src/pbx/watch/model.ts'
import { emptyFolder, type RunningApp, run, startServe } from '../help/app.ts'
import { tone } from '../help/audio.ts'
import { type Answer, ask, logIn, PASSWORD, webhook } from '../help/client.ts'
import { fixture } from '../help/pbx.ts'
import { emptyDatabase, POSTGRES_MISSING } from '../help/postgres.ts'
import { startReceiver, until } from '../help/receiver.ts'

/**
 * PBXs that are added, replaced, moved and removed while the compiled file runs, over TCP: by the API and by commands,
 * with calls up, and killed in between.
 */

const SECRET = 'never-shown-s3cret'
const METRICS_TOKEN = 'a-token-for-the-metrics'
const SETTINGS = ['--allow-net', 'loopback', '--log-level', 'debug', '--metrics-token', METRICS_TOKEN]
/** At this moment the call has been answered. The recording stops there until the test continues. */
const ANSWERED = { file: 'b-inbound-callee-hangup.ami', atMs: 3_000 }
const SPEED = 10
/** A call whose recording has begun. */
const RECORDED = { file: 'recorded.esl', atMs: 3_000 }
const SOUND = tone(1)
const SHORT = 'g-internal.ami'

const ENGINES = [
  { name: 'SQLite', missing: undefined, isShared: false },
  { name: 'Postgres', missing: POSTGRES_MISSING, isShared: true },
]

for (const engine of ENGINES)
  describe.skipIf(engine.missing !== undefined)(engine.missing ?? `on ${engine.name}`, () => {
    const folder = emptyFolder()
    const stops: (() => unknown)[] = [() => folder[Symbol.dispose]()]
    const receiver = startReceiver()
    stops.unshift(receiver.stop)
    /** All that the service has answered and printed. */
    const shown: string[] = []
    const tokens = { admin: '', plain: '', acme: '' }
    let env: Record<string, string> = {}
    let app: RunningApp

    const start = async (...args: string[]) => {
      app = await startServe({
        cwd: folder.path,
        env,
        args: [...SETTINGS, '--recordings-from', join(folder.path, 'recordings'), ...args],
      })
    }
    const kill = async (...args: string[]) => {
      await app.stop('SIGKILL')
      shown.push(app.output())
      await start(...args)
    }
    const cli = async (line: string, stdin = '') => {
      const ran = await run(line.split(' '), { cwd: folder.path, env, stdin })
      shown.push(ran.stdout, ran.stderr)
      return ran
    }
    const api = async (method: string, path: string, body?: unknown, token = tokens.admin): Promise<Answer> => {
      const answer = await ask(app, method, path, { token, body })
      shown.push(JSON.stringify([answer.body, Object.fromEntries(answer.headers)]))
      return answer
    }
    const put = async (name: string, url: string) => {
      const answer = await api('PUT', `/pbx/${name}`, { url })
      if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
    }
    const list = async (token = tokens.admin) => (await api('GET', '/pbx', undefined, token)).body.result as PbxInfo[]
    const find = async (name: string, token = tokens.admin) => (await list(token)).find((pbx) => pbx.name === name)
    const isUp = (name: string) => until(`${name} is up`, async () => (await find(name))?.state === 'up')
    /** The events of a PBX that an account got, each once. */
    const events = (account: string, pbx: string): CallEvent['body']['data'][] => {
      const mine = receiver.received.filter(({ path }) => path === `/${account}`)
      const bodies = new Map(mine.map(({ id, body }) => [id, JSON.parse(body).data]))
      return [...bodies.values()].filter((data) => data.pbx === pbx)
    }
    const hasGot = (account: string, pbx: string, name: string) =>
      until(`${account} has got ${name} of ${pbx}`, () => events(account, pbx).some((event) => event.name === name))

    /** A PBX whose call stays up until the test calls `goOn`; then the rest of the recordings is played. */
    function startPbx(...more: string[]) {
      const { promise, resolve: goOn } = Promise.withResolvers<void>()
      const files = [ANSWERED.file, ...more].map(fixture)
      const replay = startReplay({ files, speed: SPEED, holds: [{ atMs: ANSWERED.atMs, until: promise }] })
      stops.unshift(replay.stop)
      return { goOn, port: replay.port, url: `ami://hookswitch:${SECRET}@127.0.0.1:${replay.port}` }
    }

    beforeAll(async () => {
      if (engine.isShared) {
        const database = await emptyDatabase()
        stops.unshift(() => database[Symbol.asyncDispose]())
        writeFileSync(join(folder.path, 'database-url'), database.url)
        env = { HOOKSWITCH_DATABASE_URL_FILE: join(folder.path, 'database-url') }
      }
      await start()
      stops.unshift(() => app.stop())
      await cli('user add --admin --email admin@example.com --name Admin', PASSWORD)
      await cli('user add --email plain@example.com --name Plain', PASSWORD)
      await cli('user add --account acme --email acme@example.com --name Acme', PASSWORD)
      tokens.admin = await logIn(app, 'admin@example.com')
      tokens.plain = await logIn(app, 'plain@example.com')
      tokens.acme = await logIn(app, 'acme@example.com')
      await api('PUT', '/integration/webhook', [webhook(`${receiver.url}/default`)])
      await api('PUT', '/integration/webhook', [webhook(`${receiver.url}/acme`)], tokens.acme)
    })
    afterAll(async () => {
      for (const stop of stops) await stop()
    })

    test('one that is added is watched, also after a kill: its call goes on under its id', async () => {
      const pbx = startPbx()
      expect(await list()).toEqual([])
      await put('office', pbx.url)
      await hasGot('default', 'office', 'dial_answered')
      await until('its call is counted', async () => (await find('office'))?.calls === 1)
      expect(await find('office')).toEqual({
        name: 'office',
        kind: 'asterisk',
        address: `127.0.0.1:${pbx.port}`,
        state: 'up',
        error: null,
        calls: 1,
        calls_not_followed: 0,
        since: expect.stringMatching(/^\d{4}-.*Z$/),
        events_per_second: expect.any(Number),
        source: 'store',
        account: 'default',
        url: `ami://hookswitch:***@127.0.0.1:${pbx.port}`,
      })
      await kill()
      await isUp('office')
      pbx.goOn()
      await hasGot('default', 'office', 'call_saved')
      const got = events('default', 'office').toSorted((one, other) => one.sequence - other.sequence)
      expect(got.map(({ sequence }) => sequence)).toEqual(got.map((_, at) => at + 1))
      expect(new Set(got.map(({ call }) => call.id)).size).toBe(1)
      expect(got.find(({ name }) => name === 'call_ended')?.call.hangup?.cause).toBe('normal')
    })

    test('one that is replaced by another: its call ends as unknown, once, also if it is killed then', async () => {
      const [before, after] = [startPbx(), startPbx()]
      await put('branch', before.url)
      await hasGot('default', 'branch', 'dial_answered')
      const [first] = events('default', 'branch')
      await put('branch', after.url)
      await kill()
      await until(
        'the other call is up',
        () => new Set(events('default', 'branch').map(({ call }) => call.id)).size === 2,
      )
      after.goOn()
      const ended = () => events('default', 'branch').filter(({ name }) => name === 'call_saved')
      await until('both are saved', () => ended().length === 2)
      const mine = events('default', 'branch').filter(({ call }) => call.id === first?.call.id)
      expect(mine.slice(-2).map(({ name }) => name)).toEqual(['call_ended', 'call_saved'])
      expect(mine.at(-1)?.call).toMatchObject({ hangup: { cause: 'unknown' }, partial: true })
      const other = ended().find(({ call }) => call.id !== first?.call.id)
      expect(other?.call).toMatchObject({ hangup: { cause: 'normal' }, partial: false })
    })

    test('one that is removed: its call ends as unknown, also if it is killed then, and nobody sees it', async () => {
      const pbx = startPbx()
      await put('gone', pbx.url)
      await hasGot('default', 'gone', 'dial_answered')
      expect((await api('DELETE', '/pbx/gone')).status).toBe(200)
      expect(await find('gone')).toBeUndefined()
      await kill()
      await hasGot('default', 'gone', 'call_saved')
      const names = events('default', 'gone').map(({ name }) => name)
      expect(names.filter((name) => name === 'call_ended')).toHaveLength(1)
      expect(events('default', 'gone').at(-1)?.call.hangup).toMatchObject({ cause: 'unknown', by: 'unknown' })
      expect((await api('DELETE', '/pbx/gone')).status).toBe(404)
    })

    test('one that is removed during a recorded call: its recording is saved when its file comes, and is played', async () => {
      const replay = startReplay({
        files: [fixture(RECORDED.file)],
        speed: SPEED,
        holds: [{ atMs: RECORDED.atMs, until: new Promise(() => {}) }],
      })
      stops.unshift(replay.stop)
      const monitor = join(folder.path, 'recordings')
      mkdirSync(monitor)
      await put('recorded', `esl://:${SECRET}@127.0.0.1:${replay.port}?recordings=${monitor}`)
      await hasGot('default', 'recorded', 'dial_answered')
      expect(await cli('pbx remove recorded')).toMatchObject({ code: 0 })
      await hasGot('default', 'recorded', 'call_saved')
      const saved = events('default', 'recorded').at(-1)
      const [recording] = saved !== undefined && 'recordings' in saved ? saved.recordings : []
      const play = () =>
        fetch(`${app.url}/call/${saved?.call.id}/recording/${recording?.id}`, {
          headers: { authorization: `Bearer ${tokens.plain}` },
        })
      expect((await play()).status).toBe(404)
      expect(await find('recorded')).toBeUndefined()
      await kill()
      writeFileSync(join(monitor, basename(recording?.path ?? '')), SOUND)
      const counted = async () =>
        (await fetch(`${app.url}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } })).text()
      await until('it is saved', async () => (await counted()).includes('hookswitch_recordings{state="saved"} 1'))
      const played = await play()
      expect([played.status, Buffer.from(await played.arrayBuffer()).equals(SOUND)]).toEqual([200, true])
    })

    test('one that moves to another account: a call that is up stays with the account it had', async () => {
      const pbx = startPbx(SHORT)
      await put('moved', pbx.url)
      await hasGot('default', 'moved', 'dial_answered')
      await put('moved', `${pbx.url}?account=acme`)
      const callsOf = async (token: string) => (await find('moved', token))?.calls
      await until('the call is still its first owner’s', async () => (await callsOf(tokens.plain)) === 1)
      expect(await callsOf(tokens.acme)).toBe(0)
      await isUp('moved')
      pbx.goOn()
      await hasGot('default', 'moved', 'call_saved')
      await hasGot('acme', 'moved', 'call_saved')
      const of = (account: string) => new Set(events(account, 'moved').map(({ call }) => call.id))
      expect([of('default').size, of('default').intersection(of('acme')).size]).toEqual([1, 0])
      expect(events('default', 'moved').at(-1)?.call.hangup?.cause).toBe('normal')
      await until('it is the other account’s alone', async () => (await find('moved', tokens.plain)) === undefined)
    })

    test('users see theirs without secrets, accounts and URLs, and change none', async () => {
      const mine = await find('office', tokens.plain)
      expect(Object.keys(mine ?? {}).toSorted()).toEqual(
        [
          'address',
          'calls',
          'calls_not_followed',
          'error',
          'events_per_second',
          'kind',
          'name',
          'since',
          'state',
        ].toSorted(),
      )
      expect((await list(tokens.acme)).map(({ name }) => name)).toEqual(['moved'])
      for (const [method, path] of [
        ['PUT', '/pbx/office'],
        ['DELETE', '/pbx/office'],
        ['POST', '/pbx/check'],
      ] as const) {
        const refused = await api(method, path, { url: 'ami://u:s@127.0.0.1' }, tokens.plain)
        expect(refused).toMatchObject({ status: 403, body: { code: 403, result: [] } })
        expect(refused.body.message).toContain('administrator')
      }
    })

    test.each<[string, object, string, RegExp]>([
      ['an unknown field', { url: 'ami://u:s@h', name: 'x' }, '/name', /unknown field/],
      ['no URL', {}, '/url', /missing/],
      ['another scheme', { url: 'http://u:s@h' }, '/url', /use ami:\/\//],
      ['another name', { url: 'ami://u:s@h?name=y' }, '/url', /name=y.*make it x/],
      ['an unknown account', { url: 'ami://u:s@h?account=nobody' }, '/url', /nobody.*user add --account/],
      ['an unreadable certificate', { url: 'amis://u:s@h?ca=/no/such.pem' }, '/url', /cannot be read/],
      ['no stored secret', { url: 'ami://u:***@h' }, '/url', /\*\*\*.*write the secret/],
      ['white space', { url: 'ami://u:s@h?trunks=a b' }, '/url', /%20/],
    ])('a URL with %s is refused', async (_, body, path, message) => {
      const { status, body: answer } = await api('PUT', '/pbx/x', body)
      expect([status, answer.result]).toEqual([422, { errors: [{ path, message: expect.stringMatching(message) }] }])
    })

    test('check is no name, and a secret is not sent to another host', async () => {
      expect((await api('PUT', '/pbx/check', { url: 'ami://u:s@h' })).status).toBe(422)
      const moved = await api('PUT', '/pbx/office', { url: 'ami://hookswitch:***@192.0.2.1' })
      expect([moved.status, JSON.stringify(moved.body.result)]).toEqual([
        422,
        expect.stringContaining('another protocol, host'),
      ])
      const port = (await find('office'))?.address.split(':')[1]
      await put('office', `ami://hookswitch:***@127.0.0.1:${port}?trunks=carrier*`)
      await isUp('office')
      expect((await find('office'))?.url).toBe(`ami://hookswitch:***@127.0.0.1:${port}?trunks=carrier*`)
    })

    test('a check reports its findings, also about a host that does not answer', async () => {
      const closed = await api('POST', '/pbx/check', { url: `ami://hookswitch:${SECRET}@127.0.0.1:1` })
      expect([closed.status, closed.body.result]).toEqual([
        200,
        [{ level: 'missing', text: expect.stringContaining('manager.conf') }],
      ])
      const url = (await find('office'))?.url
      const open = await api('POST', '/pbx/check', { url: `${url}&name=office` })
      expect(open.body.result).toContainEqual({ level: 'ok', text: 'the user hookswitch may log in' })
      expect((await api('POST', '/pbx/check', { url: 'ami://u@h' })).status).toBe(422)
    })

    test('commands add, list and remove PBXs beside the service', async () => {
      const pbx = startPbx()
      expect(await cli('pbx add -', `${pbx.url}?name=shop\n`)).toMatchObject({ code: 0, stderr: '' })
      await isUp('shop')
      expect(await cli('pbx add -', `${pbx.url}?name=shop\n`)).toMatchObject({ code: 1, stdout: '' })
      expect((await cli('pbx add --replace -', `${pbx.url}?name=shop&country=UZ\n`)).code).toBe(0)
      const rows: unknown = JSON.parse((await cli('pbx list --json')).stdout)
      expect(rows).toContainEqual(
        expect.objectContaining({
          name: 'shop',
          kind: 'asterisk',
          address: `127.0.0.1:${pbx.port}`,
          account: 'default',
          source: 'store',
          url: `ami://hookswitch:***@127.0.0.1:${pbx.port}?name=shop&country=UZ`,
        }),
      )
      expect((await cli('pbx remove shop')).code).toBe(0)
      await until('it is gone', async () => (await find('shop')) === undefined)
      expect(await cli('pbx remove shop')).toMatchObject({ code: 1, stderr: expect.stringContaining('no PBX shop') })
      expect((await cli(`pbx add ami://u:${SECRET}@h?account=nobody`)).stderr).toContain('user add --account nobody')
    })

    test('PBXs of the settings can only be changed there, and go when the settings no longer have them', async () => {
      const pbx = startPbx()
      await app.stop()
      shown.push(app.output())
      await start('--pbx', `${pbx.url}?name=fixed`)
      await isUp('fixed')
      expect(await find('fixed')).toMatchObject({ source: 'settings' })
      for (const answer of [await api('PUT', '/pbx/fixed', { url: pbx.url }), await api('DELETE', '/pbx/fixed')])
        expect(answer).toMatchObject({ status: 409, body: { result: [], message: expect.stringContaining('--pbx') } })
      expect((await cli('pbx remove fixed')).stderr).toContain('--pbx')
      await hasGot('default', 'fixed', 'dial_answered')
      await app.stop()
      shown.push(app.output())
      await start()
      await hasGot('default', 'fixed', 'call_saved')
      expect(events('default', 'fixed').at(-1)?.call.hangup?.cause).toBe('unknown')
      expect(await find('fixed')).toBeUndefined()
    })

    test('no secret was ever answered, printed, logged or measured, and the store is whole', async () => {
      await isUp('office')
      const headers = { authorization: `Bearer ${METRICS_TOKEN}` }
      const text = await (await fetch(`${app.url}/metrics`, { headers })).text()
      expect(text).toContain('hookswitch_pbx_state{pbx="office",state="up"} 1')
      expect(text).not.toContain('pbx="shop"')
      shown.push(text, JSON.stringify((await api('GET', '/overview')).body))
      await cli('pbx list')
      await cli('nodes')
      await until('nothing is pending', async () => (await cli('delivery list --state pending')).stdout === '')
      expect(await cli('verify')).toMatchObject({ code: 0 })
      await app.stop()
      shown.push(app.output(), ...receiver.received.map(({ body, headers }) => body + JSON.stringify(headers)))
      expect(shown.join('\n')).toContain('office')
      expect(shown.filter((text) => text.includes(SECRET))).toEqual([])
    })
  })
