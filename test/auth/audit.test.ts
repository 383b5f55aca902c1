import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAudit } from '../../src/auth/audit.ts'
import type { Log } from '../../src/lib/log.ts'
import { SECOND } from '../../src/lib/time.ts'
import { emptyFolder, type RunningApp, run, startServe } from '../help/app.ts'
import { addUser, ask, logIn, PASSWORD, webhook } from '../help/client.ts'
import { until } from '../help/receiver.ts'

describe('the log of the compiled file', () => {
  const folder = emptyFolder()
  let app: RunningApp
  let token = ''
  beforeAll(async () => {
    app = await startServe({ cwd: folder.path, args: ['--trust-proxy', '127.0.0.1'] })
    await addUser(folder.path, 'anna@example.com', 'acme')
  })
  afterAll(async () => {
    await app.stop()
    folder[Symbol.dispose]()
  })

  const lines = (): Record<string, unknown>[] =>
    app
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line))
  /** The facts of the last line of this kind, once there is one more than before. */
  const noted = async (security: string, work: () => Promise<unknown>) => {
    const of = () => lines().filter((line) => line.security === security)
    const before = of().length
    await work()
    await until(`${security} is logged`, () => of().length > before)
    const { user, account, address, ...rest } = of().at(-1) ?? {}
    return { user, account, address, rest }
  }
  const headersFile = () => {
    const path = join(folder.path, 'headers.txt')
    writeFileSync(path, 'X-Api-Key: topsecret\n')
    return path
  }
  const headers = { 'x-forwarded-for': '2001:db8:1:2:3:4:5:6' }
  const address = '2001:db8:1:2:3:4:5:6'
  const anna = { user: 'anna@example.com', account: 'acme', address }
  const login = (email: string, password: string) =>
    ask(app, 'POST', '/auth/login', { body: { email, password }, headers })
  const api = (method: string, path: string, body?: unknown) => ask(app, method, path, { token, body, headers })

  test('names user, account and address of who has logged in', async () => {
    expect(await noted('logged_in', () => login('Anna@Example.com', PASSWORD))).toMatchObject(anna)
    token = await logIn(app, 'anna@example.com')
  })

  test("names the user whose password was wrong, and does not repeat a stranger's input", async () => {
    expect(await noted('login_failed', () => login('anna@example.com', 'not this'))).toMatchObject(anna)
    const unknown = await noted('login_failed', () => login('hunter2', 'typed into the wrong field'))
    expect(unknown).toMatchObject({ user: null, account: null, address })
    expect(app.output()).not.toMatch(/hunter2|typed into|not this/)
  })

  test('names changes of the list, of secrets, tokens and the password', async () => {
    const url = 'https://u:p4ss@crm.example.com/calls?key=s3cret'
    const list = await noted('webhooks_replaced', () => api('PUT', '/integration/webhook', [webhook(url)]))
    expect(list).toMatchObject({ ...anna, rest: { webhooks: 1 } })
    const rotated = await noted('secret_rotated', () => api('POST', '/integration/webhook/secret/rotate', { url }))
    expect(rotated).toMatchObject({ ...anna, rest: { host: 'crm.example.com' } })
    expect(await noted('token_made', () => api('POST', '/auth/token', { name: 'script' }))).toMatchObject(anna)
    const change = { old_password: PASSWORD, password: 'another one', password_confirmation: 'another one' }
    const wrong = { ...change, old_password: 'wrong one' }
    const failed = await noted('password_change_failed', () => api('POST', '/auth/change-password', wrong))
    expect(failed).toMatchObject(anna)
    expect(await noted('password_changed', () => api('POST', '/auth/change-password', change))).toMatchObject(anna)
    expect(await noted('logged_out', () => api('POST', '/auth/logout'))).toMatchObject(anna)
    expect(app.output()).not.toMatch(/p4ss|s3cret|another one|wrong one|hks_|whsec_/)
  })

  test('names changes of users by commands, and no other command', async () => {
    const env = { SUDO_USER: 'jane' }
    const user = (line: string) => run(['user', ...line.split(' ')], { cwd: folder.path, stdin: 'yet another', env })
    const by = 'command line (jane)'
    const ben = { user: null, account: 'default', address: null, rest: { subject: 'ben@example.com', by } }
    const add = () =>
      run(['user', 'add', '--email', 'ben@example.com', '--name', 'B'], { cwd: folder.path, stdin: PASSWORD, env })
    expect(await noted('user_added', add)).toMatchObject(ben)
    await logIn(app, 'ben@example.com')
    expect(await noted('user_password_set', () => user('passwd --email ben@example.com'))).toMatchObject(ben)
    expect(await noted('user_logged_out', () => user('logout --email ben@example.com'))).toMatchObject(ben)
    expect(await noted('user_made_admin', () => user('type admin --email ben@example.com'))).toMatchObject(ben)
    const ann = ['user', 'add', '--admin', '--email', 'ann@example.com', '--name', 'A']
    await noted('admin_added', () => run(ann, { cwd: folder.path, stdin: PASSWORD, env }))
    expect(await noted('admin_made_user', () => user('type user --email ben@example.com'))).toMatchObject(ben)
    expect(await noted('user_removed', () => user('remove --email ben@example.com'))).toMatchObject(ben)
    const changed = lines().flatMap(({ security, subject }) =>
      /^user_/.test(String(security)) ? [[security, subject]] : [],
    )
    expect(changed).toEqual([
      ['user_added', 'anna@example.com'],
      ['user_added', 'ben@example.com'],
      ['user_password_set', 'ben@example.com'],
      ['user_logged_out', 'ben@example.com'],
      ['user_made_admin', 'ben@example.com'],
      ['user_removed', 'ben@example.com'],
    ])
  })

  test("names the operator's changes of webhooks, without secrets", async () => {
    const env = { SUDO_USER: 'jane' }
    const url = 'https://u:p4ss@ops.example.com/calls?key=s3cret'
    const webhookRun = (...args: string[]) =>
      run(['webhook', ...args, '--account', 'acme'], { cwd: folder.path, env }).then(({ code, stderr }) => {
        if (code !== 0) throw new Error(stderr)
      })
    const operator = { user: null, account: 'acme', address: null }
    const added = await noted('webhooks_replaced', () => webhookRun('add', url))
    expect(added).toMatchObject({ ...operator, rest: { by: 'command line (jane)', webhooks: 2 } })
    const set = await noted('webhook_options_replaced', () =>
      webhookRun('set', url, '--paused', '--headers', headersFile()),
    )
    expect(set).toMatchObject({
      ...operator,
      rest: { by: 'command line (jane)', host: 'ops.example.com', paused: 'true' },
    })
    const rotated = await noted('secret_rotated', () => webhookRun('secret', url, '--rotate'))
    expect(rotated).toMatchObject({ ...operator, rest: { by: 'command line (jane)', host: 'ops.example.com' } })
    const removed = await noted('webhooks_replaced', () => webhookRun('remove', url))
    expect(removed).toMatchObject({ ...operator, rest: { by: 'command line (jane)', webhooks: 1 } })
    expect(app.output()).not.toMatch(/p4ss|s3cret|topsecret|whsec_/)
  })

  test("names the operator's changes of PBXs, without secrets", async () => {
    const env = { SUDO_USER: 'jane' }
    const pbx = async (args: string[], stdin = '') => {
      const { code, stderr } = await run(['pbx', ...args], { cwd: folder.path, env, stdin })
      if (code !== 0) throw new Error(stderr)
    }
    const operator = { user: null, account: null, address: null }
    const set = await noted('pbx_set', () => pbx(['add', '-'], 'ami://u:p4ss@127.0.0.1:1?name=lab'))
    expect(set).toMatchObject({ ...operator, rest: { by: 'command line (jane)', pbx: 'lab', to: '127.0.0.1:1' } })
    const removed = await noted('pbx_removed', () => pbx(['remove', 'lab']))
    expect(removed).toMatchObject({ ...operator, rest: { by: 'command line (jane)', pbx: 'lab' } })
    expect(app.output()).not.toContain('p4ss')
  })

  test('names what the operator erased and the key that was replaced, without the number', async () => {
    const env = { SUDO_USER: 'jane' }
    const operator = { user: null, address: null, rest: { by: 'command line (jane)' } }
    const erase = () => run(['call', 'erase', '--number', '+4930123456'], { cwd: folder.path, env })
    expect(await noted('numbers_erased', erase)).toMatchObject({
      ...operator,
      rest: { numbers: 1, calls: 0, events: 0 },
    })
    const rotate = () => run(['recordings', 'rotate-key'], { cwd: folder.path, env })
    expect(await noted('recording_key_replaced', rotate)).toMatchObject(operator)
    const listed = await run(['audit', '--limit', '2'], { cwd: folder.path })
    expect(listed.stdout).toMatch(/key of links to recordings was replaced[\s\S]*numbers were erased/)
    expect(app.output() + listed.stdout).not.toContain('30123456')
  })

  test('the trail has each change with who made it, for administrators alone, newest first and without secrets', async () => {
    const url = 'https://u:p4ss@trail.example.com/hooks/s3cret'
    token = await logIn(app, 'anna@example.com', 'another one')
    await api('PUT', '/integration/webhook', [webhook(url)])
    await api('PUT', '/integration/webhook', [{ ...webhook(url), dial_answered: false }])
    await api('PUT', '/integration/webhook/options', { url, paused: true, headers: { 'x-key': 't0psecret' } })
    expect(await api('GET', '/audit')).toMatchObject({ status: 403 })
    await addUser(folder.path, 'root@example.com', 'operators')
    await run(['user', 'type', 'admin', '--email', 'root@example.com'], { cwd: folder.path })
    const root = await logIn(app, 'root@example.com')
    const answer = async (query: string) => (await ask(app, 'GET', `/audit${query}`, { token: root })).body.result
    const trail = async (query: string) => (await answer(query)) as { items: unknown[]; next_cursor: string | null }
    const { items, next_cursor: cursor } = await trail('?account=acme&limit=3')
    const by = { user: 'anna@example.com', operator: null, address, account: 'acme', subject: null }
    const shown = 'https://trail.example.com/hooks/…'
    expect(items).toMatchObject([
      { ...by, action: 'webhook_options_replaced', details: { changed: ['paused', 'headers'], paused: 'true' } },
      { ...by, action: 'webhooks_replaced', details: { webhooks: 1, changed: [`${shown}: -dial_answered`] } },
      { ...by, action: 'webhooks_replaced', details: { webhooks: 1, added: [shown] } },
    ])
    const older = await trail(`?account=acme&limit=1&cursor=${cursor}`)
    expect(older.items).toMatchObject([{ operator: 'command line (jane)', user: null, action: 'webhooks_replaced' }])
    expect((await trail('?action=user_made_admin')).items[0]).toMatchObject({ subject: 'root@example.com' })
    expect(await answer('?action=login_failed')).toMatchObject({ errors: [{ path: '/action' }] })
    expect(JSON.stringify(await trail('?limit=200'))).not.toMatch(/p4ss|s3cret|t0psecret|whsec_|hks_/)
    const listed = await run(['audit', '--account', 'acme', '--limit', '2'], { cwd: folder.path })
    expect(listed.stdout).toMatch(/anna@example\.com \([\da-f:]+\) +acme +the options of a URL were replaced; .*paused/)
  })

  test('the trail has which settings were changed between two starts, and no secret of them', async () => {
    const restarted = async (...args: string[]) => {
      await app.stop()
      app = await startServe({ cwd: folder.path, args })
      const { stdout } = await run(['audit', '--json', '--limit', '100'], { cwd: folder.path })
      const all: { action: string; details: { changed?: string[] } }[] = JSON.parse(stdout).items
      return all.filter(({ action }) => action === 'settings_changed').map(({ details }) => details.changed)
    }
    const same = await restarted('--trust-proxy', '127.0.0.1')
    expect(same).toHaveLength(1)
    const [changed = []] = await restarted(
      '--retention',
      '7d',
      '--metrics-token',
      'a-secret-metrics-token',
      '--no-calls',
    )
    expect(changed).toContain('--retention 604800 s')
    expect(changed).toContain('--trust-proxy not set')
    expect(changed.filter((line) => /^--metrics-token set \(fingerprint [\da-f]{8}\)$/.test(line))).toHaveLength(1)
    expect(changed).toContain('--no-calls true')
    expect(changed).toHaveLength(4)
  })

  test("the trail has the operator's changes from a time without a service", async () => {
    await app.stop()
    await addUser(folder.path, 'carla@example.com')
    app = await startServe({ cwd: folder.path })
    const { stdout } = await run(['audit', '--json', '--limit', '2'], { cwd: folder.path })
    const before = JSON.parse(stdout).items.filter(({ action }: { action: string }) => action !== 'settings_changed')
    expect(before[0]).toMatchObject({ action: 'user_added', subject: 'carla@example.com' })
  })
})

test('refused logins cause one line a minute for each address', async () => {
  const addresses: unknown[] = []
  const note = (line: unknown) => void addresses.push(line instanceof Object && 'address' in line && line.address)
  const log: Log = { debug() {}, info() {}, warn: note, error() {} }
  let atUs = 0
  const accounts = { accountGetName: async () => undefined }
  const trail = { auditAdd: async () => {} }
  const audit = createAudit({ accounts, trail, log, trustProxies: [], now: () => atUs })
  const refuse = (address: string) =>
    audit.note('login_refused', { client: { address, network: address, program: null } })
  for (let n = 0; n < 100; n += 1) refuse('192.0.2.1')
  refuse('192.0.2.2')
  atUs += 60 * SECOND
  refuse('192.0.2.1')
  await until('all are logged', () => addresses.length === 3)
  expect(addresses).toEqual(['192.0.2.1', '192.0.2.2', '192.0.2.1'])
})
