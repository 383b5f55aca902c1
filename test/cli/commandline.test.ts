import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { emptyFolder, run, startServe } from '../help/app.ts'
import { ask, logIn } from '../help/client.ts'
import { until } from '../help/receiver.ts'

const folder = emptyFolder()
const cwd = folder.path
afterAll(() => folder[Symbol.dispose]())

describe('wrong usage is exit code 2 and one line on standard error', () => {
  test.each<[string, string[], Record<string, string>, RegExp]>([
    ['an unknown command', ['sevre'], {}, /unknown command 'sevre'.*serve.*: see hookswitch --help/],
    ['an unknown flag', ['serve', '--listne', 'x'], {}, /--listne.*--listen.*: see hookswitch serve --help/],
    ['a missing flag', ['user', 'add'], {}, /--email.*: see hookswitch user add --help/],
    ['a wrong flag', ['serve', '--listen', 'x'], {}, /--listen \(HOOKSWITCH_LISTEN\)/],
    ['a wrong variable', ['serve'], { HOOKSWITCH_RETENTION: 'x' }, /--retention \(HOOKSWITCH_RETENTION\)/],
    ['a file that is not there', ['serve'], { HOOKSWITCH_PBX_FILE: '/none' }, /HOOKSWITCH_PBX_FILE/],
    ['an unknown account', ['serve', '--pbx', 'ami://u:s@h?account=acme'], {}, /account acme.*user add/],
    [
      'a first user with a short password',
      ['serve'],
      { HOOKSWITCH_USER_EMAIL: 'a@b.c', HOOKSWITCH_USER_PASSWORD: '12345' },
      /HOOKSWITCH_USER_PASSWORD.*6/,
    ],
    ['no password', ['user', 'add', '--email', 'a@b.c', '--name', 'A'], {}, /standard input/],
    ['no e-mail address', ['user', 'add', '--email', 'a', '--name', 'A'], {}, /--email/],
  ])('%s', async (_, args, env, message) => {
    const { code, stdout, stderr } = await run(args, { cwd, env })
    expect({ code, stdout, lines: stderr.trimEnd().split('\n').length }).toEqual({ code: 2, stdout: '', lines: 1 })
    expect(stderr).toMatch(message)
  })
})

test.each(['--help', 'serve --help', 'user --help', 'user add --help', 'version'])(
  'help and version are exit code 0: %s',
  async (line) => {
    const { code, stdout, stderr } = await run(line.split(' '), { cwd })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).not.toBe('')
  },
)

test('a message that repeats typed text cannot control the terminal', async () => {
  using folder = emptyFolder()
  const cwd = folder.path
  const email = 'x\u001b]0;owned\u0007\u009b2J\u202e@example.com'
  await run(['user', 'add', '--email', 'a@example.com', '--name', 'A'], { cwd, stdin: 'correct horse' })
  for (const args of [['user', 'remove', '--email', email], ['delivery', 'show', email], [email], ['serve', email]]) {
    const { code, stderr } = await run(args, { cwd })
    expect(code).toBeGreaterThan(0)
    expect(stderr).not.toMatch(/[^\P{C}\n]/u)
  }
})

test('the help of a repeatable flag states its default (none) and its variable', async () => {
  const { stdout } = await run(['serve', '--help'], { cwd })
  expect(stdout.replace(/\s+/g, ' ')).toContain('(repeatable) (default: none, env: HOOKSWITCH_PBX)')
})

test('no command shows the help', async () => {
  const { code, stderr } = await run([], { cwd })
  expect(code).toBe(2)
  expect(stderr).toContain('serve')
})

describe('users', () => {
  const user = (args: string[], stdin = '') => run(['user', ...args], { cwd, stdin })

  test('are added, listed, given a new password, logged out and removed beside a running service', async () => {
    const app = await startServe({ cwd })
    try {
      expect(app.output()).toContain('user add')
      const added = await user(['add', '--email', ' Anna@Example.com', '--name', 'Anna'], 'first one\nsecond line\n')
      expect(added).toMatchObject({ code: 0, stdout: '1\n' })
      const again = await user(['add', '--email', 'anna@example.COM', '--name', 'Anna'], 'first one\n')
      expect(again.code).toBe(1)
      expect(again.stderr).toContain('user passwd')
      const { stdout } = await user(['list', '--json'])
      expect(JSON.parse(stdout)).toEqual([
        {
          id: 1,
          email: 'anna@example.com',
          name: 'Anna',
          account: 'default',
          type: 'USER',
          last_login_at: null,
          invited_until: null,
          created_at: expect.stringMatching(/^\d{4}-.*\.\d{6}Z$/),
        },
      ])

      const token = await logIn(app, 'anna@example.com', 'first one')
      const me = async () => (await ask(app, 'GET', '/auth/me', { token })).status
      expect((await user(['passwd', '--email', 'anna@example.com'], 'another one\n')).code).toBe(0)
      expect(await me()).toBe(200)
      await logIn(app, 'anna@example.com', 'another one')
      expect((await user(['logout', '--email', 'anna@example.com'])).stdout).toContain('2 tokens')
      await until('the token is of no use', async () => (await me()) === 401)
      expect((await user(['remove', '--email', 'anna@example.com'])).code).toBe(0)
      expect((await user(['remove', '--email', 'anna@example.com'])).code).toBe(1)
    } finally {
      expect(await app.stop('SIGINT')).toBe(0)
    }
  })
})

test.each(['list', 'passwd --email a@b.c', 'remove --email a@b.c', 'logout --email a@b.c'])(
  'user %s does not create a store',
  async (line) => {
    const { code, stderr } = await run(['user', ...line.split(' '), '--data', 'mistyped'], { cwd, stdin: '123456\n' })
    expect([code, stderr]).toEqual([1, expect.stringMatching(/no store at mistyped.*--data\n$/)])
    expect(existsSync(`${cwd}/mistyped`)).toBe(false)
  },
)

describe('serve', () => {
  test('makes the first user from the environment, an administrator, once', async () => {
    using other = emptyFolder()
    const env = {
      HOOKSWITCH_USER_EMAIL: 'Op@example.com',
      HOOKSWITCH_USER_PASSWORD: 'from env',
      HOOKSWITCH_DATA: 'elsewhere',
    }
    for (const password of ['from env', 'changed']) {
      const app = await startServe({ cwd: other.path, env: { ...env, HOOKSWITCH_USER_PASSWORD: password } })
      const token = await logIn(app, 'op@example.com', 'from env')
      const { body } = await ask(app, 'GET', '/auth/me', { token })
      expect(body.result).toMatchObject({ type: { number: 2, name: 'ADMIN' } })
      await app.stop()
    }
  })

  test('is refused on a folder that another one has, which is named; a killed one holds nothing', async () => {
    const app = await startServe({ cwd })
    const second = await run(['serve', '--listen', '127.0.0.1:0'], { cwd })
    expect(second.code).toBe(1)
    expect(second.stderr).toContain(`process ${app.pid}`)
    await app.stop('SIGKILL')
    const third = await startServe({ cwd })
    expect(await third.stop()).toBe(0)
  })

  test('explains how to add a user to the very store that has none', async () => {
    using other = emptyFolder()
    const app = await startServe({ cwd: other.path, args: ['--data', "an odd one's"] })
    await app.stop()
    const line = app
      .output()
      .split('\n')
      .find((text) => text.includes('nobody can log in'))
    expect(JSON.parse(line ?? '').msg).toEndWith(`--name You --data 'an odd one'\\''s'`)
  })

  test('names the port that is in use', async () => {
    using other = emptyFolder()
    const app = await startServe({ cwd })
    const second = await run(['serve', '--listen', app.url.replace('http://', '')], { cwd: other.path })
    expect(second.code).toBe(1)
    expect(second.stderr).toMatch(/^hookswitch: port \d+ on 127\.0\.0\.1 is in use.*--listen.*\n$/)
    await app.stop()
  })

  test.each([
    [['serve', '--listen', '192.0.2.1:8080']],
    [['listen', '--host', '192.0.2.1']],
    [['listen', '--host', 'here.invalid']],
  ])('names an address that this machine does not have: %j', async (args) => {
    using other = emptyFolder()
    const { code, stderr } = await run(args, { cwd: other.path })
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^hookswitch: \S+ is no address of this machine: use .*\n$/),
    ])
  })

  test.each([
    ['that is a file', 'taken', /^hookswitch: the data folder taken cannot be used .*--data\n$/],
    ['whose store is a folder', 'odd', /^hookswitch: odd\/hookswitch\.db cannot be used .*--data\n$/],
  ])('refuses a data folder %s in one line', async (_, data, message) => {
    using other = emptyFolder()
    await Bun.write(`${other.path}/taken`, '')
    await Bun.write(`${other.path}/odd/hookswitch.db/x`, '')
    const { code, stderr } = await run(['serve', '--listen', '127.0.0.1:0', '--data', data], { cwd: other.path })
    expect(code).toBe(1)
    expect(stderr).toMatch(message)
  })

  test('refuses a damaged store, and does not change it', async () => {
    using other = emptyFolder()
    const path = `${other.path}/data/hookswitch.db`
    await Bun.write(
      path,
      'not a database at all, but long enough to have a header of one hundred bytes or more, as it seems to be',
    )
    const before = await Bun.file(path).bytes()
    const { code, stderr } = await run(['serve', '--listen', '127.0.0.1:0'], { cwd: other.path })
    expect(code).toBe(1)
    expect(stderr).toContain('is damaged')
    expect(await Bun.file(path).bytes()).toEqual(before)
  })
})
