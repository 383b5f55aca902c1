import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { LOG_LEVELS, type LogLevel } from '../lib/log.ts'
import { isDubiousAddress, parseNetwork } from '../lib/network.ts'
import { textProblem } from '../lib/text.ts'
import { parseDuration } from '../lib/time.ts'
import { wrongUsage } from '../lib/usage.ts'
import { type AllowList, parseAllowList } from '../outbound/address-guard.ts'
import { parseS3Url } from '../outbound/s3-url.ts'
import { type GivenPbx, parsePbxUrl } from '../pbx/source/pbx-url.ts'
import { type DatabaseSource, parseDatabaseUrl } from '../store/database-url.ts'

/** The raw value of a flag or its variable: a text, several texts, or `true` for a switch. */
type Given = string | readonly string[] | boolean | undefined

/** Checks that depend on the machine. */
type Surroundings = { readonly canRead: (path: string) => boolean }

type Setting = {
  /** The declaration for the command line: `--pbx <url>`; without an argument it is a switch. */
  readonly flag: string
  /** One line, the same in the help and in README.md. */
  readonly description: string
  /** A list is repeatable. */
  readonly default?: string | readonly string[]
  /** Returns the checked value. @throws CommanderError (exit code 2) that names the setting and the fix. */
  read(given: Given, surroundings: Surroundings): unknown
}

const text = (given: Given): string => (typeof given === 'string' ? given : '')
const texts = (given: Given): readonly string[] => (Array.isArray(given) ? given : [])
/** The shortest and the longest duration of a setting, as people write them. */
type Bounds = { readonly least: string; readonly most: string }

/** No clock, column or timer of the service overflows with these, and nobody needs more. */
const PAUSE: Bounds = { least: '1ms', most: '365d' }
const KEPT: Bounds = { least: '1s', most: '36500d' }
const INTERVAL: Bounds = { least: '1s', most: '365d' }
const OUTAGE: Bounds = { least: '1s', most: '30d' }
/** A delivery expires at the end of its schedule: with this many pauses still within a century. */
const MAX_PAUSES = 100
/** The highest limit of live calls per PBX: so many calls take some 2 GB. */
const MAX_CALLS = 100_000

const required =
  <Value>(read: (text: string) => Value) =>
  (given: Given): Value =>
    read(text(given))
const optional =
  <Value>(read: (text: string) => Value) =>
  (given: Given): Value | undefined =>
    given === undefined ? undefined : read(text(given))

/**
 * The settings of the service, in the order of the help. The flags of `serve` and `doctor`, their variables, the
 * Config, the help and the table in README.md are derived from this list.
 */
export const SETTINGS = {
  listen: {
    flag: '--listen <address>',
    description: 'address and port of the API and the web page',
    default: '127.0.0.1:8080',
    read: required((given) => listenAddress(given)),
  },
  dataPath: {
    flag: '--data <folder>',
    description: 'the folder of the store (hookswitch.db)',
    default: './data',
    read: required((given) => given),
  },
  control: {
    flag: '--control <path>',
    description: 'the socket on which commands ask the service; without it control.sock in the folder of --data',
    read: optional((given) => given),
  },
  database: {
    flag: '--database-url <url>',
    description: 'a Postgres database in place of --data, for several nodes: postgres://user:password@host/database',
    read: (given: Given, { canRead }: Surroundings) =>
      given === undefined ? undefined : database(text(given), canRead),
  },
  pbxs: {
    flag: '--pbx <url>',
    description: 'a PBX to watch: ami://user:secret@host, amis://…, esl://:password@host',
    default: [],
    read: (given: Given, { canRead }: Surroundings) => pbxSources(texts(given), canRead),
  },
  allowNets: {
    flag: '--allow-net <net>',
    description:
      'networks that webhooks may reach besides the internet: private, loopback, or a network like 10.1.2.0/24',
    default: [],
    read: (given: Given) => {
      allowListOf(texts(given))
      return texts(given)
    },
  },
  trustProxies: {
    flag: '--trust-proxy <net>',
    description: 'a reverse proxy whose X-Forwarded-For header is trusted',
    default: [],
    read: (given: Given) => texts(given).map(trustedNet),
  },
  proxy: {
    flag: '--proxy <url>',
    description:
      'an egress proxy for webhooks, which then has to refuse internal addresses itself; MQTT events are not sent',
    read: optional((given) => httpUrl('--proxy', given)),
  },
  metricsToken: {
    flag: '--metrics-token <token>',
    description: 'serve /metrics to clients with this token (at least 16 characters)',
    read: optional((given) => metricsToken(given)),
  },
  retryScheduleMs: {
    flag: '--retry-schedule <durations>',
    description: 'the pauses between the attempts of a delivery',
    default: '5s,30s,2m,10m,30m,1h,2h,4h,8h,16h',
    read: required((given) => durations('--retry-schedule', given)),
  },
  retentionMs: {
    flag: '--retention <duration>',
    description: 'how long delivered deliveries and their events are kept',
    default: '30d',
    read: required((given) => duration('--retention', given, KEPT)),
  },
  retentionFailedMs: {
    flag: '--retention-failed <duration>',
    description: 'how long failed and cancelled deliveries are kept',
    default: '90d',
    read: required((given) => duration('--retention-failed', given, KEPT)),
  },
  retentionCallsMs: {
    flag: '--retention-calls <duration>',
    description: 'how long call records are kept',
    default: '90d',
    read: required((given) => duration('--retention-calls', given, KEPT)),
  },
  publicUrl: {
    flag: '--public-url <url>',
    description: 'the URL at which others reach this service; events then have links to recordings',
    read: optional((given) => publicUrl(given)),
  },
  hosts: {
    flag: '--host <name>',
    description: 'a further name of this service, besides addresses, localhost and the host of --public-url',
    default: [],
    read: (given: Given) => texts(given).map(hostName),
  },
  frameAncestors: {
    flag: '--frame-ancestors <origin>',
    description:
      'a site that may show /pop in a frame, such as https://crm.example.com; no other page is shown in frames',
    default: [],
    read: (given: Given) => texts(given).map(frameAncestor),
  },
  recordingLinkMs: {
    flag: '--recording-link <duration>',
    description: 'how long a link to a recording is valid',
    default: '7d',
    read: required((given) => duration('--recording-link', given, KEPT)),
  },
  presets: {
    flag: '--presets <folder>',
    description: 'a folder with presets of CRMs as files, which are offered like the built-in ones',
    read: optional((given) => presetFolder(given)),
  },
  recordingsFrom: {
    flag: '--recordings-from <place>',
    description: 'a folder or URL from which PBXs that are added over the API may have their recordings',
    default: [],
    read: (given: Given) => texts(given).map(recordingsPlace),
  },
  recordingsCopy: {
    flag: '--recordings-copy <place>',
    description: 'where recordings are copied to after the end of a call: a folder, or s3://bucket/prefix',
    read: optional((given) => place('--recordings-copy', given)),
  },
  retentionRecordingsMs: {
    flag: '--retention-recordings <duration>',
    description: 'how long copies of recordings are kept; without it as long as call records',
    read: optional((given) => duration('--retention-recordings', given, KEPT)),
  },
  recordingMaxBytes: {
    flag: '--recording-max <size>',
    description: 'larger recordings are neither sent nor copied',
    default: '512MB',
    read: required((given) => byteCount('--recording-max', given)),
  },
  maxCalls: {
    flag: '--max-calls <count>',
    description: 'the most open calls of a PBX that are followed; a PBX that never ends a call cannot fill the memory',
    default: '20000',
    read: required((given) => callCount('--max-calls', given)),
  },
  backup: {
    flag: '--backup <place>',
    description: 'where backups of the store are kept: a folder, or s3://bucket/prefix; without it no backups are made',
    read: optional((given) => place('--backup', given)),
  },
  backupEveryMs: {
    flag: '--backup-every <duration>',
    description: 'how often a backup is made',
    default: '24h',
    read: required((given) => duration('--backup-every', given, INTERVAL)),
  },
  backupKeep: {
    flag: '--backup-keep <number>',
    description: 'how many backups are kept; older ones are deleted',
    default: '14',
    read: required((given) => backupsKept(given)),
  },
  logLevel: {
    flag: '--log-level <level>',
    description: `${LOG_LEVELS.join(', ')}; debug logs each attempt`,
    default: 'info',
    read: required((given) => logLevel(given)),
  },
  usersMayCall: {
    flag: '--no-calls',
    description: 'only administrators may have calls made, and tokens that an administrator made for it',
    read: (given: Given) => given !== false,
  },
  logMaskNumbers: {
    flag: '--log-mask-numbers',
    description: 'mask phone numbers in the log, except their last two digits',
    read: (given: Given) => given === true,
  },
  alertUrl: {
    flag: '--alert-url <url>',
    description:
      'a URL that gets a POST when a webhook or PBX has been down for 5 minutes, or a trunk for a minute, when it is up again, when a webhook refuses everything, and when a backup fails',
    read: optional((given) => httpUrl('--alert-url', given)),
  },
  alertTrunkMs: {
    flag: '--alert-trunk <duration>',
    description: 'how long a trunk has to be down until the alert URL gets a POST',
    default: '1m',
    read: required((given) => duration('--alert-trunk', given, OUTAGE)),
  },
} as const satisfies Readonly<Record<string, Setting>>

/** The values of all settings, checked. */
export type Settings = { readonly [Name in keyof typeof SETTINGS]: ReturnType<(typeof SETTINGS)[Name]['read']> }

/** The raw values from the command line, by attribute name: `retryFailed` for `--retry-failed`. */
export type GivenSettings = Readonly<Record<string, Given>>

/** Returns the name of a flag: `allow-net` for `--allow-net <net>`. */
const longNameOf = (flag: string): string => flag.replace(/^--/, '').replace(/ .*$/, '')
/** Commander takes a flag that begins with `no-` for the opposite of one without it. */
const attributeOf = (flag: string): string =>
  longNameOf(flag)
    .replace(/^no-/, '')
    .replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

/** The raw values of the settings that have a default, by attribute name. */
export const DEFAULTS: GivenSettings = Object.fromEntries(
  Object.values<Setting>(SETTINGS).map((setting) => [attributeOf(setting.flag), setting.default]),
)

/** Reads all settings. @throws CommanderError (exit code 2) with the first wrong setting and what to do. */
export function readSettings(given: GivenSettings, surroundings: Surroundings): Settings {
  const all: readonly (readonly [string, Setting])[] = Object.entries(SETTINGS)
  const values = all.map(([name, setting]) => {
    const value = given[attributeOf(setting.flag)]
    for (const one of [value].flat()) {
      const problem = typeof one === 'string' ? textProblem(one) : undefined
      if (problem !== undefined) throw wrong(`--${longNameOf(setting.flag)}`, problem)
    }
    return [name, setting.read(value, surroundings)]
  })
  // fromEntries loses the types: each value has the type of its reader.
  const settings = Object.fromEntries(values) as Settings
  if (settings.backup !== undefined && settings.database !== undefined)
    throw wrong(
      '--backup',
      'copies the store of a folder: back up the database with pg_dump or the tools of its server',
    )
  return settings
}

/** Makes an error that names a setting by its flag and its variable. */
function wrong(flag: string, problem: string) {
  const variable = `HOOKSWITCH_${longNameOf(flag).replaceAll('-', '_').toUpperCase()}`
  return wrongUsage(`${flag} (${variable}) ${problem}`)
}

const MIN_METRICS_TOKEN_CHARACTERS = 16

function metricsToken(given: string): string {
  if ([...given].length >= MIN_METRICS_TOKEN_CHARACTERS) return given
  throw wrong(
    '--metrics-token',
    `is too easy to guess: use at least ${MIN_METRICS_TOKEN_CHARACTERS} characters (openssl rand -hex 16 makes a token)`,
  )
}

function logLevel(given: string): LogLevel {
  const found = LOG_LEVELS.find((level) => level === given)
  if (found === undefined)
    throw wrong('--log-level', `is ${JSON.stringify(given)}: give one of ${LOG_LEVELS.join(', ')}`)
  return found
}

function backupsKept(given: string): number {
  if (/^\d{1,6}$/.test(given) && Number(given) > 0) return Number(given)
  throw wrong('--backup-keep', `is ${JSON.stringify(given)}: give a whole number, at least 1`)
}

/** Returns the milliseconds of a duration within its bounds. @throws CommanderError (exit code 2) that names both. */
function duration(flag: string, given: string, { least, most }: Bounds): number {
  const ms = parseDuration(given)
  if (ms !== undefined && ms >= (parseDuration(least) ?? 0) && ms <= (parseDuration(most) ?? 0)) return ms
  throw wrong(
    flag,
    `has ${JSON.stringify(given)}: give a duration from ${least} to ${most}, in ms, s, m, h or d, like 5s, 2m, 1h or 30d`,
  )
}

function place(flag: string, given: string): string {
  const isS3 = /^s3:/i.test(given)
  if (isS3 ? parseS3Url(given) !== undefined : !/^\w+:\/\//.test(given)) return given
  if (isS3)
    throw wrong(
      flag,
      `is ${JSON.stringify(given)}: give s3://bucket/prefix, with a bucket of 3 to 63 letters, digits, dots and hyphens that begins and ends with a letter or digit`,
    )
  throw wrong(flag, `is ${JSON.stringify(given)}: give a folder, or s3://bucket/prefix`)
}

/** Returns a place in the form that PBX URLs have: a whole path, or a URL that ends with a slash. */
function recordingsPlace(given: string): string {
  if (!/^\w+:\/\//.test(given)) {
    if (resolve(given) === '/')
      throw wrong('--recordings-from', 'has "/", every file of this machine: name the folder of the recordings')
    return resolve(given)
  }
  const url = URL.canParse(given) ? new URL(given) : undefined
  const isPlain =
    url !== undefined && url.username === '' && url.password === '' && url.search === '' && url.hash === ''
  if (!isPlain || !/^https?:$/.test(url.protocol))
    throw wrong('--recordings-from', `has ${JSON.stringify(given)}: give a folder, or a URL like https://host/monitor/`)
  return url.pathname.endsWith('/') ? url.href : `${url.href}/`
}

/** Returns the whole path: commands that ask the service for it may run elsewhere. */
function presetFolder(given: string): string {
  if (statSync(given, { throwIfNoEntry: false })?.isDirectory() === true) return resolve(given)
  throw wrong(
    '--presets',
    `has ${JSON.stringify(given)}, which is no folder: give the folder with the files of presets`,
  )
}

const UNITS: Readonly<Record<string, number>> = { KB: 1e3, MB: 1e6, GB: 1e9 }

function callCount(flag: string, given: string): number {
  const calls = /^\d{1,6}$/.test(given) ? Number(given) : 0
  if (calls < 1 || calls > MAX_CALLS)
    throw wrong(flag, `has ${JSON.stringify(given)}: give a number from 1 to ${MAX_CALLS}`)
  return calls
}

function byteCount(flag: string, given: string): number {
  const [, digits = '', unit = ''] = /^(\d{1,6})(KB|MB|GB)$/i.exec(given) ?? []
  const bytes = Number(digits) * (UNITS[unit.toUpperCase()] ?? 0)
  if (bytes === 0) throw wrong(flag, `has ${JSON.stringify(given)}: give a size like 512MB or 2GB`)
  return bytes
}

function durations(flag: string, given: string): number[] {
  const parts = given.trim().split(/\s*,\s*|\s+/)
  if (parts.every((part) => part === '')) throw wrong(flag, 'is empty: give durations like 5s,30s,2m')
  if (parts.length > MAX_PAUSES) throw wrong(flag, `has ${parts.length} pauses: give at most ${MAX_PAUSES}`)
  return parts.map((part) => duration(flag, part, PAUSE))
}

/**
 * Parses `127.0.0.1:8080`, `[::1]:8080` or `localhost:0`.
 * @throws CommanderError (exit code 2) that names the setting.
 */
export function listenAddress(given: string, setting = '--listen (HOOKSWITCH_LISTEN)'): { host: string; port: number } {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^\s:[\]/]+)):(\d{1,5})$/i.exec(given)
  const host = match?.[1] ?? match?.[2]
  const port = Number(match?.[3])
  if (host === undefined || isDubiousAddress(host) || !(port <= 65535))
    throw wrongUsage(`${setting} is ${JSON.stringify(given)}: give it as 127.0.0.1:8080 or [::1]:8080`)
  return { host, port }
}

/** Returns the networks of `--allow-net`. @throws CommanderError (exit code 2) with the first wrong one. */
export function allowListOf(nets: readonly string[]): AllowList {
  const parsed = parseAllowList(nets)
  if ('allow' in parsed) return parsed.allow
  const words = /^[\w.-]*[g-z][\w.-]*$/i.test(parsed.wrong)
    ? 'give private, loopback, or a network like 10.0.0.0/8'
    : parsed.advice
  throw wrong('--allow-net', `has ${JSON.stringify(parsed.wrong)}: ${words}`)
}

function trustedNet(given: string): string {
  const parsed = parseNetwork(given)
  if ('advice' in parsed) throw wrong('--trust-proxy', `has ${JSON.stringify(given)}: ${parsed.advice}`)
  const [address, bits] = parsed.network
  return `${address.toString()}/${bits}`
}

function hostName(given: string): string {
  const parsed = URL.canParse(`http://${given}`) ? new URL(`http://${given}`) : undefined
  // The host alone: no port, path or user, and no pattern, which would match no request.
  if (parsed?.href === `http://${parsed?.hostname}/` && /^(\[[\da-f:.]+\]|[\w.-]+)$/.test(parsed.hostname))
    return parsed.hostname
  throw wrong('--host', `has ${JSON.stringify(given)}: give a host name like hookswitch.internal, without a port`)
}

/** Returns an origin for `frame-ancestors` of a Content-Security-Policy, and keeps any other text out of the header. */
function frameAncestor(given: string): string {
  const origin = /^(https|http):\/\/[^/\\?#@*'"\s;,]+$/i.test(given) && URL.canParse(given) ? new URL(given).origin : ''
  if (/^(https:\/\/[a-z0-9.-]+|http:\/\/localhost)(:\d+)?$/.test(origin)) return origin
  throw wrong(
    '--frame-ancestors',
    `has ${JSON.stringify(given)}: give one site like https://crm.example.com, without a path or * (http:// for localhost alone), and the flag again for each other one`,
  )
}

/** Returns the URL that links begin with: a path is added to it, so nothing may follow its own. */
function publicUrl(given: string): string {
  // Links with it have to fit into bodies.
  const { username, password, search, hash } = new URL(httpUrl('--public-url', given, 300))
  if (username === '' && password === '' && search === '' && hash === '') return given
  throw wrong('--public-url', 'may have no user, query or #: give a URL like https://calls.example.com')
}

/** Returns a text that is an http: or https: URL. @throws CommanderError (exit code 2) that names the flag. */
export function httpUrl(flag: string, given: string, maxLength = 2_048): string {
  if (!/^https?:$/.test(URL.canParse(given) ? new URL(given).protocol : ''))
    throw wrong(flag, 'must be a URL that begins with http:// or https://')
  if (given.length > maxLength) throw wrong(flag, `must have at most ${maxLength} characters`)
  return given
}

function database(url: string, canRead: Surroundings['canRead']): DatabaseSource {
  const parsed = parseDatabaseUrl(url)
  if ('wrong' in parsed) throw wrong('--database-url', parsed.wrong)
  const { caFile } = parsed.database
  if (caFile !== undefined && !canRead(caFile))
    throw wrong('--database-url', `has sslrootcert=${caFile}, which cannot be read: name a file of certificates`)
  return parsed.database
}

function pbxSources(urls: readonly string[], canRead: Surroundings['canRead']): GivenPbx[] {
  const named = new Map<string, GivenPbx>()
  urls.forEach((url, index) => {
    const parsed = parsePbxUrl(url)
    if ('wrong' in parsed) throw wrong('--pbx', `number ${index + 1} ${parsed.wrong}`)
    const { name, caFile } = parsed.pbx
    if (caFile !== undefined && !canRead(caFile))
      throw wrong(
        '--pbx',
        `number ${index + 1} has ca=${caFile}, which cannot be read: give a readable file of certificates`,
      )
    if (named.has(name))
      throw wrong(
        '--pbx',
        `number ${index + 1} has the same name as another one (${name}): add ?name= to give it its own`,
      )
    named.set(name, { ...parsed.pbx, url })
  })
  return [...named.values()]
}
