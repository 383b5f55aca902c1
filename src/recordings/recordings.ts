import type { AuthService } from '../auth/service.ts'
import type { CallRecord } from '../calls/event.ts'
import type { UrlOf } from '../calls/event-records.ts'
import type { Settings } from '../settings.ts'
import type { Store } from '../store/store.ts'
import { openLinks } from './links.ts'
import { createRecordingFiles } from './recording-files.ts'
import { recordingRoutes } from './routes.ts'

export type RecordingsOptions = {
  readonly store: Store
  readonly config: Pick<Settings, 'pbxs' | 'publicUrl' | 'recordingLinkMs' | 'recordingMaxBytes'>
}

/** The recordings of calls, as the rest of the service uses them. */
export type Recordings = {
  /** Makes the link to a recording that goes out in events; `null` without a public URL. */
  readonly urlOf: UrlOf
  /** Adds to the record of a call the links to its recordings, where the files of its PBX can be read. */
  addUrls(record: CallRecord): Promise<CallRecord>
  routes(auth: AuthService): ReturnType<typeof recordingRoutes>
}

/** Opens the access to the recordings of the PBXs. */
export async function openRecordings(options: RecordingsOptions): Promise<Recordings> {
  const { store, config } = options
  const { pbxs, publicUrl, recordingLinkMs: validMs, recordingMaxBytes: maxBytes } = config
  const links = await openLinks({ recordings: store.recordings, publicUrl, validMs })
  // The key may have been replaced. If it cannot be read now, the next change is as good.
  store.onForeignChange(() => void links.reload().catch(() => undefined))
  const files = createRecordingFiles({ pbxs, maxBytes })
  return {
    urlOf: links.urlOf,
    async addUrls(record) {
      if (record.recordings.length === 0) return record
      const known = await store.recordings.recordingListOfCalls([record.call.id])
      const ids = new Set(known.filter(({ pbx }) => files.filesOf(pbx) !== undefined).map(({ id }) => id))
      const recordings = record.recordings.map((one) =>
        ids.has(one.id) ? { ...one, url: links.urlOf({ callId: record.call.id, recordingId: one.id }) } : one,
      )
      return { ...record, recordings }
    },
    routes: (auth) => recordingRoutes(auth, { recordings: store.recordings, links, files }),
  }
}
