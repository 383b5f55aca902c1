import { type Ownership, pbxLease } from '../cluster/ownership.ts'
import type { Log } from '../lib/log.ts'
import { startPeriodic } from '../lib/periodic.ts'
import { type NowUs, SECOND, nowUs as wallUs } from '../lib/time.ts'
import {
  FIRST_RECORDING,
  type NewEvent,
  type RecordingPosition,
  type RecordingRecord,
  type StoredEvent,
  storedEventsOf,
} from '../store/records.ts'
import type { Store } from '../store/store.ts'
import { audioTypeOf, HEAD_BYTES } from './audio-type.ts'
import type { Copies } from './copies/copies.ts'
import { QUIET_MS, type RecordingFiles } from './recording-files.ts'
import { type OpenFile, readHead } from './sources/source.ts'

/**
 * Saves recordings: waits until the file of each is complete, copies it where that is wanted, and records both with its event in one commit.
 *
 * A recording is pending from the commit of its call on, until it is saved, or failed after a day. What was done for a pending one is done
 * again after a crash: a copy has one name, so that another try replaces it, and its event is in the commit that ends the state. So each
 * recording is saved once.
 */
export type RecordingSaverOptions = {
  readonly store: Store
  readonly files: RecordingFiles
  readonly copies: Copies | undefined
  /** The PBXs whose files can be read. */
  readonly pbxs: readonly string[]
  readonly maxBytes: number
  readonly ownership: Ownership
  readonly steadyUs: NowUs
  readonly log: Log
  /** Makes the event of a saved recording, if there is to be one. */
  readonly eventOf: (recording: RecordingRecord) => Promise<NewEvent | undefined>
  readonly onStored: (stored: readonly StoredEvent[]) => void
  readonly nowUs?: NowUs
  readonly everyMs?: number
}

const EVERY_MS = 1_000
/** As many files are read at a time. */
const AT_ONCE = 4
const BATCH = 200
/** After that a file that is not there, or cannot be copied, is given up. */
const GIVE_UP_AFTER_US = 24 * 3_600 * SECOND
const FIRST_RETRY_US = 5 * SECOND
const LAST_RETRY_US = 600 * SECOND

/** What is known of a pending recording since the start of this process. */
type Progress = {
  tries: number
  /** When it is tried again (steady time). */
  dueUs: number
  /** The file as it was last, and since when it is so. */
  seen?: { readonly stamp: string; readonly sinceUs: number }
}

/** Starts to save the recordings of the PBXs that this node owns. */
export function startRecordingSaver(options: RecordingSaverOptions): { stop(): Promise<void> } {
  const { store, files, copies, maxBytes, ownership, steadyUs, log, nowUs = wallUs } = options
  const laps = new Map<string, Lap>()

  async function put(recording: RecordingRecord, events: readonly NewEvent[] = []): Promise<void> {
    const { accountId, pbx } = recording
    const parts = [{ accountId, events, saved: [] }]
    const batch = { pbx, parts, live: [], removed: [], recordings: [recording], nowSteadyUs: steadyUs() }
    const placed = await store.calls.batchStore(batch, ownership.fenceOf(pbxLease(pbx)))
    options.onStored(storedEventsOf(batch, placed))
  }

  async function fail(recording: RecordingRecord, progress: Progress, reason: string): Promise<void> {
    progress.tries += 1
    progress.dueUs = steadyUs() + Math.min(LAST_RETRY_US, FIRST_RETRY_US * 2 ** (progress.tries - 1))
    const isOver = nowUs() - recording.sinceUs > GIVE_UP_AFTER_US
    if (isOver) log.warn(factsOf(recording, reason), 'a recording is given up: its file could not be had for a day')
    else if (recording.error !== reason)
      log.warn(factsOf(recording, reason), 'a recording cannot be saved yet: will retry')
    if (isOver || recording.error !== reason)
      await put({ ...recording, state: isOver ? 'failed' : 'pending', error: reason })
  }

  /** Returns whether a file is as it was some time ago. */
  function isQuiet({ stamp }: OpenFile, progress: Progress): boolean {
    if (progress.seen?.stamp !== stamp) progress.seen = { stamp, sinceUs: steadyUs() }
    const quietAtUs = progress.seen.sinceUs + QUIET_MS * 1_000
    progress.dueUs = quietAtUs
    return steadyUs() >= quietAtUs
  }

  async function save(recording: RecordingRecord, file: OpenFile, progress: Progress): Promise<string | undefined> {
    const { accountId, callId } = recording
    const { mediaType, extension } = audioTypeOf(await readHead(file, HEAD_BYTES))
    const copy = copies === undefined ? null : copyNameOf(recording, extension)
    const sha256 = copy === null || copies === undefined ? null : await copies.write(copy, file)
    const again = await files.filesOf(recording.pbx)?.open(recording.path)
    if (again?.kind === 'file') await again.file.close()
    if (again?.kind !== 'file' || again.file.stamp !== file.stamp) {
      delete progress.seen
      return again?.kind === 'file' ? undefined : again?.reason
    }
    const saved: RecordingRecord = {
      ...recording,
      ...{ state: 'saved', error: null, sizeBytes: file.size, stamp: file.stamp, sha256, mediaType, copy },
    }
    // A call that was erased meanwhile must leave nothing.
    if ((await store.calls.callGet(accountId, callId)) === undefined) return forget(saved)
    const event = await options.eventOf(saved)
    await put(saved, event === undefined ? [] : [event])
    log.info({ ...factsOf(saved), bytes: file.size, copied: copy !== null }, 'a recording was saved')
    return undefined
  }

  async function forget({ callId, id, copy }: RecordingRecord): Promise<undefined> {
    if (copy !== null) await copies?.remove(copy)
    await store.recordings.recordingDelete({ callIds: [callId], ids: [id] })
  }

  async function attempt(recording: RecordingRecord, progress: Progress): Promise<string | undefined> {
    const opened = (await files.filesOf(recording.pbx)?.open(recording.path)) ?? { kind: 'missing', reason: 'unknown' }
    if (opened.kind !== 'file') return opened.reason
    const { file } = opened
    try {
      if (file.size === 0) return 'its file is empty'
      if (file.size > maxBytes) return `its file has ${file.size} bytes, more than --recording-max`
      return isQuiet(file, progress) ? await save(recording, file, progress) : undefined
    } finally {
      await file.close()
    }
  }

  async function advance(recording: RecordingRecord, progress: Progress): Promise<void> {
    try {
      const problem = await attempt(recording, progress).catch(reasonOf)
      if (problem !== undefined) await fail(recording, progress, problem)
    } catch (error) {
      progress.dueUs = steadyUs() + FIRST_RETRY_US
      log.warn({ ...factsOf(recording), err: error }, 'the state of a recording cannot be stored: will retry')
    }
  }

  async function round(stopped: () => boolean): Promise<void> {
    const pages = await Promise.all(
      options.pbxs.filter((pbx) => ownership.pbxOwnership(pbx) === 'owned').map((pbx) => nextPage(pbx)),
    )
    const due = pages.flat().filter(({ progress }) => progress.dueUs <= steadyUs())
    const next = due[Symbol.iterator]()
    const worker = async () => {
      for (const { recording, progress } of next) if (!stopped()) await advance(recording, progress)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
  }

  /** All pending recordings have their turn, page by page: many that fail do not keep the others waiting. */
  async function nextPage(pbx: string) {
    const { after, known, visited } = laps.get(pbx) ?? newLap()
    const page = await store.recordings.recordingListPending({ pbx, after, limit: BATCH })
    const found = page.map((recording) => {
      const key = keyOf(recording)
      const progress = known.get(key) ?? { tries: 0, dueUs: 0 }
      known.set(key, progress)
      visited.add(key)
      return { recording, progress }
    })
    const last = page.length === BATCH ? page.at(-1) : undefined
    if (last === undefined) {
      // The lap is over: what it did not find is pending no more.
      for (const key of known.keys()) if (!visited.has(key)) known.delete(key)
      visited.clear()
    }
    laps.set(pbx, { after: last ?? FIRST_RECORDING, known, visited })
    return found
  }
  return startPeriodic(options.everyMs ?? EVERY_MS, async (stopped) => {
    try {
      await round(stopped)
    } catch (error) {
      log.warn({ err: error }, 'cannot read which recordings are pending: will retry')
    }
  })
}

/** How far the pending recordings of a PBX were gone through, and what is known of each. */
type Lap = {
  readonly after: RecordingPosition
  readonly known: Map<string, Progress>
  readonly visited: Set<string>
}
const newLap = (): Lap => ({ after: FIRST_RECORDING, known: new Map(), visited: new Set() })

const keyOf = ({ callId, id }: RecordingRecord) => `${callId} ${id}`

const factsOf = ({ pbx, callId, id, path }: RecordingRecord, reason?: string) => ({
  ...{ pbx, call: callId, recording: id, path },
  ...(reason === undefined ? {} : { reason }),
})

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** One name for each recording, by the day on which its call was saved: so another try replaces the copy. */
function copyNameOf({ accountId, callId, id, sinceUs }: RecordingRecord, extension: string): string {
  const day = new Date(sinceUs / 1_000).toISOString().slice(0, 10)
  const plain = (text: string) => text.replace(/[^\w-]/g, '_')
  return `account-${accountId}/${day}/${plain(callId)}-${plain(id)}.${extension}`
}
