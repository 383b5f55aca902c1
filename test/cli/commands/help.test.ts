import { expect, test } from 'bun:test'
import { GUIDES } from '../../../src/docs/guides.ts'
import { run } from '../../help/app.ts'

const HERE = { cwd: import.meta.dir }

test('help prints each guide', async () => {
  for (const { name, text } of GUIDES) {
    const { code, stdout } = await run(['help', name], HERE)
    expect({ name, code, stdout: stdout.startsWith(text.trimEnd()) }).toEqual({ name, code: 0, stdout: true })
  }
})
test('help lists commands and guides', async () => {
  const { code, stdout } = await run(['help'], HERE)
  expect(code).toBe(0)
  expect(stdout).toContain('Usage: hookswitch')
  for (const { name, title } of GUIDES) expect(stdout).toMatch(new RegExp(`^ +${name} +${title}$`, 'm'))
})

test('help of a command is what --help prints', async () => {
  const help = await run(['help', 'pbx', 'check'], HERE)
  expect(help).toEqual(await run(['pbx', 'check', '--help'], HERE))
  expect(help.code).toBe(0)
})

test('help of nothing there is names the guides', async () => {
  const { code, stderr } = await run(['help', 'conect'], HERE)
  expect(code).toBe(2)
  expect(stderr).toContain("there is no guide or command 'conect': the guides are connect, ")
})

test('help of webhook add has the default of its events', async () => {
  const { stdout } = await run(['webhook', 'add', '--help'], HERE)
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain('(repeatable) (default: all, env: HOOKSWITCH_EVENTS)')
})
