import { basename } from 'node:path'
import type { AllowedPlaces } from './allowed-places.ts'
import { createFolderSource } from './folder-source.ts'
import { createHttpSource } from './http-source.ts'
import { mapRecordingPath } from './recording-path.ts'
import type { RecordingsSource } from './recordings-source.ts'
import type { Opened } from './source.ts'

/** The files of a PBX, by the paths that it reports. */
export type PbxFiles = {
  open(reportedPath: string): Promise<Opened>
  /** Returns the place of the file at a reported path; `undefined` if the path is refused. */
  placeOf(reportedPath: string): string | undefined
}

/** Creates the source of the files of a PBX, from the place in its URL. `allowed` is asked at each read. */
export function createPbxFiles(place: RecordingsSource, allowed?: AllowedPlaces): PbxFiles {
  const { location, root, authorization } = place
  const isUrl = /^https?:/i.test(location)
  const source = isUrl
    ? createHttpSource({ url: location, authorization })
    : createFolderSource(location, allowed?.mayRead)
  const folderName = isUrl ? lastNameOf(location) : basename(location)
  return {
    placeOf(reportedPath) {
      const mapped = mapRecordingPath(reportedPath, { root, folderName })
      return 'refused' in mapped ? undefined : [location.replace(/\/+$/, ''), ...mapped.segments].join('/')
    },
    async open(reportedPath) {
      const mapped = mapRecordingPath(reportedPath, { root, folderName })
      if ('refused' in mapped) return { kind: 'missing', reason: mapped.refused }
      const refusal = await allowed?.refusalOf(location)
      return refusal === undefined ? source.open(mapped.segments) : { kind: 'missing', reason: `its PBX ${refusal}` }
    },
  }
}

function lastNameOf(url: string): string {
  const name = new URL(url).pathname.split('/').findLast((part) => part !== '') ?? ''
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
