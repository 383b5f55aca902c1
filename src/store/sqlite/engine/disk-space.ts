import { statfs } from 'node:fs/promises'
import type { Log } from '../../../lib/log.ts'

export type DiskWatch = {
  /** Returns the free space; `undefined` if it is unknown. */
  freeBytes(): number | undefined
  nearlyFull(): boolean
  stop(): Promise<void>
}

/** The watch of a store that is on no disk of this machine. */
export const NO_DISK: DiskWatch = {
  freeBytes: () => undefined,
  nearlyFull: () => false,
  stop: async () => undefined,
}

/** The warning comes in time: at 200 calls a second it takes some minutes to fill this. */
const NEARLY_FULL_BYTES = 512 * 1024 * 1024
const NEARLY_FULL_SHARE = 0.05
const EVERY_MS = 5_000

type Space = { readonly free: number; readonly size: number }

const readSpace = async (folder: string): Promise<Space> => {
  const { bavail, blocks, bsize } = await statfs(folder)
  return { free: bavail * bsize, size: blocks * bsize }
}

/** Watches the free space on the disk of the store, and logs a warning when it becomes low. */
export function startDiskWatch({
  folder,
  log,
  space = readSpace,
}: {
  folder: string
  log: Log
  space?: typeof readSpace
}): DiskWatch {
  let last: Space | undefined
  let hasWarned = false
  // On a small disk a share counts, else a fixed amount.
  const isNearlyFull = ({ free, size }: Space) => free < Math.min(NEARLY_FULL_BYTES, size * NEARLY_FULL_SHARE)
  const check = async () => {
    last = await space(folder).catch(() => undefined)
    if (last === undefined) return
    const nearly = isNearlyFull(last)
    if (nearly && !hasWarned) log.warn({ folder, freeBytes: last.free }, 'the disk is nearly full: free some space')
    if (!nearly && hasWarned) log.info({ folder, freeBytes: last.free }, 'the disk has enough free space again')
    hasWarned = nearly
  }
  const timer = setInterval(() => void check(), EVERY_MS)
  const first = check()
  return {
    freeBytes: () => last?.free,
    nearlyFull: () => last !== undefined && isNearlyFull(last),
    async stop() {
      clearInterval(timer)
      await first
    },
  }
}
