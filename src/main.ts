#!/usr/bin/env bun

export {}

/** One Ctrl-C comes twice where a script runner (`bun run`) passes on what the terminal has sent to all. */
const SAME_SIGNAL_MS = 500

/** Resolves at the first SIGTERM or SIGINT; another one later ends the process at once. */
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

/**
 * `fetch` runs at most 256 requests in the whole process, unless this variable is set before the process starts: so the
 * process replaces itself by one that has it (execve, POSIX alone). The variable itself keeps it from going round.
 */
function liftRequestLimit(): void {
  const variable = 'BUN_CONFIG_MAX_HTTP_REQUESTS'
  if (process.env[variable] !== undefined || process.execve === undefined || process.platform === 'win32') return
  const [, script = '', ...rest] = process.argv
  const compiled = script.startsWith('/$bunfs/')
  const args = compiled ? rest : [...process.execArgv, script, ...rest]
  process.execve(process.execPath, [process.execPath, ...args], { ...process.env, [variable]: '65336' })
}

if (process.argv[2] === 'serve' || process.argv[2] === 'demo') liftRequestLimit()
// Only now is the rest of the program loaded: the process that replaces itself does not need it.
const { run } = await import('./cli/program.ts')
process.exit(await run(process.argv.slice(2), stopSignal))
