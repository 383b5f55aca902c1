import { backoff } from '../lib/backoff.ts'
import type { Log } from '../lib/log.ts'
import { startPeriodic } from '../lib/periodic.ts'
import { MILLISECOND, type NowUs, SECOND } from '../lib/time.ts'
import { FIRST_RECORDING, type RecordingPosition, type RecordingRecord } from '../store/operations/recordings.ts'
import type { Store } from '../store/store.ts'
import { type Copies, copyStemOf } from './copies/copies.ts'
import { withinMs } from './sources/read-limits.ts'

type CopyRetentionOptions = {
  readonly recordings: Store['recordings']
  readonly copies: Copies | undefined
  readonly log: Log
  readonly keepMs: number
  /** Returns whether this node does the deleting. */
  readonly isOwner: () => boolean
  /** Returns whether the wall clock can be trusted. */
  readonly mayPrune: () => boolean
  readonly nowUs: NowUs
  readonly everyMs?: number
  /** The longest wait for one deletion. */
  readonly deleteWithinMs?: number
}

const EVERY_MS = 30_000
const STEP = 100
/** Copies that are deleted at a time, so that one slow answer does not delay the others. */
const AT_ONCE = 8
const DELETE_WITHIN_MS = 60_000
const FIRST_RETRY_US = 60 * SECOND
const LAST_RETRY_US = 3_600 * SECOND
/** Failures whose next try is delayed; further ones are tried each time. */
const MAX_WAITING = 100_000

/** The beginning of the error of a recording whose copy is left; `doctor` finds them by it. */
export const CANNOT_DELETE_COPY = 'its copy cannot be deleted'

type Waiting = { readonly tries: number; readonly dueUs: number }

const keyOf = ({ callId, id }: RecordingRecord): string => `${callId} ${id}`
const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/**
 * Starts to delete copies that are older than their retention, and copies of erased calls.
 *
 * A round goes through all recordings, page by page. A copy that cannot be deleted is skipped, for longer after each
 * try, so that it delays no other; its recording has the reason.
 */
export function startCopyRetention(options: CopyRetentionOptions): { stop(): Promise<void> } {
  const { recordings, copies, log, keepMs, isOwner, mayPrune, nowUs, everyMs = EVERY_MS } = options
  const { deleteWithinMs = DELETE_WITHIN_MS } = options
  const waiting = new Map<string, Waiting>()

  /**
   * Deletes the copy of a recording. Returns why that failed; `undefined`: no copy is left. Also deletes parts and
   * unknown copies, which a killed process may have left.
   */
  async function remove(recording: RecordingRecord): Promise<string | undefined> {
    if (copies === undefined) return recording.copy === null ? undefined : 'the service runs without --recordings-copy'
    try {
      await withinMs(deleteWithinMs, 'its place does not answer', copies.remove(copyStemOf(recording)))
      return undefined
    } catch (error) {
      return reasonOf(error)
    }
  }

  function noteFailure(key: string, reason: string): void {
    const tries = (waiting.get(key)?.tries ?? 0) + 1
    if (tries === 1) log.warn({ recording: key, reason }, 'a copy of a recording cannot be deleted: will retry')
    if (tries === 1 && waiting.size >= MAX_WAITING) return
    waiting.set(key, { tries, dueUs: nowUs() + backoff(tries, FIRST_RETRY_US, LAST_RETRY_US) })
  }

  /**
   * Deletes the copies of some recordings, and the recordings whose copy is gone. Returns the number of deleted
   * recordings.
   */
  async function forget(part: readonly RecordingRecord[]): Promise<number> {
    const due = part.filter((one) => !isBefore(nowUs(), waiting.get(keyOf(one))))
    const removed: RecordingRecord[] = []
    const failed: (RecordingRecord & { readonly reason: string })[] = []
    const next = due[Symbol.iterator]()
    const worker = async () => {
      for (const one of next) {
        const reason = await remove(one)
        if (reason === undefined) removed.push(one)
        else failed.push({ ...one, reason: `${CANNOT_DELETE_COPY}: ${reason}` })
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
    if (removed.length > 0)
      await recordings.recordingDelete({
        callIds: removed.map(({ callId }) => callId),
        ids: removed.map(({ id }) => id),
      })
    for (const one of removed) waiting.delete(keyOf(one))
    const changed = failed.filter(({ error, reason }) => error !== reason)
    if (changed.length > 0)
      await recordings.recordingSetErrors({
        callIds: changed.map(({ callId }) => callId),
        ids: changed.map(({ id }) => id),
        errors: changed.map(({ reason }) => reason),
      })
    for (const one of failed) noteFailure(keyOf(one), one.reason)
    return removed.length
  }

  type Read = (after: RecordingPosition) => Promise<readonly RecordingRecord[]>

  async function round(read: Read, stopped: () => boolean): Promise<number> {
    let removed = 0
    let after: RecordingPosition = FIRST_RECORDING
    while (!stopped() && isOwner()) {
      const part = await read(after)
      removed += await forget(part)
      const last = part.at(-1)
      if (last === undefined || part.length < STEP) break
      after = last
    }
    return removed
  }

  let failure: string | undefined
  return startPeriodic(everyMs, async (stopped) => {
    if (!isOwner()) return
    try {
      await copies?.check?.()
      let removed = await round((after) => recordings.recordingListErased({ after, limit: STEP }), stopped)
      const beforeUs = mayPrune() ? nowUs() - keepMs * MILLISECOND : 0
      removed += await round((after) => recordings.recordingListExpired({ beforeUs, after, limit: STEP }), stopped)
      if (removed > 0) log.info({ removed }, 'records of recordings were deleted with their copies')
      failure = undefined
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      // A bucket may be away for days: each reason is logged once.
      if (reason !== failure) log.warn({ reason }, 'cannot delete copies of recordings: will retry')
      failure = reason
    }
  })
}

/** Returns whether a copy still waits for its next try. A clock that was set back makes nobody wait for longer. */
const isBefore = (atUs: number, waits: Waiting | undefined): boolean =>
  waits !== undefined && atUs < waits.dueUs && waits.dueUs - atUs <= LAST_RETRY_US
