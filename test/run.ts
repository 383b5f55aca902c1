import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// `bun run test`: the checks, the build and all tests, in a temporary folder that must be empty afterwards. Failures
// are printed once more at the end, for readers of the log's end alone. The last line is `N passed, N failed`, then the
// number of skipped tests. Arguments go to `bun test`, and the checks are left out: `bun run test test/e2e`. Plain `bun
// test` is the fast lane; this one ignores no folder and has Postgres.

const CHECKS = [
  ['the code is clean', ['bun', 'run', 'check']],
  ['the executable is built', ['bun', 'run', 'build']],
] as const

/**
 * The parts of the tests, the longest first: each runs in its own process, with a Postgres server if it needs one.
 * Files that match no pattern are the last part.
 */
const PARTS = [
  /^test\/deliveries\//,
  /^test\/(web\/(?!chromium\/page)|openapi\/)/,
  /^test\/calls\//,
  /^test\/(flows|outbound|templates|webhooks)\//,
  /^test\/e2e\//,
  /^test\/system\/[l-z][\w-]+\.test\.ts$/,
  /^test\/(store|recordings)\//,
  /^test\/cli\//,
  /^test\/system\/[a-k][\w-]+\.test\.ts$/,
  /^test\/web\/chromium\/page\.test\.ts$/,
  /^test\/system\/cluster\/faults\.test\.ts$/,
  /^test\/system\/cluster\/(?!faults)/,
]

/**
 * The number of parts that run at a time. Tests wait for browsers, leases and processes twice as long as they compute,
 * so that six keep two cores busy.
 */
const AT_A_TIME = 6

/** Lines of a failure that are printed once more: its error and where it was thrown come last. */
const LINES_OF_A_FAILURE = 40

const counts = { pass: 0, fail: 0, skip: 0 }
const failures: string[] = []

function note(what: string, passed: boolean): void {
  counts[passed ? 'pass' : 'fail'] += 1
  const line = `(${passed ? 'pass' : 'fail'}) ${what}`
  if (!passed) failures.push(line)
  console.error(line)
}

const args = process.argv.slice(2)
/** Some tests alone build the executable when one of them needs it. */
const wasBuilt = args.length === 0
for (const [what, command] of wasBuilt ? CHECKS : []) {
  const code = await Bun.spawn([...command], { stdio: ['ignore', 'inherit', 'inherit'] }).exited
  note(what, code === 0)
}

if (counts.fail === 0) {
  const folder = mkdtempSync(join(tmpdir(), 'hookswitch-tests-'))
  await runTests(folder)
  // Files that a killed process could not remove go with the folder: a run leaves nothing behind.
  const left = readdirSync(folder)
  if (left.length > 0) console.error(`left in the temporary folder, and removed with it: ${left.join(' ')}`)
  rmSync(folder, { recursive: true, force: true })
  note('nothing is left in the temporary folder', !existsSync(folder))
}

if (failures.length > 0) console.error(['', 'What failed, once more:', ...failures, ''].join('\n'))
process.exitCode = counts.fail === 0 ? 0 : 1
const skipped = counts.skip === 0 ? '' : `, ${counts.skip} skipped`
console.log(`${counts.pass} passed, ${counts.fail} failed${skipped}`)

async function runTests(folder: string): Promise<void> {
  if (!wasBuilt) return runBunTest(folder, args, console.error)
  const files = [...new Bun.Glob('test/**/*.test.ts').scanSync('.')].sort()
  const partOf = (file: string): number => PARTS.findIndex((pattern) => pattern.test(file))
  const parts = [...PARTS.keys(), -1]
    .map((part) => files.filter((file) => partOf(file) === part))
    // `bun test` without a file would run all tests.
    .filter((part) => part.length > 0)
  const printers = inOrder(parts.length)
  const waiting = parts.entries()
  const runInTurn = async (): Promise<void> => {
    for (const [at, part] of waiting) {
      const { print, end } = printers[at] ?? { print: console.error, end() {} }
      await runBunTest(
        folder,
        part.map((file) => `./${file}`),
        print,
      )
      end()
    }
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, runInTurn))
}

type Printer = { print(line: string): void; end(): void }

/**
 * Returns printers that print in their order: the first unfinished one prints at once, the later ones when their turn
 * comes.
 */
function inOrder(count: number): Printer[] {
  const outputs = Array.from({ length: count }, () => ({ lines: [] as string[], hasEnded: false }))
  const flush = (): void => {
    const current = outputs.findIndex(({ hasEnded }) => !hasEnded)
    const upTo = current === -1 ? count : current + 1
    for (const { lines } of outputs.slice(0, upTo)) for (const line of lines.splice(0)) console.error(line)
  }
  return outputs.map((output) => ({
    print(line) {
      output.lines.push(line)
      flush()
    },
    end() {
      output.hasEnded = true
      flush()
    },
  }))
}

async function runBunTest(folder: string, some: readonly string[], print: (line: string) => void): Promise<void> {
  const tests = Bun.spawn(['bun', 'test', '--no-orphans', '--path-ignore-patterns=', ...some], {
    stdio: ['ignore', 'inherit', 'pipe'],
    env: { ...process.env, TMPDIR: folder, HOOKSWITCH_TEST_LANE: 'all', HOOKSWITCH_TEST_BUILT: wasBuilt ? '1' : '0' },
  })
  let failed = 0
  let file = ''
  let output: string[] = []
  for await (const line of linesOf(tests.stderr)) {
    output.push(line)
    if (/^test\/\S+\.test\.ts:$/.test(line)) file = line
    if (/^\((fail|pass|skip)\) |^-{20,}$/.test(line)) {
      // A line of dashes ends an error that was thrown outside of a test.
      // Bun names what failed again at the end of a run.
      const isNew = !/^\((pass|skip)\)/.test(line) && !(line.startsWith('(fail)') && failures.includes(line))
      if (isNew) failures.push(file, ...output.slice(-LINES_OF_A_FAILURE))
      output = []
    }
    const [, count, what] = /^ *(\d+) (pass|fail|skip|errors?)$/.exec(line) ?? []
    if (what === 'pass' || what === 'skip') counts[what] += Number(count)
    // An error here is one that was thrown outside of a test.
    else if (what !== undefined) failed += Number(count)
    // Bun's count and ours, which has the checks, would be two that differ.
    else if (!/^ *\d+ expect\(\) calls$|^Ran \d+ tests? across /.test(line)) print(line)
  }
  // A run that broke off without a count of failures has failed all the same.
  if ((await tests.exited) !== 0 && failed === 0) {
    failed = 1
    failures.push(file, ...output.slice(-LINES_OF_A_FAILURE), 'the run broke off here, without a count')
  }
  counts.fail += failed
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
}
