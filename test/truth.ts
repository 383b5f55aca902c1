import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CallEvent } from '../src/events/bodies.ts'
import { asteriskEvents } from './help/asterisk-recording.ts'
import { brokenRules } from './help/call-rules/rules.ts'
import { CONTINUES } from './help/continues.ts'
import { differences } from './help/expected-compare.ts'
import { draft } from './help/expected-draft.ts'
import { freeswitchEvents } from './help/freeswitch-recording.ts'
import { KNOWN } from './help/known-differences.ts'
import { FIXTURES, readExpectedFile, readRecording } from './help/recording.ts'

// bun run truth: of the recordings of real PBXs in test/fixtures, how many give exactly the events that happened, by
// family of calls and version of the PBX. `--write` puts the table into the guide. Exits with 1 if one is not exact.
// `--draft asterisk/NAME` prints the `.expected` of a recording in full words, as its events are emitted: a draft, which
// somebody else reads against what the PBX sent.

type Pbx = 'asterisk' | 'freeswitch'
const EVENTS_OF: Readonly<Record<Pbx, (names: readonly string[]) => readonly CallEvent[]>> = {
  asterisk: asteriskEvents,
  freeswitch: freeswitchEvents,
}

/** The families, each with a pattern of names; the first that fits decides. */
const FAMILIES: readonly (readonly [family: string, pattern: RegExp])[] = (
  JSON.parse(readFileSync(join(FIXTURES, 'families.json'), 'utf8')) as [string, string][]
).map(([family, pattern]) => [family, new RegExp(pattern)])

const familyOf = (name: string): string => FAMILIES.find(([, pattern]) => pattern.test(name))?.[0] ?? 'Calls'

/** The versions of AMI, by the Asterisk that speaks them. */
const AMI_VERSIONS: readonly (readonly [banner: RegExp, asterisk: string])[] = [
  [/^2\./, '13'],
  [/^5\./, '16'],
  [/^7\./, '18'],
  [/^9\./, '20'],
  [/^1[01]\./, '22'],
]

function versionOf(pbx: Pbx, name: string): string {
  const [first] = readRecording(`${pbx}/${name}`)
  if (pbx === 'freeswitch') return 'FreeSWITCH 1.10'
  const banner = /^Asterisk Call Manager\/(\S+)/.exec(Buffer.from(first?.bytes ?? []).toString('latin1'))?.[1] ?? ''
  return `Asterisk ${AMI_VERSIONS.find(([pattern]) => pattern.test(banner))?.[1] ?? banner}`
}

/** Returns the bodies of the events of a recording and of the one that continues it. */
function bodiesOf(pbx: Pbx, name: string): CallEvent['body'][] {
  const second = CONTINUES[name]
  return EVENTS_OF[pbx](second === undefined ? [name] : [name, second]).map(({ body }) => body)
}

type Cell = { exact: number; all: number }
type Truth = {
  /** The recordings that do not give exactly their events, and how they differ. */
  readonly wrong: ReadonlyMap<string, readonly string[]>
  /** The rules for every list of events that recordings break, with how. */
  readonly broken: ReadonlyMap<string, readonly string[]>
  readonly exact: number
  /** Rows of cells, the first with the names of the columns. */
  readonly rows: readonly (readonly string[])[]
}

/** Judges all recordings. */
export function judgeRecordings(): Truth {
  const cells = new Map<string, Cell>()
  const wrong = new Map<string, readonly string[]>()
  const broken = new Map<string, readonly string[]>()
  const versions = new Set<string>()
  const families = new Set<string>()
  let exact = 0
  for (const pbx of ['asterisk', 'freeswitch'] as const) {
    for (const file of readdirSync(join(FIXTURES, pbx)).filter((one) => one.endsWith('.expected'))) {
      const name = file.replace('.expected', '')
      const [family, version] = [familyOf(name), versionOf(pbx, name)]
      const cell = cells.get(`${family} ${version}`) ?? { exact: 0, all: 0 }
      const bodies = bodiesOf(pbx, name)
      const differ = differences(bodies, readExpectedFile(`${pbx}/${name}`), { all: true })
      const breaks = brokenRules(bodies)
      if (breaks.length > 0) broken.set(`${pbx}/${name}`, breaks)
      const isRight = differ.length === 0
      cells.set(`${family} ${version}`, { exact: cell.exact + (isRight ? 1 : 0), all: cell.all + 1 })
      if (isRight) exact += 1
      else wrong.set(`${pbx}/${name}`, differ)
      versions.add(version)
      families.add(family)
    }
  }
  const columns = [...versions].toSorted()
  const rows = FAMILIES.map(([family]) => family)
    .filter((family) => families.has(family))
    .map((family) => [family, ...columns.map((version) => textOf(cells.get(`${family} ${version}`)))])
  return { wrong, broken, exact, rows: [['Calls reported exactly, of all recorded', ...columns], ...rows] }
}

const textOf = (cell: Cell | undefined): string => (cell === undefined ? '' : `${cell.exact} of ${cell.all}`)

/** Returns the rows as a Markdown table. */
export function markdownTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  const [head = [], ...rest] = rows
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rest.map(line)].join('\n')
}

/** The guide that shows the table. */
export const GUIDE = join(FIXTURES, '../../src/docs/calls.md')
/** The table in the guide. */
export const TABLE = /^\| Calls reported exactly(?:.*\n)(?:\|.*\n)*/m

/** Prints the `.expected` of a recording in full words; comments and runs are those of the file that it has. */
function printDraft(recording: string): void {
  const [pbx, name = ''] = recording.split('/')
  if (pbx !== 'asterisk' && pbx !== 'freeswitch') throw new Error(`not asterisk/NAME or freeswitch/NAME: ${recording}`)
  const file = join(FIXTURES, `${recording}.expected`)
  process.stdout.write(draft(bodiesOf(pbx, name), existsSync(file) ? readFileSync(file, 'utf8') : ''))
}

function printTruth(): void {
  const { wrong, broken, exact, rows } = judgeRecordings()
  console.log(markdownTable(rows))
  if (process.argv.includes('--write'))
    writeFileSync(
      GUIDE,
      readFileSync(GUIDE, 'utf8').replace(TABLE, () => `${markdownTable(rows)}\n`),
    )
  console.log(`\n${exact} of ${exact + wrong.size} recordings are reported exactly.`)
  for (const [name, differ] of wrong)
    console.log(
      `\nnot exact: ${name}${KNOWN[name] === undefined ? '' : ` (known: ${KNOWN[name].cause})`}\n${differ.join('\n')}`,
    )
  for (const [name, breaks] of broken) console.log(`\nbreaks rules: ${name}\n${breaks.join('\n')}`)
  process.exitCode = wrong.size + broken.size > 0 ? 1 : 0
}

if (import.meta.main) {
  const at = process.argv.indexOf('--draft')
  if (at < 0) printTruth()
  else for (const recording of process.argv.slice(at + 1)) printDraft(recording)
}
