import { resolve } from 'node:path'
import type { Log } from '../../lib/log.ts'
import { parseS3Url } from '../../outbound/s3-url.ts'
import type { Store } from '../../store/store.ts'
import type { Copies } from './copies.ts'
import { createFolderCopies, createFolderMark } from './folder-copies.ts'
import { createS3Copies, createS3Mark } from './s3-copies.ts'
import { createMarkedCopies, type MarkOptions, type MarkPlace, problemOfMark } from './store-mark.ts'

// The place of copies that the setting --recordings-copy names: a folder, or a prefix in a bucket of S3.

type CopyStore = Pick<Store, 'log' | 'recordings'>

/** Opens the place of a store's copies. Nothing is written or deleted there while it is the wrong place. */
export function openCopies(setting: string, { store, log }: { readonly store: CopyStore; readonly log: Log }): Copies {
  const s3 = parseS3Url(setting)
  const copies = s3 === undefined ? createFolderCopies(resolve(setting)) : createS3Copies(s3)
  const mark = markOf(store, setting)
  return createMarkedCopies(copies, () => problemOfMark(mark), log)
}

/** Returns the folder of the copies; `undefined` if copies are in S3 or not kept. */
export const copiesFolderOf = (setting: string | undefined): string | undefined =>
  setting === undefined || parseS3Url(setting) !== undefined ? undefined : resolve(setting)

/** The number of newest copies that are looked for, to tell whether all nodes use the same place. */
const NEWEST = 3

/** Returns the expected mark of the place of a store's copies. */
export const markOf = (
  { log, recordings }: CopyStore,
  setting: string,
  place: MarkPlace = markPlaceOf(setting),
): MarkOptions => ({
  place,
  storeKey: async () => (await log.publicIdKeyGet()).key,
  newestCopies: async () =>
    (await recordings.recordingListNewestCopies(NEWEST)).flatMap(({ copy, sinceUs }) =>
      copy === null ? [] : { copy, sinceUs },
    ),
})

function markPlaceOf(setting: string): MarkPlace {
  const s3 = parseS3Url(setting)
  return s3 === undefined ? createFolderMark(resolve(setting)) : createS3Mark(s3)
}
