import { Value } from '@sinclair/typebox/value'
import { type AccountDirectory, newAccountDirectory } from '../../calls/calls.ts'
import type { Log } from '../../lib/log.ts'
import type { RecordingsPlace } from '../../recordings/recordings.ts'
import { RecordingsSource } from '../../recordings/sources/recordings-source.ts'
import type { PbxRecord } from '../../store/operations/pbxs.ts'
import type { Store } from '../../store/store.ts'
import { type PbxSource, parsePbxUrl } from '../source/pbx-url.ts'

/** A PBX of the store, as this process knows it. A changed PBX is a new object. */
export type PbxEntry = {
  readonly record: PbxRecord
  /** `undefined` if it was removed, or cannot be used on this machine. */
  readonly source: PbxSource | undefined
  /** Why it cannot be used on this machine. */
  readonly problem: string | null
  /** The place of its recordings, also of a removed PBX. */
  readonly recordings: RecordingsSource | undefined
}

/** The PBXs of the store. */
export type PbxList = {
  entries(): readonly PbxEntry[]
  /** Returns the PBXs that can be watched. */
  sources(): readonly PbxSource[]
  /** Returns where the recordings of each PBX are, including removed PBXs with recordings. */
  places(): readonly RecordingsPlace[]
  placesOfSettings(): readonly RecordingsSource[]
  readonly accounts: AccountDirectory
  /** Reads the store. If anything has changed, listeners are called before it resolves. @throws Fault `unavailable`. */
  reload(): Promise<void>
  /** Does the same in the background, and retries until it succeeds. */
  update(): void
  /** Deletes removed PBXs without remaining recordings. @throws Fault `unavailable`. */
  deleteRemoved(): Promise<void>
  onChange(listener: () => void): void
  stop(): Promise<void>
}

/** A store that could not be read is read again after this time. */
const RETRY_MS = 1_000

type Dependencies = {
  readonly store: Pick<Store, 'pbxs' | 'accounts'>
  readonly log: Log
  readonly canRead: (path: string) => boolean
}

/** Reads the PBXs of the store, and keeps them until the next `reload`. @throws Fault `unavailable`. */
export async function openPbxList({ store, log, canRead }: Dependencies): Promise<PbxList> {
  const listeners: (() => void)[] = []
  const accounts = newAccountDirectory()
  let entries: readonly PbxEntry[] = []
  let reading: Promise<void> = Promise.resolve()
  let retry: Timer | undefined
  let stopped = false

  async function read(): Promise<void> {
    const known = new Map(entries.map((entry) => [entry.record.name, entry]))
    const records = await store.pbxs.pbxList()
    accounts.set(await store.accounts.accountList())
    const next = records.map((record) => entryOf(record, known.get(record.name)))
    const isSame = next.length === entries.length && next.every((entry, at) => entry === entries[at])
    entries = next
    if (!isSame) for (const listener of listeners) listener()
  }

  function entryOf(record: PbxRecord, before: PbxEntry | undefined): PbxEntry {
    const isUnchanged = before !== undefined && Bun.deepEquals(before.record, record)
    if (isUnchanged && before.problem === null) return before
    if (record.url === null)
      return { record, source: undefined, problem: null, recordings: formerRecordings(record.recordings) }
    const { source, problem } = sourceOf(record.name, record.url, { accounts: accounts.directory, canRead })
    if (isUnchanged && before.problem === problem) return before
    if (problem !== null) log.error({ pbx: record.name }, `this PBX cannot be watched here: its URL ${problem}`)
    return { record, source, problem, recordings: source?.recordings }
  }

  function reload(): Promise<void> {
    // One read after the other, so that an earlier answer never replaces a later one.
    reading = reading.catch(() => undefined).then(read)
    return reading
  }

  function update(): void {
    clearTimeout(retry)
    reload().catch((error) => {
      log.warn({ err: error }, 'cannot read the list of PBXs; will retry')
      if (!stopped) retry = setTimeout(update, RETRY_MS)
    })
  }

  await read()
  return {
    entries: () => entries,
    sources: () => entries.flatMap(({ source }) => source ?? []),
    places: () =>
      entries.map(({ record: { name, url, origin }, recordings }) => {
        const isOfApi = origin === 'api'
        return { name, isRemoved: url === null, recordings, isOfApi }
      }),
    placesOfSettings: () =>
      entries.flatMap(({ record: { url, origin }, recordings }) =>
        origin === 'settings' && url !== null ? (recordings ?? []) : [],
      ),
    accounts: accounts.directory,
    reload,
    update,
    async deleteRemoved() {
      const isAnyRemoved = entries.some(({ record }) => record.url === null && !record.endsCalls)
      if (isAnyRemoved && (await store.pbxs.pbxDeleteRemoved())) await reload()
    },
    async stop() {
      stopped = true
      clearTimeout(retry)
      await reading.catch(() => undefined)
    },
    onChange: (listener) => void listeners.push(listener),
  }
}

type Machine = { readonly accounts: AccountDirectory; readonly canRead: (path: string) => boolean }

/** Returns the PBX of a URL on this machine, or the reason why it cannot be used. */
function sourceOf(name: string, url: string, { accounts, canRead }: Machine): Pick<PbxEntry, 'source' | 'problem'> {
  const parsed = parsePbxUrl(url)
  if ('wrong' in parsed) return { source: undefined, problem: parsed.wrong }
  const source = { ...parsed.pbx, name }
  const { caFile, account } = source
  if (caFile !== undefined && !canRead(caFile))
    return { source: undefined, problem: `has ca=${caFile}, which cannot be read on this machine` }
  if (account !== null && accounts.get(account) === undefined)
    return { source: undefined, problem: `names the unknown account ${account}` }
  return { source, problem: null }
}

function formerRecordings(json: string | null): RecordingsSource | undefined {
  const place: unknown = json === null ? undefined : JSON.parse(json)
  return Value.Check(RecordingsSource, place) ? place : undefined
}

/** Returns the PBXs that may have phones of an account. */
export const sourcesOfAccount = (
  { sources, accounts }: Pick<PbxList, 'sources' | 'accounts'>,
  accountId: number,
): readonly PbxSource[] =>
  sources().filter(({ tenants, account }) => tenants !== undefined || accounts.get(account ?? '') === accountId)
