import { rm } from 'node:fs/promises'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { backoff } from '../lib/backoff.ts'
import type { Log } from '../lib/log.ts'
import { createPauses } from '../lib/periodic.ts'
import type { NowUs } from '../lib/time.ts'
import type { BackupPlace } from './place.ts'
import { backupName, backupsAmong, dueInUs, expired } from './schedule.ts'

type BackupsOptions = {
  readonly place: BackupPlace
  /** The place as configured, for messages. */
  readonly placeName: string
  readonly everyMs: number
  /** The number of backups that the place keeps. */
  readonly keep: number
  /** The folder of the store. */
  readonly dataPath: string
  /** The command line of this program. Backups run in a process of their own, so that they delay no calls. */
  readonly command: readonly string[]
  readonly log: Log
  readonly nowUs: NowUs
  /**
   * Called once when backups begin to fail, and once when one has succeeded again; and once when there are backups from
   * the future.
   */
  readonly onChange: (change: {
    readonly state: 'failed' | 'succeeded' | 'from_future'
    readonly reason?: string
  }) => void
  readonly firstRetryMs?: number
}

/**
 * A failed backup is tried again after 5 minutes, then at growing intervals, at the latest when the next one is due.
 */
const FIRST_RETRY_MS = 5 * 60_000

/**
 * Starts making backups of the store's file. When the newest is older than `everyMs`, a new one is written, verified
 * and given its name; then the oldest ones beyond `keep` are deleted.
 */
export function startBackups(options: BackupsOptions): { stop(): Promise<void> } {
  const { place, placeName, everyMs, log, nowUs, onChange, firstRetryMs = FIRST_RETRY_MS } = options
  const pauses = createPauses()
  const stopping = new AbortController()
  let failures = 0
  const reportAhead = aheadReporter(options)

  async function round(): Promise<number> {
    const backups = backupsAmong(await place.list(), nowUs())
    reportAhead(backups.filter(({ isAhead }) => isAhead).map(({ name }) => name))
    const waitUs = dueInUs(backups, everyMs * 1_000, nowUs())
    if (waitUs > 0) return waitUs / 1_000
    await makeBackup(options, stopping.signal)
    if (failures > 0) onChange({ state: 'succeeded' })
    failures = 0
    return everyMs
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      let waitMs: number
      try {
        waitMs = await round()
      } catch (error) {
        if (stopping.signal.aborted) return
        const reason = error instanceof Error ? error.message : String(error)
        failures += 1
        waitMs = backoff(failures, firstRetryMs, everyMs)
        log.error({ place: placeName, reason, seconds: waitMs / 1_000 }, 'the backup failed; will retry')
        if (failures === 1) onChange({ state: 'failed', reason })
      }
      // setTimeout takes at most 2^31 ms.
      await pauses.wait(Math.min(waitMs, 86_400_000))
    }
  }

  const running = run()
  return {
    async stop() {
      stopping.abort()
      pauses.end()
      await running
    },
  }
}

/** Returns a function that reports backups from the future, each once. */
function aheadReporter({ placeName, log, onChange }: BackupsOptions): (names: readonly string[]) => void {
  const reported = new Set<string>()
  return (names) => {
    const found = names.filter((name) => !reported.has(name))
    if (found.length === 0) return
    for (const name of found) reported.add(name)
    log.warn(
      { place: placeName, backups: found },
      'backups are from the future: the clock was ahead when they were made; they count as the oldest',
    )
    onChange({ state: 'from_future', reason: found.join(', ') })
  }
}

async function makeBackup(
  { place, placeName, keep, dataPath, command, log, nowUs }: BackupsOptions,
  signal: AbortSignal,
): Promise<void> {
  const startedUs = nowUs()
  const name = backupName(startedUs)
  const work = await place.makeWorkFolder()
  try {
    // The work folder is a data folder with a store of its own, so that `verify` can open it.
    const file = join(work, 'hookswitch.db')
    await runCommand([...command, 'backup', file, '--data', dataPath], signal)
    const { size } = Bun.file(file)
    await runCommand([...command, 'verify', '--data', work], signal)
    await place.put(file, name)
    const seconds = Math.round((nowUs() - startedUs) / 1_000_000)
    log.info({ backup: name, place: placeName, bytes: size, seconds }, 'a backup was written and verified')
  } finally {
    await rm(work, { recursive: true, force: true })
  }
  for (const old of expired(backupsAmong(await place.list(), nowUs()), keep, name)) {
    await place.delete(old.name)
    log.info({ backup: old.name, place: placeName }, 'an old backup was deleted')
  }
}

/** Runs a command of this program until it ends. @throws Error with the command's message if it fails. */
async function runCommand(command: readonly string[], signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const child = Bun.spawn([...command], {
    // The environment's settings are for the service; the command's flags say everything it needs.
    env: { PATH: process.env.PATH ?? '', TMPDIR: process.env.TMPDIR ?? '/tmp' },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    signal,
  })
  setPriority(child.pid, constants.priority.PRIORITY_LOW)
  const [output, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  if (code === 0) return
  const said = `${output}\n${errors}`
    .trim()
    .replace(/\s*\n\s*/g, '; ')
    .slice(0, 2_000)
  throw new Error(said === '' ? `the command ended with ${child.signalCode ?? `exit code ${code}`}` : said)
}
