import { describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterUser } from '../../../src/cli/suggested-commands.ts'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import { emptyFolder, run } from '../../help/app.ts'
import { PASSWORD } from '../../help/client.ts'

const place = { dataPath: './data' }
const user = { email: 'anna@example.com', account: 'default', isAdmin: false, place, isServed: false }
const LOG_IN = /^Then log in as anna@example\.com at http:\/\/127\.0\.0\.1:8080, and add a webhook\.$/

test.each([
  ['where nothing runs yet', user, [/^Next: hookswitch serve$/, LOG_IN, /pbx add 'ami:\/\/user:secret@host'$/]],
  [
    'in a folder of its own',
    { ...user, place: { dataPath: '/srv/calls' } },
    [/^Next: hookswitch serve --data \/srv\/calls$/, LOG_IN, /pbx add --data \/srv\/calls 'ami/],
  ],
  ['of another account', { ...user, account: 'acme & co' }, [/serve$/, LOG_IN, /\?account=acme%20%26%20co'$/]],
  ['beside a service', { ...user, isServed: true }, [/^Next: log in as anna@example\.com to the running/, /pbx add/]],
  [
    'who is an administrator',
    { ...user, isAdmin: true },
    [/serve$/, /^Then log in as .*: the page shows how to connect a PBX\.$/],
  ],
])('after a user was added %s the next steps are printed', (_, added, lines) => {
  const printed = afterUser(added)
  expect(printed).toHaveLength(lines.length)
  for (const [index, line] of lines.entries()) expect(printed[index]).toMatch(line)
})

test('a script gets only the id; the message goes to standard error', async () => {
  using folder = emptyFolder()
  const args = ['user', 'add', '--email', 'A@example.com', '--name', 'A']
  expect(await run(args, { cwd: folder.path, stdin: PASSWORD })).toEqual({
    code: 0,
    stdout: '1\n',
    stderr: 'a@example.com was added to the account default, with the id 1.\n',
  })
})

test('an account is found in any case, and keeps its spelling', async () => {
  using folder = emptyFolder()
  const add = (email: string, account: string) =>
    run(['user', 'add', '--email', email, '--name', 'A', '--account', account], { cwd: folder.path, stdin: PASSWORD })
  await add('a@example.com', 'acme')
  const again = await add('b@example.com', 'ACME')
  expect(again.stderr).toMatch(/b@example\.com was added to the account acme, its exact name, with the id 2/)
  const users = JSON.parse((await run(['user', 'list', '--json'], { cwd: folder.path })).stdout)
  expect(users.map(({ account }: { account: string }) => account)).toEqual(['acme', 'acme'])
  const list = await run(['webhook', 'list', '--account', 'Acme'], { cwd: folder.path })
  expect([list.code, list.stderr]).toEqual([0, expect.stringContaining('has no webhook')])
})

describe('a link in place of a password', () => {
  const LINK = /^https:\/\/calls\.example\.com\/#welcome=\S+\n$/
  const add = ['user', 'add', '--email', 'a@example.com', '--name', 'A', '--link']

  test('is all that standard output has, for a new user and for a lost password', async () => {
    using folder = emptyFolder()
    const place = { cwd: folder.path, env: { HOOKSWITCH_PUBLIC_URL: 'https://calls.example.com' } }
    const added = await run(add, place)
    expect([added.code, added.stdout]).toEqual([0, expect.stringMatching(LINK)])
    expect(added.stderr).toMatch(
      /was added to the account default.*\nWith this link the user chooses the password: once/,
    )
    const again = await run(['user', 'passwd', '--link', '--email', 'a@example.com'], place)
    expect([again.code, again.stdout]).toEqual([0, expect.stringMatching(LINK)])
    expect(again.stdout).not.toBe(added.stdout)
    const asJson = await run(['user', 'passwd', '--link', '--email', 'a@example.com', '--json'], place)
    expect(JSON.parse(asJson.stdout)).toMatchObject({
      email: 'a@example.com',
      link: expect.stringMatching(/#welcome=/),
    })
  })

  test('needs an address, which the command says, and nobody is added', async () => {
    using folder = emptyFolder()
    const { code, stdout, stderr } = await run(add, { cwd: folder.path })
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/^hookswitch: a link needs the address of the service: give --public-url, or run this/)
    expect((await run(['user', 'list', '--json'], { cwd: folder.path })).stdout).toBe('[]\n')
    const flag = await run([...add, '--public-url', 'https://calls.example.com'], { cwd: folder.path })
    expect([flag.code, flag.stdout]).toEqual([0, expect.stringMatching(LINK)])
  })
})

describe('the users of a file', () => {
  const from = async (text: string, ...more: string[]) => {
    using folder = emptyFolder()
    const cwd = folder.path
    await run(['user', 'add', '--email', 'known@example.com', '--name', 'K', '--account', 'acme'], {
      cwd,
      stdin: PASSWORD,
    })
    writeFileSync(join(cwd, 'users.csv'), text)
    const ran = await run(['user', 'add', '--from', 'users.csv', ...more], { cwd })
    const store = openSqliteStore(join(cwd, 'data/hookswitch.db'))
    try {
      // Those that are added at the same time get their ids in any order.
      const users = (await store.accounts.userList()).toSorted((a, b) => a.name.localeCompare(b.name))
      const rows = users.map(({ account, name, email, type }) => [account, name, email, type === 2 ? 'ADMIN' : 'USER'])
      const hashes = await Promise.all(users.map(({ email }) => store.accounts.userGetPassword(email)))
      const isNew = (_: unknown, at: number) => users[at]?.email !== 'known@example.com'
      return { ...ran, users: rows.filter(isNew), hashes: hashes.filter(isNew).map((one) => one?.passwordHash) }
    } finally {
      await store.stop()
    }
  }

  test('are added, each with a password that is printed once', async () => {
    const { code, stdout, stderr, users, hashes } = await from(
      'acme.example,Anna,Anna@acme.example\nACME,"Ben, jun.",ben@acme.example,admin\n\n,Cem,cem@example.com,user\n',
    )
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^3 users added\. The passwords are shown only here/)])
    expect(users).toEqual([
      ['acme.example', 'Anna', 'anna@acme.example', 'USER'],
      ['acme', 'Ben, jun.', 'ben@acme.example', 'ADMIN'],
      ['default', 'Cem', 'cem@example.com', 'USER'],
    ])
    const [head, ...lines] = stdout.trimEnd().split('\n')
    expect(head).toBe('account,name,email,kind,password')
    expect(lines[1]).toStartWith('acme,"Ben, jun.",ben@acme.example,admin,')
    const passwords = lines.map((line) => line.split(',').at(-1) ?? '')
    expect(new Set(passwords).size).toBe(3)
    for (const [at, password] of passwords.entries()) {
      expect(password).toMatch(/^([a-z2-9]{4}-){4}[a-z2-9]{4}$/)
      expect(await Bun.password.verify(password, hashes[at] ?? '')).toBe(true)
    }
  })

  test('may come from a spreadsheet: a first line with names, semicolons, a byte order mark', async () => {
    const { users, stdout } = await from('\ufeffE-Mail;Name\r\nanna@example.com;Anna\r\n', '--json')
    expect(users).toEqual([['default', 'Anna', 'anna@example.com', 'USER']])
    expect(JSON.parse(stdout)).toEqual([
      { account: 'default', name: 'Anna', email: 'anna@example.com', kind: 'user', password: expect.any(String) },
    ])
  })

  test('are left unchanged if they exist', async () => {
    const { code, stderr, users } = await from('acme,Other,known@example.com\nacme,Anna,anna@example.com\n')
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^1 user of the file already existed.*\n1 user added\./)])
    expect(users).toEqual([['acme', 'Anna', 'anna@example.com', 'USER']])
  })

  test.each([
    ['a line without an address', 'a,Anna,anna@example.com\na,Ben,\n', 2, /line 2: email is ""/],
    ['a line of no known kind', 'a,Anna,anna@example.com,boss\n', 2, /line 1: kind is "boss": give user or admin/],
    ['an address twice', 'a,Anna,anna@example.com\na,Ben,ANNA@example.com\n', 2, /line 2: .* is in line 1 too/],
    ['columns of another name', 'name,email,phone\nA,a@example.com,1\n', 2, /names the columns name, email, phone/],
    ['no line', '\n', 2, /has no user/],
    ['text that is no CSV', 'a,"Anna,a@example.com\n', 2, /is no CSV file/],
    ['a user of another account', 'other,K,known@example.com\nx,A,a@example.com\n', 1, /is in the account acme/],
  ])('with %s are refused, and none is added', async (_, text, code, message) => {
    const ran = await from(text)
    expect([ran.code, ran.stdout, ran.stderr, ran.users]).toEqual([code, '', expect.stringMatching(message), []])
  })
})

test('a password is asked for only when there is something to do with it', async () => {
  using folder = emptyFolder()
  const known = ['--email', 'a@example.com']
  await run(['user', 'add', ...known, '--name', 'A'], { cwd: folder.path, stdin: PASSWORD })
  // There is no line of input for a password.
  const cases = [
    [['passwd', '--email', 'b@example.com'], 'there is no user b@example.com: list the users'],
    [['add', ...known, '--name', 'B'], 'a@example.com already exists: change the password'],
    [['passwd', ...known], 'the password is missing'],
  ] as const
  for (const [args, message] of cases)
    expect((await run(['user', ...args], { cwd: folder.path, stdin: '' })).stderr).toContain(message)
})
