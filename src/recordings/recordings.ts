// Recordings of calls: the files of a PBX (sources/), our copies (copies/), links to them.

export { checkRecordings } from './check-recordings.ts'
export { markOf } from './copies/copies-place.ts'
export { problemOfMark } from './copies/store-mark.ts'
export { CANNOT_DELETE_COPY } from './copy-retention.ts'
export type { RecordingsPlace } from './recording-files.ts'
export { openRecordings, type Recordings } from './service.ts'
export { type AllowedPlaces, createAllowedPlaces } from './sources/allowed-places.ts'
