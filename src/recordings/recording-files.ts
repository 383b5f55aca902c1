import { Fault } from '../lib/fault.ts'
import type { RecordingRecord } from '../store/operations/recordings.ts'
import { audioTypeOf, HEAD_BYTES, hasSound } from './audio-type.ts'
import { type AllowedPlaces, createAllowedPlaces } from './sources/allowed-places.ts'
import { createPbxFiles, type PbxFiles } from './sources/pbx-files.ts'
import type { RecordingsSource } from './sources/recordings-source.ts'
import { type Opened, type OpenFile, readHead, type Source } from './sources/source.ts'

/** A file may still grow for this long after its last write. */
export const QUIET_MS = 2_000

/** A complete file of a recording, with how it is served. */
export type ReadyFile = {
  readonly file: OpenFile
  readonly mediaType: string
  readonly etag: string
}

/** A PBX with the place of its recordings. */
export type RecordingsPlace = {
  readonly name: string
  /** `undefined`: its URL names no place. */
  readonly recordings?: RecordingsSource | undefined
  /** A removed PBX: its files are read for earlier calls only. */
  readonly isRemoved?: boolean
  /** A PBX of the API: only places that the operator of this machine allows are read. */
  readonly isOfApi?: boolean
}

/** The files of recordings: copies, or the originals of the PBX. */
export type RecordingFiles = {
  /**
   * Opens the complete file of a recording.
   * @throws Fault `not_found` when it is missing, `conflict` while it is being written, `too_large` above the limit,
   * `unavailable` when its place does not answer.
   */
  open(recording: RecordingRecord): Promise<ReadyFile>
  /** Returns whether there is a place where the file of a recording may be. */
  hasPlace(recording: RecordingRecord): boolean
  /** Returns the files of a PBX; `undefined` if it is not known where they are. */
  filesOf(pbx: string): PbxFiles | undefined
}

type RecordingFilesOptions = {
  /** Returns the PBXs as they are now. */
  readonly pbxs: () => readonly RecordingsPlace[]
  readonly maxBytes: number
  /** The place of the copies. */
  readonly copies?: Source | undefined
  /** The places that PBXs of the API may have; without it none. */
  readonly allowed?: AllowedPlaces | undefined
}

/** Creates the access to the files of recordings. */
export function createRecordingFiles({ pbxs, maxBytes, copies, allowed }: RecordingFilesOptions): RecordingFiles {
  const byPlace = new WeakMap<RecordingsSource, PbxFiles>()

  function filesOf(pbx: string): PbxFiles | undefined {
    const { recordings: place, isOfApi } = pbxs().find(({ name }) => name === pbx) ?? {}
    if (place === undefined) return undefined
    const files = byPlace.get(place) ?? createPbxFiles(place, isOfApi ? (allowed ?? NOTHING_ALLOWED) : undefined)
    byPlace.set(place, files)
    return files
  }

  /** Opens a copy. A copy that was changed or truncated counts as unreadable. */
  async function openCopy(copy: string, sizeBytes: number | null): Promise<Opened | undefined> {
    const opened = await copies?.open(copy.split('/'))
    if (opened?.kind !== 'file' || sizeBytes === null || opened.file.size === sizeBytes) return opened
    await opened.file.close()
    return { kind: 'unavailable', reason: `the copy has ${opened.file.size} bytes, and was written with ${sizeBytes}` }
  }

  async function openAny(recording: RecordingRecord): Promise<{ opened: Opened; isCopy: boolean }> {
    const { copy, path, pbx, sizeBytes } = recording
    const copied = copy === null ? undefined : await openCopy(copy, sizeBytes)
    if (copied?.kind === 'file') return { opened: copied, isCopy: true }
    const original = await filesOf(pbx)?.open(path)
    // A copy that cannot be read now is not missing for good.
    const opened = copied?.kind === 'unavailable' && original?.kind !== 'file' ? copied : (original ?? copied)
    return { opened: opened ?? NOWHERE, isCopy: false }
  }

  async function judge(recording: RecordingRecord, file: OpenFile, isCopy: boolean): Promise<ReadyFile> {
    if (file.size === 0) throw notFound()
    if (file.size > maxBytes)
      throw new Fault('too_large', 'The recording is larger than this service sends (--recording-max).')
    if (!isCopy && mayGrow(recording, file))
      throw new Fault('conflict', 'The recording is still being written. Try again in a few seconds.')
    const isKnown = isCopy || recording.stamp === file.stamp
    const known = isKnown ? recording.mediaType : null
    const head = known === null ? await readHead(file, HEAD_BYTES) : undefined
    if (head !== undefined && !hasSound(head, file.size)) throw notFound()
    const mediaType = known ?? audioTypeOf(head ?? new Uint8Array()).mediaType
    const etag = isCopy && recording.sha256 !== null ? `"${recording.sha256}"` : `W/"${weakTagOf(file.stamp)}"`
    return { file, mediaType, etag }
  }

  return {
    hasPlace: ({ pbx, copy, state }) =>
      state !== 'erased' && (filesOf(pbx) !== undefined || (copy !== null && copies !== undefined)),
    filesOf,
    async open(recording) {
      if (recording.state === 'erased') throw notFound()
      const { opened, isCopy } = await openAny(recording)
      if (opened.kind !== 'file') throw opened.kind === 'missing' ? notFound() : unavailable(opened.reason)
      try {
        return await judge(recording, opened.file, isCopy)
      } catch (error) {
        await opened.file.close()
        throw error
      }
    },
  }
}

const NOTHING_ALLOWED = createAllowedPlaces({ from: [] })

/** A client gets one reason for all: it must not learn which files there are on the PBX. */
const notFound = () => new Fault('not_found', 'There is no such recording.')

const unavailable = (cause: string) =>
  new Fault('unavailable', 'The place of the recording does not answer now. Try again later.', { cause })

const NOWHERE: Opened = { kind: 'missing', reason: 'the place of the files of its PBX is unknown' }

const weakTagOf = (stamp: string) => Bun.hash(stamp).toString(36)

/** Returns whether a file may still grow. A file that has not changed since it was found complete does not. */
function mayGrow({ state, stamp }: RecordingRecord, { ageMs, stamp: present }: OpenFile): boolean {
  if (state === 'saved' && stamp === present) return false
  // Neither an unknown time nor one in the future proves that the file is complete.
  return ageMs === null || ageMs < QUIET_MS
}
