import { type AllowedPlaces, checkRecordings } from '../../recordings/recordings.ts'
import type { Find, Finding } from '../connection/finding.ts'
import { KINDS } from '../kinds.ts'
import { type PbxSource, pbxKindOf } from '../source/pbx-url.ts'
import { type AccountOf, judgeTenants } from './check-tenants.ts'

type CheckOptions = {
  readonly recordingPath?: string | undefined
  readonly accountOf?: AccountOf | undefined
  /** Whether accounts are added only after the check. */
  readonly accountsFollow?: boolean | undefined
  /** Only these places of recordings are read; absent: any place in the URL. */
  readonly allowed?: AllowedPlaces | undefined
}

/**
 * Connects, logs in, watches events for `listenMs` (0: not at all), and returns findings. If the URL has the place of
 * recordings, one is read: the file at `recordingPath`, or the newest. With `accountOf` it also finds customers of the
 * PBX without an account.
 */
export async function checkPbx(
  source: PbxSource,
  listenMs: number,
  { recordingPath, accountOf, accountsFollow, allowed }: CheckOptions = {},
): Promise<Finding[]> {
  const findings: Finding[] = []
  const find: Find = (level, text, line) => void findings.push({ level, text, ...(line === undefined ? {} : { line }) })
  const tenants = new Set<string>()
  const problem = await KINDS[pbxKindOf(source)].check(source, listenMs, { find, tenants })
  if (problem === undefined && source.tenants !== undefined)
    findings.push(...judgeTenants(source.tenants, tenants, { accountOf, accountsFollow }))
  if (problem !== undefined) find('missing', problem)
  if (source.recordings !== undefined)
    findings.push(await checkRecordings(source.recordings, { reportedPath: recordingPath, allowed }))
  else if (recordingPath !== undefined)
    find('missing', 'the PBX URL does not give the place of recordings: add recordings=/FOLDER or recordings=https://…')
  return findings
}
