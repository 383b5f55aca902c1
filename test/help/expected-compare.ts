import type { CallEvent } from '../../src/events/bodies.ts'
import { isOnlyOnRequest } from '../../src/events/kinds.ts'
import { callsOf, lineOf } from './expected.ts'
import { type EventLine, eventLines, OPTIONAL, stagesOf } from './expected-facts.ts'
import { type ExpectedBlock, type ExpectedLine, readExpected } from './expected-file.ts'

/** Holds events against the text of an `.expected` file. */
type Body = CallEvent['body']

type Options = {
  /** Kinds that only `events` asks for count, too. */
  readonly all?: boolean
  /** Which facts count: all, none, or those that do not depend on when the events came. */
  readonly facts?: 'all' | 'untimed' | 'none'
}

/** Facts that are times and durations. */
const TIMED = /^(?:at|ring|talk|wait|lasts|rec\d+)$/

/** Seconds by which another order of the PBX's events may move a time. */
const TOLERANCE = 0.2

/** A block and the call that it is about. */
type Pair = { readonly block: ExpectedBlock; readonly bodies: readonly Body[] }
/** A line of a block and the event that it is about. */
type Matched = { readonly wanted: ExpectedLine; readonly got: EventLine }

/** Returns the differences as sentences, which name the line, the key, what is wanted and what was got. */
export function differences(bodies: readonly Body[], text: string, options: Options = {}): string[] {
  const { all = false, facts = 'all' } = options
  const { pairs, unexpected, lines } = matchCalls(bodies, text, all)
  const wrong = pairs.flatMap(({ block, bodies: own }) => {
    const matched = matchLines(block, lines(own))
    if (matched === undefined) return [wordsDiffer(block, own)]
    if (facts === 'none') return []
    return matched.flatMap((one) => factsDiffer(one, block.isFull, (key) => facts === 'all' || !TIMED.test(key)))
  })
  return [...wrong, ...unexpected.map((own) => `a call that no block expects:\n${own.map(lineOf).join('\n')}`)]
}

type Matching = {
  readonly pairs: readonly Pair[]
  readonly unexpected: readonly (readonly Body[])[]
  /** Returns the lines of one of the calls. */
  readonly lines: (own: readonly Body[]) => readonly EventLine[]
}

/** Gives each block the call that fits it best. */
export function matchCalls(bodies: readonly Body[], text: string, all: boolean): Matching {
  const open = callsOf(bodies.filter(({ data }) => all || !isOnlyOnRequest(data.name)))
  const blocks = readExpected(text).map((block) => (all ? block : withoutRequested(block)))
  const stages = stagesOf(bodies)
  const pairs: Pair[] = []
  for (const block of blocks) {
    const words = wordsOf(block)
    const scores = new Map(open.map((own) => [own, score(block, words, own)]))
    const top = Math.max(0, ...scores.values())
    const best = open.filter((own) => scores.get(own) === top)
    const own = closest(block, best, stages)
    if (own !== undefined) open.splice(open.indexOf(own), 1)
    pairs.push({ block, bodies: own ?? [] })
  }
  const numbered = [...pairs.map((pair) => pair.bodies), ...open]
  const numbers = new Map(numbered.map(([first], index) => [first?.data.call.id, String(index + 1)]))
  const context = { stages, blockOf: (id: string) => numbers.get(id) ?? '?' }
  return { pairs, unexpected: open, lines: (own) => eventLines(own, context) }
}

const REQUESTED = /^(?:call_missed|call_held|call_resumed) /

/** What a line says of the call since the line before it: it holds for the next line if that line is left out. */
const SINCE_BEFORE = ['owner', 'direction', 'caller', 'called', 'callername', 'calledname', 'did'] as const

/** Returns a block without the lines of events that only a webhook's request makes. */
function withoutRequested({ isFull, runs }: ExpectedBlock): ExpectedBlock {
  let since: Record<string, string> = {}
  const kept = runs.map((run) =>
    run.flatMap((line) => {
      const facts = { ...since, ...line.facts }
      if (!REQUESTED.test(line.words)) {
        since = {}
        return [{ ...line, facts }]
      }
      since = Object.fromEntries(SINCE_BEFORE.flatMap((key) => (key in facts ? [[key, facts[key] ?? '-']] : [])))
      return []
    }),
  )
  return { isFull, runs: kept.filter((run) => run.length > 0) }
}

/** The words of a block, each run sorted. */
const wordsOf = ({ runs }: ExpectedBlock): string[] => runs.flatMap((run) => run.map(({ words }) => words).toSorted())

/** Returns lines in the order of the runs, each run sorted, so that both can be compared line by line. */
function sortedAs({ runs }: ExpectedBlock, lines: readonly string[]): string[] {
  let from = 0
  const sorted = runs.flatMap((run) => {
    from += run.length
    return lines.slice(from - run.length, from).toSorted()
  })
  return [...sorted, ...lines.slice(from)]
}

function score(block: ExpectedBlock, words: readonly string[], own: readonly Body[]): number {
  const lines = sortedAs(block, own.map(lineOf))
  const equal = lines.filter((line, index) => line === words[index]).length
  // A call that shares nothing with a block is its last choice, but one.
  return 1_000 + equal - Math.abs(lines.length - words.length)
}

/** Returns the call whose facts differ least, of several with the same words. */
function closest(block: ExpectedBlock, calls: readonly Body[][], stages: ReturnType<typeof stagesOf>) {
  const [first] = calls
  if (calls.length < 2) return first
  // Numbers of blocks are known only when all calls are matched.
  const isKnown = (key: string): boolean => key !== 'consults' && key !== 'joins' && key !== 'into'
  const wrong = calls.map((own) => {
    const matched = matchLines(block, eventLines(own, { stages, blockOf: () => '?' })) ?? []
    return matched.flatMap((one) => factsDiffer(one, block.isFull, isKnown)).length
  })
  return calls[wrong.indexOf(Math.min(...wrong))]
}

/** Pairs each line of a block with its event; `undefined` if the words differ. */
export function matchLines(block: ExpectedBlock, lines: readonly EventLine[]): Matched[] | undefined {
  const matched: Matched[] = []
  let from = 0
  for (const run of block.runs) {
    const open = lines.slice(from, from + run.length)
    from += run.length
    for (const wanted of run) {
      const same = open.filter(({ words }) => words === wanted.words)
      const wrong = same.map((got) => factsDiffer({ wanted, got }, block.isFull, () => true).length)
      const got = same[wrong.indexOf(Math.min(...wrong))]
      if (got === undefined) return undefined
      open.splice(open.indexOf(got), 1)
      matched.push({ wanted, got })
    }
  }
  return from === lines.length ? matched : undefined
}

function wordsDiffer(block: ExpectedBlock, own: readonly Body[]): string {
  const [first] = block.runs.flat()
  const words = wordsOf(block)
  const lines = sortedAs(block, own.map(lineOf))
  const at = words.findIndex((line, index) => line !== lines[index])
  const place = `line ${first?.at} and those after it: event ${at < 0 ? words.length + 1 : at + 1} differs`
  return `${place}\nwanted:\n${words.join('\n')}\ngot:\n${lines.join('\n')}`
}

function factsDiffer({ wanted, got }: Matched, isFull: boolean, counts: (key: string) => boolean): string[] {
  const about = `line ${wanted.at}: ${wanted.words}`
  const wrong = Object.entries(wanted.facts)
    .filter(([key, value]) => counts(key) && !fits(key, value, got.facts[key], counts))
    .map(([key, value]) => `${about}: ${key}: wanted ${value}, got ${got.facts[key] ?? 'no such fact'}`)
  if (!isFull) return wrong
  const missing = Object.entries(got.facts)
    .filter(([key, value]) => counts(key) && !(key in wanted.facts) && isNotable(key, value, got))
    .map(([key, value]) => `${about}: ${key}: wanted ${got.defaults[key] ?? 'to be written'}, got ${value}`)
  return [...wrong, ...missing]
}

/** Returns whether a full block must write a fact. */
export const isNotable = (key: string, value: string, { defaults }: EventLine): boolean =>
  !OPTIONAL.has(key) && defaults[key] !== value

/** A number that reads as seconds with a fraction stands for each whole second that it may be rounded down to. */
const holds = (wanted: string, got: string): boolean =>
  wanted.includes('.')
    ? Number(got) >= Math.floor(Number(wanted) - TOLERANCE) && Number(got) <= Math.floor(Number(wanted) + TOLERANCE)
    : wanted === got

function fits(key: string, wanted: string, got: string | undefined, counts: (key: string) => boolean): boolean {
  if (got === undefined) return false
  if (key === 'at') return Math.abs(Number(wanted) - Number(got)) <= TOLERANCE + 1e-9
  if (TIMED.test(key)) return got === '-' ? wanted === '-' : holds(wanted, got)
  if (key !== 'queue') return wanted === got
  const [place, wait] = [/^(.*)\/([^/]*?)("?)$/.exec(wanted), /^(.*)\/([^/]*?)("?)$/.exec(got)]
  if (place === null || wait === null) return wanted === got
  return place[1] === wait[1] && (!counts('wait') || holds(place[2] ?? '', wait[2] ?? ''))
}
