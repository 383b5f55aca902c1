import { realpath } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import type { RecordingsSource } from './recordings-source.ts'

/**
 * The places of recordings that PBXs of the API may name. An administrator of the API is not the operator of the
 * machine: without this rule a place could name any file of the service's user, and any web server in its network.
 */
export type AllowedPlaces = {
  /** Returns why a PBX of the API may not have this place, as the end of a sentence; `undefined` if it may. */
  refusalOf(location: string): Promise<string | undefined>
  /** Returns whether a file of this machine is in an allowed folder. Its path is without links. */
  mayRead(realPath: string): Promise<boolean>
}

type AllowedPlacesOptions = {
  /** The folders and URLs of `--recordings-from`. */
  readonly from: readonly string[]
  readonly ofSettings?: () => readonly RecordingsSource[]
  /** The folder of the copies, which has the recordings of all accounts: nothing in it is ever allowed. */
  readonly copiesFolder?: string | undefined
}

const isUrl = (place: string): boolean => /^https?:/i.test(place)

/** Creates the rule for the places of recordings on a machine. */
export function createAllowedPlaces({ from, ofSettings, copiesFolder }: AllowedPlacesOptions): AllowedPlaces {
  const allowed = () => [...from, ...(ofSettings?.() ?? []).map(({ location }) => location)]

  async function mayRead(realPath: string): Promise<boolean> {
    if (copiesFolder !== undefined && isWithin(await withoutLinks(copiesFolder), realPath)) return false
    const folders = allowed().filter((place) => !isUrl(place))
    return (await Promise.all(folders.map(withoutLinks))).some((folder) => isWithin(folder, realPath))
  }

  return {
    mayRead,
    async refusalOf(location) {
      const isAllowed = isUrl(location)
        ? !leadsElsewhere(location) && allowed().some((place) => isUrl(place) && location.startsWith(place))
        : await mayRead(await withoutLinks(location))
      return isAllowed
        ? undefined
        : `names the recordings ${location}, which only the operator of the machine may: with --recordings-from ${location}`
    },
  }
}

/** Both are absolute paths without links; whole folder names are compared, not prefixes. */
const isWithin = (folder: string, path: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)

/** Returns a path with its links resolved, as far as it exists. */
async function withoutLinks(path: string): Promise<string> {
  const whole = resolve(path)
  for (let known = whole; ; known = dirname(known))
    try {
      return join(await realpath(known), whole.slice(known.length))
    } catch {
      if (known === dirname(known)) return whole
    }
}

/** Returns whether any server could resolve a path to a place outside of its folder. */
function leadsElsewhere(url: string): boolean {
  const { pathname } = new URL(url)
  return pathname.split('/').some((name) => {
    const decoded = decodedOrNull(name)
    return decoded === null || decoded.startsWith('..') || /[/\\%]/.test(decoded)
  })
}

function decodedOrNull(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
