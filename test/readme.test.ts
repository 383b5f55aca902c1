import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import manifest from '../package.json' with { type: 'json' }
import { readEvent } from '../src/cli/event-sentence.ts'
import { commandLine } from '../src/cli/program.ts'
import { EXAMPLES } from '../src/openapi/examples.ts'
import { SETTINGS } from '../src/settings.ts'

const ROOT = join(import.meta.dir, '..')
const README = readFileSync(join(ROOT, 'README.md'), 'utf8')
/** The anchor that GitHub gives a title. */
const anchorOf = (title: string) =>
  title
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
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

  test('plans nodes and cores of the database by what a delivery costs', () => {
    const costs = /([\d,]+) µs of processor time of a\s+node and ([\d,]+) µs of Postgres/.exec(README)
    const numberOf = (text = '') => Number(text.replaceAll(',', ''))
    const [nodeUs, serverUs] = [numberOf(costs?.[1]), numberOf(costs?.[2])]
    const rows = [...README.matchAll(/^\| ([\d,]+) +\| ([\d,]+) +\| ([\d,]+) +\| ([\d,]+) +\|$/gm)]
    const planned = rows.map((row) => row.slice(1).map(numberOf))
    const coresFor = (rate: number, us: number) => Math.ceil(((rate * us) / 1_000_000) * (3 / 2))
    expect(planned).toEqual(
      [1_000, 100_000, 1_000_000].map((calls) => {
        const rate = (calls / 180) * 6
        return [calls, Math.round(rate), coresFor(rate, nodeUs) + 1, coresFor(rate, serverUs)]
      }),
    )
  })

  test('lists its sections in its contents, in their order', () => {
    const text = README.replaceAll(/^```[\s\S]*?^```/gm, '')
    const sections = [...text.matchAll(/^###? (.+)$/gm)].map(([, title = '']) => [title, anchorOf(title)])
    const [, contents = ''] = /^(- \[[\s\S]*?)\n\n## /m.exec(text) ?? []
    const linked = [...contents.matchAll(/\[([^\]]+)\]\(#([^)]+)\)/g)].map(([, title, anchor]) => [title, anchor])
    expect(linked).toEqual(sections)
  })

  const links = [...README.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target)
  test.each(links.filter((target) => !target.includes('://')))('links to what there is: %s', (target) => {
    if (!target.startsWith('#')) return expect(existsSync(join(ROOT, target))).toBe(true)
    const titles = [...README.matchAll(/^###? (.+)$/gm)].map(([, title = '']) => anchorOf(title))
    expect(titles).toContain(target.slice(1))
  })

  test('has the systemd unit of the Debian package, with the executable where it is installed by hand', () => {
    const unit = readFileSync(join(ROOT, '.ci/deb/hookswitch.service'), 'utf8')
    expect(blocks('ini')).toContain(unit.replace('/usr/bin/', '/usr/local/bin/'))
  })

  test('names the time after which a delivery fails', () => {
    const schedule = SETTINGS.retryScheduleMs.read(SETTINGS.retryScheduleMs.default)
    const hours = schedule.reduce((total, ms) => total + ms, 0) / 3_600_000
    expect(README).toContain(`almost ${Math.ceil(hours)} hours`)
  })

  test('names the events, and no other', () => {
    const named = new Set(
      README.match(/\b(call|dial|recording)_(started|answered|ended|saved|missed|held|resumed|\w+_transferred)\b/g),
    )
    expect([...named].toSorted()).toEqual([...new Set(EXAMPLES.map(({ data }) => data.name))].toSorted())
  })
})
