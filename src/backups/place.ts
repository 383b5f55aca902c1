import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { createS3Client, type S3Client } from '../outbound/s3-client.ts'
import { parseS3Url, type S3Place } from '../outbound/s3-url.ts'
import { syncToDisk } from '../store/sqlite/engine/backup.ts'

/** Where backups are kept. Each operation throws an error with the reason if the place cannot be used. */
export type BackupPlace = {
  /** Makes an empty folder in which a backup is written and verified before it gets its name. */
  makeWorkFolder(): Promise<string>
  /** Returns the names of all files in the place. */
  list(): Promise<string[]>
  /** Moves a verified file into the place, under a new name. The file is there completely or not at all. */
  put(file: string, name: string): Promise<void>
  delete(name: string): Promise<void>
}

const WORK_FOLDER = '.hookswitch-backup-'

/** Returns the place that `--backup` names: a folder, or s3://bucket/prefix. */
export function backupPlaceOf(backup: string, dataPath: string, s3?: S3Client): BackupPlace {
  const bucket = parseS3Url(backup)
  return bucket === undefined ? createFolderPlace(backup) : createS3Place(bucket, dataPath, s3)
}

/** Creates the place of backups in a folder, which is made if it does not exist. */
function createFolderPlace(path: string): BackupPlace {
  const folder = resolve(path)
  return {
    async makeWorkFolder() {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await removeWorkFolders(folder)
      return await mkdtemp(join(folder, WORK_FOLDER))
    },
    async list() {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      return await readdir(folder)
    },
    async put(file, name) {
      await rename(file, join(folder, name))
      syncToDisk(folder)
    },
    delete: (name) => rm(join(folder, name)),
  }
}

/** Removes the work folders of a killed process. */
async function removeWorkFolders(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (name.startsWith(WORK_FOLDER)) await rm(join(folder, name), { recursive: true, force: true })
}

/** The longest time for one upload, which has many requests. */
const UPLOAD_WITHIN_MS = 3_600_000
const ANSWER_WITHIN_MS = 30_000
/** More objects than years of backups have: a server may repeat its list without end. */
const MAX_OBJECTS = 50_000

/**
 * Creates a place for backups in an S3 bucket, below a prefix. The environment has the endpoint, region and keys. A
 * backup is written and verified in `workPath` first.
 */
function createS3Place(
  { bucket, prefix }: S3Place,
  workPath: string,
  client = createS3Client({ bucket }),
): BackupPlace {
  const keyOf = (name: string) => (prefix === '' ? name : `${prefix}/${name}`)
  return {
    async makeWorkFolder() {
      await removeWorkFolders(workPath)
      return await mkdtemp(join(resolve(workPath), WORK_FOLDER))
    },
    async list() {
      const names: string[] = []
      const start = keyOf('')
      let startAfter: string | undefined
      do {
        const { keys, isTruncated } = await within(
          ANSWER_WITHIN_MS,
          client.list(startAfter === undefined ? { prefix: start } : { prefix: start, startAfter }),
        )
        names.push(...keys.map((key) => key.slice(start.length)))
        if (names.length > MAX_OBJECTS)
          throw new Error(
            `s3://${bucket}/${start} has more than ${MAX_OBJECTS} objects: give a prefix for the backups alone`,
          )
        startAfter = isTruncated ? keys.at(-1) : undefined
      } while (startAfter !== undefined)
      return names
    },
    async put(file, name) {
      const { size } = await stat(file)
      const key = keyOf(name)
      const signal = AbortSignal.timeout(UPLOAD_WITHIN_MS)
      await within(UPLOAD_WITHIN_MS, client.put(key, { body: Bun.file(file).stream(), size, signal }))
      const stored = await within(ANSWER_WITHIN_MS, client.stat(key))
      if (stored.size !== size) throw new Error(`s3://${bucket}/${keyOf(name)} has ${stored.size} of ${size} bytes`)
      await rm(file)
    },
    async delete(name) {
      await within(ANSWER_WITHIN_MS, client.request({ method: 'DELETE', key: keyOf(name) }))
    },
  }
}

/** Awaits a request to the S3 server, for a limited time. */
async function within<Result>(ms: number, work: Promise<Result>): Promise<Result> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`the S3 server did not answer within ${ms / 1_000} s`)), ms)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
