import { Fault } from '../../lib/fault.ts'
import { rfc3339 } from '../../lib/time.ts'
import type { AllowedPlaces } from '../../recordings/recordings.ts'
import type { Store } from '../../store/store.ts'
import type { Finding } from '../connection/finding.ts'
import { kindOfUrl } from '../source/pbx-facts.ts'
import { hostAndPort, type PbxSource, parsePbxUrl } from '../source/pbx-url.ts'
import { checkPbx } from '../tools/check.ts'
import type { PbxInfo } from './model.ts'
import { createPbxChanges } from './pbx-changes.ts'
import type { PbxEntry, PbxList } from './pbx-list.ts'
import { maskPbxUrl } from './pbx-secrets.ts'
import type { PbxState, PbxStates } from './pbx-states.ts'

/** A PBX to add or replace. The operator of the machine may name any place of recordings, the API only some. */
type PbxToSet = {
  readonly name: string
  readonly url: string
  readonly by: 'api' | 'store'
  readonly mayReplace: boolean
}

/** A PBX with its whole URL. */
export type PbxSourceUrl = { readonly name: string; readonly url: string }

export type PbxService = {
  /** Returns the PBXs that serve an account, by name. */
  listOf(accountId: number): Promise<PbxInfo[]>
  /** Returns all PBXs with the fields for administrators. */
  listAll(): Promise<PbxInfo[]>
  /**
   * Adds or replaces a PBX and returns it. @throws Fault `invalid`; `conflict` if the settings have it;
   * `precondition_failed` if it exists and may not be replaced.
   */
  set(pbx: PbxToSet): Promise<PbxInfo>
  /** Returns the PBXs with their whole URLs, secrets included. */
  sources(): readonly PbxSourceUrl[]
  /** Removes a PBX. @throws Fault `not_found`; `conflict` if the settings have it. */
  remove(name: string): Promise<void>
  /** Connects to a PBX and returns findings. @throws Fault `invalid`, `too_many_requests`. */
  check(url: string): Promise<Finding[]>
}

type Dependencies = {
  readonly store: Pick<Store, 'pbxs' | 'accounts'>
  readonly list: PbxList
  readonly states: Pick<PbxStates, 'read'>
  readonly canRead: (path: string) => boolean
  readonly allowed: AllowedPlaces
}

/** The same duration as for `hookswitch pbx check`. */
const LISTEN_MS = 5_000
const CHECKS_AT_ONCE = 4

/** Creates the service behind `/pbx`. */
export function createPbxService({ store, list, states, canRead, allowed }: Dependencies): PbxService {
  const changes = createPbxChanges({ store, canRead, allowed })
  let checking = 0

  async function infos(isVisible: (entry: PbxEntry, state: PbxState | undefined) => boolean): Promise<Shown[]> {
    const known = await states.read()
    return list.entries().flatMap((entry) => {
      const state = known.get(entry.record.name)
      return entry.record.url === null || !isVisible(entry, state) ? [] : { entry, url: entry.record.url, state }
    })
  }

  return {
    async listOf(accountId) {
      const key = String(accountId)
      const accountOf = ({ source }: PbxEntry) => list.accounts.get(source?.account ?? '')
      // Calls keep their account when their PBX gets another one, and a PBX of several accounts had calls of each.
      const shown = await infos((entry, state) => accountOf(entry) === accountId || state?.calls[key] !== undefined)
      return shown.map((one) => infoOf(one, one.state?.calls[key] ?? 0))
    },
    listAll: async () => (await infos(() => true)).map(adminInfoOf),
    sources: () => list.entries().flatMap(({ record: { name, url } }) => (url === null ? [] : [{ name, url }])),
    async set({ name, url, by, mayReplace }) {
      await changes.set({ name, url, origin: by, mayReplace })
      await list.reload()
      const found = (await infos(({ record }) => record.name === name)).map(adminInfoOf)[0]
      if (found === undefined)
        throw new Fault(
          'conflict',
          `The PBX ${name} was removed while it was being saved: add it again if it is still needed.`,
        )
      return found
    },
    async remove(name) {
      await changes.remove(name)
      await list.reload()
    },
    async check(url) {
      const { source, isAllowed } = await changes.parse(url)
      if (checking >= CHECKS_AT_ONCE)
        throw new Fault('too_many_requests', 'Other PBXs are being checked. Try again in a few seconds.', {
          headers: { 'retry-after': '10' },
        })
      checking += 1
      try {
        return await checkPbx(source, LISTEN_MS, {
          accountOf: list.accounts.spellingOf,
          allowed: isAllowed ? undefined : allowed,
        })
      } finally {
        checking -= 1
      }
    },
  }
}

type Shown = { readonly entry: PbxEntry; readonly url: string; readonly state: PbxState | undefined }

const NOT_YET = { state: 'connecting', sinceUs: null, error: null, eventsPerSecond: 0, callsNotFollowed: 0 } as const

function infoOf({ entry: { record, problem }, url, state }: Shown, calls: number): PbxInfo {
  const { state: name, sinceUs, error, eventsPerSecond, callsNotFollowed = 0 } = state ?? NOT_YET
  const source = sourceOf(url)
  return {
    name: record.name,
    kind: kindOfUrl(url),
    address: source === undefined ? '' : hostAndPort(source),
    state: problem === null ? name : 'down',
    since: sinceUs === null ? null : rfc3339(sinceUs),
    error: problem === null ? error : `Its URL ${problem}.`,
    events_per_second: eventsPerSecond,
    calls,
    calls_not_followed: callsNotFollowed,
  }
}

function adminInfoOf(shown: Shown): PbxInfo {
  const { record } = shown.entry
  const calls = Object.values(shown.state?.calls ?? {}).reduce((sum, count) => sum + count, 0)
  const account = sourceOf(shown.url)?.account ?? ''
  return {
    ...infoOf(shown, calls),
    source: record.origin === 'settings' ? 'settings' : 'store',
    account,
    url: maskPbxUrl(shown.url),
  }
}

function sourceOf(url: string): PbxSource | undefined {
  const parsed = parsePbxUrl(url)
  return 'wrong' in parsed ? undefined : parsed.pbx
}
