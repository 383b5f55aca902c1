export {}

// What `bun run test` runs: the checks, the build, all tests. Its very last line is `N passed, N failed`.

const STEPS = [
  ['the code is clean', ['bun', 'run', 'check']],
  ['the executable is built', ['bun', 'run', 'build']],
] as const

let passed = 0
let failed = 0

for (const [what, command] of STEPS) {
  const code = await Bun.spawn([...command], { stdio: ['ignore', 'inherit', 'inherit'] }).exited
  if (code === 0) passed += 1
  else {
    failed += 1
    console.error(`failed: ${what} (exit code ${code})`)
  }
}

if (failed === 0) {
  const tests = Bun.spawn(['bun', 'test', ...process.argv.slice(2)], {
    stdio: ['ignore', 'inherit', 'pipe'],
    env: { ...process.env, HOOKSWITCH_TEST_BUILT: '1' },
  })
  let summary = ''
  const decoder = new TextDecoder()
  for await (const chunk of tests.stderr) {
    process.stderr.write(chunk)
    // The counts are at the end: no more than that is kept.
    summary = (summary + decoder.decode(chunk, { stream: true })).slice(-4_096)
  }
  const code = await tests.exited
  const count = (word: string) => Number(new RegExp(`^ *(\\d+) ${word}$`, 'm').exec(summary)?.[1] ?? 0)
  passed += count('pass')
  // A run that broke off without a count of failures has failed all the same.
  failed += code === 0 ? count('fail') : Math.max(1, count('fail'))
}

process.exitCode = failed === 0 ? 0 : 1
console.log(`${passed} passed, ${failed} failed`)
