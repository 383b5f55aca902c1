import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { backupName } from '../../../src/backups/schedule.ts'
import { diagnoseClock } from '../../../src/cli/doctor/machine.ts'
import { nowUs } from '../../../src/lib/time.ts'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import { emptyFolder, type RunningApp, run, startServe } from '../../help/app.ts'
import { ask, newToken, webhook } from '../../help/client.ts'
import { fixture } from '../../help/pbx.ts'
import { startReceiver } from '../../help/receiver.ts'
import { storeEvents } from '../../help/store.ts'

const folder = emptyFolder()
const cwd = folder.path
const receiver = startReceiver()
let replay: ReturnType<typeof startReplay>
let app: RunningApp
let token = ''
beforeAll(async () => {
  replay = startReplay({ files: [fixture('o-ivr-no-dial.ami')] })
  app = await startServe({ cwd, args: ['--allow-net', 'loopback'] })
  token = await newToken(app, 'anna@example.com')
})
afterAll(async () => {
  await app.stop()
  await replay.stop()
  await receiver.stop()
  folder[Symbol.dispose]()
})

const pbx = () => `ami://u:very-secret@127.0.0.1:${replay.port}?name=office`
const doctor = (args: string[] = [], env: Record<string, string> = {}) =>
  run(['doctor', '--listen', app.url.replace('http://', ''), '--allow-net', 'loopback', ...args], { cwd, env })
const put = (urls: string[]) =>
  ask(app, 'PUT', '/integration/webhook', { token, body: urls.map((url) => webhook(url)) })

describe('hookswitch doctor', () => {
  test('finds a healthy installation, and sends receivers no event', async () => {
    await put([`http://u:passw0rd@127.0.0.1:${receiver.port}/crm`])
    const { code, stdout, stderr } = await doctor([], { HOOKSWITCH_PBX: pbx() })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const line of [
      /^ok +service: it is running and healthy/m,
      /^ok +store: .* is readable to the end/m,
      /^ok +users: 1 can log in/m,
      /^ok +disk: /m,
      /^ok +clock: /m,
      /^ok +PBX: office: the user u may log in/m,
      /^ok +webhook: http:\/\/127\.0\.0\.1:\d+\/crm answers at 127\.0\.0\.1/m,
    ])
      expect(stdout).toMatch(line)
    expect(stdout).not.toMatch(/very-secret|passw0rd|^wrong/m)
    expect(receiver.received.filter(({ body }) => body !== '')).toEqual([])
  })

  test('checks the PBXs of the store too', async () => {
    const added = await run(['pbx', 'add', '-'], { cwd, stdin: pbx().replace('office', 'branch') })
    expect(added.code).toBe(0)
    const { stdout } = await doctor()
    expect(stdout).toMatch(/^ok +PBX: branch: the user u may log in/m)
    expect(stdout).not.toContain('very-secret')
    expect((await run(['pbx', 'remove', 'branch'], { cwd })).code).toBe(0)
  })

  test.each<[string, string[], Record<string, string>, string[], RegExp]>([
    [
      'a receiver that is not there',
      [],
      {},
      ['http://127.0.0.1:1/x'],
      /webhook: http:\/\/127\.0\.0\.1:1\/x: connection refused\n +→ curl -I/,
    ],
    ['a list that is empty', [], {}, [], /webhooks: no account has a webhook.*\n +→ /],
    [
      'a PBX that is not there',
      ['--pbx', 'esl://:p@127.0.0.1:1?name=far'],
      {},
      [],
      /PBX: far: cannot connect.*\n +→ hookswitch pbx check/,
    ],
    ['a setting', [], { HOOKSWITCH_RETENTION: 'long' }, [], /settings: --retention \(HOOKSWITCH_RETENTION\)/],
    ['the folder of copies', ['--recordings-copy', 'none'], {}, [], /disk: none does not exist.*\n +→ mkdir/],
    ['a folder', ['--data', 'none'], {}, [], /disk: none does not exist.*\n +→ mkdir/],
  ])('reports what is wrong, and how to fix it: %s', async (_, args, env, urls, line) => {
    await put(urls)
    const { code, stdout, stderr } = await doctor(args, env)
    expect({ code, lines: stderr.trim().split('\n').length }).toEqual({ code: 1, lines: 1 })
    expect(stdout).toMatch(line)
  })

  test('lists a folder that has the name of the lock beside all other findings, and so does verify', async () => {
    using other = emptyFolder()
    const lock = join(other.path, 'data/lock')
    mkdirSync(dirname(lock))
    await openSqliteStore(join(other.path, 'data/hookswitch.db')).stop()
    mkdirSync(lock)
    const problem = 'lock is no file, but the lock of the store has this name: move it away'
    const found = await run(['doctor', '--listen', '127.0.0.1:1'], { cwd: other.path })
    expect(found.code).toBe(1)
    expect(found.stdout).toMatch(new RegExp(`^wrong +service: it cannot start: .*${problem}\\n +→ mv `, 'm'))
    for (const about of ['settings', 'store', 'users', 'disk', 'clock', 'PBX'])
      expect(found.stdout).toMatch(new RegExp(`^\\w+ +${about}: `, 'm'))
    const verified = await run(['verify'], { cwd: other.path })
    expect(verified).toMatchObject({ code: 1, stderr: expect.stringContaining(problem) })
    const added = await run(['user', 'add', '--email', 'a@a.example', '--name', 'A'], {
      cwd: other.path,
      stdin: 'passw0rd',
    })
    expect(added).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(problem) })
  })

  test('reads a large store to its end only when it is told to', async () => {
    using large = emptyFolder()
    const path = join(large.path, 'data/hookswitch.db')
    mkdirSync(dirname(path))
    const store = openSqliteStore(path)
    const body = JSON.stringify({ data: { name: 'call_started' }, padding: 'x'.repeat(1_000_000) })
    const event = { callId: 'a', name: 'call_started' as const, sequence: 1, atUs: nowUs(), body }
    await storeEvents(
      store,
      Array.from({ length: 10 }, (_, at) => ({ ...event, uuid: `${at}` })),
    )
    await store.stop()
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.fill(0xa5, 4_096 * 1_000, 4_096 * 1_001))
    const look = async (...args: string[]) => {
      const { stdout } = await run(['doctor', '--listen', '127.0.0.1:1', ...args], { cwd: large.path })
      return /^(ok|wrong) +store: .*$/m.exec(stdout)?.[0]
    }
    expect(await look()).toMatch(/^ok +store: .* its 10 MB were not read: hookswitch doctor --whole does that$/)
    expect(await look('--whole')).toMatch(/^wrong +store: .* is damaged/)
  })

  test('says how old the newest backup is, and warns from twice the time on after which one is due', async () => {
    using other = emptyFolder()
    const inOther = { cwd: other.path }
    const backups = join(other.path, 'backups')
    await run(['user', 'add', '--email', 'a@example.com', '--name', 'A'], { ...inOther, stdin: 'correct horse' })
    const look = async (...args: string[]) => {
      const { stdout } = await run(['doctor', '--listen', '127.0.0.1:0', ...args], inOther)
      return /^(ok|advice) +backups: .*$/m.exec(stdout)?.[0]
    }
    const madeHoursAgo = (hours: number) => Bun.write(join(backups, backupName(nowUs() - hours * 3_600_000_000)), '')
    expect(await look()).toBeUndefined()
    expect(await look('--backup', backups)).toBe(`advice  backups: there is no backup in ${backups}`)
    expect(existsSync(backups)).toBe(false)
    await madeHoursAgo(60)
    expect(await look('--backup', backups)).toMatch(
      /^advice +backups: the newest backup in .* is .*Z\.db, 3 d old: one is due every 24 h$/,
    )
    await madeHoursAgo(47)
    expect(await look('--backup', backups)).toMatch(/^ok +backups: the newest backup in .* is .*Z\.db, 47 h old$/)
    expect(await look('--backup', backups, '--backup-every', '23h')).toMatch(
      /^advice +backups: .*: one is due every 23 h$/,
    )
  })

  test('reports of a folder without a service whether its port is free, and what occupies it', async () => {
    using other = emptyFolder()
    await run(['user', 'add', '--email', 'a@example.com', '--name', 'A'], { cwd: other.path, stdin: 'correct horse' })
    const port = app.url.split(':').at(-1)
    const occupied = await run(['doctor', '--listen', `127.0.0.1:${port}`], { cwd: other.path })
    expect(occupied.stdout).toMatch(/^advice +service: no service is running on this folder\n +→ hookswitch serve$/m)
    expect(occupied.stdout).toMatch(/^wrong +port: port \d+ on 127\.0\.0\.1 is in use.*\n +→ ss -ltnp 'sport = :\d+'/m)
    const free = await run(['doctor', '--listen', '127.0.0.1:0'], { cwd: other.path })
    expect(free.stdout).toMatch(/^ok +port: 127\.0\.0\.1:0 is free$/m)
  })

  test('names a webhook that is paused while deliveries are pending for it', async () => {
    using other = emptyFolder()
    const inOther = { cwd: other.path, env: { HOOKSWITCH_ALLOW_NET: 'loopback' } }
    await run(['user', 'add', '--email', 'a@example.com', '--name', 'A'], { ...inOther, stdin: 'correct horse' })
    const url = 'http://u:passw0rd@127.0.0.1:1/crm'
    for (const args of [
      ['add', url],
      ['set', url, '--paused'],
    ])
      await run(['webhook', ...args], inOther)
    const doctorsLine = async () => (await run(['doctor', '--listen', '127.0.0.1:0'], inOther)).stdout
    expect(await doctorsLine()).not.toContain('is paused')
    const store = openSqliteStore(join(other.path, 'data', 'hookswitch.db'))
    const event = { uuid: 'a', callId: 'b', name: 'call_started' as const, sequence: 1, atUs: nowUs(), body: '{}' }
    await storeEvents(store, [event])
    await store.stop()
    expect(await doctorsLine()).toMatch(
      /^advice +webhook: http:\/\/127\.0\.0\.1:1\/crm is paused: 1 delivery is pending.*\n +→ hookswitch webhook set URL --no-paused/m,
    )
  })

  test('names a store that is given as a file, with what to give instead', async () => {
    const { code, stdout } = await doctor(['--data', 'data/hookswitch.db'])
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/^wrong +store: data\/hookswitch\.db is not a folder\n.*give the folder with --data$/m),
    ])
  })

  test('names a preset of a file that is left out, and one that a webhook uses and nobody has', async () => {
    using other = emptyFolder()
    const presets = join(other.path, 'presets')
    mkdirSync(presets)
    const mine = { name: 'mine', title: 'Mine', steps: [{ name: 'note', on: ['call_ended'] }] }
    writeFileSync(join(presets, 'mine.json'), JSON.stringify(mine))
    writeFileSync(join(presets, 'broken.json'), '{')
    const check = async (...args: string[]) =>
      (await run(['doctor', '--listen', '127.0.0.1:0', ...args], { cwd: other.path })).stdout
    const url = 'https://crm.invalid/'
    const first = await startServe({ cwd: other.path, args: ['--presets', presets] })
    const session = await newToken(first, 'ben@example.com')
    await ask(first, 'PUT', '/integration/webhook', { token: session, body: [webhook(url)] })
    const body = { url, flow: { preset: 'mine', parameters: {} } }
    expect((await ask(first, 'PUT', '/integration/webhook/options', { token: session, body })).status).toBe(200)
    // The folder of the running service is checked.
    const served = await check()
    expect(served).toMatch(/^ok +presets: mine of .*presets$/m)
    expect(served).toMatch(/^wrong +presets: .*broken\.json is left out: the file is not JSON$/m)
    expect(served).not.toContain('nobody has')
    await first.stop()
    const second = await startServe({ cwd: other.path })
    const without = await check()
    await second.stop()
    expect(without).toMatch(
      /^wrong +presets: nobody has the preset mine of account default: its deliveries wait\n.*--presets FOLDER/m,
    )
  })

  test('as JSON', async () => {
    const { stdout } = await doctor(['--json'])
    expect(JSON.parse(stdout)).toContainEqual({
      level: 'ok',
      about: 'settings',
      text: expect.stringMatching(/^all are valid; the service at \S+ was started with --allow-net loopback$/),
    })
  })
})

describe('the clock', () => {
  const NOW = 1_795_213_000_000
  test.each<[string, number[], number | undefined, 'ok' | 'wrong']>([
    ['that nobody knows better', [], undefined, 'ok'],
    ['as receivers have it', [NOW - 900, NOW + 500, NOW - 400], NOW, 'ok'],
    ['that one receiver of three has otherwise', [NOW, NOW, NOW + 3_600_000], undefined, 'ok'],
    ['that receivers have otherwise', [NOW + 3_600_000], undefined, 'wrong'],
    ['that was set back', [], NOW + 3_600_000, 'wrong'],
  ])('%s', (_, others, newest, level) => {
    expect(diagnoseClock(NOW, others, newest).map((one) => one.level)).toEqual([level])
  })

  test('is reported in days if it is wrong by days', () => {
    expect(diagnoseClock(NOW, [NOW + 3 * 86_400_000], undefined)[0]?.text).toContain('by 3 d from the clocks')
  })
})
