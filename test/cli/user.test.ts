import { expect, test } from 'bun:test'
import { afterUser } from '../../src/cli/commands/user.ts'
import { emptyFolder, run } from '../help/app.ts'
import { PASSWORD } from '../help/client.ts'

const user = { email: 'anna@example.com', account: 'default', place: { dataPath: './data' }, isServed: false }

test.each([
  [
    'where nothing runs yet',
    user,
    [/^Next: hookswitch serve {2}.*HOOKSWITCH_PBX.*\?name=office'$/, /log in as anna@.*8080/],
  ],
  [
    'in a folder of its own',
    { ...user, place: { dataPath: '/srv/calls' } },
    [/hookswitch serve --data \/srv\/calls /, /log in/],
  ],
  ['of another account', { ...user, account: 'acme & co' }, [/account=acme%20%26%20co'$/, /log in/]],
  ['beside a service', { ...user, isServed: true }, [/^Next: log in as anna@example\.com to the running service/]],
  [
    'of another account beside a service',
    { ...user, isServed: true, account: 'acme' },
    [/^Next: log in/, /if its URL contains account=acme\./],
  ],
])('after a user was added %s it is said what to do', (_, added, lines) => {
  const said = afterUser(added)
  expect(said).toHaveLength(lines.length)
  for (const [index, line] of lines.entries()) expect(said[index]).toMatch(line)
})

test('a script gets the id alone', async () => {
  using folder = emptyFolder()
  const args = ['user', 'add', '--email', 'a@example.com', '--name', 'A']
  expect(await run(args, { cwd: folder.path, stdin: PASSWORD })).toEqual({ code: 0, stdout: '1\n', stderr: '' })
})
