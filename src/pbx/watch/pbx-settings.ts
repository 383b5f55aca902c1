import type { Log } from '../../lib/log.ts'
import { wrongUsage } from '../../lib/usage.ts'
import type { PbxRecord } from '../../store/operations/pbxs.ts'
import type { Store } from '../../store/store.ts'
import type { GivenPbx } from '../source/pbx-url.ts'
import { isSameAddress, removalOf } from './pbx-changes.ts'

type Dependencies = {
  readonly store: Pick<Store, 'pbxs' | 'calls' | 'accounts'>
  /** The PBXs of `--pbx`. */
  readonly pbxs: readonly GivenPbx[]
  readonly log: Log
}

/**
 * Stores the PBXs of the settings at the start, and removes PBXs that the settings of no node have any longer. @throws
 * CommanderError (exit code 2) when the account of a PBX does not exist; Fault `unavailable`.
 */
export async function storePbxSettings({ store, pbxs, log }: Dependencies): Promise<void> {
  for (const pbx of pbxs) await requireAccount(store, pbx)
  for (const pbx of pbxs) await untilSet(() => putPbx(store, pbx, log))
  const named = new Set([...pbxs.map(({ name }) => name), ...((await store.pbxs.pbxListInSettings()) ?? [])])
  await untilSet(() => removeOthers(store, named, log))
  // Versions that did not store PBXs left the calls of PBXs that were removed from the settings.
  const known = (await store.pbxs.pbxList()).map(({ name }) => name)
  for (const { pbx } of await store.calls.orphanedPbxList([...known, ...named]))
    await store.pbxs.pbxSet({
      ...removalOf({ name: pbx, origin: 'settings', version: '', url: null }),
      seenVersion: null,
    })
}

async function requireAccount({ accounts }: Pick<Store, 'accounts'>, { name, account }: GivenPbx): Promise<void> {
  if (account !== null && (await accounts.accountGetId(account)) === undefined)
    throw wrongUsage(
      `--pbx (HOOKSWITCH_PBX) ${name}: there is no account ${account}: create it with hookswitch user add --account ${account} --email … --name …`,
    )
}

/** Repeats a change while another node changes the same PBX. */
async function untilSet(change: () => Promise<boolean>): Promise<void> {
  while (!(await change())) await Bun.sleep(0)
}

async function putPbx({ pbxs }: Pick<Store, 'pbxs'>, { url, ...source }: GivenPbx, log: Log): Promise<boolean> {
  const { name } = source
  const before = (await pbxs.pbxList()).find((one) => one.name === name)
  if (before?.url === url && before.origin === 'settings') return true
  const endsCalls = before !== undefined && (before.endsCalls || !isSameAddress(before, source))
  const seenVersion = before?.version ?? null
  const version = crypto.randomUUID()
  const isSet = await pbxs.pbxSet({ name, url, origin: 'settings', version, endsCalls, recordings: null, seenVersion })
  if (isSet && before !== undefined && before.url !== null) logReplaced(before, log)
  return isSet
}

function logReplaced({ name, origin }: PbxRecord, log: Log): void {
  if (origin !== 'settings')
    log.warn({ pbx: name }, 'this PBX was added by a command or on the page: from now on the settings apply')
  else
    log.warn({ pbx: name }, 'this PBX had other settings at an earlier start, or at another node: the last start wins')
}

async function removeOthers({ pbxs }: Pick<Store, 'pbxs'>, named: ReadonlySet<string>, log: Log): Promise<boolean> {
  const records = await pbxs.pbxList()
  for (const record of records) {
    if (record.origin !== 'settings' || record.url === null || named.has(record.name)) continue
    if (!(await pbxs.pbxSet(removalOf(record)))) return false
    log.warn({ pbx: record.name }, 'this PBX is no longer in the settings: its open calls are ended')
  }
  return true
}
