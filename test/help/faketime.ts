import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * libfaketime (Debian: `libfaketime`) sets the wall clock of another process; without it tests that need it are
 * skipped.
 */
const LIBRARY = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64', '/usr/lib']
  .map((folder) => `${folder}/faketime/libfaketime.so.1`)
  .find((path) => existsSync(path))
export const canFakeTime = LIBRARY !== undefined

/** A wall clock for a process, kept in a folder: `env` gives it to the process, `set` sets it. The clock that never steps stays. */
export function wallClock(folder: string) {
  const file = join(folder, 'clock')
  /** Replaces the file in one step: the process must never read half of it. */
  const write = (text: string) => {
    writeFileSync(`${file}.new`, text)
    renameSync(`${file}.new`, file)
  }
  write('+0')
  return {
    env: {
      LD_PRELOAD: LIBRARY ?? '',
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    /** Sets the clock to this difference from the true time. */
    set: (seconds: number): void => write(`${seconds < 0 ? '' : '+'}${seconds}`),
    /** The library leaves files behind for each process. */
    clear(pid: number): void {
      for (const name of ['faketime_shm', 'sem.faketime_sem']) rmSync(`/dev/shm/${name}_${pid}`, { force: true })
    },
  }
}
