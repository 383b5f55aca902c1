import { type Config, readConfig } from '../../app/config.ts'
import type { ServiceFacts } from '../../app/service-routes.ts'
import { type GivenSettings, listenAddress, SETTINGS } from '../../app/settings.ts'
import type { SettingsInForce } from '../../app/settings-in-force.ts'
import { Fault } from '../../lib/fault.ts'
import { parseAllowList } from '../../outbound/address-guard.ts'
import type { Target } from '../../outbound/target.ts'
import { type AccountOf, checkPbx } from '../../pbx/pbx.ts'
import { hostAndPort, type PbxSource } from '../../pbx/source/pbx-url.ts'
import { type AllowedPlaces, createAllowedPlaces } from '../../recordings/recordings.ts'
import type { WebhookHealth } from '../../web/web.ts'
import { readNodesInForce } from '../database-nodes.ts'
import { runningService } from '../service.ts'
import { checkPbxLine } from '../suggested-commands.ts'
import { diagnoseBackups } from './backups.ts'
import { diagnoseDatabase } from './database.ts'
import { advice, type Diagnosis, ok, wrong } from './diagnosis.ts'
import { diagnoseClock, diagnoseDisk, diagnoseService } from './machine.ts'
import { diagnosePresetFolder } from './presets.ts'
import { reach } from './reach.ts'
import { type DiagnosedWebhook, diagnoseStore, type HealthOf, type StoredPbx } from './store.ts'

/**
 * Checks the whole installation: settings, service, store, disk, clock, PBXs and webhooks. Returns one diagnosis for
 * each finding. `isWhole`: the store's file is read to its end, however large.
 */
export async function diagnose(
  flags: GivenSettings,
  env: Readonly<Record<string, string | undefined>>,
  { isWhole }: { readonly isWhole: boolean },
): Promise<Diagnosis[]> {
  let given: Config
  try {
    given = readConfig(flags, env)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return [wrong('settings', why, 'hookswitch serve --help')]
  }
  const { settings: running, healthOf, presets, problems } = await findRunning(given)
  const config = inForce(given, running)
  const { database, dataPath } = config
  const disk = (await Promise.all(foldersOf(config).map(diagnoseDisk))).flat()
  const store =
    database === undefined
      ? await diagnoseStore(dataPath, { copies: config.recordingsCopy, isWhole, healthOf, presets })
      : await diagnoseDatabase(database, config.recordingsCopy)
  // The nodes of a database are in its tables: what answers at an address of this machine may be another service.
  const service = database === undefined ? await diagnoseService(config) : []
  const isServed = [...service, ...store.diagnoses].some(
    ({ level, about }) => level === 'ok' && /^(service|node)$/.test(about),
  )
  const pbxsOfStore = store.pbxs.filter(({ name }) => !config.pbxs.some((one) => one.name === name))
  const [receivers, pbxs] = await Promise.all([
    diagnoseReceivers(config, store.webhooks),
    diagnosePbxs(
      [
        ...config.pbxs.map((source) => ({
          source,
          fix: `hookswitch pbx check '${source.protocol}://…@${hostAndPort(source)}'`,
        })),
        ...pbxsOfStore.map(({ origin, ...source }) => {
          const allowed = origin === 'api' ? allowedPlacesOf(config, pbxsOfStore) : undefined
          return { source, fix: checkPbxLine(source.name, config), allowed }
        }),
      ],
      { isServed, accountOf: store.accountOf },
    ),
  ])
  const clock = diagnoseClock(Date.now(), receivers.clocksMs, store.newestEventMs)
  return [
    ok('settings', running === undefined ? 'all settings are valid' : `all are valid; ${describeRunning(running)}`),
    ...problems,
    ...service,
    ...store.diagnoses,
    ...disk,
    ...(await diagnosePresetFolder(config.presets)),
    ...(await diagnoseBackups(config, Date.now())),
    ...clock,
    ...pbxs,
    ...receivers.diagnoses,
  ]
}

type Running = {
  /** `undefined`: no service runs, or its settings are unknown. */
  readonly settings: SettingsInForce | undefined
  /** Asks the service how webhooks do; `undefined`: none can be asked. */
  readonly healthOf: HealthOf | undefined
  /** The names of its presets; `undefined`: none can be asked, or the nodes are. */
  readonly presets: readonly string[] | undefined
  /** Why the service that runs cannot be asked. */
  readonly problems: readonly Diagnosis[]
}

/** Finds the service, or the nodes of the database, and the settings with which they were started. */
async function findRunning({ database, dataPath, control }: Config): Promise<Running> {
  const nobody: Running = { settings: undefined, healthOf: undefined, presets: undefined, problems: [] }
  if (database !== undefined) {
    const nodes = await readNodesInForce(database).catch(() => undefined)
    return { ...nobody, settings: nodes?.settings }
  }
  try {
    const service = await runningService({ data: dataPath, control })
    if (service === undefined) return nobody
    const { result } = await service.ask<ServiceFacts>('GET', '/service')
    const healthOf: HealthOf = async ({ name }) =>
      (await service.ask<WebhookHealth[]>('GET', '/integration/webhook/health', { query: { account: name } })).result
    const presets = await service.ask<{ name: string }[]>('GET', '/integration/webhook/preset')
    return {
      settings: result.settings ?? undefined,
      healthOf,
      presets: presets.result.map(({ name }) => name),
      problems: [],
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    const [, why = error.message, fix = ''] = /^(.*): (.*)$/s.exec(error.message) ?? []
    return { ...nobody, problems: [wrong('service', why, fix)] }
  }
}

/** Returns the settings to check: the given ones, else the settings of the running service. */
function inForce(given: Config, running: SettingsInForce | undefined): Config {
  if (running === undefined) return given
  const { hostname, port } = new URL(running.url)
  // A node may be on another machine: its address and folders say nothing about this one.
  const isElsewhere = given.database !== undefined
  const isListenGiven = isElsewhere || !Bun.deepEquals(given.listen, listenAddress(SETTINGS.listen.default))
  return {
    ...given,
    listen: isListenGiven ? given.listen : { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) },
    allowNets: given.allowNets.length > 0 ? given.allowNets : running.allowNets,
    proxy: given.proxy ?? running.proxy ?? undefined,
    recordingsFrom: given.recordingsFrom.length > 0 ? given.recordingsFrom : running.recordingsFrom,
    recordingsCopy: given.recordingsCopy ?? (isElsewhere ? undefined : (running.recordingsCopy ?? undefined)),
    presets: given.presets ?? (isElsewhere ? undefined : (running.presets ?? undefined)),
    backup: given.backup ?? (isElsewhere ? undefined : (running.backup ?? undefined)),
    backupEveryMs: given.backup === undefined ? running.backupEveryMs : given.backupEveryMs,
  }
}

const describeRunning = ({ url, allowNets }: SettingsInForce): string =>
  `the service at ${url} was started with ${allowNets.length === 0 ? 'no --allow-net' : `--allow-net ${allowNets.join(' ')}`}`

/** Returns the folders that the service writes to. */
const foldersOf = ({ database, dataPath, recordingsCopy }: Config): string[] => [
  ...(database === undefined ? [dataPath] : []),
  ...(recordingsCopy === undefined || /^s3:/i.test(recordingsCopy) ? [] : [recordingsCopy]),
]

type Watched = { readonly source: PbxSource; readonly fix: string; readonly allowed?: AllowedPlaces | undefined }

/** Returns the places of recordings that the service allows PBXs of the API to name. */
function allowedPlacesOf({ pbxs, recordingsFrom }: Config, stored: readonly StoredPbx[]): AllowedPlaces {
  const ofSettings = [...pbxs, ...stored.filter(({ origin }) => origin === 'settings')]
  return createAllowedPlaces({
    from: recordingsFrom,
    ofSettings: () => ofSettings.flatMap(({ recordings }) => recordings ?? []),
  })
}

type Known = { readonly isServed: boolean; readonly accountOf: AccountOf | undefined }

async function diagnosePbxs(pbxs: readonly Watched[], { isServed, accountOf }: Known): Promise<Diagnosis[]> {
  const add = "hookswitch pbx add 'ami://hookswitch:secret@127.0.0.1?name=office'"
  if (pbxs.length === 0)
    return [
      isServed
        ? advice('PBX', 'no PBX is in the store or in these settings', `give doctor the --pbx of serve, or: ${add}`)
        : advice('PBX', 'no PBX is connected', add),
    ]
  const found = await Promise.all(
    pbxs.map(async ({ source, fix, allowed }) => {
      const findings = await checkPbx(source, 0, { allowed, accountOf })
      return findings.map(({ level, text }): Diagnosis => {
        const finding = `${source.name}: ${text}`
        return level === 'missing' ? wrong('PBX', finding, fix) : { level, about: 'PBX', text: finding }
      })
    }),
  )
  return found.flat()
}

const aboutWebhook = (account: string): string => (account === 'default' ? 'webhook' : `webhook of ${account}`)

/** MQTT would go past a proxy for HTTP. */
const throughProxy = ({ account, target }: DiagnosedWebhook): Diagnosis =>
  wrong(
    aboutWebhook(account),
    `${target.logged}: MQTT is not sent through --proxy`,
    'hookswitch serve without --proxy; or use an http: or https: URL',
  )

/** Returns what to try where a receiver cannot be reached. */
function checkByHand({ broker, host, url }: Target): string {
  if (broker === undefined)
    return `curl -I ${url.origin}   on this machine; then check its name, the firewall and the certificate`
  const tls = broker.isTls ? ' --tls-use-os-certs' : ''
  return `mosquitto_pub -h ${broker.host.hostname} -p ${broker.port}${tls} -t test -m test   on this machine; check ${host}, the user and password, and the certificate`
}

async function diagnoseReceivers({ allowNets, proxy }: Config, webhooks: readonly DiagnosedWebhook[]) {
  const parsed = parseAllowList(allowNets)
  const allow = 'allow' in parsed ? parsed.allow : []
  if (proxy !== undefined)
    return {
      diagnoses: [
        ok('webhooks', `not checked, because requests go through the proxy ${new URL(proxy).host}`),
        ...webhooks.filter(({ target }) => target.broker !== undefined).map(throughProxy),
      ],
      clocksMs: [],
    }
  const clocksMs: number[] = []
  const diagnoses = await Promise.all(
    webhooks.map(async ({ account, target, tls, isReportedDown }) => {
      const about = aboutWebhook(account)
      const found = await reach({ target, tls }, allow)
      if (found.kind === 'reached') {
        if (found.clockMs !== undefined) clocksMs.push(found.clockMs)
        return [ok(about, `${target.logged} answers at ${found.address}`)]
      }
      // The service's own report has the time, the reason and the pending deliveries.
      if (found.kind === 'unreachable' && isReportedDown) return []
      const fix =
        found.kind === 'refused'
          ? 'hookswitch serve --allow-net …   with the network of the receiver; or use another URL'
          : checkByHand(target)
      return [wrong(about, `${target.logged}: ${found.reason}`, fix)]
    }),
  )
  return { diagnoses: diagnoses.flat(), clocksMs }
}
