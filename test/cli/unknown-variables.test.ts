import { expect, test } from 'bun:test'
import type { Command, Option } from 'commander'
import { commandLine } from '../../src/cli/commands/commands.ts'
import { operatorName } from '../../src/cli/operator-name.ts'
import { nameVariables } from '../../src/cli/options.ts'
import { unknownVariables } from '../../src/cli/unknown-variables.ts'
import { emptyFolder, run, startServe } from '../help/app.ts'

const program = commandLine(() => new Promise(() => {}))
nameVariables(program, {})
const serve = program.commands.find((command) => command.name() === 'serve')

test.each([
  [
    'HOOKSWITCH_ALOW_NET',
    'loopback',
    /^the variable HOOKSWITCH_ALOW_NET is not known.*did you mean HOOKSWITCH_ALLOW_NET\?/,
  ],
  ['HOOKSWITCH_METRICS_TOKEN_FIL', 'x', /is not known, and has no effect/],
  ['HOOKSWITCH_METRIC_TOKEN_FILE', 'x', /did you mean HOOKSWITCH_METRICS_TOKEN_FILE\?/],
  ['HOOKSWITCH_ADDRESS', 'x', /hookswitch serve --help lists all/],
  ['HOOKSWITCH_PORT', '8090', /^the variable HOOKSWITCH_PORT is not known, and has no effect/],
])('the variable %s=%s, which the service does not read, is named', (name, value, message) => {
  if (serve === undefined) throw new Error('there is no command serve')
  expect(unknownVariables(serve, { [name]: value })).toEqual([expect.stringMatching(message)])
})

test.each([
  ['HOOKSWITCH_ALLOW_NET', 'loopback'],
  ['HOOKSWITCH_USER_PASSWORD_FILE', '/run/secrets/password'],
  ['HOOKSWITCH_TOKEN', 'of the examples in README.md'],
  ['HOOKSWITCH_SERVICE_HOST', 'of Kubernetes'],
  ['HOOKSWITCH_SERVICE_PORT_HTTP', '80'],
  ['HOOKSWITCH_PORT', 'tcp://10.0.0.1:80'],
  ['HOOKSWITCH_PORT_80_TCP_ADDR', '10.0.0.1'],
  ['HOOKSWITCH_METRICS_PORT', 'tcp://10.0.0.1:80'],
  ['PATH', 'of the system'],
])('the variable %s=%s is no mistake', (name, value) => {
  if (serve === undefined) throw new Error('there is no command serve')
  expect(unknownVariables(serve, { [name]: value })).toEqual([])
  expect(unknownVariables(program, { [name]: value })).toEqual([])
})

test('a variable of the service means the same to each command', () => {
  const flags = ({ options, commands }: Command): Option[] => [...options, ...commands.flatMap(flags)]
  const ofService = new Map(serve?.options.map(({ envVar, flags: usage }) => [envVar, usage]))
  const others = flags(program).filter(({ envVar, flags: usage }) => usage !== (ofService.get(envVar) ?? usage))
  expect(others.map(({ envVar, flags: usage }) => `${envVar}: ${usage}`)).toEqual([])
})

test('a variable of a switch that is off is known, and takes no effect', async () => {
  using folder = emptyFolder()
  const env = { HOOKSWITCH_ADMIN: 'false', HOOKSWITCH_JSON: 'off' }
  const add = ['user', 'add', '--email', 'a@example.com', '--name', 'A']
  expect(await run(add, { cwd: folder.path, env, stdin: 'a password' })).toMatchObject({ code: 0, stdout: '1\n' })
  const { stdout, stderr } = await run(['user', 'list'], { cwd: folder.path, env })
  expect([stdout, stderr]).toEqual([expect.stringMatching(/a@example\.com +A +default +USER/), ''])
})

test('a command prints a misspelt variable, and the service logs it', async () => {
  using folder = emptyFolder()
  const env = { HOOKSWITCH_RETENTIONS: '1d' }
  const ran = await run(['version'], { cwd: folder.path, env })
  expect([ran.code, ran.stderr]).toEqual([
    0,
    expect.stringMatching(/^hookswitch: .* did you mean HOOKSWITCH_RETENTION\?\n$/),
  ])
  const app = await startServe({ cwd: folder.path, env })
  await app.stop()
  const line = app
    .output()
    .split('\n')
    .find((one: string) => one.includes('HOOKSWITCH_RETENTIONS'))
  expect(JSON.parse(line ?? '{}')).toMatchObject({ level: 'warn' })
})

const id = process.getuid?.()
const listed = `root:x:99999:0::/:/bin/sh\nme:x:${id}:0::/:/bin/sh\n`
const others = 'root:x:99999:0::/:/bin/sh\n'
test.each<[string, Record<string, string>, string, string]>([
  ['behind sudo', { SUDO_USER: 'anna', USER: 'root' }, listed, 'anna'],
  ['of the list of the system', { USER: 'ben' }, listed, 'me'],
  ['of a directory server', { USER: 'ben' }, others, 'ben'],
  ['without a name', {}, '', `system user with the id ${id}`],
])('the operator %s is named', (_, env, users, name) => {
  expect(operatorName({ env, readUsers: () => users })).toBe(name)
})
