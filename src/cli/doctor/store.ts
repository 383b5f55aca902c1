import { statSync } from 'node:fs'
import { join } from 'node:path'
import { newAccountDirectory } from '../../calls/calls.ts'
import { formatDuration, nowUs, SECOND } from '../../lib/time.ts'
import type { ClientTls } from '../../outbound/client-tls.ts'
import { type Target, targetOf } from '../../outbound/target.ts'
import type { AccountOf } from '../../pbx/pbx.ts'
import { type PbxSource, parsePbxUrl } from '../../pbx/source/pbx-url.ts'
import type { AccountRecord } from '../../store/operations/accounts.ts'
import type { PbxRecord } from '../../store/operations/pbxs.ts'
import { MAX_COUNTED_BRIEFLY } from '../../store/operations/queue.ts'
import { assertNotEmptied, QUICK_CHECK_BYTES } from '../../store/sqlite/engine/open.ts'
import { asStoreFault, fixCommand, storeFaultKind } from '../../store/sqlite/engine/store-fault.ts'
import { tryToWrite } from '../../store/sqlite/engine/write-probe.ts'
import { openSqliteStore } from '../../store/sqlite/store.ts'
import type { Store } from '../../store/store.ts'
import { createHealthReader, readReportedStatuses } from '../../web/server/webhook-health.ts'
import type { WebhookHealth } from '../../web/web.ts'
import { clientTlsOf } from '../../webhooks/webhooks.ts'
import { counted } from '../print.ts'
import { addUserLine, dataFlag, quoted, type StorePlace } from '../suggested-commands.ts'
import { describeOutage } from '../webhook-state.ts'
import { advice, type Diagnosis, ok, wrong } from './diagnosis.ts'
import { diagnoseCopies, diagnoseRecordings } from './recordings.ts'

/** A PBX of the store; of one with the origin `api` only allowed recordings are read. */
export type StoredPbx = PbxSource & Pick<PbxRecord, 'origin'>

/** A webhook of the lists. `isReportedDown`: a diagnosis states already that the running service cannot reach it. */
export type DiagnosedWebhook = {
  readonly account: string
  readonly target: Target
  /** How it takes part in the TLS handshake. */
  readonly tls?: ClientTls | undefined
  readonly isReportedDown: boolean
}

export type StoreFound = {
  readonly diagnoses: Diagnosis[]
  readonly webhooks: readonly DiagnosedWebhook[]
  readonly newestEventMs: number | undefined
  /** The PBXs of the store, with the PBXs of the service's settings. */
  readonly pbxs: readonly StoredPbx[]
  /** Returns how an account is spelt in the store; `undefined`: the store cannot be read. */
  readonly accountOf: AccountOf | undefined
}

/** Reads how the webhooks of an account do. */
export type HealthOf = (account: AccountRecord) => Promise<readonly WebhookHealth[]>

type Known = {
  readonly copies: string | undefined
  /** Asks the process that sends; `undefined`: nobody does. */
  readonly healthOf: HealthOf | undefined
  /** The names of the presets that the service or its nodes have; `undefined`: nobody runs, or does not say. */
  readonly presets: readonly string[] | undefined
}

const DAY_US = 86_400 * SECOND
/** The findings about a store that cannot be read. */
export const NO_STORE = { webhooks: [], newestEventMs: undefined, pbxs: [], accountOf: undefined }

/** Checks the store, whether a service is using it or not. */
export async function diagnoseStore(
  folder: string,
  { isWhole, ...known }: Known & { readonly isWhole: boolean },
): Promise<StoreFound> {
  const path = join(folder, 'hookswitch.db')
  try {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === false)
      return { diagnoses: [wrong('store', `${folder} is not a folder`, 'give the folder with --data')], ...NO_STORE }
    assertNotEmptied(path)
    if (statSync(path, { throwIfNoEntry: false }) === undefined)
      return {
        diagnoses: [wrong('store', `there is no store at ${path}`, `hookswitch serve --data ${folder}   creates it`)],
        ...NO_STORE,
      }
    return await checkStore(folder, path, { isWhole, ...known })
  } catch (error) {
    return { diagnoses: [unusable(error, path)], ...NO_STORE }
  }
}

/** Explains why a store cannot be used, with the fix for exactly that. */
function unusable(error: unknown, path: string): Diagnosis {
  const fault = asStoreFault(error, path)
  const kind = storeFaultKind(error, path)
  const text = fault instanceof Error ? fault.message : String(fault)
  return wrong('store', text, kind === undefined ? 'hookswitch version' : fixCommand(kind, path))
}

async function checkStore(
  folder: string,
  path: string,
  { isWhole, ...known }: Known & { readonly isWhole: boolean },
): Promise<StoreFound> {
  const store = openSqliteStore(path)
  try {
    const bytes = statSync(path).size
    // As at the start of the service: a large file would take minutes.
    const extent = isWhole || bytes <= QUICK_CHECK_BYTES ? 'whole' : 'brief'
    const faults = await store.maintenance.fileFaults(extent)
    const found = await diagnoseContents(store, { dataPath: folder }, known)
    const file =
      faults.length === 0
        ? ok('store', `${path} ${extent === 'whole' ? 'is readable to the end' : briefly(bytes)}`)
        : wrong('store', `${path} is damaged: ${faults[0]}`, fixCommand('damaged', path))
    return { ...found, diagnoses: [file, ...writeProblems(path), ...found.diagnoses] }
  } finally {
    await store.stop()
  }
}

const briefly = (bytes: number): string =>
  `opens, and its tables are right; its ${Math.round(bytes / 1_000_000)} MB were not read: hookswitch doctor --whole does that`

/** Checks the contents of a store of any engine: users, webhooks and deliveries. */
export async function diagnoseContents(
  store: Store,
  place: StorePlace,
  { copies, healthOf = healthWithout(store), presets }: Known,
): Promise<StoreFound> {
  const now = nowUs()
  const condition = await store.maintenance.conditionGet(now - DAY_US)
  const { failed, pending, oldestPendingUs, newestEventUs } = condition
  const users = await store.accounts.userCount()
  const list = (state: string) => `hookswitch delivery list --state ${state}${dataFlag(place)}`
  const since = new Date(Date.now() - 86_400_000).toISOString()
  const diagnoses: Diagnosis[] = [
    users > 0 ? ok('users', `${users} can log in`) : wrong('users', 'nobody can log in', addUserLine(place)),
    ...(condition.webhooks.length > 0
      ? []
      : [
          wrong(
            'webhooks',
            'no account has a webhook: events are not sent',
            'log in to the web page, then: Webhooks, Add',
          ),
        ]),
    pending > 0
      ? advice(
          'deliveries',
          `${pending}${pending === MAX_COUNTED_BRIEFLY ? ' or more' : ''} pending, the oldest for ${formatDuration((now - (oldestPendingUs ?? now)) / 1_000)}`,
          list('pending'),
        )
      : ok('deliveries', 'none is pending'),
    ...(failed > 0
      ? [
          advice(
            'deliveries',
            `${failed} failed in the last 24 hours`,
            `${list('failed')}   then: hookswitch delivery retry --failed-since ${since}${dataFlag(place)}`,
          ),
        ]
      : []),
  ]
  const waiting =
    pending > 0
      ? await diagnoseWaiting(store.accounts, { place, healthOf })
      : { diagnoses: [], down: new Set<string>() }
  diagnoses.push(...waiting.diagnoses, ...(await diagnoseGonePresets(store, presets)))
  const certificates = await certificatesOf(store)
  const webhooks = condition.webhooks.map(({ account, url }) => ({
    account,
    target: targetOf(url),
    tls: certificates.get(downKey(account, url)),
    isReportedDown: waiting.down.has(downKey(account, url)),
  }))
  diagnoses.push(...(await diagnoseRecordings(store)), ...(await diagnoseCopies(store, copies)))
  const newestEventMs = newestEventUs === undefined ? undefined : newestEventUs / 1_000
  const accounts = newAccountDirectory()
  accounts.set(await store.accounts.accountList())
  const { spellingOf: accountOf } = accounts.directory
  return { diagnoses, webhooks, newestEventMs, pbxs: await storedPbxs(store), accountOf }
}

const START_WITH_PRESET = 'hookswitch serve --presets FOLDER   with the file of the preset, on each machine'

/** Reports presets that webhooks use and that nobody who sends has. */
async function diagnoseGonePresets(
  { accounts, webhooks }: Pick<Store, 'accounts' | 'webhooks'>,
  presets: readonly string[] | undefined,
): Promise<Diagnosis[]> {
  if (presets === undefined) return []
  const gone = (await webhooks.webhookListPresets()).filter(({ preset }) => !presets.includes(preset))
  if (gone.length === 0) return []
  const nameOf = new Map((await accounts.accountList()).map(({ id, name }) => [id, name]))
  return gone.map(({ accountId, preset }) => {
    const text = `nobody has the preset ${preset} of account ${nameOf.get(accountId) ?? accountId}: its deliveries wait`
    return wrong('presets', text, START_WITH_PRESET)
  })
}

/** Returns how the webhooks of all accounts take part in TLS handshakes, those that do so in a way of their own. */
async function certificatesOf({ accounts, webhooks }: Pick<Store, 'accounts' | 'webhooks'>) {
  const found = new Map<string, ClientTls>()
  for (const { id, name } of await accounts.accountList())
    for (const { url, options } of await webhooks.optionsList(id)) {
      const tls = options === null ? undefined : clientTlsOf(options)
      if (tls !== undefined) found.set(downKey(name, url), tls)
    }
  return found
}

const downKey = (account: string, url: string): string => JSON.stringify([account, url])

/** Reads how webhooks do where nobody sends. */
function healthWithout(store: Pick<Store, 'webhooks'>): HealthOf {
  const read = createHealthReader(
    { store, statuses: readReportedStatuses(undefined), steadyUs: nowUs, nowUs },
    'moment',
  )
  return async ({ id }) => (await read(id)).map(({ health }) => health)
}

type Waiting = { readonly place: StorePlace; readonly healthOf: HealthOf }

/** Reports webhooks with pending deliveries that are paused, or down according to the running service. */
async function diagnoseWaiting(
  accounts: Pick<Store['accounts'], 'accountList'>,
  { place, healthOf }: Waiting,
): Promise<{ diagnoses: Diagnosis[]; down: ReadonlySet<string> }> {
  const diagnoses: Diagnosis[] = []
  const reportedDown = new Set<string>()
  for (const known of await accounts.accountList()) {
    const { name } = known
    const account = name === 'default' ? '' : ` --account ${quoted(name)}`
    const about = name === 'default' ? 'webhook' : `webhook of ${name}`
    for (const health of (await healthOf(known)).filter(({ pending }) => pending > 0)) {
      const { logged } = targetOf(health.url)
      const waiting = `${counted(health.pending, 'delivery is', 'deliveries are')} pending for it`
      if (health.paused) {
        const fix = `hookswitch webhook set URL --no-paused${account}${dataFlag(place)}   sends them`
        diagnoses.push(advice(about, `${logged} is paused: ${waiting}`, fix))
      } else if (health.down_since !== null) {
        const fix = `hookswitch webhook test URL${account}${dataFlag(place)}   once its receiver works again`
        diagnoses.push(wrong(about, `${logged} has been down ${describeOutage(health)}; ${waiting}`, fix))
        reportedDown.add(downKey(name, health.url))
      }
    }
  }
  return { diagnoses, down: reportedDown }
}

/** Returns the PBXs that a service watches, without removed ones. */
async function storedPbxs({ pbxs }: Pick<Store, 'pbxs'>): Promise<StoredPbx[]> {
  const records = await pbxs.pbxList()
  return records.flatMap(({ name, url, origin }) => {
    const parsed = url === null ? undefined : parsePbxUrl(url)
    return parsed === undefined || 'wrong' in parsed ? [] : { ...parsed.pbx, name, origin }
  })
}

/** Tries a write that changes nothing: a store that can be read may still be on a full disk. */
function writeProblems(path: string): Diagnosis[] {
  try {
    tryToWrite(path)
    return []
  } catch (error) {
    return [unusable(error, path)]
  }
}
