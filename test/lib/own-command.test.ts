import { expect, test } from 'bun:test'
import { ownCommand } from '../../src/lib/own-command.ts'

test.each([
  [
    ['/usr/local/bin/hookswitch', '/$bunfs/root/main.js', 'serve'],
    '/usr/local/bin/hookswitch',
    ['/usr/local/bin/hookswitch'],
  ],
  [['/usr/bin/bun', '/clone/src/main.ts', 'serve'], '/usr/bin/bun', ['/usr/bin/bun', '/clone/src/main.ts']],
])('the command line of this program: %j', (argv, execPath, expected) => {
  expect(ownCommand(argv, execPath)).toEqual(expected)
})
