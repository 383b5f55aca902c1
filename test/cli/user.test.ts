import { expect, test } from 'bun:test'
import { afterUser } from '../../src/cli/commands/user.ts'
import { emptyFolder, run } from '../help/app.ts'
import { PASSWORD } from '../help/client.ts'

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

test('a script gets the id alone', async () => {
  using folder = emptyFolder()
  const args = ['user', 'add', '--email', 'a@example.com', '--name', 'A']
  expect(await run(args, { cwd: folder.path, stdin: PASSWORD })).toEqual({ code: 0, stdout: '1\n', stderr: '' })
})

test('a password is asked for only when there is something to do with it', async () => {
  using folder = emptyFolder()
  const known = ['--email', 'a@example.com']
  await run(['user', 'add', ...known, '--name', 'A'], { cwd: folder.path, stdin: PASSWORD })
  // Without a line of input the password would be missing.
  const cases = [
    [['passwd', '--email', 'b@example.com'], 'there is no user b@example.com: list the users'],
    [['add', ...known, '--name', 'B'], 'a@example.com already exists: change the password'],
    [['passwd', ...known], 'the password is missing'],
  ] as const
  for (const [args, message] of cases)
    expect((await run(['user', ...args], { cwd: folder.path, stdin: '' })).stderr).toContain(message)
})
