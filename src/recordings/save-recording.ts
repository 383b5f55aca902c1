import type { Ownership } from '../cluster/cluster.ts'
import { backoff } from '../lib/backoff.ts'
import type { Log } from '../lib/log.ts'
import { type NowUs, SECOND } from '../lib/time.ts'
import { type NewEvent, type StoredEvent, storedEventsOf } from '../store/operations/calls.ts'
import type { RecordingRecord } from '../store/operations/recordings.ts'
import type { Store } from '../store/store.ts'
import { audioTypeOf, HEAD_BYTES, hasSound } from './audio-type.ts'
import { type Copies, copyStemOf } from './copies/copies.ts'
import { QUIET_MS, type RecordingFiles } from './recording-files.ts'
import { type OpenFile, readHead } from './sources/source.ts'

export type SaveOptions = {
  readonly store: Store
  readonly files: RecordingFiles
  readonly copies: Copies | undefined
  readonly maxBytes: number
  readonly ownership: Ownership
  /** Returns the lease under which the recordings of a PBX are saved. */
  readonly leaseOf: (pbx: string) => string
  /** Returns whether a PBX is watched, or was removed but the place of its files is known. */
  readonly isKnown: (pbx: string) => boolean
  readonly steadyUs: NowUs
  readonly nowUs: NowUs
  readonly log: Log
  /** Makes the event of a saved recording, if there is to be one. */
  readonly eventOf: (recording: RecordingRecord) => Promise<NewEvent | undefined>
  readonly onStored: (stored: readonly StoredEvent[]) => void
}

/** The progress of saving a pending recording, since the start of this process. */
export type SavingProgress = {
  tries: number
  /** The time of the next try (steady clock). */
  dueUs: number
  /** The last seen stamp of the file, and since when it is unchanged. */
  seen?: { readonly stamp: string; readonly sinceUs: number }
}

/** The age at which a missing file, or one that cannot be copied, is given up. */
const GIVE_UP_AFTER_US = 24 * 3_600 * SECOND
/** After this many tries an unknown PBX was removed, rather than just added by another node. */
const TRIES_OF_UNKNOWN = 5
const FIRST_RETRY_US = 5 * SECOND
const LAST_RETRY_US = 600 * SECOND

/** Takes the next step of saving a pending recording, and notes when the one after it is due. Never rejects. */
export async function advanceSaving(options: SaveOptions, recording: RecordingRecord, progress: SavingProgress) {
  try {
    const problem = await attempt(options, recording, progress).catch(reasonOf)
    if (problem !== undefined) await fail(options, recording, { progress, problem })
  } catch (error) {
    progress.dueUs = options.steadyUs() + FIRST_RETRY_US
    options.log.warn({ ...factsOf(recording), err: error }, 'the state of a recording cannot be stored: will retry')
  }
}

/** Returns why the recording cannot be saved now; `undefined`: it is saved, or not quiet yet. */
async function attempt(options: SaveOptions, recording: RecordingRecord, progress: SavingProgress) {
  const files = options.files.filesOf(recording.pbx)
  if (files === undefined) return options.isKnown(recording.pbx) ? NO_PLACE : REMOVED
  const opened = await files.open(recording.path)
  if (opened.kind !== 'file') return opened.reason
  const { file } = opened
  try {
    if (file.size === 0) return EMPTY
    if (file.size > options.maxBytes) return `its file has ${file.size} bytes, more than --recording-max`
    return isQuiet(file, progress, options.steadyUs()) ? await save(options, recording, { file, progress }) : undefined
  } finally {
    await file.close()
  }
}

const EMPTY = 'its file is empty'
const NO_PLACE = 'recordings= is no longer in the URL of its PBX'
const REMOVED = 'its PBX was removed, and the place of its files is unknown'

/** Returns whether a file has been unchanged for some time. */
function isQuiet({ stamp }: OpenFile, progress: SavingProgress, atUs: number): boolean {
  if (progress.seen?.stamp !== stamp) progress.seen = { stamp, sinceUs: atUs }
  progress.dueUs = progress.seen.sinceUs + QUIET_MS * 1_000
  return atUs >= progress.dueUs
}

type Quiet = { readonly file: OpenFile; readonly progress: SavingProgress }

async function save(options: SaveOptions, recording: RecordingRecord, { file, progress }: Quiet) {
  const { store, files, copies, log } = options
  const head = await readHead(file, HEAD_BYTES)
  if (!hasSound(head, file.size)) return EMPTY
  const { mediaType, extension } = audioTypeOf(head)
  const { name: copy, sha256 } = (await copies?.write({ stem: copyStemOf(recording), extension }, file)) ?? NO_COPY
  const again = await files.filesOf(recording.pbx)?.open(recording.path)
  if (again?.kind === 'file') await again.file.close()
  if (again?.kind !== 'file' || again.file.stamp !== file.stamp) {
    delete progress.seen
    return again?.kind === 'file' ? undefined : again?.reason
  }
  const saved: RecordingRecord = {
    ...recording,
    state: 'saved',
    error: null,
    sizeBytes: file.size,
    stamp: file.stamp,
    sha256,
    mediaType,
    copy,
  }
  // A call that was erased meanwhile must leave nothing.
  if ((await store.calls.callGet(recording.accountId, recording.callId)) === undefined) return forget(options, saved)
  const event = await options.eventOf(saved)
  await put(options, saved, event === undefined ? [] : [event])
  log.info({ ...factsOf(saved), bytes: file.size, copied: copy !== null }, 'a recording was saved')
  return undefined
}

const NO_COPY = { name: null, sha256: null }

async function forget({ copies, store }: SaveOptions, recording: RecordingRecord): Promise<undefined> {
  await copies?.remove(copyStemOf(recording))
  await store.recordings.recordingDelete({ callIds: [recording.callId], ids: [recording.id] })
}

type Failure = { readonly progress: SavingProgress; readonly problem: string }

async function fail(options: SaveOptions, recording: RecordingRecord, { progress, problem }: Failure): Promise<void> {
  const { steadyUs, nowUs, log } = options
  progress.tries += 1
  progress.dueUs = steadyUs() + backoff(progress.tries, FIRST_RETRY_US, LAST_RETRY_US)
  const isHopeless = problem === REMOVED && progress.tries >= TRIES_OF_UNKNOWN
  const isOver = isHopeless || nowUs() - recording.sinceUs > GIVE_UP_AFTER_US
  if (!isOver && recording.error === problem) return
  const facts = { ...factsOf(recording), reason: problem }
  if (isOver) {
    // A copy that is left is deleted with the call.
    await options.copies?.remove(copyStemOf(recording)).catch(() => undefined)
    log.warn(facts, `a recording is given up${isHopeless ? '' : ': it could not be saved for a day'}`)
  } else log.warn(facts, 'a recording cannot be saved yet: will retry')
  await put(options, { ...recording, state: isOver ? 'failed' : 'pending', error: problem })
}

/** Stores a recording as it is now, with its event, in one commit. */
async function put(options: SaveOptions, recording: RecordingRecord, events: readonly NewEvent[] = []): Promise<void> {
  const { store, steadyUs, ownership, leaseOf, onStored } = options
  const { accountId, pbx } = recording
  const parts = [{ accountId, events, saved: [] }]
  const batch = { pbx, parts, live: [], removed: [], recordings: [recording], nowSteadyUs: steadyUs() }
  const placed = await store.calls.batchStore(batch, ownership.fenceOf(leaseOf(pbx)))
  onStored(storedEventsOf(batch, placed))
}

const factsOf = ({ pbx, callId, id, path }: RecordingRecord) => ({ pbx, call: callId, recording: id, path })

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
