import { accessSync, constants, readFileSync } from 'node:fs'
import { type Static, Type as t } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { CommanderError } from 'commander'
import ipaddr from 'ipaddr.js'
import { LOG_LEVELS } from './lib/log.ts'
import { type AllowList, parseAllowList } from './lib/net.ts'
import { PbxSource, parsePbxUrl } from './lib/pbx-url.ts'
import { parseDuration } from './lib/time.ts'

const durationMs = t.Integer({ minimum: 1 })

/** All that `serve` can be told, checked and frozen. */
export const Config = t.Object({
  listen: t.Object({ host: t.String(), port: t.Integer({ minimum: 0, maximum: 65535 }) }),
  dataPath: t.String({ minLength: 1 }),
  pbxs: t.Array(PbxSource),
  /** `private`, `loopback`, or a CIDR. */
  allowNets: t.Array(t.String()),
  /** CIDRs of the proxies whose X-Forwarded-For is believed. */
  trustProxies: t.Array(t.String()),
  proxy: t.Optional(t.String()),
  metricsToken: t.Optional(t.String()),
  retryScheduleMs: t.Array(durationMs, { minItems: 1 }),
  retentionMs: durationMs,
  retentionFailedMs: durationMs,
  retentionCallsMs: durationMs,
  logLevel: t.Union(LOG_LEVELS.map((level) => t.Literal(level))),
  logMaskNumbers: t.Boolean(),
  alertUrl: t.Optional(t.String()),
  firstUser: t.Optional(t.Object({ email: t.String(), password: t.String() })),
})
export type Config = Readonly<Static<typeof Config>>

/** `serve`'s flags as the command line gives them. */
export type ServeFlags = {
  listen: string
  data: string
  pbx: string[]
  allowNet: string[]
  trustProxy: string[]
  proxy?: string
  metricsToken?: string
  retrySchedule: string
  retention: string
  retentionFailed: string
  retentionCalls: string
  logLevel: string
  logMaskNumbers?: boolean
  alertUrl?: string
}

const MIN_METRICS_TOKEN_CHARACTERS = 16

export const DEFAULT_DATA = './data'
export const DEFAULT_RETRY_SCHEDULE = '5s,30s,2m,10m,30m,1h,2h,4h,8h,16h'

type Environment = Record<string, string | undefined>

/** Ends the command with exit code 2 and this one line. */
export const wrongUsage = (message: string) => new CommanderError(2, 'hookswitch.usage', message)

/**
 * Prepares the environment for the command line, which reads it where a flag is not given: `HOOKSWITCH_X_FILE` becomes
 * `HOOKSWITCH_X`, and an empty variable is as none.
 */
export function settleEnvironment(env: Environment, readFile = (path: string) => readFileSync(path, 'utf8')): void {
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith('HOOKSWITCH_')) continue
    if (value === '' || value === undefined) delete env[name]
    else if (name.endsWith('_FILE')) env[name.slice(0, -'_FILE'.length)] ??= contentOf(name, value, readFile)
  }
}

function contentOf(name: string, path: string, readFile: (path: string) => string): string {
  try {
    return readFile(path).replace(/\r?\n$/, '')
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw wrongUsage(`${name}: cannot read ${path} (${reason}): name a file that holds the value`)
  }
}

/** @throws CommanderError with exit code 2, naming the first setting that is wrong and what to do. */
export function readConfig(flags: ServeFlags, env: Environment, canRead = isReadable): Config {
  if (flags.metricsToken !== undefined && [...flags.metricsToken].length < MIN_METRICS_TOKEN_CHARACTERS)
    throw wrong(
      '--metrics-token',
      `must have ${MIN_METRICS_TOKEN_CHARACTERS} characters at least, so that nobody guesses it: openssl rand -hex 16 makes one`,
    )
  if (/^[\s,]*$/.test(flags.retrySchedule)) throw wrong('--retry-schedule', 'is empty: give durations like 5s,30s,2m')
  const config = {
    listen: listenAddress(flags.listen),
    dataPath: flags.data,
    pbxs: pbxs(flags.pbx, canRead),
    allowNets: allowNets(flags.allowNet),
    trustProxies: flags.trustProxy.map(trustedNet),
    ...(flags.proxy === undefined ? {} : { proxy: httpUrl('--proxy', flags.proxy) }),
    ...(flags.metricsToken === undefined ? {} : { metricsToken: flags.metricsToken }),
    retryScheduleMs: flags.retrySchedule
      .split(/[\s,]+/)
      .filter(Boolean)
      .map((text) => duration('--retry-schedule', text)),
    retentionMs: duration('--retention', flags.retention),
    retentionFailedMs: duration('--retention-failed', flags.retentionFailed),
    retentionCallsMs: duration('--retention-calls', flags.retentionCalls),
    logLevel: logLevel(flags.logLevel),
    logMaskNumbers: flags.logMaskNumbers ?? false,
    ...(flags.alertUrl === undefined ? {} : { alertUrl: httpUrl('--alert-url', flags.alertUrl) }),
    ...firstUser(env),
  }
  const problem = Value.Errors(Config, config).First()
  if (problem !== undefined) throw wrong(flagOf(problem.path), problem.message.toLowerCase())
  return frozen(Value.Parse(Config, config))
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch {
    return false
  }
}

/** Names a setting by its flag and its variable. */
function wrong(flag: string, problem: string): CommanderError {
  const variable = `HOOKSWITCH_${flag.replace(/^--/, '').replaceAll('-', '_').toUpperCase()}`
  return wrongUsage(`${flag} (${variable}) ${problem}`)
}

/** `/retryScheduleMs/0` is of `--retry-schedule`. */
function flagOf(path: string): string {
  const key = path.split('/')[1] ?? ''
  return `--${key.replace(/Ms$/, '').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

function logLevel(text: string) {
  const found = LOG_LEVELS.find((level) => level === text)
  if (found === undefined)
    throw wrong('--log-level', `is ${JSON.stringify(text)}: give one of ${LOG_LEVELS.join(', ')}`)
  return found
}

function duration(flag: string, text: string): number {
  const ms = parseDuration(text)
  if (ms === undefined || ms === 0)
    throw wrong(flag, `has ${JSON.stringify(text)} where a duration like 5s, 2m, 1h or 30d is wanted`)
  return ms
}

/** `127.0.0.1:8080`, `[::1]:8080`, `localhost:0`. */
export function listenAddress(text: string, setting = '--listen (HOOKSWITCH_LISTEN)'): { host: string; port: number } {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^\s:[\]/]+)):(\d{1,5})$/i.exec(text)
  const host = match?.[1] ?? match?.[2]
  const port = Number(match?.[3])
  if (host === undefined || !(port <= 65535))
    throw wrongUsage(`${setting} is ${JSON.stringify(text)}: give it as 127.0.0.1:8080 or [::1]:8080`)
  return { host, port }
}

function allowNets(nets: string[]): string[] {
  allowListOf(nets)
  return nets
}

/** The networks of `--allow-net`. @throws CommanderError naming the one that is none. */
export function allowListOf(nets: readonly string[]): AllowList {
  const parsed = parseAllowList(nets)
  if ('allow' in parsed) return parsed.allow
  throw wrong(
    '--allow-net',
    `has ${JSON.stringify(parsed.wrong)}: give private, loopback, or a network like 10.0.0.0/8`,
  )
}

function trustedNet(text: string): string {
  if (ipaddr.isValidCIDR(text)) return text
  if (ipaddr.isValid(text)) return `${text}/${text.includes(':') ? 128 : 32}`
  throw wrong('--trust-proxy', `has ${JSON.stringify(text)}: give a network like 10.0.0.0/8, or an address`)
}

export function httpUrl(flag: string, text: string): string {
  const protocol = URL.canParse(text) ? new URL(text).protocol : ''
  if (protocol !== 'http:' && protocol !== 'https:')
    throw wrong(flag, 'must be a URL that begins with http:// or https://')
  return text
}

function pbxs(urls: readonly string[], canRead: (path: string) => boolean): PbxSource[] {
  const named = new Map<string, PbxSource>()
  urls.forEach((url, index) => {
    const parsed = parsePbxUrl(url)
    if ('wrong' in parsed) throw wrong('--pbx', `number ${index + 1} ${parsed.wrong}`)
    const { name, caFile } = parsed.pbx
    if (caFile !== undefined && !canRead(caFile))
      throw wrong('--pbx', `number ${index + 1} has ca=${caFile}, which cannot be read: name a file of certificates`)
    if (named.has(name))
      throw wrong('--pbx', `number ${index + 1} is named ${name} like another one: add ?name= to tell them apart`)
    named.set(name, parsed.pbx)
  })
  return [...named.values()]
}

function firstUser(env: Environment): Pick<Config, 'firstUser'> {
  const email = env.HOOKSWITCH_USER_EMAIL
  const password = env.HOOKSWITCH_USER_PASSWORD
  if (email === undefined && password === undefined) return {}
  if (email === undefined || password === undefined)
    throw wrongUsage('HOOKSWITCH_USER_EMAIL and HOOKSWITCH_USER_PASSWORD go together: set both, or neither')
  return { firstUser: { email, password } }
}

function frozen<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen)
  return value
}
