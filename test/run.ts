import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// What `bun run test` runs: the checks, the build, all tests, in a temporary folder in which nothing may be left. What failed is printed
// once more at the end, for who sees the end of a log alone. Its very last line is `N passed, N failed`, with what was skipped behind it.
// Arguments go to `bun test`: `bun run test test/cli`.

const CHECKS = [
  ['the code is clean', ['bun', 'run', 'check']],
  ['the executable is built', ['bun', 'run', 'build']],
] as const

/** Tests that mostly wait, for a browser, for leases to end or for processes: they run beside the others, and are printed after them. */
const RUN_BESIDE = [/^test\/(cluster|web|openapi)\//, /^test\/(e2e|recordings)\/|^test\/cli\/database-trouble/]

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

for (const [what, command] of CHECKS) {
  const code = await Bun.spawn([...command], { stdio: ['ignore', 'inherit', 'inherit'] }).exited
  note(what, code === 0)
}

if (counts.fail === 0) {
  const folder = mkdtempSync(join(tmpdir(), 'hookswitch-tests-'))
  await runTests(folder)
  // What a process that was killed could not remove goes with the folder: a run leaves nothing behind.
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
  const args = process.argv.slice(2)
  if (args.length > 0) return runBunTest(folder, args, console.error)
  const files = [...new Bun.Glob('test/**/*.test.ts').scanSync('.')].sort()
  const lines: string[][] = RUN_BESIDE.map(() => [])
  const groupOf = (file: string): number => RUN_BESIDE.findIndex((pattern) => pattern.test(file))
  const within = (group: number) => files.filter((file) => groupOf(file) === group).map((file) => `./${file}`)
  await Promise.all([
    runBunTest(folder, within(-1), console.error),
    ...lines.map((printed, group) => runBunTest(folder, within(group), (line) => void printed.push(line))),
  ])
  for (const line of lines.flat()) console.error(line)
}

async function runBunTest(folder: string, args: readonly string[], print: (line: string) => void): Promise<void> {
  const tests = Bun.spawn(['bun', 'test', '--no-orphans', ...args], {
    stdio: ['ignore', 'inherit', 'pipe'],
    env: { ...process.env, TMPDIR: folder, HOOKSWITCH_TEST_BUILT: '1' },
  })
  let failed = 0
  let file = ''
  let output: string[] = []
  for await (const line of linesOf(tests.stderr)) {
    output.push(line)
    if (/^test\/\S+\.test\.ts:$/.test(line)) file = line
    if (/^\((fail|pass|skip)\) |^-{20,}$/.test(line)) {
      // A line of dashes ends an error that was thrown outside of a test.
      if (!/^\((pass|skip)\)/.test(line)) failures.push(file, ...output.slice(-LINES_OF_A_FAILURE))
      output = []
    }
    const [, count, what] = /^ *(\d+) (pass|fail|skip|errors?)$/.exec(line) ?? []
    if (what === 'pass' || what === 'skip') counts[what] += Number(count)
    // Errors are what was thrown outside of a test.
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
