import type { AnyElysia } from 'elysia'
import type { Access } from '../auth/auth.ts'
import type { UrlOf } from '../calls/calls.ts'
import type { Ownership } from '../cluster/cluster.ts'
import type { CallRecord } from '../events/bodies.ts'
import { Fault } from '../lib/fault.ts'
import type { Log } from '../lib/log.ts'
import { startPeriodic } from '../lib/periodic.ts'
import type { NowUs } from '../lib/time.ts'
import type { OpenRecording } from '../outbound/upload.ts'
import type { StoredEvent } from '../store/operations/calls.ts'
import type { Store } from '../store/store.ts'
import { copiesFolderOf, openCopies } from './copies/copies-place.ts'
import { startCopyRetention } from './copy-retention.ts'
import { linkKeyRoutes } from './link-key-routes.ts'
import { openLinks } from './links.ts'
import { makeRecordingEvent } from './recording-event.ts'
import { createRecordingFiles, type RecordingsPlace } from './recording-files.ts'
import { startRecordingSaver } from './recording-saver.ts'
import { recordingLinkRoutes, recordingRoutes } from './routes.ts'
import { type AllowedPlaces, createAllowedPlaces } from './sources/allowed-places.ts'
import type { RecordingsSource } from './sources/recordings-source.ts'

/** The settings that concern recordings, as they were read. */
type RecordingsConfig = {
  readonly publicUrl: string | undefined
  readonly recordingLinkMs: number
  readonly recordingMaxBytes: number
  readonly recordingsCopy: string | undefined
  readonly recordingsFrom: readonly string[]
  readonly retentionRecordingsMs: number | undefined
  readonly retentionCallsMs: number
}

type RecordingsOptions = {
  readonly store: Store
  readonly log: Log
  /** The wall clock of events. */
  readonly nowUs: NowUs
  readonly config: RecordingsConfig
  readonly pbxs: {
    /** Returns where the recordings of each PBX are now. */
    places(): readonly RecordingsPlace[]
    placesOfSettings(): readonly RecordingsSource[]
    /** Deletes removed PBXs without recordings. */
    deleteRemoved(): Promise<void>
  }
}

type SavingOptions = {
  readonly ownership: Ownership
  readonly steadyUs: NowUs
  readonly log: Log
  readonly onStored: (stored: readonly StoredEvent[]) => void
  /** Returns whether the wall clock can be trusted. */
  readonly mayPrune: () => boolean
}

/** The recordings of calls, as the rest of the service uses them. */
export type Recordings = {
  /** The places that PBXs of the API may have. */
  readonly allowed: AllowedPlaces
  /** Returns the link to a recording for events; `null` without a public URL. */
  readonly urlOf: UrlOf
  /** Adds to the record of a call the links to its recordings, where the files of its PBX can be read. */
  addUrls(record: CallRecord): Promise<CallRecord>
  /** Opens the complete file of a recording, for sending it on. */
  readonly open: OpenRecording
  routes(access: Pick<Access, 'auth' | 'audit'>): AnyElysia[]
  /** Starts to save recordings, and to delete those older than their retention. */
  start(options: SavingOptions): { stop(): Promise<void> }
}

const STOP_WITHIN_MS = 3_000
const DELETE_EVERY_MS = 600_000

const CANNOT_DELETE = 'cannot delete removed PBXs whose recordings are gone: will retry'

/** Opens the access to the recordings of the PBXs. */
export async function openRecordings({ store, config, pbxs, log, nowUs }: RecordingsOptions): Promise<Recordings> {
  const { publicUrl, recordingLinkMs: validMs, recordingMaxBytes: maxBytes } = config
  const { recordings } = store
  const links = await openLinks({ recordings, publicUrl, validMs, nowUs })
  // The key may have been replaced. If it cannot be read now, the next change is as good.
  store.onForeignChange(() => void links.reload().catch(() => undefined))
  const folder = copiesFolderOf(config.recordingsCopy)
  const copies = config.recordingsCopy === undefined ? undefined : openCopies(config.recordingsCopy, { store, log })
  const allowed = createAllowedPlaces({
    from: config.recordingsFrom,
    ofSettings: pbxs.placesOfSettings,
    copiesFolder: folder,
  })
  const files = createRecordingFiles({ pbxs: pbxs.places, maxBytes, copies, allowed })
  return {
    allowed,
    urlOf: links.urlOf,
    async open(accountId, ref) {
      const found = await recordings.recordingGet(ref)
      if (found?.accountId !== accountId) throw new Fault('not_found', 'There is no such recording.')
      const { file, mediaType } = await files.open(found)
      return { size: file.size, mediaType, read: () => file.read(0, file.size), close: file.close }
    },
    async addUrls(record) {
      if (record.recordings.length === 0) return record
      const known = await recordings.recordingListOfCalls([record.call.id])
      const ids = new Set(known.filter(files.hasPlace).map(({ id }) => id))
      const withUrls = record.recordings.map((one) =>
        ids.has(one.id) ? { ...one, url: links.urlOf({ callId: record.call.id, recordingId: one.id }) } : one,
      )
      return { ...record, recordings: withUrls }
    },
    routes: (access) => [
      recordingRoutes(access.auth, { recordings, links, files }),
      recordingLinkRoutes(access.auth, { recordings, links, files }),
      linkKeyRoutes(access, { recordings, links }),
    ],
    start({ ownership, steadyUs, log, onStored, mayPrune }) {
      const parts = [
        startRecordingSaver({
          store,
          files,
          copies,
          pbxs: pbxs.places,
          maxBytes,
          ownership,
          steadyUs,
          nowUs,
          log,
          onStored,
          eventOf: (recording) => makeRecordingEvent({ store, urlOf: links.urlOf, nowUs }, recording),
        }),
        startCopyRetention({
          recordings,
          copies,
          log,
          mayPrune,
          nowUs,
          isOwner: () => ownership.ownsMaintenance(),
          keepMs: config.retentionRecordingsMs ?? config.retentionCallsMs,
        }),
        startPeriodic(DELETE_EVERY_MS, async () => {
          if (!ownership.ownsMaintenance()) return
          await pbxs.deleteRemoved().catch((error) => log.warn({ err: error }, CANNOT_DELETE))
        }),
      ]
      // A copy may take minutes: the next process begins an unfinished copy again.
      return { stop: () => Promise.race([stopAll(parts), Bun.sleep(STOP_WITHIN_MS)]) }
    },
  }
}

async function stopAll(parts: readonly { stop(): Promise<void> }[]): Promise<void> {
  await Promise.all(parts.map((part) => part.stop()))
}
