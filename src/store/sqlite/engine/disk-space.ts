import { statfs } from 'node:fs/promises'
import type { Log } from '../../../lib/log.ts'

export type DiskWatch = {
  /** `undefined`: it could not be asked. */
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

/** Said before it happens: at 200 calls a second it takes some minutes to fill this. */
const NEARLY_FULL_BYTES = 512 * 1024 * 1024
const NEARLY_FULL_SHARE = 0.05
const EVERY_MS = 5_000

type Space = { readonly free: number; readonly size: number }

const ask = async (folder: string): Promise<Space> => {
  const { bavail, blocks, bsize } = await statfs(folder)
  return { free: bavail * bsize, size: blocks * bsize }
}

/** Looks how much room the store's disk has, and says so when it becomes little. */
export function startDiskWatch({
  folder,
  log,
  space = ask,
}: {
  folder: string
  log: Log
  space?: typeof ask
}): DiskWatch {
  let last: Space | undefined
  let said = false
  // Of a small disk a share counts, else a fixed amount.
  const isNearlyFull = ({ free, size }: Space) => free < Math.min(NEARLY_FULL_BYTES, size * NEARLY_FULL_SHARE)
  const look = async () => {
    last = await space(folder).catch(() => undefined)
    if (last === undefined) return
    const nearly = isNearlyFull(last)
    if (nearly && !said) log.warn({ folder, freeBytes: last.free }, 'the disk is nearly full: make room')
    if (!nearly && said) log.info({ folder, freeBytes: last.free }, 'the disk has room again')
    said = nearly
  }
  const timer = setInterval(() => void look(), EVERY_MS)
  const first = look()
  return {
    freeBytes: () => last?.free,
    nearlyFull: () => last !== undefined && isNearlyFull(last),
    async stop() {
      clearInterval(timer)
      await first
    },
  }
}
