/** How the paths that a PBX reports become paths below the folder of its recordings. */
type PathMapping = {
  /** The folder on the PBX that corresponds to the folder of recordings; `null`: found by its name. */
  readonly root: string | null
  /** The name of the folder of recordings, by which it is found in a reported path. */
  readonly folderName: string
}

/** The path below the folder of recordings, or why the reported path is refused. */
type MappedPath = { readonly segments: readonly string[] } | { readonly refused: string }

const MAX_PATH_BYTES = 4_096
const MAX_NAME_BYTES = 255

/**
 * Maps a path as the PBX reported it to one below the folder of its recordings. A relative path is below that folder
 * already: the CDR of Asterisk has such paths. No segment of the result leads out of the folder; links are for the
 * opener of the file.
 */
export function mapRecordingPath(reported: string, { root, folderName }: PathMapping): MappedPath {
  const path = reported.replace(FREESWITCH_PARAMETERS, '')
  const problem = problemOf(path)
  if (problem !== undefined) return { refused: problem }
  const isAbsolute = path.startsWith('/') || WINDOWS_DRIVE.test(path)
  const segments = segmentsOf(path)
  if (!isAbsolute) return mapped(segments)
  if (root !== null) {
    const prefix = segmentsOf(root)
    if (!prefix.every((name, at) => segments[at] === name))
      return { refused: `it is not below ${root}, which recordings_root names` }
    return mapped(segments.slice(prefix.length))
  }
  const folderAt = segments.slice(0, -1).lastIndexOf(folderName)
  return mapped(folderAt < 0 ? segments.slice(-1) : segments.slice(folderAt + 1))
}

/** FreeSWITCH reports the parameters of a recording before its path: `{append=true}/var/…`. */
const FREESWITCH_PARAMETERS = /^(\{[^{}]*\}|\[[^[\]]*\])+(?=.)/
const WINDOWS_DRIVE = /^[A-Za-z]:[\\/]/

function problemOf(path: string): string | undefined {
  if (path === '') return 'it is empty'
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return 'it is too long'
  // biome-ignore lint/suspicious/noControlCharactersInRegex: paths with these characters are refused
  if (/[\u0000-\u001f\u007f]/.test(path)) return 'it has control characters'
  if (!path.isWellFormed() || path.includes('\ufffd')) return 'it is not in UTF-8'
  if (/[\\/]$/.test(path)) return 'it names a folder'
  return undefined
}

const segmentsOf = (path: string): string[] =>
  (WINDOWS_DRIVE.test(path) ? path.replaceAll('\\', '/') : path)
    .split('/')
    .filter((name) => name !== '' && name !== '.')

function mapped(segments: readonly string[]): MappedPath {
  if (segments.length === 0) return { refused: 'it names no file' }
  if (segments.some((name) => name.split('\\').includes('..'))) return { refused: 'it leads out of its folder (..)' }
  if (segments.some((name) => Buffer.byteLength(name) > MAX_NAME_BYTES)) return { refused: 'a name in it is too long' }
  return { segments }
}
