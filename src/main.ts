#!/usr/bin/env bun

export {}

/**
 * One Ctrl-C arrives twice when a script runner (`bun run`) forwards the signal that the terminal has also sent to us.
 */
const SAME_SIGNAL_MS = 500

/** How long the end of the process waits for the reader of its last lines. */
const FLUSH_WITHIN_MS = 2_000

/** Resolves at the first SIGTERM or SIGINT; a later one ends the process at once. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let askedMs: number | undefined
    const onSignal = () => {
      if (askedMs !== undefined && performance.now() - askedMs > SAME_SIGNAL_MS) process.exit(1)
      askedMs ??= performance.now()
      resolve()
    }
    process.on('SIGTERM', onSignal)
    process.on('SIGINT', onSignal)
  })
}

/** Environment variables that Bun reads before the process starts. */
const ENGINE = {
  /** Else `fetch` makes 256 requests at a time in the process. */
  BUN_CONFIG_MAX_HTTP_REQUESTS: '65336',
  /**
   * After a collection of the whole heap it may grow to twice its size until the next one, by default to three times:
   * bytes of a PBX that waited at that moment count, too. Beside a busy FreeSWITCH this saves 45 of 290 MB.
   */
  BUN_JSC_heapGrowthMaxIncrease: '1',
  /** The heap is not collected before the service is ready (bytes), which takes some 10 ms of a start. */
  BUN_JSC_largeHeapSize: '50331648',
}

/**
 * Replaces the process by a process with the settings of the engine (execve, POSIX only). A process that has these
 * settings is not replaced.
 */
function setEngine(): void {
  if (process.execve === undefined || process.platform === 'win32') return
  if (Object.keys(ENGINE).every((name) => process.env[name] !== undefined)) return
  const [, script = '', ...rest] = process.argv
  const compiled = script.startsWith('/$bunfs/')
  const args = compiled ? rest : [...process.execArgv, script, ...rest]
  process.execve(process.execPath, [process.execPath, ...args], { ...ENGINE, ...process.env })
}

if (process.argv[2] === 'serve' || process.argv[2] === 'demo') setEngine()
// The rest of the program is loaded only now, because the process that replaces itself does not need it.
const { runCommandLine: run } = await import('./cli/commands/program.ts')
const { flushStandardStreams } = await import('./lib/standard-streams.ts')
const code = await run(process.argv.slice(2), stopSignal, process.exit)
await flushStandardStreams(FLUSH_WITHIN_MS)
process.exit(code)
