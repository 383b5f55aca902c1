import { expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import type { Command } from 'commander'
import { commandLine } from '../../../src/cli/commands/commands.ts'
import { emptyFolder, run } from '../../help/app.ts'
import { PASSWORD } from '../../help/client.ts'

/** Which store a command uses when a folder and a database are given. */

const NOWHERE = 'postgres://hookswitch:secret@127.0.0.1:1/hookswitch'

type Found = { readonly line: readonly string[]; readonly flags: unknown[] }

/** Returns all commands with their flags. */
function commandsBelow(command: Command, line: readonly string[] = []): Found[] {
  const own = { line, flags: command.options.map(({ long }) => long) }
  return [own, ...command.commands.flatMap((child) => commandsBelow(child, [...line, child.name()]))]
}

const all = commandsBelow(commandLine(async () => {}))
const users = all.filter(({ flags }) => flags.includes('--data'))

test('every command that takes a folder takes a database', () => {
  expect(users.filter(({ flags }) => !flags.includes('--database-url'))).toEqual([])
  expect(users.length).toBeGreaterThan(15)
})

test('of both flags the database is the store', async () => {
  using folder = emptyFolder()
  const args = ['user', 'list', '--data', 'data', '--database-url', NOWHERE]
  const { code, stderr } = await run(args, { cwd: folder.path })
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('hookswitch on 127.0.0.1:1') })
  expect(readdirSync(folder.path)).toEqual([])
})

test('a flag wins over the environment, and there the database over the folder', async () => {
  using folder = emptyFolder()
  const cwd = folder.path
  const database = { HOOKSWITCH_DATABASE_URL: NOWHERE }
  const add = ['user', 'add', '--email', 'a@example.com', '--name', 'A']
  expect(await run([...add, '--data', 'flag'], { cwd, env: database, stdin: PASSWORD })).toMatchObject({ code: 0 })
  expect((await run(['user', 'list', '--data', 'flag'], { cwd, env: database })).stdout).toContain('a@example.com')
  const env = { HOOKSWITCH_DATA: 'flag' }
  for (const [args, given] of [
    [['user', 'list', '--database-url', NOWHERE], env],
    [['user', 'list'], { ...env, ...database }],
  ] as const) {
    const { code, stderr } = await run(args, { cwd, env: given })
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('hookswitch on 127.0.0.1:1') })
  }
})
