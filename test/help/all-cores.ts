import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

/**
 * Loaded by `bun test` first (bunfig.toml): plain `bun test` is run again with workers, and ends with their exit code. bunfig.toml has no
 * setting for `--parallel`. With any argument, in a worker, and where the command line cannot be read, tests go on in this process.
 */
const COMMAND_LINE = '/proc/self/cmdline'
/** Tests wait for most of their time. */
const WORKERS = 3 * availableParallelism()

const isWorker = process.env.BUN_TEST_WORKER_ID !== undefined
const [, ...args] = existsSync(COMMAND_LINE) ? readFileSync(COMMAND_LINE, 'utf8').split('\0').filter(Boolean) : []
if (!isWorker && args.join(' ') === 'test') {
  // Without isolation a worker loads each module once.
  const command = [process.execPath, 'test', `--parallel=${WORKERS}`, '--no-isolate']
  process.exit(Bun.spawnSync(command, { stdio: ['inherit', 'inherit', 'inherit'] }).exitCode ?? 1)
}
