import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Command } from 'commander'
import manifest from '../package.json' with { type: 'json' }
import { SETTINGS } from '../src/app/settings.ts'
import { commandLine } from '../src/cli/commands/commands.ts'
import { readEvent } from '../src/cli/read-event.ts'
import {
  CALL_RESULTS,
  CALL_STATES,
  DIRECTIONS,
  HANGUP_BY,
  HANGUP_CAUSES,
  STAGE_KINDS,
  STAGE_RESULTS,
} from '../src/events/enums.ts'
import { ALL_EXAMPLES } from '../src/events/samples.ts'
import { GUIDE_FILES, GUIDE_TEXT } from './help/guides.ts'

const ROOT = join(import.meta.dir, '..')
/** The anchor that GitHub gives a title. */
const anchorOf = (title: string) =>
  title
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
const blocks = (language: string) =>
  [...GUIDE_TEXT.matchAll(/^```(\w*)\n([\s\S]*?)^```/gm)]
    .filter((block) => block[1] === language)
    .map((block) => block[2] ?? '')

/** People read the README to its end; longer texts belong in a guide. */
const README_BYTES = 10_240

describe('README.md and the guides', () => {
  test('list every setting with its default and its description, and no other', () => {
    const listed = [...GUIDE_TEXT.matchAll(/^\| `(--[a-z-]+)` +\| (?:`([^`]*)`)? *\| (.*?) *\|$/gm)]
    const declared = Object.values(SETTINGS).map((setting) => {
      const value = 'default' in setting ? setting.default : ''
      const [flag] = setting.flag.split(' ')
      const isList = typeof value === 'object'
      return [flag, isList ? '' : value, `${setting.description}${isList ? '; repeatable' : ''}`]
    })
    expect(listed.map(([, flag, value = '', description]) => [flag, value, description])).toEqual(declared)
  })

  test.each<[string, readonly string[]]>([
    ['call.direction', DIRECTIONS],
    ['call.state', CALL_STATES],
    ['call.result', CALL_RESULTS],
    ['stage.kind', STAGE_KINDS],
    ['stage.result', STAGE_RESULTS],
    ['hangup.cause', HANGUP_CAUSES],
    ['hangup.by', HANGUP_BY],
  ])('explain every value of %s', (field, values) => {
    const events = GUIDE_FILES.find(({ path }) => path.endsWith('/events.md'))?.text ?? ''
    const [table = ''] = events.split(`\n| \`${field}\``).slice(1)
    const rows = [...(table.split('\n\n')[0] ?? '').matchAll(/^\| `(\w+)` +\| \S.+ \|$/gm)].map(
      ([, value = '']) => value,
    )
    expect(rows.filter((value) => value !== 'null')).toEqual([...values])
  })

  test('show bodies that are such', () => {
    const bodies = blocks('json')
      .filter((text) => text.startsWith('{'))
      .map(readEvent)
    expect(bodies).toHaveLength(2)
    for (const body of bodies) expect(ALL_EXAMPLES.some((one) => Bun.deepEquals(one, body))).toBe(true)
  })

  test('show a flow of Node-RED whose nodes are all there', () => {
    type Node = { id: string; z?: string; broker?: string; wires?: string[][] }
    const flows = blocks('json').filter((text) => text.startsWith('['))
    expect(flows).toHaveLength(1)
    const nodes: Node[] = JSON.parse(flows[0] ?? '')
    const ids = nodes.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    const used = nodes.flatMap(({ z, broker, wires = [] }) => [...wires.flat(), ...(z && broker ? [z, broker] : [])])
    expect(used.filter((id) => !ids.includes(id))).toEqual([])
    expect(used.length).toBeGreaterThan(2)
  })

  const program = commandLine(async () => {})
  const used = new Set(
    [...GUIDE_TEXT.matchAll(/\bhookswitch ((?:[a-z]+(?:-[a-z]+)* ?)+)/g)].map(([, words = '']) => words.trim()),
  )
  const commandsOf = (command: Command): Map<string, Command> =>
    new Map(command.commands.map((one) => [one.name(), one]))
  const first = [...used].map((words) => words.split(' ')).filter(([name = '']) => commandsOf(program).has(name))

  test('name commands that there are', () => {
    const missing = first.filter(([name = '', next = '']) => {
      const command = commandsOf(program).get(name)
      const below = command === undefined ? new Map() : commandsOf(command)
      return below.size > 0 && !below.has(next)
    })
    expect(first.length).toBeGreaterThan(10)
    expect(missing).toEqual([])
  })

  test('name scripts that there are', () => {
    const named = [...GUIDE_TEXT.matchAll(/\bbun(?:@1\.4\.5)? run ([a-z]+)/g)].map(([, script = '']) => script)
    expect(named).toContain('test')
    expect(named.filter((script) => !Object.hasOwn(manifest.scripts, script))).toEqual([])
  })

  test('plan nodes and cores of the database by the measured cost of a delivery', () => {
    const costs = /([\d,]+) µs of processor time of a\s+node and ([\d,]+) µs of Postgres/.exec(GUIDE_TEXT)
    const numberOf = (text = '') => Number(text.replaceAll(',', ''))
    const [nodeUs, serverUs] = [numberOf(costs?.[1]), numberOf(costs?.[2])]
    const rows = [...GUIDE_TEXT.matchAll(/^\| ([\d,]+) +\| ([\d,]+) +\| ([\d,]+) +\| ([\d,]+) +\|$/gm)]
    const planned = rows.map((row) => row.slice(1).map(numberOf))
    const coresFor = (rate: number, us: number) => Math.ceil(((rate * us) / 1_000_000) * (3 / 2))
    expect(planned).toEqual(
      [1_000, 100_000, 1_000_000].map((calls) => {
        const rate = (calls / 180) * 6
        return [calls, Math.round(rate), coresFor(rate, nodeUs) + 1, coresFor(rate, serverUs)]
      }),
    )
  })

  const titlesOf = (path: string) =>
    [...readFileSync(path, 'utf8').matchAll(/^#{1,3} (.+)$/gm)].map(([, title = '']) => anchorOf(title))

  test('link to files and titles that exist, as all other documents do', () => {
    const others = [...new Bun.Glob('{.github,.ci,src,test}/**/*.md').scanSync({ cwd: ROOT, dot: true })]
      .filter((path) => !path.includes('node_modules') && !path.startsWith('src/docs/'))
      .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
    const broken = [...GUIDE_FILES, ...others].flatMap(({ path, text }) =>
      // Blocks of code contain no links.
      [...text.replace(/^```[\s\S]*?^```/gm, '').matchAll(/\]\(([^)\s]+)\)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !target.includes('://'))
        .filter((target) => {
          const [file = '', anchor] = target.split('#')
          const linked = file === '' ? join(ROOT, path) : join(ROOT, dirname(path), file)
          return !existsSync(linked) || (anchor !== undefined && !titlesOf(linked).includes(anchor))
        })
        .map((target) => `${path}: ${target}`),
    )
    expect(broken).toEqual([])
  })

  test('README.md is short, and links to every guide', () => {
    const [readme, ...guides] = GUIDE_FILES
    expect(Buffer.byteLength(readme?.text ?? '')).toBeLessThanOrEqual(README_BYTES)
    expect(guides.filter(({ path }) => !readme?.text.includes(`](${path}`)).map(({ path }) => path)).toEqual([])
  })

  test('have the systemd unit of the Debian package, with the executable where it is installed by hand', () => {
    const unit = readFileSync(join(ROOT, '.ci/deb/hookswitch.service'), 'utf8')
    expect(blocks('ini')).toContain(unit.replace('/usr/bin/', '/usr/local/bin/'))
  })

  test('name the time after which a delivery fails', () => {
    const schedule = SETTINGS.retryScheduleMs.read(SETTINGS.retryScheduleMs.default)
    const hours = schedule.reduce((total, ms) => total + ms, 0) / 3_600_000
    expect(GUIDE_TEXT).toContain(`almost ${Math.ceil(hours)} hours`)
  })

  test('name the events, and no other', () => {
    const named = new Set(
      GUIDE_TEXT.match(
        /\b(call|dial|recording|phone|trunk|agent|queue)_(started|answered|ended|saved|missed|held|resumed|changed|\w+_transferred)\b|(?<=^\| `)custom(?=`)/gm,
      ),
    )
    expect([...named].toSorted()).toEqual([...new Set(ALL_EXAMPLES.map(({ data }) => data.name))].toSorted())
  })
})
