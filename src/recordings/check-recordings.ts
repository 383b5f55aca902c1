import { lstat, opendir } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { audioTypeOf, HEAD_BYTES, hasSound } from './audio-type.ts'
import type { AllowedPlaces } from './sources/allowed-places.ts'
import { createPbxFiles, type PbxFiles } from './sources/pbx-files.ts'
import type { RecordingsSource } from './sources/recordings-source.ts'
import { readHead } from './sources/source.ts'

/** A finding. `missing`: recordings cannot be read; `advice`: it is unproven whether they can. */
type RecordingFinding = { readonly level: 'ok' | 'missing' | 'advice'; readonly text: string }

/** Bounds the reading of a folder with years of recordings, and of a mount that hardly answers. */
const MAX_ENTRIES = 20_000
const READ_WITHIN_MS = 10_000

type CheckOptions = { readonly reportedPath?: string | undefined; readonly allowed?: AllowedPlaces | undefined }

/**
 * Checks whether the recordings of a PBX can be read, with a real file: the one at `reportedPath`, as the PBX reports
 * it, or else the newest in the folder. Reads only places that `allowed` permits, if given.
 */
export async function checkRecordings(
  source: RecordingsSource,
  { reportedPath, allowed }: CheckOptions = {},
): Promise<RecordingFinding> {
  const refusal = await allowed?.refusalOf(source.location)
  if (refusal !== undefined) return { level: 'missing', text: `recordings are not read: the PBX URL ${refusal}` }
  const files = createPbxFiles(source, allowed)
  if (reportedPath !== undefined) return checkFile(files, reportedPath, source)
  return /^https?:/i.test(source.location) ? checkServer(files, source) : checkFolder(files, source)
}

async function checkFile(
  files: PbxFiles,
  path: string,
  { location, root }: RecordingsSource,
): Promise<RecordingFinding> {
  const opened = await files.open(path)
  if (opened.kind !== 'file') {
    const place = files.placeOf(path)
    const text = `the recording ${path} cannot be read at ${place ?? location}: ${opened.reason}`
    const isElsewhere = opened.kind === 'missing' && place !== undefined && root === null
    const advice = '. If the PBX has its recordings in a folder of another name, add recordings_root=/ITS/FOLDER'
    return { level: 'missing', text: isElsewhere ? text + advice : text }
  }
  const { file } = opened
  try {
    if (file.size === 0) return { level: 'missing', text: `the recording ${path} is empty at ${location}` }
    const head = await readHead(file, HEAD_BYTES)
    if (!hasSound(head, file.size))
      return { level: 'missing', text: `the recording ${path} at ${location} has a header and no sound` }
    const { mediaType } = audioTypeOf(head)
    if (mediaType === 'application/octet-stream')
      return {
        level: 'advice',
        text: `the recording ${path} is read at ${location}, but it is in no known audio format: is it a recording?`,
      }
    return { level: 'ok', text: `the recording ${path} is read at ${location}: ${mediaType}, ${file.size} bytes` }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { level: 'missing', text: `the recording ${path} cannot be read at ${location}: ${reason}` }
  } finally {
    await file.close()
  }
}

/** A server need not list its files: asking for a name that does not exist shows whether it lets us in. */
async function checkServer(files: PbxFiles, source: RecordingsSource): Promise<RecordingFinding> {
  const opened = await files.open('hookswitch-check.wav')
  if (opened.kind === 'unavailable')
    return { level: 'missing', text: `recordings cannot be read at ${source.location}: ${opened.reason}` }
  if (opened.kind === 'file') await opened.file.close()
  return {
    level: 'advice',
    text: `the server of the recordings answers at ${source.location}: add --recording PATH, as the PBX reports it, to prove that they can be read`,
  }
}

async function checkFolder(files: PbxFiles, source: RecordingsSource): Promise<RecordingFinding> {
  const { location, root } = source
  try {
    const newest = await newestFile(location)
    if (newest === undefined)
      return { level: 'advice', text: `the folder of recordings ${location} is empty: record a call, then check again` }
    return await checkFile(files, `${root ?? `/${basename(location)}`}/${relative(location, newest)}`, source)
  } catch (error) {
    return { level: 'missing', text: `recordings cannot be read: ${folderProblem(error, location)}` }
  }
}

function folderProblem(error: unknown, location: string): string {
  const code = error instanceof Error && 'code' in error ? error.code : ''
  if (code === 'ENOENT') return `there is no folder ${location} on this machine: mount it, or give another one`
  if (code === 'ENOTDIR') return `${location} is a file: give the folder that has the recordings`
  if (code === 'EACCES' || code === 'EPERM') return `this user may not read ${location}`
  return `${location}: ${error instanceof Error ? error.message : String(error)}`
}

/** Returns the newest file in a folder and those below it. No link is followed: it may lead back to the folder. */
async function newestFile(location: string): Promise<string | undefined> {
  const untilMs = performance.now() + READ_WITHIN_MS
  const folders = [location]
  let newest: { path: string; modifiedMs: number } | undefined
  let count = 0
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const below: string[] = []
    for await (const entry of await opendir(folder)) {
      count += 1
      if (count > MAX_ENTRIES || performance.now() > untilMs) return newest?.path
      const path = join(folder, entry.name)
      if (entry.isDirectory()) below.push(path)
      if (!entry.isFile()) continue
      // It may have been deleted since the folder was read.
      const modifiedMs = await lstat(path).then(
        ({ mtimeMs }) => mtimeMs,
        () => Number.NEGATIVE_INFINITY,
      )
      if (modifiedMs > (newest?.modifiedMs ?? Number.NEGATIVE_INFINITY)) newest = { path, modifiedMs }
    }
    // Folders are mostly named by dates: the last one is read first.
    folders.push(...below.sort())
  }
  return newest?.path
}
