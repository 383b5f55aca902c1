import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import manifest from '../package.json' with { type: 'json' }
import { readEvent } from '../src/cli/event-sentence.ts'
import { commandLine } from '../src/cli/program.ts'
import { EXAMPLES } from '../src/openapi/examples.ts'
import { SETTINGS } from '../src/settings.ts'

const README = readFileSync(join(import.meta.dir, '../README.md'), 'utf8')
const blocks = (language: string) =>
  [...README.matchAll(/^```(\w*)\n([\s\S]*?)^```/gm)]
    .filter((block) => block[1] === language)
    .map((block) => block[2] ?? '')

describe('README.md', () => {
  test('lists every setting with its default and its description, and no other', () => {
    const listed = [...README.matchAll(/^\| `(--[a-z-]+)` +\| (?:`([^`]*)`)? *\| (.*?) *\|$/gm)]
    const declared = Object.values(SETTINGS).map((setting) => {
      const value = 'default' in setting ? setting.default : ''
      const [flag] = setting.flag.split(' ')
      const isList = typeof value === 'object'
      return [flag, isList ? '' : value, `${setting.description}${isList ? '; repeatable' : ''}`]
    })
    expect(listed.map(([, flag, value = '', description]) => [flag, value, description])).toEqual(declared)
  })

  test('shows a body that is one', () => {
    const bodies = blocks('json').map(readEvent)
    expect(bodies).toHaveLength(1)
    expect(EXAMPLES.some((one) => Bun.deepEquals(one, bodies[0]))).toBe(true)
  })

  const program = commandLine(async () => {})
  const used = new Set(
    [...README.matchAll(/\bhookswitch ((?:[a-z]+(?:-[a-z]+)* ?)+)/g)].map(([, words = '']) => words.trim()),
  )
  const commandsOf = (command: Command): Map<string, Command> =>
    new Map(command.commands.map((one) => [one.name(), one]))
  const first = [...used].map((words) => words.split(' ')).filter(([name = '']) => commandsOf(program).has(name))

  test.each(first)('names a command that there is: %s %s', (name = '', next = '') => {
    const command = commandsOf(program).get(name)
    const below = command === undefined ? new Map() : commandsOf(command)
    if (below.size > 0) expect([...below.keys()]).toContain(next)
  })

  test.each([...README.matchAll(/\bbun(?:@1\.4\.5)? run ([a-z]+)/g)].map(([, script = '']) => script))(
    'names a script that there is: %s',
    (script) => expect(Object.keys(manifest.scripts)).toContain(script),
  )

  test('names the events, and no other', () => {
    const named = new Set(
      README.match(/\b(call|dial|recording)_(started|answered|ended|saved|missed|held|resumed|\w+_transferred)\b/g),
    )
    expect([...named].toSorted()).toEqual([...new Set(EXAMPLES.map(({ data }) => data.name))].toSorted())
  })
})
