import type { Log } from '../lib/log.ts'
import { startPeriodic } from '../lib/periodic.ts'
import { MILLISECOND, type NowUs, nowUs as wallUs } from '../lib/time.ts'
import type { RecordingRecord } from '../store/operations/recordings.ts'
import type { Store } from '../store/store.ts'
import { type Copies, copyStemOf } from './copies/copies.ts'

export type CopyRetentionOptions = {
  readonly recordings: Store['recordings']
  readonly copies: Copies | undefined
  readonly log: Log
  readonly keepMs: number
  /** Returns whether it is this node that deletes. */
  readonly isOwner: () => boolean
  /** Returns whether the wall clock can be trusted. */
  readonly mayPrune: () => boolean
  readonly nowUs?: NowUs
  readonly everyMs?: number
}

const EVERY_MS = 30_000
const STEP = 100

/** Starts to delete the copies of recordings that were kept long enough, and those of erased calls. */
export function startCopyRetention(options: CopyRetentionOptions): { stop(): Promise<void> } {
  const { recordings, copies, log, keepMs, isOwner, mayPrune, nowUs = wallUs, everyMs = EVERY_MS } = options

  /**
   * Returns whether a recording may be forgotten: it has no copy any more. A process that was killed may have left a
   * part of a copy, or one that the store does not know of.
   */
  async function remove(recording: RecordingRecord): Promise<boolean> {
    await copies?.remove(copyStemOf(recording))
    return copies !== undefined || recording.copy === null
  }

  async function step(): Promise<number> {
    const beforeUs = mayPrune() ? nowUs() - keepMs * MILLISECOND : 0
    const expired = await recordings.recordingListExpired({ beforeUs, limit: STEP })
    const removed: RecordingRecord[] = []
    for (const one of expired) if (await remove(one)) removed.push(one)
    await recordings.recordingDelete({
      callIds: removed.map(({ callId }) => callId),
      ids: removed.map(({ id }) => id),
    })
    return removed.length
  }

  return startPeriodic(everyMs, async (stopped) => {
    try {
      let removed = 0
      for (let last = STEP; last === STEP && !stopped() && isOwner(); removed += last) last = await step()
      if (removed > 0) log.info({ removed }, 'recordings were forgotten, and their copies deleted')
    } catch (error) {
      log.warn({ err: error }, 'cannot delete copies of recordings: will retry')
    }
  })
}
