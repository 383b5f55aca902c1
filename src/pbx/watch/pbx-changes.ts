import { accountKey } from '../../lib/account-key.ts'
import { Fault } from '../../lib/fault.ts'
import { nameProblem } from '../../lib/name.ts'
import { comparedText } from '../../lib/text.ts'
import type { AllowedPlaces } from '../../recordings/recordings.ts'
import type { PbxOrigin, PbxRecord } from '../../store/operations/pbxs.ts'
import type { Store } from '../../store/store.ts'
import { type PbxSource, parsePbxUrl, pbxKindOf } from '../source/pbx-url.ts'
import { restoreSecrets } from './pbx-secrets.ts'

type Dependencies = {
  readonly store: Pick<Store, 'pbxs' | 'accounts'>
  readonly canRead: (path: string) => boolean
  /** The places of recordings that PBXs set over the API may have; absent: none. */
  readonly allowed?: Pick<AllowedPlaces, 'refusalOf'>
}

/** A PBX to store. Without a name, the URL's name applies. */
type PbxToSet = {
  readonly name?: string | undefined
  readonly url: string
  /** With `api`, a place of recordings must be allowed, unless the PBX had it before. */
  readonly origin: PbxOrigin
  /** Whether a PBX with this name may already exist. */
  readonly mayReplace: boolean
}

type PbxChanges = {
  /**
   * Adds a PBX, or replaces the PBX with its name: a `***` in the URL keeps the secret. Calls of another PBX (with
   * another protocol, host or port) are ended. @throws Fault `invalid` with the errors of `/url`; `conflict` if the
   * settings have the PBX, or it may not be replaced.
   */
  set(pbx: PbxToSet): Promise<{ readonly name: string; readonly isNew: boolean }>
  /** Removes a PBX; its calls are ended. @throws Fault `not_found`; `conflict` if the settings have it. */
  remove(name: string): Promise<void>
  /**
   * Returns the PBX of a URL that is to be checked over the API: a `***` in it stands for the secret of the stored PBX
   * with its name. `isAllowed`: the operator configured the place of its recordings. @throws as `set`.
   */
  parse(url: string): Promise<{ readonly source: PbxSource; readonly isAllowed: boolean }>
}

/** `/pbx/check` is a route. */
const RESERVED = 'check'

/** Creates the changes to the PBXs of a store, for the API and the command line. */
export function createPbxChanges({ store, canRead, allowed }: Dependencies): PbxChanges {
  const { pbxs, accounts } = store
  /** An earlier version stored names as they were typed: an accent may stand apart from its letter. */
  const find = async (name: string): Promise<PbxRecord | undefined> => {
    const all = await pbxs.pbxList()
    return all.find((one) => one.name === name) ?? all.find((one) => comparedText(one.name) === comparedText(name))
  }

  /** Returns the complete URL, parsed. @throws Fault `invalid`. */
  async function complete(
    url: string,
    name: string | undefined,
  ): Promise<{ url: string; source: PbxSource; before: PbxRecord | undefined }> {
    const parsed = parsedOrRefused(url, name)
    const before = await find(parsed.name)
    const restored = restoreSecrets(url, before?.url ?? undefined)
    if ('wrong' in restored) throw refused(restored.wrong)
    const source = parsedOrRefused(restored.url, name)
    if (source.caFile !== undefined && !canRead(source.caFile))
      throw refused(`has ca=${source.caFile}, which cannot be read: give a readable file of certificates`)
    if (source.account !== null && (await accounts.accountGetId(source.account)) === undefined)
      throw refused(`names the unknown account ${source.account}: ${await accountAdvice(source.account)}`)
    return { url: restored.url, source, before }
  }

  /** Returns advice for an unknown account: use the existing spelling, or create it. */
  async function accountAdvice(name: string): Promise<string> {
    const known = (await accounts.accountList()).find((one) => accountKey(one.name) === accountKey(name))
    return known === undefined
      ? `create it with hookswitch user add --account ${name} --email … --name …`
      : `the name is ${known.name}`
  }

  /**
   * Returns the origin of a PBX that is set over the API: the operator's own as long as its recordings stay at the
   * operator's place. @throws Fault `invalid` when they are at another place that is not allowed.
   */
  async function originOverApi(source: PbxSource, before: PbxRecord | undefined): Promise<PbxOrigin> {
    if (before !== undefined && before.origin !== 'api' && hasSamePlace(before, source)) return 'store'
    const refusal = await (source.recordings && allowed?.refusalOf(source.recordings.location))
    if (refusal !== undefined) throw refused(refusal)
    return 'api'
  }

  return {
    async set({ name, url, origin: by, mayReplace }) {
      for (;;) {
        const { url: whole, source, before } = await complete(url, name)
        const origin = by === 'api' ? await originOverApi(source, before) : by
        const exists = before !== undefined && before.url !== null
        if (exists && by !== 'settings') await requireChangeable(pbxs, before)
        if (exists && !mayReplace)
          throw new Fault(
            'precondition_failed',
            `There is a PBX ${source.name} already: give another name with ?name=…`,
          )
        const change = {
          name: before?.name ?? source.name,
          url: whole,
          origin,
          version: crypto.randomUUID(),
          endsCalls: before !== undefined && (before.endsCalls || !isSameAddress(before, source)),
          recordings: null,
          seenVersion: before?.version ?? null,
        }
        if (exists && before.url === whole && before.origin === origin) return { name: source.name, isNew: false }
        if (await pbxs.pbxSet(change)) return { name: source.name, isNew: !exists }
      }
    },
    async remove(name) {
      for (;;) {
        const before = await find(name)
        if (before === undefined || before.url === null) throw new Fault('not_found', `There is no PBX ${name}.`)
        await requireChangeable(pbxs, before)
        if (await pbxs.pbxSet(removalOf(before))) return
      }
    },
    async parse(url) {
      const { source, before } = await complete(url, undefined)
      return { source, isAllowed: (await originOverApi(source, before)) !== 'api' }
    },
  }
}

/** Returns whether a stored PBX reads its recordings from the same place and the same part of the path. */
function hasSamePlace({ url }: Pick<PbxRecord, 'url'>, { recordings }: PbxSource): boolean {
  const parsed = url === null ? undefined : parsePbxUrl(url)
  if (parsed === undefined || 'wrong' in parsed || recordings === undefined) return false
  const { location, root } = parsed.pbx.recordings ?? {}
  return location === recordings.location && root === recordings.root
}

/** Returns the change that removes a PBX. The place of its recordings stays while they can still be read. */
export const removalOf = ({ name, origin, version, url }: Omit<PbxRecord, 'endsCalls' | 'recordings'>) => ({
  name,
  url: null,
  origin,
  version: crypto.randomUUID(),
  endsCalls: true,
  recordings: recordingsIn(url),
  seenVersion: version,
})

function recordingsIn(url: string | null): string | null {
  const parsed = url === null ? undefined : parsePbxUrl(url)
  if (parsed === undefined || 'wrong' in parsed || parsed.pbx.recordings === undefined) return null
  return JSON.stringify(parsed.pbx.recordings)
}

/** @throws Fault `conflict` for a PBX of the settings, unless the settings of no node have it any longer. */
async function requireChangeable(pbxs: Store['pbxs'], { name, origin }: PbxRecord): Promise<void> {
  if (origin !== 'settings') return
  const named = await pbxs.pbxListInSettings()
  if (named !== null && !named.includes(name)) return
  throw new Fault(
    'conflict',
    `The PBX ${name} comes from the settings (--pbx, HOOKSWITCH_PBX): change it there, and restart the service.`,
  )
}

function parsedOrRefused(url: string, name: string | undefined): PbxSource {
  const parsed = parsePbxUrl(url)
  if (/[\s\p{Cc}]/u.test(url)) throw refused('has white space: percent-encode it (a space is %20)')
  if ('wrong' in parsed) throw refused(parsed.wrong)
  const { pbx } = parsed
  const own = isNamed(url) ? pbx.name : (name ?? pbx.name)
  if (name !== undefined && own !== name) throw refused(`has name=${pbx.name}: remove it, or make it ${name}`)
  if (own === RESERVED) throw refused(`cannot have the name ${RESERVED}: give another one with ?name=…`)
  const problem = nameProblem(own)
  if (problem !== undefined)
    throw refused(`has a name that cannot be used: it ${problem}. Give another one with ?name=…`)
  return { ...pbx, name: own }
}

const isNamed = (url: string): boolean => /[?&]name=[^&]/.test(url)

/** Returns a Fault about the URL; its message is for people. */
const refused = (wrong: string): Fault =>
  new Fault('invalid', `The PBX URL ${wrong}.`, { errors: [{ path: '/url', message: wrong }] })

/** Returns whether a stored PBX has the same address, and so the same calls. TLS makes no difference. */
export function isSameAddress({ url }: Pick<PbxRecord, 'url'>, source: PbxSource): boolean {
  const parsed = url === null ? undefined : parsePbxUrl(url)
  if (parsed === undefined || 'wrong' in parsed) return false
  const { pbx } = parsed
  const isSameHost = pbxKindOf(pbx) === pbxKindOf(source) && pbx.host === source.host
  return isSameHost && (pbx.port === source.port || pbx.protocol !== source.protocol)
}
